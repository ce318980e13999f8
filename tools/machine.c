/* SPDX-License-Identifier: MIT */
/* Makes the calls of `xgemm-run report --machine`, which runs it with XGEMM_MODE=compare. */
/*
 * It calls the Fortran names, as programs do; the preloaded library computes each call on both
 * sides and prints their times and errors at the end.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/base/random.h"

/* Integers of 64 bits are right for libraries of either width: they are passed by address on a
 * little-endian machine. */
typedef int64_t integer;

enum { POOL_BYTES = 8192 * 8192 * 4, CALLS_MIN = 2, CALLS_MAX = 6 };
static const double enough_s = 1.5;

static struct {
    void *a, *b, *c; /* POOL_BYTES each */
    uint64_t state;
    void *function;
} run;

struct call {
    const char *name;
    void (*compute)(const struct call *);
    integer m, n, k;
};

/* --- Numbers --------------------------------------------------------------------------------- */

static bool is_single(const struct call *call)
{
    return call->name[0] == 's' || call->name[0] == 'c';
}

static int64_t elem_bytes(const struct call *call)
{
    const bool is_complex = call->name[0] == 'c' || call->name[0] == 'z';
    return (is_single(call) ? 4 : 8) * (is_complex ? 2 : 1);
}

/* Uniform in [-1, 1): on zeros a kernel draws less power and clocks higher. All bits are random, so
 * that the errors are those of any data: numbers on a coarse grid add up exactly, or all in one
 * direction. */
static void fill(const struct call *call, void *to, int64_t elems)
{
    const bool single = is_single(call);
    const int64_t count = elems * elem_bytes(call) / (single ? 4 : 8);
    for (int64_t i = 0; i < count; i++) {
        const double value = (double)((int64_t)xg_random_next(&run.state) >> 10) * 0x1p-53;
        if (single)
            ((float *)to)[i] = (float)value;
        else
            ((double *)to)[i] = value;
    }
}

/* --- The calls ------------------------------------------------------------------------------- */

static const float one_s[2] = {1}, zero_s[2] = {0};
static const double one_d[2] = {1}, zero_d[2] = {0};

static const void *scalar(const struct call *call, bool one)
{
    if (is_single(call))
        return one ? one_s : zero_s;
    return one ? one_d : zero_d;
}

static void gemm(const struct call *call)
{
    void (*function)(const char *, const char *, const integer *, const integer *, const integer *,
                     const void *, const void *, const integer *, const void *, const integer *,
                     const void *, void *, const integer *, size_t, size_t) = run.function;
    function("N", "N", &call->m, &call->n, &call->k, scalar(call, true), run.a, &call->m, run.b,
             &call->k, scalar(call, false), run.c, &call->m, 1, 1);
}

static void syrk(const struct call *call)
{
    void (*function)(const char *, const char *, const integer *, const integer *, const void *,
                     const void *, const integer *, const void *, void *, const integer *, size_t,
                     size_t) = run.function;
    function("L", "N", &call->n, &call->k, scalar(call, true), run.a, &call->n, scalar(call, false),
             run.c, &call->n, 1, 1);
}

static void potrf(const struct call *call)
{
    void (*function)(const char *, const integer *, void *, const integer *, integer *, size_t) =
        run.function;
    integer info = 0;
    for (integer i = 0; i < call->n; i++) {
        const double diagonal = (double)call->n;
        if (is_single(call))
            ((float *)run.a)[i * (call->n + 1)] = (float)diagonal;
        else
            ((double *)run.a)[i * (call->n + 1)] = diagonal;
    }
    function("L", &call->n, run.a, &call->n, &info, 1);
}

static void getrf(const struct call *call)
{
    void (*function)(const integer *, const integer *, void *, const integer *, integer *,
                     integer *) = run.function;
    integer info = 0;
    function(&call->m, &call->n, run.a, &call->m, run.b, &info);
}

static void geqrf(const struct call *call)
{
    void (*function)(const integer *, const integer *, void *, const integer *, void *, void *,
                     const integer *, integer *) = run.function;
    integer info = 0, query = -1;
    double answer = 0; /* of dgeqrf */
    function(&call->m, &call->n, run.a, &call->m, run.b, &answer, &query, &info);
    const integer work = (integer)answer;
    if (info == 0 && work >= call->n && work <= POOL_BYTES / elem_bytes(call))
        function(&call->m, &call->n, run.a, &call->m, run.b, run.c, &work, &info);
}

