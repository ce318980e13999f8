/* SPDX-License-Identifier: MIT */
#include "host/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/elf_file.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "host/fork.h"
#include "host/library_folders.h"
#include "host/library_loaded.h"
#include "host/shelter.h"

enum { SEEN_MAX = 64, LIMIT_MS = 30000 /* without a byte */ };

enum found { NOT_FOUND, FOUND, REFUSED };

struct xg_library_search {
    xg_library_find_function *find;
    const void *what;
    const char *asked; /* the name in xg_library_look */
    struct xg_library_folders folders;
    struct {
        char *name;
        enum found found;
    } seen[SEEN_MAX]; /* libraries that a candidate needs, so that each is looked at once */
    int seen_count;
    /* Shared with the thread that waits. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *file; /* looked at now */
    bool done;
    _Atomic bool abandoned;
    _Atomic int64_t until_ns; /* when the thread is abandoned, if nothing is read before */
    int64_t end_ns;           /* when it is abandoned in any case */
};

static void set_until(struct xg_library_search *search)
{
    const int64_t until_ns = xg_clock_after_ms(LIMIT_MS);
    atomic_store(&search->until_ns, until_ns < search->end_ns ? until_ns : search->end_ns);
}

static bool goes_on(void *context)
{
    struct xg_library_search *search = context;
    if (atomic_load(&search->abandoned) || xg_sandbox_closed())
        return false;
    set_until(search);
    return true;
}

bool xg_library_goes_on(const struct xg_library *library)
{
    return goes_on(library->search);
}

/* --- Files that were given up ---------------------------------------------------------------- */

struct given_up {
    struct given_up *next;
    char path[];
};

static struct given_up *_Atomic given_up; /* entries are only added */

/* False: no memory. */
static bool give_up(const char *path)
{
    struct given_up *entry = malloc(sizeof *entry + strlen(path) + 1);
    if (!entry)
        return false;
    strcpy(entry->path, path);
    entry->next = atomic_load(&given_up);
    while (!atomic_compare_exchange_weak(&given_up, &entry->next, entry)) {
    }
    return true;
}

static bool is_given_up(const char *path)
{
    const struct given_up *entry = atomic_load(&given_up);
    while (entry && strcmp(entry->path, path) != 0)
        entry = entry->next;
    return entry;
}

/* --- One file -------------------------------------------------------------------------------- */

static enum found look_at_needed(struct xg_library *library, const struct xg_elf_file *file,
                                 const char *path);

static void refuse(struct xg_library *library, const char *path, const char *why)
{
    const bool asked = !strcmp(path, library->search->asked);
    if (!goes_on(library->search))
        return;
    xg_log(XG_LOG_INFO, "ignoring %s: %s", path, why);
    if (!library->why[0])
        snprintf(library->why, sizeof library->why, "%s%s%s", asked ? "" : path, asked ? "" : ": ",
                 why);
}

/* path NULL: no file is looked at. False: the search is over. */
static bool begin_file(struct xg_library_search *search, const char *path)
{
    if (!goes_on(search))
        return false;
    pthread_mutex_lock(&search->lock);
    free(search->file);
    search->file = path ? strdup(path) : NULL;
    pthread_mutex_unlock(&search->lock);
    return true;
}

static enum found look_at(struct xg_library *library, const char *path)
{
    struct xg_elf_file file;
    const char *why = "it did not answer in time before";
    if (!begin_file(library->search, path))
        return REFUSED;
    if (is_given_up(path)) {
        refuse(library, path, why);
        return REFUSED;
    }
    enum xg_elf state = xg_elf_file_open(&file, path, goes_on, library->search, &why);
    enum found found = state == XG_ELF_SOUND     ? FOUND
                       : state == XG_ELF_UNSOUND ? REFUSED
                                                 : NOT_FOUND;
    if (found == FOUND && !xg_elf_file_read(&file)) {
        why = "it cannot be read";
        found = REFUSED;
    }
    if (found == REFUSED)
        refuse(library, path, why);
    if (found == FOUND)
        found = look_at_needed(library, &file, path);
    xg_elf_file_close(&file);
    begin_file(library->search, NULL);
    return found;
}

/* --- Where the dynamic linker looks ---------------------------------------------------------- */

/* One name that is searched. */
struct query {
    struct xg_library *library;
    const char *name;
    const struct xg_elf_file *user; /* the file that needs it; NULL: this code asks */
    const char *user_path;
    char *path; /* found */
};

