/* SPDX-License-Identifier: MIT */
/* What xgemm-run estimate predicts: by hand, and for programs that were traced on an H100. */
#include <glob.h>
#include <math.h>

#include "tests/support/replay.h"
#include "tests/support/xt.h"
#include "tools/forecast.h"

enum { CORES = 16 };

static const struct gpu *gpu_named(const char *name)
{
    for (int i = 0; i < gpu_count; i++)
        if (!strcmp(gpus[i].name, name))
            return &gpus[i];
    XT_CHECK(false, "no GPU %s", name);
    return gpus;
}

static struct xg_tape_call product(int64_t n, double begin_s, double seconds, int thread)
{
    return (struct xg_tape_call){
        .begin_s = begin_s,
        .seconds = seconds,
        .cpu_threads = CORES,
        .under_way = 1,
        .cores_left = CORES,
        .thread = thread,
        .problem = {.alpha = 1, .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n}};
}

/* Products of side n on one thread, each of `seconds` on the CPU, with pauses as long. */
static struct forecast of_row(int count, int64_t n, double seconds, bool ready)
{
    struct xg_tape_call calls[100];
    struct forecast forecast;
    for (int i = 0; i < count; i++)
        calls[i] = product(n, 100 + 2 * i * seconds, seconds, 0);
    XT_CHECK(forecast_run(calls, (size_t)count, CORES, gpu_named("H100, H200"), ready, &forecast),
             "memory");
    return forecast;
}

static void test_ready(void)
{
    const struct forecast one = of_row(1, 4096, 0.12, true), all = of_row(50, 4096, 0.12, true);
    XT_CHECK(one.gpu_calls == 1 && all.gpu_calls == 50, "%ld, %ld", one.gpu_calls, all.gpu_calls);
    /* 4096 takes 3.1 ms there (bench/results/h200/host.csv). */
    XT_CHECK(fabs(one.saved_s - (0.12 - 0.0031)) < 0.001, "%g", one.saved_s);
    XT_CHECK(fabs(all.saved_s - 50 * one.saved_s) < 1e-3, "%g", all.saved_s);
    XT_CHECK(one.starts_s > 0.1 && one.starts_s < 1, "%g", one.starts_s);
}

static void test_first_run(void)
{
    const struct forecast ready = of_row(50, 4096, 0.12, true),
                          first = of_row(50, 4096, 0.12, false);
    XT_CHECK(first.saved_s < ready.saved_s && first.saved_s > ready.saved_s - 1.5, "%g of %g",
             first.saved_s, ready.saved_s);
    const struct forecast brief = of_row(1, 1024, 0.002, false),
                          tiny = of_row(100, 100, 3e-5, false);
    XT_CHECK(brief.saved_s == 0 && brief.gpu_calls == 0, "%g", brief.saved_s);
    XT_CHECK(tiny.saved_s == 0 && tiny.gpu_calls == 0, "%g", tiny.saved_s);
}

/* Two threads that multiply at once, and a third one that begins after them. */
static void test_threads(void)
{
    const struct xg_tape_call calls[] = {product(4096, 100, 0.2, 0), product(4096, 100.01, 0.2, 1),
                                         product(4096, 100.5, 0.2, 2)};
    struct forecast forecast;
    XT_CHECK(forecast_run(calls, 3, CORES, gpu_named("H100, H200"), true, &forecast), "memory");
    /* The third begins as much earlier as the second one ends earlier. */
    const double one_s = 0.2 - 0.0031;
    XT_CHECK(fabs(forecast.saved_s - 2 * one_s) < 0.003, "%g", forecast.saved_s);
}

static void test_routine(void)
{
    struct xg_tape_call call = product(4096, 100, 10, 0);
    call.is_routine = true;
    call.routine = (struct xg_routine){.name = XG_ROUTINE_SYEVD,
                                       .type = XG_TYPE_D,
                                       .uplo = XG_LOWER,
                                       .vectors = XG_VECTORS_ALL,
                                       .m = 4096,
                                       .n = 4096};
    const struct xg_matrix matrix = {NULL, 4096, 4096, 4096};
    call.routine.operand[XG_SLOT_A] = call.routine.operand[XG_SLOT_U] = matrix;
    struct forecast forecast;
    XT_CHECK(forecast_run(&call, 1, CORES, gpu_named("H100, H200"), true, &forecast), "memory");
    XT_CHECK(forecast.saved_s > 9 && forecast.gpu_calls == 1, "%g", forecast.saved_s);
    XT_CHECK(forecast.starts_s > of_row(1, 4096, 0.12, true).starts_s, "cuSOLVER starts too");
}

/* The time of the program with the policy, predicted for a GPU that is ready or is to be started;
 * the replay uses the measured times of the products on the GPU. */
static double ratio_of(const struct replay_fixture *fixture, double *gain)
{
    struct xg_tape_call *calls = calloc(fixture->count, sizeof *calls);
    struct replay_result result;
    struct forecast forecast;
    bool done = calls && replay_run(fixture, &result, NULL);
    for (size_t i = 0; done && i < fixture->count; i++) {
        const struct replay_product *from = &fixture->products[i];
        calls[i] = product(from->m, 100 + from->start_s, from->cpu_s, from->thread);
        calls[i].problem.n = calls[i].problem.ldb = calls[i].problem.ldc = from->n;
        calls[i].problem.k = calls[i].problem.lda = from->k;
        calls[i].cpu_threads = fixture->cpu_threads;
        calls[i].spin_s = fixture->spin_s;
    }
    done = done && forecast_run(calls, fixture->count, fixture->cores, gpu_named("H100, H200"),
                                false, &forecast);
    free(calls);
    XT_CHECK(done, "%s: no memory", fixture->program);
    *gain = result.cpu.total_s / result.policy.total_s;
    return (result.cpu.total_s - forecast.saved_s) / result.policy.total_s;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_traced(void)
{
    double errors[32], gain;
    int count = 0;
    glob_t found;
    char pattern[4096], error[REPLAY_NAME_BYTES];
    const char *tree = getenv("srcdir");
    snprintf(pattern, sizeof pattern, "%s/tests/traces/*.csv", tree ? tree : ".");
    XT_CHECK(!glob(pattern, 0, NULL, &found), "%s", pattern);
    for (size_t i = 0; i < found.gl_pathc && count < 32; i++) {
        struct replay_fixture fixture;
        FILE *file = fopen(found.gl_pathv[i], "r");
        bool read = file && replay_read(file, &fixture, error);
        XT_CHECK(read, "%s", found.gl_pathv[i]);
        if (file)
            fclose(file);
        if (!read)
            continue;
        const double ratio = ratio_of(&fixture, &gain);
        printf("%-16s %5.2f times as fast replayed, predicted time %.2f of that\n", fixture.program,
               gain, ratio);
        errors[count++] = fabs(ratio - 1);
        replay_free(&fixture);
    }
    globfree(&found);
    qsort(errors, (size_t)count, sizeof *errors, by_size);
    XT_CHECK(count >= 6, "%d", count);
    if (count)
        XT_CHECK(errors[count / 2] <= 0.25, "median error %.2f", errors[count / 2]);
}

int main(void)
{
    test_ready();
    test_first_run();
    test_threads();
    test_routine();
    test_traced();
    return xt_done();
}
