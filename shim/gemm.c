/* SPDX-License-Identifier: MIT */
/*
 * The door: every intercepted name leads to shim_sgemm, which computes the call through the engine
 * or passes it on to the caller's own BLAS.
 */
#include "../src/cpu.h"
#include "../src/dispatch.h"
#include "../src/log.h"
#include "end.h"
#include "next.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

/*
 * Calls of this thread that are under way. Reference BLAS and BLIS call sgemm_ from their
 * cblas_sgemm through the PLT, and so come back here: such a call belongs to the one under way, and
 * is passed on uncounted. Initial-exec: a plain offset, which needs no allocation in a signal
 * handler or at exit.
 */
static _Thread_local int shim_depth __attribute__((tls_model("initial-exec")));

struct shim_pending {
    const struct shim_call *call;
    const struct shim_args *args;
    const struct shim_next *next;
};

static void shim_cpu_whole(void *context)
{
    const struct shim_pending *pending = context;
    if (!shim_end_enter()) {
        xg_cpu_sgemm(&pending->args->product);
        return;
    }
    if (pending->next->forwards)
        shim_blas_forward(&pending->next->blas, pending->call);
    else
        shim_blas_product(&pending->next->blas, &pending->args->product);
    shim_end_leave();
}

static void shim_cpu_part(void *context, const struct xg_sgemm *part)
{
    const struct shim_pending *pending = context;
    if (!shim_end_enter()) {
        xg_cpu_sgemm(part);
        return;
    }
    shim_blas_product(&pending->next->blas, part);
    shim_end_leave();
}

static const char *shim_cpu_library(void *context)
{
    const struct shim_pending *pending = context;
    return pending->next->blas.function ? shim_blas_file(&pending->next->blas) : NULL;
}

/* The built-in loop, where there is no library, has the caller's thread alone. */
static int shim_cpu_threads(void *context)
{
    const struct shim_pending *pending = context;
    return pending->next->blas.function
               ? shim_threads_count(&pending->next->blas.threads, &pending->args->product)
               : 1;
}

static void shim_cpu_set_threads(void *context, int count)
{
    const struct shim_pending *pending = context;
    pending->next->blas.threads.set(count);
}

static enum xg_pool shim_cpu_pool(const struct shim_next *next)
{
    return next->blas.function ? next->blas.threads.pool : XG_POOL_NONE;
}

/*
 * A call that the BLAS standard refuses. The caller's library decides what it means: it may accept
 * it, report it under its own number, or never return (stop, exit, longjmp, throw), which is why
 * shim_depth is left alone. Where the call would have to be translated the report is ours.
 */
static void shim_refused(const struct shim_pending *pending)
{
    if (pending->next->forwards)
        shim_blas_forward(&pending->next->blas, pending->call);
    else
        xg_log(XG_LOG_WARN, "%s: argument %d is illegal; nothing is computed",
               pending->call->symbol->name, pending->args->illegal);
}

/*
 * What the engine does not want goes straight on, unread but for its size, and without a mark in
 * shim_depth: it may be illegal, and never return. A library that then calls itself by name comes
 * back with the same size, which is not wanted either; were it wanted, it would be one call all the
 * same.
 */
static void shim_sgemm(enum shim_id id, const void *caller, struct shim_call *call)
{
    struct shim_next next;
    struct shim_args args;
    int64_t m, n, k;

    call->symbol = &shim_symbols[id];
    shim_next_find(id, caller, &next);
    shim_args_size(call, next.int_bytes, &m, &n, &k);
    bool ours = shim_depth == 0 && xg_dispatch_wants(m, n, k);
    bool accompanied = !ours && shim_depth == 0 && shim_end_wants(m, n, k);
    if (!ours && !accompanied && next.forwards) {
        shim_blas_forward(&next.blas, call);
        return;
    }

    struct shim_pending pending = {call, &args, &next};
    shim_args_read(call, next.int_bytes, &args);
    if (args.illegal || (args.extension && next.forwards)) {
        shim_refused(&pending);
        return;
    }
    shim_depth++;
    if (ours)
        xg_dispatch_sgemm(
            call->symbol->name, &args.product,
            &(struct xg_cpu){.whole = shim_cpu_whole,
                             .part = shim_cpu_part,
                             .library = shim_cpu_library,
                             .threads = shim_cpu_threads,
                             .set_threads = next.blas.threads.set ? shim_cpu_set_threads : NULL,
                             .pool = shim_cpu_pool(&next),
                             .ctx = &pending});
    else
        shim_cpu_whole(&pending);
    shim_depth--;
}

/* Assigned, not initialised: that would clear the part of the union that is not used. */
#define SHIM_ENTRY_CBLAS(name)                                                                     \
    SHIM_EXPORT void name(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,      \
                          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,   \
                          float beta, float *c, int64_t ldc);                                      \
    void name(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,     \
              const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,      \
              int64_t ldc)                                                                         \
    {                                                                                              \
        struct shim_call call;                                                                     \
        call.cblas = (struct shim_cblas_args){order, transa, transb, m,   n,    k, alpha,          \
                                              a,     lda,    b,      ldb, beta, c, ldc};           \
        shim_sgemm(SHIM_ID_##name, __builtin_return_address(0), &call);                            \
    }

#define SHIM_ENTRY_FORTRAN(name)                                                                   \
    SHIM_EXPORT void name(const char *transa, const char *transb, const void *m, const void *n,    \
                          const void *k, const float *alpha, const float *a, const void *lda,      \
                          const float *b, const void *ldb, const float *beta, float *c,            \
                          const void *ldc, size_t transa_length, size_t transb_length);            \
    void name(const char *transa, const char *transb, const void *m, const void *n, const void *k, \
              const float *alpha, const float *a, const void *lda, const float *b,                 \
              const void *ldb, const float *beta, float *c, const void *ldc, size_t transa_length, \
              size_t transb_length)                                                                \
    {                                                                                              \
        struct shim_call call;                                                                     \
        call.fortran = (struct shim_fortran_args){                                                 \
            transa,        transb,       m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,             \
            transa_length, transb_length};                                                         \
        shim_sgemm(SHIM_ID_##name, __builtin_return_address(0), &call);                            \
    }

#define SHIM_ENTRY(name, kind, int_bytes, plain) SHIM_ENTRY_##kind(name)
SHIM_SYMBOLS(SHIM_ENTRY)
