/* SPDX-License-Identifier: MIT */
/* Runs the program and reads what its processes left. */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accounts.h"
#include "child.h"
#include "library.h"

enum { STARTS_MAX = 4096 }; /* starts that differ in file, environment or starter */
enum { PROCESSES_MAX = 256, ACCOUNT_BYTES_MAX = 1 << 26, LIST_BYTES = 8192 };

enum { SETTINGS = 4 };

/* The settings of the program's environment; the list ends with NULL. */
struct settings {
    char text[SETTINGS][LIST_BYTES + 32];
    char *list[SETTINGS + 1];
};

struct place {
    char folder[PATH_MAX];        /* for the files of the witness */
    char accounts[PATH_MAX + 16]; /* a folder in it, as is log, if it is ours */
    char log[PATH_MAX + 16];
    long log_bytes; /* size of the log before the run */
    bool own_log;
};

/* --- Start --------------------------------------------------------------------------------- */

/* True if the log cannot be read back: a FIFO, a terminal or /dev/null. An unwritable file is a
 * finding. */
static bool is_stream(const char *log)
{
    struct stat status;
    return stat(log, &status) == 0 && !S_ISREG(status.st_mode);
}

static bool make_place(struct place *place)
{
    const char *log = getenv("XGEMM_LOG");
    struct stat status;
    *place = (struct place){.own_log = !log || !*log || is_stream(log)};
    if (!accounts_folder_make(place->folder, false))
        return false;
    if (place->own_log)
        doctor_text_set(place->log, sizeof place->log, "%s/log", place->folder);
    else
        doctor_text_set(place->log, sizeof place->log, "%s", log);
    place->log_bytes = stat(place->log, &status) == 0 ? (long)status.st_size : 0;
    doctor_text_set(place->accounts, sizeof place->accounts, "%s/account", place->folder);
    if (mkdir(place->accounts, 0700) == 0)
        return true;
    int error = errno;
    accounts_folder_remove(place->folder);
    errno = error;
    return false;
}

/* Finds the witness. False: it is not beside this program, or LD_PRELOAD cannot hold its path. */
static bool find_witness(char witness[DOCTOR_PATH_BYTES])
{
    return (library_beside(witness, DOCTOR_PATH_BYTES, "", "xgemm-witness.so") ||
            library_beside(witness, DOCTOR_PATH_BYTES, ".libs/", "xgemm-witness.so")) &&
           !strpbrk(witness, ": ");
}

/* Leaves out libraries that cannot be preloaded; doctor reports them. */
static void make_settings(const struct doctor_preload *preload, const struct place *place,
                          struct settings *settings)
{
    char list[LIST_BYTES], witness[DOCTOR_PATH_BYTES];
    const char *others = getenv("LD_PRELOAD");
    bool usable = preload->library_usable && !preload->library_path_bad;
    bool seen = find_witness(witness);
    int count = 0;
    doctor_text_set(list, sizeof list, "%s%s%s%s%s", usable ? preload->library : "",
                    usable && seen ? ":" : "", seen ? witness : "",
                    (usable || seen) && others && *others ? ":" : "", others ? others : "");
    const char *const wanted[SETTINGS][2] = {{"XGEMM_ACCOUNT", place->accounts},
                                             {"XGEMM_DOCTOR_FOLDER", place->folder},
                                             {"LD_PRELOAD", *list ? list : NULL},
                                             {"XGEMM_LOG", place->own_log ? place->log : NULL}};
    for (int i = 0; i < SETTINGS; i++) {
        if (!wanted[i][1])
            continue;
        doctor_text_set(settings->text[i], sizeof settings->text[i], "%s=%s", wanted[i][0],
                        wanted[i][1]);
        settings->list[count++] = settings->text[i];
    }
    settings->list[count] = NULL;
}

/* CPU time of ended children and of their own ended children. */
static double spent_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static bool run_program(struct doctor_run *run, const struct doctor_preload *preload,
                        const struct place *place, char *const argv[], pid_t *pid)
{
    static struct settings settings;
    const struct child child = {.argv = argv, .settings = settings.list, .quiet = true};
    struct child_end end;
    make_settings(preload, place, &settings);
    double before_s = spent_s();
    run->ran = child_run(&child, &end);
    run->cores_s = spent_s() - before_s;
    *pid = end.pid;
    run->failed = !run->ran && end.pid > 0;
    run->failure = end.error;
    run->signalled = WIFSIGNALED(end.status);
    run->code = run->signalled ? WTERMSIG(end.status) : WEXITSTATUS(end.status);
    errno = end.error;
    return end.pid > 0;
}

/* --- What was left ------------------------------------------------------------------------- */

/* Reads a regular file from an offset on, to be freed; NULL: there is nothing to read. The user's
 * log may be a FIFO; its content is left to its reader. */
