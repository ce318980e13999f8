/* SPDX-License-Identifier: MIT */
/* Checks what getenv and the environment return in a program, and in one of its libraries when it
 * is loaded. */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef ENVIRONMENT_LIBRARY /* linked to the program, so that its constructor runs before all       \
                              others */

const char *environment_told;
bool environment_home;

__attribute__((constructor)) static void ask(void)
{
    environment_told = getenv("OPENBLAS_THREAD_TIMEOUT");
    environment_home = getenv("HOME") && !getenv("HOM") && !getenv("HOMES") && !getenv("");
}

#elif defined ENVIRONMENT_CHOSEN /* asks while it is relocated, before the library is ready */

static int one(void)
{
    return 1;
}

static int other(void)
{
    return 2;
}

static int (*choose(void))(void)
{
    return getenv("OPENBLAS_THREAD_TIMEOUT") || getenv("XT_NONE") || getenv("") ? other : one;
}

int environment_chosen(void) __attribute__((ifunc("choose")));

#elif defined ENVIRONMENT_TABLE /* takes the function's address instead of calling it */

int environment_chosen(void);
int (*const environment_table[])(void) = {environment_chosen};

#elif defined ENVIRONMENT_BEHIND /* preloaded behind the library, whose getenv asks it first */

char *getenv(const char *name)
{
    static char answer[] = "behind";
    return strcmp(name, "ONLY_BEHIND") ? NULL : answer;
}

#else

extern const char *environment_told;
extern bool environment_home;

static bool right = true;

static void check(bool holds, const char *what)
{
    if (!holds)
        printf("wrong: %s\n", what);
    right = right && holds;
}

/* getenv returns the environment's own strings, also after the environment has changed. */
static void check_names(void)
{
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        char name[256];
        if (length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *entry);
        check(getenv(name) == *entry + length + 1, name);
    }
    static char put[] = "XT_PUT=1";
    errno = ERANGE;
    check(!getenv("XT_PUT") && !getenv("") && !getenv("OPENBLAS_THREAD_TIMEOU") &&
              !getenv("OPENBLAS_THREAD_TIMEOUTS"),
          "names that are not there");
    check(errno == ERANGE, "errno");
    check(putenv(put) == 0 && getenv("XT_PUT") == put + 7, "putenv");
    check(setenv("XT_PUT", "2", 1) == 0 && !strcmp(getenv("XT_PUT"), "2"), "setenv");
    check(unsetenv("XT_PUT") == 0 && !getenv("XT_PUT"), "unsetenv");
}

static void *ask_often(void *told)
{
    for (int i = 0; i < 10000; i++) {
        const char *now = getenv("OPENBLAS_THREAD_TIMEOUT");
        if (!now != !told || (now && strcmp(now, told)))
            return told ? told : (void *)(uintptr_t) "told";
    }
    return NULL;
}

/* With traps and upward rounding getenv answers the same and raises no flag. Contract 7.2. */
static void check_floating_point(const char *told)
{
    fenv_t before;
    fegetenv(&before);
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    const char *now = getenv("OPENBLAS_THREAD_TIMEOUT");
    int raised = fetestexcept(FE_ALL_EXCEPT), rounding = fegetround();
    fesetenv(&before);
    check(raised == 0 && rounding == FE_UPWARD, "the floating-point environment");
    check(!now == !told && (!now || !strcmp(now, told)), "the answer while the program rounds up");
}

static void check_threads(const char *told)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ask_often, (void *)(uintptr_t)told);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        check(!wrong, "what one of several threads is told");
    }
}

/* A child, and code that reads the environment itself, do not see the variable. */
static void check_unset(void)
{
    for (char **entry = environ; *entry; entry++)
        check(strncmp(*entry, "OPENBLAS_THREAD_TIMEOUT", 23) != 0, "the environment has changed");
    check(system("test -z \"${OPENBLAS_THREAD_TIMEOUT+set}\"") == 0, "a child's has changed");
}

/* arguments: the value that getenv is to return, "-" for none; "set" if the environment has it. */
int main(int argc, char **argv)
{
    const char *wanted = argc > 1 && strcmp(argv[1], "-") ? argv[1] : NULL;
    const char *told = getenv("OPENBLAS_THREAD_TIMEOUT");
    check(wanted ? told && !strcmp(told, wanted) : !told, "what the program is told");
    told = environment_told;
    check(wanted ? told && !strcmp(told, wanted) : !told, "what a constructor is told");
    check(environment_home, "HOME, in a constructor");
    check_names();
    check_floating_point(wanted);
    check_threads(wanted);
    if (argc < 3)
        check_unset();
    puts(right ? "right" : "wrong");
    return !right;
}

#endif
