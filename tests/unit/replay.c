/* SPDX-License-Identifier: MIT */
/* The policy on traced programs (tests/traces): its time, compared with the faster side and with
 * the CPU. */
#include <glob.h>
#include <math.h>

#include "tests/support/replay.h"
#include "tests/support/xt.h"

#define MEASURED 1.15 /* products' time over the faster side's, once the GPU is ready */
#define IN_ALL 1.02   /* the program's time over the CPU's */

/* --- The simulation itself ------------------------------------------------------------------ */

#define HEADER "# cores: 16\n# cpu_threads: 16\n# spin_s: 0.1\n"

static bool read_text(const char *text, struct replay_fixture *fixture)
{
    char error[REPLAY_NAME_BYTES];
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    bool read = replay_read(file, fixture, error);
    fclose(file);
    XT_CHECK(read == !error[0], "%s", error);
    return read;
}

static void check_refused(const char *text)
{
    struct replay_fixture fixture;
    bool read = read_text(text, &fixture);
    XT_CHECK(!read, "%s", text);
    if (read)
        replay_free(&fixture);
}

static void test_read(void)
{
    struct replay_fixture fixture;
    bool read = read_text(HEADER "# program: a b\n# cpu_threads_set: 3\n# remark\n# repeat: 3 500\n"
                                 "100,1,7,8,9,100,50,60\n0,0,4,5,6,10,20,30.5\n"
                                 "# repeat: 1 900\n20,2,1,2,3,4,5,6\n",
                          &fixture);
    XT_CHECK(read, "not read");
    if (!read)
        return;
    XT_CHECK(!strcmp(fixture.program, "a b") && fixture.cpu_threads_set == 3, "%s",
             fixture.program);
    XT_CHECK(fixture.count == 7 && fixture.threads == 3, "%zu", fixture.count);
    const struct replay_product *p = fixture.products;
    XT_CHECK(p[0].m == 4 && p[0].after == -1 && p[0].gap_s == 0, "m %d", (int)p[0].m);
    XT_CHECK(fabs(p[0].gpu_busy_s - 30.5e-6) < 1e-12, "%g", p[0].gpu_busy_s);
    XT_CHECK(p[1].thread == 1 && p[1].after == 0 && fabs(p[1].gap_s - 90e-6) < 1e-12, "%g",
             p[1].gap_s);
    XT_CHECK(p[2].after == 0 && fabs(p[2].gap_s - 490e-6) < 1e-12, "%g", p[2].gap_s);
    XT_CHECK(p[5].after == 3 && fabs(p[5].start_s - 1100e-6) < 1e-12, "%g", p[5].start_s);
    XT_CHECK(p[6].thread == 2 && fabs(p[6].start_s - 1520e-6) < 1e-12, "%g", p[6].start_s);
    XT_CHECK(p[6].after == 5 && fabs(p[6].gap_s - 320e-6) < 1e-12, "%g", p[6].gap_s);
    replay_free(&fixture);

    check_refused("0,0,4,5,6,10,20,30\n");
    check_refused(HEADER);
    check_refused(HEADER "0,0,4,5,6,10,20\n");
    check_refused(HEADER "0,64,4,5,6,10,20,30\n");
    check_refused(HEADER "0,-1,4,5,6,10,20,30\n");
    check_refused(HEADER "0,0,4,5,6,nan,20,30\n");
    check_refused(HEADER "0,0,4,5,6,10,0,30\n");
    check_refused(HEADER "inf,0,4,5,6,10,20,30\n");
    check_refused(HEADER "0,0,4,5,6,10,20,inf\n");
    check_refused(HEADER "# cores: no\n0,0,4,5,6,10,20,30\n");
    check_refused(HEADER "# repeat: 2\n0,0,4,5,6,10,20,30\n");
    check_refused(HEADER "# repeat: 2 inf\n0,0,4,5,6,10,20,30\n");
    check_refused(HEADER "# repeat: 2000000 5\n0,0,4,5,6,10,20,30\n");
}