static char *make_absolute(const char *path)
{
    char *absolute = malloc(PATH_MAX);
    if (absolute && !xg_file_absolute(path, absolute)) {
        free(absolute);
        absolute = NULL;
    }
    return absolute;
}

/* In a folder of RPATH or RUNPATH, $ORIGIN is the user's folder. */
static enum found look_in(struct query *query, const char *folder, size_t length)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    size_t origin = 0, cut = 0;
    char *joined, *path = NULL;
    for (size_t i = 0; query->user && i < sizeof origins / sizeof origins[0]; i++)
        if (length >= strlen(origins[i]) && !strncmp(folder, origins[i], strlen(origins[i]))) {
            cut = strlen(origins[i]);
            origin = (size_t)(xg_file_name(query->user_path) - query->user_path);
        }
    if (memchr(folder + cut, '$', length - cut))
        return NOT_FOUND;
    if (asprintf(&joined, "%.*s%s%.*s/%s", (int)origin, query->user_path ? query->user_path : "",
                 length ? "" : ".", (int)(length - cut), folder + cut, query->name) >= 0) {
        path = make_absolute(joined);
        free(joined);
    }
    enum found found = path ? look_at(query->library, path) : NOT_FOUND;
    if (found == FOUND)
        query->path = path;
    else
        free(path);
    return found;
}

