/* SPDX-License-Identifier: MIT */
/*
 * The loop over a program's constructors. glibc before 2.34 links it into each program; the start
 * files of newer versions leave it to libc, and the libc of older machines lacks it. Linked with
 * --wrap=__libc_start_main.
 */
#include <stddef.h>

typedef int main_function(int argc, char **argv, char **envp);
typedef void constructor(int argc, char **argv, char **envp);

/* The linker defines these. */
extern constructor *__init_array_start[], *__init_array_end[];
void _init(void);

/* libc's function, and the one that the start file calls instead. */
int __real___libc_start_main(main_function *main, int argc, char **argv,
                             void (*init)(int, char **, char **), void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_function *main, int argc, char **argv,
                             void (*init)(int, char **, char **), void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end);

static void construct(int argc, char **argv, char **envp)
{
    _init();
    for (constructor **each = __init_array_start; each < __init_array_end; each++)
        (*each)(argc, argv, envp);
}

int __wrap___libc_start_main(main_function *main, int argc, char **argv,
                             void (*init)(int, char **, char **), void (*fini)(void),
                             void (*loader_fini)(void), void *stack_end)
{
    return __real___libc_start_main(main, argc, argv, init ? init : construct, fini, loader_fini,
                                    stack_end);
}
