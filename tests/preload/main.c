/* SPDX-License-Identifier: MIT */
/*
 * A program whose modules multiply. Each argument group runs one module twice and prints how it
 * went:
 *   own SIZE                  the module that is linked in (with MAIN_OWN)
 *   plugin FILE SIZE          a plug-in, loaded with RTLD_LOCAL
 *   turns FILE FILE2 SIZE     a plug-in that is closed before the second one is loaded, where
 *                             possible at the same address, and the first one again
 *   pointer FILE FILE2 SIZE   a plug-in that is given the function that another one calls
 *   given FILE SIZE           the module that is linked in (with MAIN_GIVEN), given the function
 *                             that a plug-in calls
 *   beside FILE FILE2 SIZE    the same, given the functions of two plug-ins in turns, in threads
 *   load FILE                 a library that is loaded with RTLD_GLOBAL and stays unused
 *   hold FILE                 the same, with RTLD_LOCAL
 *   error HOW                 prints from here on what dlerror returns after each run; before it a
 *                             library is not found (pending), dlerror has returned that (told), or
 *                             there is no error (none)
 *   as NAME                   goes on as a program that was started under that name
 */
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/support/xt.h"

typedef int main_run(int size);
typedef int main_run_with(void *function, int size);
typedef void *main_function_get(void);

#ifdef MAIN_GIVEN
extern main_run_with caller_run_with;
#endif
#ifdef MAIN_OWN
extern main_run caller_run;
#endif

static void *main_symbol(const char *file, int flags, const char *name)
{
    void *handle = dlopen(file, flags);
    void *symbol = handle ? name ? dlsym(handle, name) : handle : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(XT_HARD);
    }
    return symbol;
}

/* --- What dlerror returns around a run ----------------------------------------------------- */

static const char *main_error; /* the argument HOW; NULL: nothing is printed */
static const char *main_text;  /* what dlerror returned before the run */

static void main_before(void)
{
    main_text = NULL;
    if (!main_error)
        return;
    (void)dlerror();
    if (strcmp(main_error, "none") != 0 && dlopen("/nowhere/libnone.so", RTLD_NOW))
        exit(XT_HARD);
    if (!strcmp(main_error, "told"))
        main_text = dlerror();
}

static int main_after(int right)
{
    if (!main_error)
        return right;
    if (main_text)
        printf("told %s\n", main_text);
    main_text = dlerror();
    printf("dlerror %s\n", main_text ? main_text : "says nothing");
    return right;
}

/* The value of an expression that multiplies. */
#define MAIN_RUN(run) (main_before(), main_after(run))

static void main_report(const char *what, int first, int second)
{
    XT_CHECK(first && second, "%s", what);
    printf("%s %s\n", what, first && second ? "right" : "WRONG");
}

/* Loads a plug-in, runs it and closes it again. Returns its function's address. */
static void *main_turn(const char *file, int size)
{
    void *handle = main_symbol(file, RTLD_NOW, NULL);
    void *run = dlsym(handle, "caller_run");
    int first = MAIN_RUN(((main_run *)run)(size));
    main_report("turn", first, MAIN_RUN(((main_run *)run)(size)));
    dlclose(handle);
    return run;
}

/* Loads plug-ins three times; the test needs two in a row at the same address. */
static void main_turns(const char *file, const char *file2, int size)
{
    void *first = main_turn(file, size), *second = main_turn(file2, size + 1);
    void *third = main_turn(file, size + 2);
    if (second != first && third != second) {
        fprintf(stderr, "the plug-ins lie apart\n");
        exit(XT_HARD);
    }
}

#ifdef MAIN_GIVEN
static void *main_given(const char *file)
{
    return ((main_function_get *)main_symbol(file, RTLD_LAZY, "caller_function_get"))();
}

struct main_pair {
    void *functions[2];
    int size;
};

static void *main_in_turns(void *context)
{
    const struct main_pair *pair = context;
    intptr_t right = 1;
    for (int i = 0; i < 50; i++)
        right &= caller_run_with(pair->functions[i % 2], pair->size);
    return (void *)right;
}

static void main_beside(const char *file, const char *file2, int size)
{
    struct main_pair pair = {{main_given(file), main_given(file2)}, size};
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, main_in_turns, &pair) != 0)
            exit(XT_HARD);
    for (int i = 0; i < 8; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        main_report("beside", right != NULL, right != NULL);
    }
}
#endif

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 1; i < argc;) {
        if ((!strcmp(argv[i], "load") || !strcmp(argv[i], "hold")) && i + 1 < argc) {
            main_symbol(argv[i + 1], RTLD_NOW | (*argv[i] == 'l' ? RTLD_GLOBAL : 0), NULL);
            i += 2;
        } else if (!strcmp(argv[i], "plugin") && i + 2 < argc) {
            main_run *run = (main_run *)main_symbol(argv[i + 1], RTLD_NOW, "caller_run");
            int size = atoi(argv[i + 2]), first = MAIN_RUN(run(size));
            main_report("plugin", first, MAIN_RUN(run(size)));
            i += 3;
        } else if (!strcmp(argv[i], "turns") && i + 3 < argc) {
            main_turns(argv[i + 1], argv[i + 2], atoi(argv[i + 3]));
            i += 4;
        } else if (!strcmp(argv[i], "pointer") && i + 3 < argc) {
            main_function_get *get =
                (main_function_get *)main_symbol(argv[i + 1], RTLD_LAZY, "caller_function_get");
            main_run_with *run =
                (main_run_with *)main_symbol(argv[i + 2], RTLD_NOW, "caller_run_with");
            int size = atoi(argv[i + 3]), first = MAIN_RUN(run(get(), size));
            main_report("pointer", first, MAIN_RUN(run(get(), size)));
            i += 4;
        } else if (!strcmp(argv[i], "error") && i + 1 < argc) {
            main_error = argv[i + 1];
            i += 2;
        } else if (!strcmp(argv[i], "as") && i + 1 < argc) {
            execv("/proc/self/exe", argv + i + 1);
            return XT_HARD;
#ifdef MAIN_GIVEN
        } else if (!strcmp(argv[i], "given") && i + 2 < argc) {
            void *given = main_given(argv[i + 1]);
            int size = atoi(argv[i + 2]), first = MAIN_RUN(caller_run_with(given, size));
            main_report("given", first, MAIN_RUN(caller_run_with(given, size)));
            i += 3;
        } else if (!strcmp(argv[i], "beside") && i + 3 < argc) {
            main_beside(argv[i + 1], argv[i + 2], atoi(argv[i + 3]));
            i += 4;
#endif
#ifdef MAIN_OWN
        } else if (!strcmp(argv[i], "own") && i + 1 < argc) {
            int size = atoi(argv[i + 1]), first = MAIN_RUN(caller_run(size));
            main_report("own", first, MAIN_RUN(caller_run(size)));
            i += 2;
#endif
        } else {
            fprintf(stderr, "cannot do %s\n", argv[i]);
            return XT_HARD;
        }
    }
    return xt_failures ? XT_FAIL : XT_PASS;
}