static void syevd(const struct call *call)
{
    void (*function)(const char *, const char *, const integer *, void *, const integer *, void *,
                     void *, const integer *, integer *, const integer *, integer *, size_t,
                     size_t) = run.function;
    integer info = 0, work = 1 + 6 * call->n + 2 * call->n * call->n, integers = 3 + 5 * call->n;
    integer *iwork = calloc((size_t)integers, sizeof *iwork);
    if (iwork)
        function("V", "L", &call->n, run.a, &call->n, run.b, run.c, &work, iwork, &integers, &info,
                 1, 1);
    free(iwork);
}

/* Singular values and vectors; a, the vectors and the workspace share the pools. */
static void gesdd(const struct call *call)
{
    void (*function)(const char *, const integer *, const integer *, void *, const integer *,
                     void *, void *, const integer *, void *, const integer *, void *,
                     const integer *, integer *, integer *, size_t) = run.function;
    const size_t square = (size_t)(call->n * call->n * elem_bytes(call));
    char *u = (char *)run.b, *vt = u + square, *values = vt + square;
    integer info = 0, work = 4 * call->n * (call->n + 7);
    integer *iwork = calloc((size_t)(8 * call->n), sizeof *iwork);
    if (iwork)
        function("S", &call->n, &call->n, run.a, &call->n, values, u, &call->n, vt, &call->n, run.c,
                 &work, iwork, &info, 1);
    free(iwork);
}

static const struct call calls[] = {
    {"sgemm_", gemm, 512, 512, 512},    {"sgemm_", gemm, 1024, 1024, 1024},
    {"sgemm_", gemm, 2048, 2048, 2048}, {"sgemm_", gemm, 4096, 4096, 4096},
    {"sgemm_", gemm, 8192, 8192, 8192}, {"sgemm_", gemm, 4096, 64, 4096},
    {"dgemm_", gemm, 512, 512, 512},    {"dgemm_", gemm, 1024, 1024, 1024},
    {"dgemm_", gemm, 2048, 2048, 2048}, {"dgemm_", gemm, 4096, 4096, 4096},
    {"cgemm_", gemm, 2048, 2048, 2048}, {"zgemm_", gemm, 2048, 2048, 2048},
    {"dsyrk_", syrk, 4096, 4096, 4096}, {"spotrf_", potrf, 4096, 4096, 0},
    {"dpotrf_", potrf, 4096, 4096, 0},  {"dgetrf_", getrf, 4096, 4096, 0},
    {"dgeqrf_", geqrf, 4096, 4096, 0},  {"dsyevd_", syevd, 2048, 2048, 0},
    {"sgesdd_", gesdd, 2048, 2048, 0},  {"dgesdd_", gesdd, 2048, 2048, 0},
};

/* The first call of a shape may load a kernel, and is not part of the printed means. */
static void repeat(const struct call *call)
{
    double begin = xg_clock_s();
    for (int i = 0; i < CALLS_MAX && (i < CALLS_MIN || xg_clock_s() - begin < enough_s); i++) {
        fill(call, run.a, call->m * (call->k ? call->k : call->n));
        fill(call, run.b, call->k * call->n);
        call->compute(call);
    }
}

/* The argument divides the sizes: a test has no time for more. */
int main(int argc, char **argv)
{
    const integer divisor = argc > 1 ? atoi(argv[1]) : 1;
    const char *file = getenv("XGEMM_CPU_BLAS");
    if (!file || !*file)
        file = XG_DEFAULT_CPU_BLAS;
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "xgemm-machine: %s; XGEMM_CPU_BLAS names another library\n", dlerror());
        return EXIT_FAILURE;
    }
    run.a = malloc(POOL_BYTES);
    run.b = malloc(POOL_BYTES);
    run.c = malloc(POOL_BYTES);
    if (!run.a || !run.b || !run.c) {
        fprintf(stderr, "xgemm-machine: out of memory\n");
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct call call = calls[i];
        call.m /= divisor;
        call.n /= divisor;
        call.k /= divisor;
        run.function = dlsym(RTLD_DEFAULT, call.name); /* this library's */
        if (dlsym(library, call.name))
            repeat(&call);
        else
            printf("%s: not in %s\n", call.name, file);
    }
    return EXIT_SUCCESS;
}
