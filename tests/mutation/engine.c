/* SPDX-License-Identifier: MIT */
/*
 * Deliberate defects of the engine. The linker puts these functions in front of the engine's own
 * (--wrap), in libraries and programs that only the tests of mutation run: what ships is linked
 * without them.
 */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "defect.h"
#include "src/compute/launch.h"
#include "src/dispatch.h"
#include "src/pipeline/pipeline.h"

enum xg_status __real_xg_pipeline_run(struct xg_lane *lane, const struct xg_problem *call,
                                      enum xg_math math, const char *kernel_name,
                                      const struct xg_cpu *cpu, struct xg_result *result);
enum xg_status __wrap_xg_pipeline_run(struct xg_lane *lane, const struct xg_problem *call,
                                      enum xg_math math, const char *kernel_name,
                                      const struct xg_cpu *cpu, struct xg_result *result);
bool __real_xg_dispatch(const struct xg_call *call, const struct xg_cpu *cpu);
bool __wrap_xg_dispatch(const struct xg_call *call, const struct xg_cpu *cpu);

enum xg_status __real_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream);
enum xg_status __wrap_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream);

/* Rows and columns of an operand as it lies in memory; op: transposed. */
struct extent {
    int64_t rows, cols;
};

static struct extent extent_of(bool trans, int64_t rows, int64_t cols)
{
    return trans ? (struct extent){cols, rows} : (struct extent){rows, cols};
}

static size_t elements(struct extent extent, int64_t ld)
{
    return (size_t)((extent.rows - 1) * ld + extent.cols);
}

static float *copy_of(const float *x, size_t count)
{
    float *copy = malloc(count * sizeof(*copy));
    if (copy)
        memcpy(copy, x, count * sizeof(*copy));
    return copy;
}

/* The operand as TF32 holds it: ten bits of fraction, rounded to nearest. */
static void round_tf32(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        bits = (bits + 0x1000u) & ~0x1fffu;
        memcpy(&x[i], &bits, sizeof(bits));
    }
}

/* Operands remembered by where they lay, whatever lies there now. */
static const float *cached(const float *x, size_t count)
{
    enum { SLOTS = 256 };
    static struct {
        const float *key;
        size_t count;
        float *copy;
    } cache[SLOTS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const float *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS && !found; i++) {
        if (!cache[i].key) {
            cache[i].copy = copy_of(x, count);
            cache[i].count = count;
            cache[i].key = cache[i].copy ? x : NULL;
        }
        if (cache[i].key == x && cache[i].count == count)
            found = cache[i].copy;
    }
    pthread_mutex_unlock(&lock);
    return found ? found : x;
}

/*
 * The lane of the first thread, for all threads on the same device. It is forgotten while no thread
 * is in it, because it may be destroyed then. A thread that is alone in it waits a moment for a
 * second one: on a machine with few cores two threads would else take turns, and the defect would
 * show by luck alone.
 */
static struct xg_lane *shared_lane(struct xg_lane *lane, int enter)
{
    enum { COMPANY_MS = 40 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    static struct xg_lane *first;
    static int users;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += COMPANY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&lock);
    if (!users)
        first = lane;
    users += enter;
    struct xg_lane *answer = first;
    pthread_cond_broadcast(&changed);
    while (enter > 0 && users < 2)
        if (pthread_cond_timedwait(&changed, &lock, &until))
            break;
    pthread_mutex_unlock(&lock);
    return answer;
}

/* C as it came out, spoilt. old: C as it was, where the defect needs it. */
static void spoil(const struct xg_problem *call, const float *old)
{
    const int64_t m = call->m, n = call->n, ldc = call->ldc;
    if (defect_is("padding"))
        for (int64_t i = 0; i + 1 < m; i++)
            memset((float *)call->c + i * ldc + n, 0, (size_t)(ldc - n) * sizeof(float));
    if (defect_is("beyond128") && (m > 128 || n > 128)) {
        float *c = &((float *)call->c)[(m - 1) * ldc + n - 1];
        *c += *c * 0x1p-8f + 0x1p-8f;
    }
    if (old)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                ((float *)call->c)[i * ldc + j] += 0.0f * old[i * ldc + j];
}

/* A call whose operands are what the defect makes of them; copies: what is to be freed. */
static struct xg_problem falsify(const struct xg_problem *call, float *copies[2])
{
    struct xg_problem p = *call;
    struct extent a = extent_of(p.transa, p.m, p.k), b = extent_of(p.transb, p.k, p.n);
    if (defect_is("tf32")) {
        copies[0] = copy_of(p.a, elements(a, p.lda));
        copies[1] = copy_of(p.b, elements(b, p.ldb));
        if (copies[0] && copies[1]) {
            round_tf32(copies[0], elements(a, p.lda));
            round_tf32(copies[1], elements(b, p.ldb));
            p.a = copies[0];
            p.b = copies[1];
        }
    } else if (defect_is("cached")) {
        p.a = cached(p.a, elements(a, p.lda));
        p.b = cached(p.b, elements(b, p.ldb));
    } else if (defect_is("ld")) {
        p.lda = a.cols;
        p.ldb = b.cols;
    } else if (defect_is("instance") && p.batch) {
        static _Thread_local struct xg_batch same;
        same = *p.batch;
        same.a = NULL;
        same.stride_a = 0;
        p.batch = &same;
    }
    return p;
}

enum xg_status __wrap_xg_launch_gemm(struct xg_dev *dev, const struct xg_choice *choice,
                                     const struct xg_gemm_args *args, CUstream stream)
{
    struct xg_gemm_args changed = *args;
    if (defect_is("diagonal"))
        changed.wanted.diagonal += changed.wanted.kind == XG_TRIANGLE_UPPER ? 1 : -1;
    return __real_xg_launch_gemm(dev, choice, &changed, stream);
}

enum xg_status __wrap_xg_pipeline_run(struct xg_lane *lane, const struct xg_problem *call,
                                      enum xg_math math, const char *kernel_name,
                                      const struct xg_cpu *cpu, struct xg_result *result)
{
    float *copies[2] = {NULL, NULL};
    struct xg_problem p = falsify(call, copies);
    float *old = defect_is("beta0") && p.beta == 0.0f
                     ? copy_of(p.c, elements((struct extent){p.m, p.n}, p.ldc))
                     : NULL;
    bool shares = defect_is("lane");
    enum xg_status status = __real_xg_pipeline_run(shares ? shared_lane(lane, 1) : lane, &p, math,
                                                   kernel_name, cpu, result);
    if (shares)
        shared_lane(lane, -1);
    if (status == XG_OK)
        spoil(&p, old);
    free(old);
    free(copies[0]);
    free(copies[1]);
    return status;
}

bool __wrap_xg_dispatch(const struct xg_call *call, const struct xg_cpu *cpu)
{
    const struct xg_problem *problem = call->problem;
    if (problem &&
        ((defect_is("k0") && problem->k == 0) || (defect_is("alpha0") && problem->alpha == 0.0f)))
        return true;
    return __real_xg_dispatch(call, cpu);
}
