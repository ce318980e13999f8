/* SPDX-License-Identifier: MIT */
/*
 * Programs and libraries that provoke the findings of xgemm-doctor. Compiled by
 * tests/tool/doctor.sh, with any of
 *   DOCTOR_NAME   the function that is called instead of cblas_sgemm, with DOCTOR_REAL, its type;
 *                 or with DOCTOR_LAPACK, if it has the arguments of dpotrf_
 *   DOCTOR_BLAS   the visibility of a function of its own: "default", "protected", "hidden"
 *   DOCTOR_KIT    has cblas_saxpy too, as a BLAS does
 *   DOCTOR_OPENMP reports four threads of libgomp, as an OpenMP build of OpenBLAS does
 *   DOCTOR_MKL    has MKL's sentence in it
 *   DOCTOR_XERBLA has OpenBLAS's message about illegal arguments in it
 *   DOCTOR_REFUSE a mkdir that fails with a full disk for a folder of this name: "account"
 *   DOCTOR_RUN    a function that multiplies
 *   DOCTOR_MAIN   a program; each word or pair of its arguments is done in turn:
 *                   own, multiply N   multiplies by the function that is linked in
 *                   open FILE         the function of a plug-in, opened as usual
 *                   deep FILE         the same with RTLD_DEEPBIND
 *                   apart FILE        the same with dlmopen
 *                   handle FILE       with the function from the library's handle
 *                   spawn FILE, vfork FILE, list FILE, env FILE
 *                                     starts it with "multiply 400", by posix_spawn, vfork and
 *                                     execv, execlp, execle without an environment
 *                   filter            forbids itself all system calls but the one that ends it
 *                   abort, leave      ends by a signal, by _exit
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/filter.h"

#ifndef DOCTOR_NAME
#define DOCTOR_NAME cblas_sgemm
#endif
#ifndef DOCTOR_REAL
#define DOCTOR_REAL float
#endif
#define DOCTOR_QUOTE(name) #name
#define DOCTOR_TEXT(name) DOCTOR_QUOTE(name)

#ifdef DOCTOR_LAPACK
typedef void doctor_function(const char *uplo, const int *n, double *a, const int *lda, int *info);
#else
typedef void doctor_function(int order, int transa, int transb, int m, int n, int k,
                             DOCTOR_REAL alpha, const DOCTOR_REAL *a, int lda, const DOCTOR_REAL *b,
                             int ldb, DOCTOR_REAL beta, DOCTOR_REAL *c, int ldc);
#endif

#if defined(DOCTOR_BLAS) && defined(DOCTOR_LAPACK)
doctor_function DOCTOR_NAME;

__attribute__((visibility(DOCTOR_BLAS), noinline)) void
DOCTOR_NAME(const char *uplo, const int *n, double *a, const int *lda, int *info)
{
    (void)uplo, (void)lda;
    for (long i = 0; i < 100L * *n * *n; i++)
        a[i % *n] += 1;
    *info = 0;
}
#elif defined(DOCTOR_BLAS)
doctor_function DOCTOR_NAME;

__attribute__((visibility(DOCTOR_BLAS), noinline)) void
DOCTOR_NAME(int order, int transa, int transb, int m, int n, int k, DOCTOR_REAL alpha,
            const DOCTOR_REAL *a, int lda, const DOCTOR_REAL *b, int ldb, DOCTOR_REAL beta,
            DOCTOR_REAL *c, int ldc)
{
    (void)order, (void)transa, (void)transb;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            DOCTOR_REAL sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * lda + l] * b[l * ldb + j];
            c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
        }
}
#elif defined(DOCTOR_RUN)
extern doctor_function DOCTOR_NAME;
#endif

#ifdef DOCTOR_KIT
void cblas_saxpy(void);
void cblas_saxpy(void) {}
#endif

#ifdef DOCTOR_OPENMP
int openblas_get_num_threads(void), openblas_get_parallel(void), omp_get_max_threads(void),
    omp_in_parallel(void);
int openblas_get_num_threads(void)
{
    return 4;
}
int openblas_get_parallel(void)
{
    return 2;
}
int omp_get_max_threads(void)
{
    return 4;
}
int omp_in_parallel(void)
{
    return 0;
}
#endif

#ifdef DOCTOR_MKL
extern const char doctor_mkl[];
const char doctor_mkl[] = "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build";
#endif

#ifdef DOCTOR_XERBLA
extern const char doctor_xerbla[];
__attribute__((used)) const char doctor_xerbla[] =
    " ** On entry to %6s parameter number %2d had an illegal value\n";
#endif

#ifdef DOCTOR_REFUSE
int mkdir(const char *path, mode_t mode)
{
    const char *name = strrchr(path, '/');
    int (*next)(const char *, mode_t);
    *(void **)&next = dlsym(RTLD_NEXT, "mkdir");
    errno = ENOSPC;
    return name && !strcmp(name + 1, DOCTOR_REFUSE) ? -1 : next(path, mode);
}
#endif

#if defined(DOCTOR_RUN) || defined(DOCTOR_MAIN)
static void doctor_multiply(doctor_function *function, int n)
{
    DOCTOR_REAL *matrix = calloc((size_t)(2 * n * n), sizeof *matrix);
#ifdef DOCTOR_LAPACK
    int info;
    for (int i = 0; matrix && i < n; i++)
        matrix[i * n + i] = 1;
    if (matrix)
        function("L", &n, matrix, &n, &info);
#else
    if (matrix)
        function(101, 111, 111, n, n, n, 1, matrix, n, matrix, n, 0, matrix + n * n, n);
#endif
    free(matrix);
}
#endif

#ifdef DOCTOR_RUN
int doctor_run(int n);

int doctor_run(int n)
{
    doctor_multiply(DOCTOR_NAME, n);
    return n;
}
#endif

#ifdef DOCTOR_MAIN
enum { SIZE = 200, BROKEN = 99 };

#ifdef DOCTOR_RUN
extern int doctor_run(int n);
#endif

static void *doctor_symbol(void *handle, const char *name)
{
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(BROKEN);
    }
    return symbol;
}

static void doctor_open(const char *how, const char *file)
{
    void *handle = !strcmp(how, "apart")
                       ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW)
                       : dlopen(file, RTLD_NOW | (strcmp(how, "deep") ? 0 : RTLD_DEEPBIND));
    if (!strcmp(how, "handle"))
        doctor_multiply((doctor_function *)doctor_symbol(handle, DOCTOR_TEXT(DOCTOR_NAME)), SIZE);
    else
        ((int (*)(int))doctor_symbol(handle, "doctor_run"))(SIZE);
}

static void doctor_filter(void)
{
    struct sock_filter filter[] = {FILTER_NUMBER, FILTER_ALLOW(SYS_exit_group),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        exit(BROKEN);
}

/* Starts the file; false if `how` is no way to start one. */
static int doctor_start(const char *how, const char *file)
{
    char *argv[] = {(char *)file, "multiply", "400", NULL}, *none[] = {NULL};
    pid_t pid = -1;
    if (!strcmp(how, "spawn"))
        posix_spawn(&pid, file, NULL, NULL, argv, environ);
    else if (!strcmp(how, "vfork")) {
        pid = vfork();
        if (pid == 0) {
            execv(file, argv);
            _exit(127);
        }
    } else if (!strcmp(how, "list") || !strcmp(how, "env")) {
        pid = fork();
        if (pid == 0 && *how == 'l')
            execlp(file, argv[0], argv[1], argv[2], (char *)NULL);
        if (pid == 0)
            execle(file, argv[0], argv[1], argv[2], (char *)NULL, none);
    } else
        return 0;
    int status;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid || status != 0)
        exit(BROKEN);
    return 1;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "abort"))
            raise(SIGKILL);
        else if (!strcmp(argv[i], "filter"))
            doctor_filter();
        else if (!strcmp(argv[i], "leave"))
            _exit(4);
#ifdef DOCTOR_RUN
        else if (!strcmp(argv[i], "own"))
            doctor_run(SIZE);
        else if (!strcmp(argv[i], "multiply") && i + 1 < argc)
            doctor_run(atoi(argv[++i]));
#endif
        else if (i + 1 < argc) {
            if (!doctor_start(argv[i], argv[i + 1]))
                doctor_open(argv[i], argv[i + 1]);
            i++;
        }
    }
    return 0;
}
#endif