/* Four threads begin together; the GPU has two lanes. */
static void test_sides(void)
{
    struct replay_fixture fixture;
    struct replay_result result;
    if (!read_text(HEADER "# repeat: 2 1000\n0,0,9,9,9,100,300,900\n0,1,9,9,9,100,300,900\n"
                          "0,2,9,9,9,100,300,900\n0,3,9,9,9,100,300,900\n",
                   &fixture) ||
        !replay_run(&fixture, &result, NULL))
        exit(XT_HARD);
    XT_CHECK(fabs(result.cpu.total_s - 1100e-6) < 1e-9, "%g", result.cpu.total_s);
    XT_CHECK(fabs(result.cpu.products_s - 800e-6) < 1e-9, "%g", result.cpu.products_s);
    /* Products end after 300 and 600 us; a gap of 900 us follows. Threads that end together also
     * begin together. */
    XT_CHECK(fabs(result.gpu.total_s - 1800e-6) < 1e-9, "%g", result.gpu.total_s);
    XT_CHECK(fabs(result.gpu.products_s - 3000e-6) < 1e-9, "%g", result.gpu.products_s);
    XT_CHECK(fabs(result.least_s - 800e-6) < 1e-9, "%g", result.least_s);
    /* The products are below the policy's floor: the CPU computes. The GPU's time includes a start.
     */
    XT_CHECK(result.policy.total_s == result.cpu.total_s, "%g", result.policy.total_s);
    XT_CHECK(result.gpu_products == 0 && result.moves == 0 && result.first_gpu_s < 0, "%ld",
             result.gpu_products);
    XT_CHECK(fabs(result.gpu.counted_s - 3000e-6 - REPLAY_START_S) < 1e-9, "%g",
             result.gpu.counted_s);
    replay_free(&fixture);
}

/* A small product leaves the CPU's threads spinning; a large one then waits for the GPU's start. */
static void check_start(const char *spin, double gpu_s)
{
    struct replay_fixture fixture;
    struct replay_result result;
    char text[512];
    snprintf(text, sizeof text,
             HEADER "# spin_s: %s\n0,0,72,64,64,20,60,90\n"
                    "20,0,16384,16384,16384,8000000,90000,200000\n",
             spin);
    if (!read_text(text, &fixture) || !replay_run(&fixture, &result, NULL))
        exit(XT_HARD);
    replay_free(&fixture);
    XT_CHECK(result.gpu_products == 1 && result.moves == 1, "%ld", result.gpu_products);
    XT_CHECK(fabs(result.first_gpu_s - 20e-6) < 1e-9, "%g", result.first_gpu_s);
    XT_CHECK(fabs(result.policy.total_s - 20e-6 - REPLAY_START_S - gpu_s) < 1e-9, "spin %s: %g s",
             spin, result.policy.total_s);
}

static void test_start(void)
{
    check_start("0.1", 0.09);
    check_start("0.6", 0.15 + 0.25 * 0.09); /* three quarters of it run while threads spin */
    check_start("9", 0.2);
}

/* --- The fixtures --------------------------------------------------------------------------- */

static void test_fixture(const char *path)
{
    struct replay_fixture fixture;
    struct replay_result result;
    char error[REPLAY_NAME_BYTES] = "cannot be opened";
    const char *name = strrchr(path, '/') + 1;
    FILE *file = fopen(path, "r");
    bool read = file && replay_read(file, &fixture, error);
    if (file)
        fclose(file);
    XT_CHECK(read, "%s: %s", name, error);
    if (!read)
        return;
    if (!replay_run(&fixture, &result, NULL))
        exit(XT_HARD);
    double spin_s = fixture.spin_s;
    replay_free(&fixture);
    double better_s = fmin(result.cpu.counted_s, result.gpu.counted_s);
    printf("%-32s %6.3f s in products (CPU %.3f, GPU %.3f), in all %.3f of the CPU's; once the GPU "
           "is ready %.3f of the better side's\n",
           name, result.policy.products_s, result.cpu.products_s, result.gpu.products_s,
           result.policy.total_s / result.cpu.total_s,
           better_s > 0 ? result.policy.counted_s / better_s : 0.0);
    /* The bound includes the time that the CPU's threads still spin. */
    XT_CHECK_LE(result.policy.counted_s, MEASURED * better_s + spin_s,
                "%s: %.3f s, the better side %.3f", name, result.policy.counted_s, better_s);
    XT_CHECK_LE(result.policy.total_s, IN_ALL * result.cpu.total_s, "%s: in all %.3f s, CPU %.3f",
                name, result.policy.total_s, result.cpu.total_s);
}

static void test_fixtures(void)
{
    char pattern[4096];
    const char *tree = getenv("srcdir");
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/tests/traces/*.csv", tree ? tree : ".");
    if (glob(pattern, 0, NULL, &found) || found.gl_pathc == 0)
        exit(XT_HARD);
    for (size_t i = 0; i < found.gl_pathc; i++)
        test_fixture(found.gl_pathv[i]);
    globfree(&found);
}

int main(void)
{
    test_read();
    test_sides();
    test_start();
    test_fixtures();
    return xt_done();
}