static char *read_file(const char *path, long offset)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    long size = regular ? (long)status.st_size - offset : 0;
    char *text = size > 0 && size <= ACCOUNT_BYTES_MAX ? malloc((size_t)size + 1) : NULL;
    if (text) {
        ssize_t got = pread(fd, text, (size_t)size, offset);
        text[got > 0 ? got : 0] = '\0';
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* Takes "binding NAME MODULE TARGET", separated by tabs; TARGET "=": the module's own
 * definition. */
static void take_binding(struct doctor_objects *objects, char *text)
{
    char *name = strsep(&text, "\t"), *module = strsep(&text, "\t"), *target = text;
    int id = name ? doctor_names_find(name) : -1;
    struct doctor_object *object =
        id >= 0 && module && target ? doctor_objects_add(objects, module) : NULL;
    if (!object)
        return;
    if (!strcmp(target, "=")) {
        doctor_names_add(&object->self, id);
    } else if (doctor_text_is_library(target)) {
        doctor_names_add(&object->taken, id);
    } else {
        struct doctor_object *other = doctor_objects_add(objects, target);
        if (other && doctor_names_next(&other->elf.defines, id) == id) {
            doctor_names_add(&object->elsewhere, id);
            doctor_text_set(object->target, sizeof object->target, "%s", target);
        }
    }
}

static void take_process(struct doctor_run *run, struct doctor_objects *objects, char *text,
                         bool main)
{
    char *rest = text, *line;
    run->processes++;
    run->told |= main;
    while ((line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '\t');
        if (!value)
            continue;
        *value++ = '\0';
        if (!strcmp(line, "object")) {
            run->preloaded |= main && doctor_text_is_library(value);
            (void)doctor_objects_add(objects, value);
        } else if (!strcmp(line, "apart")) {
            struct doctor_object *object = doctor_objects_add(objects, value);
            if (object)
                object->apart = true;
        } else if (!strcmp(line, "binding")) {
            take_binding(objects, value);
        } else if (!strcmp(line, "forward")) {
            const char *file = strsep(&value, "\t");
            struct doctor_object *object = doctor_objects_add(objects, file);
            if (object && value)
                object->leads |= doctor_text_is_library(value);
        }
    }
}

static void take_processes(struct doctor_run *run, struct doctor_objects *objects,
                           const struct place *place, pid_t pid)
{
    char path[PATH_MAX + sizeof(struct dirent)];
    DIR *files = opendir(place->folder);
    for (struct dirent *entry;
         files && run->processes < PROCESSES_MAX && (entry = readdir(files));) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        doctor_text_set(path, sizeof path, "%s/%s", place->folder, entry->d_name);
        char *text = read_file(path, 0);
        if (text)
            take_process(run, objects, text, atol(entry->d_name) == (long)pid);
        free(text);
    }
    if (files)
        closedir(files);
}

/* --- Executed files, each read once, in the same way as the named program ------------------- */

/* The time that a process takes after its last line, to free its memory. */
static const double LEAVING_S = 1e-3;

static bool is_child(const struct doctor_run *run, const char *path)
{
    for (int i = 0; i < run->child_count; i++)
        if (!strcmp(run->children[i].path, path))
            return true;
    return false;
}

/* Takes "KEPT STARTER PATH", separated by tabs. */
static void take_start(struct doctor_run *run, char *text)
{
    struct doctor_program program;
    const char *kept = strsep(&text, "\t"), *starter = text ? strsep(&text, "\t") : NULL;
    if (!starter || !text)
        return;
    doctor_program_read(&program, text);
    enum doctor_reach reach = program.reach;
    if (program.state == DOCTOR_PROGRAM_FOUND && reach == DOCTOR_REACHED && *kept == '0')
        reach = DOCTOR_REACH_ENVIRONMENT;
    if (reach == DOCTOR_REACHED || is_child(run, program.path) ||
        run->child_count == DOCTOR_CHILDREN)
        return;
    struct doctor_child *child = &run->children[run->child_count++];
    *child = (struct doctor_child){.reach = reach, .multiplies = program.multiplies};
    doctor_text_set(child->path, sizeof child->path, "%s", program.path);
    doctor_text_set(child->starter, sizeof child->starter, "%s", starter);
}

/* A script may start the same file a thousand times. */
static bool is_seen(const char *seen[STARTS_MAX], int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(seen[i], text))
            return true;
    if (*count == STARTS_MAX)
        return true;
    seen[*count] = strdup(text);
    *count += seen[*count] != NULL;
    return false;
}

/* Reads the journal of tools/witness_exec.c, and sets the run's children and untold_s. */
static void take_journal(struct doctor_run *run, const struct place *place)
{
    static const char *seen[STARTS_MAX];
    char path[PATH_MAX + 16];
    int count = 0;
    double told_s = 0;
    doctor_text_set(path, sizeof path, "%s/journal", place->folder);
    char *text = read_file(path, 0);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        if (!strncmp(line, "end\t", 4))
            told_s += 1e-6 * strtod(line + 4, NULL) + LEAVING_S;
        else if (!strncmp(line, "start\t", 6) && !is_seen(seen, &count, line + 6))
            take_start(run, line + 6);
    }
    if (text)
        run->untold_s = run->cores_s > told_s ? run->cores_s - told_s : 0;
    free(text);
}

/* --- The log ------------------------------------------------------------------------------- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

/* With XGEMM_VERBOSE or XGEMM_STATS the user wants to read the whole log in its usual place. */
static void take_log(struct doctor_run *run, const struct place *place)
{
    bool wanted = is_set("XGEMM_VERBOSE") || is_set("XGEMM_STATS");
    char *text = read_file(place->log, place->log_bytes);
    if (text && wanted && place->own_log)
        fputs(text, stderr);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        run->unaccounted |= !strncmp(line, "xgemm: XGEMM_ACCOUNT=", 21);
        if (!wanted && !strncmp(line, "xgemm: ", 7))
            doctor_texts_add(&run->messages, "%s", line + 7);
    }
    free(text);
}

bool doctor_run_start(struct doctor_run *run, const struct doctor_preload *preload,
                      char *const argv[], struct doctor_objects *objects)
{
    char witness[DOCTOR_PATH_BYTES];
    struct place place;
    pid_t pid = -1;
    *run = (struct doctor_run){.witness = find_witness(witness)};
    if (!make_place(&place))
        return false;
    bool started = run_program(run, preload, &place, argv, &pid);
    int error = errno;
    if (run->ran) {
        take_processes(run, objects, &place, pid);
        take_journal(run, &place);
        take_log(run, &place);
        accounts_read(place.accounts, &run->account);
    }
    accounts_folder_remove(place.folder);
    child_restore();
    errno = error;
    return started;
}