/* Folders with colons between them; NULL: none. */
static enum found look_along(struct query *query, const char *folders)
{
    enum found found = NOT_FOUND;
    while (folders && found == NOT_FOUND) {
        const size_t length = strcspn(folders, ":");
        found = look_in(query, folders, length);
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return found;
}

static enum found look_in_cache(struct query *query)
{
    enum found found = NOT_FOUND;
    unsigned at = 0;
    const char *path;
    while (found == NOT_FOUND &&
           (path = xg_library_folders_cached(&query->library->search->folders, query->name, &at)))
        if ((found = look_at(query->library, path)) == FOUND)
            query->path = strdup(path);
    return found;
}

static enum found look_in_folders(struct query *query, unsigned from, unsigned to)
{
    enum found found = NOT_FOUND;
    for (unsigned i = from; i < to && found == NOT_FOUND; i++) {
        const char *folder = xg_library_folders_at(&query->library->search->folders, i);
        found = look_in(query, folder, strlen(folder));
    }
    return found;
}

static enum found look_for(struct query *query)
{
    const struct xg_library_folders *folders = &query->library->search->folders;
    const struct xg_elf_file *user = query->user;
    char *late = user ? xg_elf_file_string(user, DT_RUNPATH, 0) : NULL;
    char *early = user && !late ? xg_elf_file_string(user, DT_RPATH, 0) : NULL;
    enum found found = look_along(query, early);
    if (found == NOT_FOUND)
        found = look_in_folders(query, 0, folders->system_from);
    if (found == NOT_FOUND)
        found = look_along(query, late);
    if (found == NOT_FOUND)
        found = look_in_cache(query);
    if (found == NOT_FOUND)
        found = look_in_folders(query, folders->system_from, folders->count);
    free(late);
    free(early);
    return found;
}

/* --- What a file needs ----------------------------------------------------------------------- */

/* Libraries of the candidate before may be other files. */
static void forget_seen(struct xg_library_search *search)
{
    while (search->seen_count > 0)
        free(search->seen[--search->seen_count].name);
}

/* Its number; seen_count: it was not looked at. */
static int find_seen(const struct xg_library_search *search, const char *name)
{
    int i = 0;
    while (i < search->seen_count &&
           (!search->seen[i].name || strcmp(search->seen[i].name, name) != 0))
        i++;
    return i;
}

/* Counts as sound until it has been looked at, because libraries may need each other. */
static int add_seen(struct xg_library_search *search, const char *name)
{
    const int place = find_seen(search, name);
    if (place == search->seen_count) {
        search->seen[place].name = strdup(name);
        search->seen_count++;
    }
    search->seen[place].found = FOUND;
    return place;
}

static enum found look_for_needed(struct query *query)
{
    struct xg_library_search *search = query->library->search;
    if (!goes_on(search))
        return REFUSED;
    char *loaded = xg_library_loaded(query->name);
    free(loaded);
    if (loaded)
        return FOUND;
    int place = find_seen(search, query->name);
    if (place < search->seen_count)
        return search->seen[place].found;
    if (place == SEEN_MAX || strchr(query->name, '$')) {
        refuse(query->library, query->user_path, "it needs libraries that cannot be looked at");
        return REFUSED;
    }
    (void)add_seen(search, query->name);
    enum found found =
        strchr(query->name, '/') ? look_at(query->library, query->name) : look_for(query);
    search->seen[place].found = found;
    free(query->path);
    return found;
}

/* The dynamic linker searches for those that are not found, or reports them. It loads filters as it
 * loads needed libraries. */
static enum found look_at_needed(struct xg_library *library, const struct xg_elf_file *file,
                                 const char *path)
{
    static const int64_t tags[] = {DT_NEEDED, DT_AUXILIARY, DT_FILTER};
    enum found found = FOUND;
    char *name;
    for (size_t tag = 0; tag < sizeof tags / sizeof tags[0]; tag++)
        for (int i = 0; found != REFUSED && (name = xg_elf_file_string(file, tags[tag], i)); i++) {
            found = look_for_needed(
                &(struct query){.library = library, .name = name, .user = file, .user_path = path});
            free(name);
        }
    return found == REFUSED ? REFUSED : FOUND;
}

bool xg_library_look(struct xg_library *library, const char *name)
{
    struct xg_library_search *search = library->search;
    struct query query = {.library = library, .name = name};
    search->asked = name;
    if (library->count == XG_LIBRARY_PARTS || !goes_on(search))
        return false;
    if (library->count == 0)
        forget_seen(search);
    query.path = xg_library_loaded(name);
    if (!query.path && !strchr(name, '/'))
        (void)look_for(&query);
    else if (!query.path && look_at(library, name) == FOUND)
        query.path = strdup(name);
    if (!query.path)
        return false;
    if (search->seen_count < SEEN_MAX)
        (void)add_seen(search, xg_file_name(query.path)); /* it is opened before the next */
    library->files[library->count++] = query.path;
    return true;
}

void xg_library_drop(struct xg_library *library)
{
    while (library->count > 0)
        free(library->files[--library->count]);
}

void xg_library_find_named(struct xg_library *library, const void *what)
{
    (void)xg_library_look(library, what);
}

/* --- The separate thread --------------------------------------------------------------------- */

static void run_search(struct xg_library *library)
{
    if (!goes_on(library->search))
        return;
    xg_library_folders_read_cache(&library->search->folders);
    library->search->find(library, library->search->what);
}

static void end_search(struct xg_library *library)
{
    struct xg_library_search *search = library->search;
    forget_seen(search);
    free(search->file);
    xg_library_folders_fini(&search->folders);
    pthread_cond_destroy(&search->changed);
    pthread_mutex_destroy(&search->lock);
    free(search);
    library->search = NULL;
}

static void *search_main(void *arg)
{
    struct xg_library *library = arg;
    struct xg_library_search *search = library->search;
    pthread_setname_np(pthread_self(), "xgemm-read");
    run_search(library);
    pthread_mutex_lock(&search->lock);
    search->done = true;
    bool abandoned = atomic_load(&search->abandoned);
    pthread_cond_broadcast(&search->changed);
    pthread_mutex_unlock(&search->lock);
    if (abandoned) {
        end_search(library);
        xg_library_free(library);
    }
    return NULL;
}

/* Waits while the thread goes on. False: it is abandoned, *file is the file that it looks at, and
 * *search must not be used any more. */
static bool await(struct xg_library_search *search, char **file)
{
    pthread_mutex_lock(&search->lock);
    for (bool late = false; !search->done && !late;) {
        const int64_t until_ns = atomic_load(&search->until_ns);
        const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                       .tv_nsec = (long)(until_ns % 1000000000)};
        late = pthread_cond_timedwait(&search->changed, &search->lock, &until) != 0 &&
               until_ns == atomic_load(&search->until_ns);
    }
    const bool done = search->done;
    atomic_store(&search->abandoned, !done);
    *file = done ? NULL : search->file;
    search->file = done ? search->file : NULL;
    pthread_mutex_unlock(&search->lock);
    return done;
}

/* True: another search skips the file. */
static bool tell_given_up(const char *file, int limit_ms, char why[XG_LIBRARY_WHY_BYTES])
{
    const char *what = file ? file : "a folder";
    xg_log(XG_LOG_INFO, "ignoring %s: it did not answer in %d ms", what, limit_ms);
    if (!why[0])
        snprintf(why, XG_LIBRARY_WHY_BYTES, "%s: it did not answer in %d ms", what, limit_ms);
    return file && give_up(file);
}

static bool create_search_thread(pthread_t *thread, struct xg_library *library)
{
    sigset_t blocked, before;
    if (xg_fork_unannounced())
        return false;
    xg_shelter_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(thread, NULL, search_main, library);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

/* False: the thread is abandoned, and frees the library; the caller frees *file. */
static bool run_aside(struct xg_library *library, char **file)
{
    pthread_t thread;
    *file = NULL;
    if (!create_search_thread(&thread, library)) {
        run_search(library);
    } else if (await(library->search, file)) {
        pthread_join(thread, NULL);
    } else {
        pthread_detach(thread);
        return false;
    }
    end_search(library);
    return true;
}

static struct xg_library *create_library(const char *why)
{
    struct xg_library *library = calloc(1, sizeof *library);
    if (library)
        snprintf(library->why, sizeof library->why, "%s", why);
    return library;
}

static bool add_search(struct xg_library *library, xg_library_find_function *find, const void *what,
                       int64_t end_ns)
{
    struct xg_library_search *search = calloc(1, sizeof *search);
    if (!search)
        return false;
    search->find = find;
    search->what = what;
    search->end_ns = end_ns;
    set_until(search);
    xg_library_folders_list(&search->folders);
    pthread_mutex_init(&search->lock, NULL);
    xg_clock_init_condition(&search->changed);
    library->search = search;
    return true;
}

/* Searches again without a file that does not answer. */
struct xg_library *xg_library_find(xg_library_find_function *find, const void *what, int skip,
                                   int most_ms)
{
    const int64_t end_ns = most_ms ? xg_clock_after_ms(most_ms) : INT64_MAX;
    const int limit_ms = most_ms && most_ms < LIMIT_MS ? most_ms : LIMIT_MS;
    char why[XG_LIBRARY_WHY_BYTES] = "";
    for (bool again = true; again;) {
        char *file;
        struct xg_library *library = create_library(why);
        if (!library || !add_search(library, find, what, end_ns)) {
            free(library);
            return NULL;
        }
        library->skip = skip;
        if (run_aside(library, &file))
            return library;
        again =
            !xg_sandbox_closed() && tell_given_up(file, limit_ms, why) && xg_clock_ns() < end_ns;
        free(file);
    }
    return create_library(why);
}

void xg_library_free(struct xg_library *library)
{
    if (library)
        xg_library_drop(library);
    free(library);
}

/* --- Opening --------------------------------------------------------------------------------- */

static void *open_one(struct xg_library *library, const char *name, int flags)
{
    const bool closed = xg_sandbox_closed();
    void *handle = closed ? NULL : dlopen(name, flags);
    const char *error = handle || closed ? NULL : dlerror();
    if (!handle)
        snprintf(library->why, sizeof library->why, "%s", error ? error : "dlopen fails");
    return handle;
}

void *xg_library_open(struct xg_library *library, int flags)
{
    void *handles[XG_LIBRARY_PARTS] = {NULL};
    const int last = library->count - 1;
    for (int i = 0; i <= last; i++)
        handles[i] = open_one(library, library->files[i], flags);
    for (int i = 0; i < last; i++)
        if (handles[i])
            dlclose(handles[i]); /* it stays loaded if the library needs it */
    return last < 0 ? NULL : handles[last];
}

void *xg_library_open_named(struct xg_library *library, const char *name, int flags)
{
    if (library->count > 0 || library->why[0])
        return xg_library_open(library, flags);
    return open_one(library, name, flags);
}

void *xg_library_open_loaded(const char *name)
{
    char *path = xg_library_loaded(name);
    void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    free(path);
    return handle;
}

void *xg_library_load(const char *name, int flags, char why[XG_LIBRARY_WHY_BYTES])
{
    struct xg_library *library = xg_library_find(xg_library_find_named, name, 0, 0);
    void *handle = library ? xg_library_open_named(library, name, flags) : NULL;
    snprintf(why, XG_LIBRARY_WHY_BYTES, "%s", library ? library->why : "no memory");
    xg_library_free(library);
    return handle;
}
