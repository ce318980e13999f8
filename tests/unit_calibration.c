/* SPDX-License-Identifier: MIT */
/* calibration: what is written is read again, and nothing else is. */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/fit.h"
#include "src/calibration.h"
#include "xt.h"

static const struct xg_calibration_key key = {.cpu = "A CPU",
                                              .cores = 16,
                                              .threads = 8,
                                              .gpu = "A GPU",
                                              .driver = "580.1",
                                              .blas = "libblas.so 5 bytes"};

static struct xg_machine odd_machine(void)
{
    struct xg_machine machine;
    xg_machine_init(&machine, 16);
    machine.cpu_flops = 123e9;
    machine.cpu_bytes_per_s = 7e9;
    machine.cpu_call_s = 4e-6;
    machine.cpu_step_s = 3e-9;
    machine.up_bytes_per_s = 12e9;
    machine.down_bytes_per_s = 11e9;
    machine.gpu_clock_hz = 1.4e9;
    machine.gpu_call_s = 77e-6;
    machine.gpu_fill_s = 1e-3;
    machine.gpu_start_s = 0.3;
    machine.device.sm_count = 40;
    return machine;
}

static bool same(const struct xg_machine *a, const struct xg_machine *b)
{
    const double *x = &a->cpu_flops, *y = &b->cpu_flops;
    bool equal = a->device.sm == b->device.sm && a->device.sm_count == b->device.sm_count &&
                 a->device.smem_block_bytes == b->device.smem_block_bytes;
    for (int i = 0; i < 10; i++)
        equal = equal && fabs(x[i] - y[i]) <= 1e-9 * fabs(y[i]);
    return equal;
}

static void test_text(void)
{
    const struct xg_machine odd = odd_machine();
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        char text[XG_CALIBRATION_TEXT_BYTES], again[XG_CALIBRATION_TEXT_BYTES];
        struct xg_machine machine, before;
        xg_machine_init(&machine, 2);
        before = machine;
        size_t length = xg_calibration_print(text, &key, side, &odd);
        XT_CHECK(length == strlen(text) && length < 1000, "%zu", length);
        XT_CHECK(xg_calibration_parse(text, &key, side, &machine), "not read again:\n%s", text);
        XT_CHECK(machine.cpu_flops == (side == XG_SIDE_CPU ? odd.cpu_flops : before.cpu_flops),
                 "%g", machine.cpu_flops);
        XT_CHECK((machine.up_bytes_per_s == before.up_bytes_per_s) == (side == XG_SIDE_CPU), "%g",
                 machine.up_bytes_per_s);
        xg_calibration_print(again, &key, side, &machine);
        XT_CHECK(!strcmp(text, again), "%s", again);
    }
}

static void test_bounds(void)
{
    char text[XG_CALIBRATION_TEXT_BYTES];
    struct xg_machine wild = odd_machine();
    wild.cpu_flops = INFINITY;
    wild.cpu_call_s = NAN;
    wild.cpu_step_s = -1;
    xg_calibration_print(text, &key, XG_SIDE_CPU, &wild);
    XT_CHECK(xg_calibration_parse(text, &key, XG_SIDE_CPU, &wild), "%s", text);
    XT_CHECK(isfinite(wild.cpu_flops) && wild.cpu_call_s > 0 && wild.cpu_step_s > 0, "%s", text);
}

/* A text with one byte changed, missing or added is refused, or means the same field in bounds. */
static void test_refuses(void)
{
    const struct xg_machine odd = odd_machine();
    static const char bytes[] = "09a=\n -.\xff";
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        char text[XG_CALIBRATION_TEXT_BYTES], wrong[XG_CALIBRATION_TEXT_BYTES + 1];
        struct xg_machine machine = odd;
        size_t length = xg_calibration_print(text, &key, side, &odd);
        for (size_t at = 0; at < length; at++) {
            memcpy(wrong, text, at);
            wrong[at] = '\0';
            XT_CHECK(!xg_calibration_parse(wrong, &key, side, &machine), "cut at %zu", at);
            for (const char *byte = bytes; *byte; byte++) {
                memcpy(wrong, text, length + 1);
                if (wrong[at] == *byte)
                    continue;
                wrong[at] = *byte;
                bool digits = text[at] >= '0' && text[at] <= '9' && *byte >= '0' && *byte <= '9';
                bool read = xg_calibration_parse(wrong, &key, side, &machine);
                XT_CHECK(!read || digits, "byte %zu, %d", at, *byte);
                XT_CHECK(isfinite(machine.cpu_flops) && machine.cpu_flops > 0 &&
                             machine.up_bytes_per_s > 0 && machine.device.sm_count > 0,
                         "byte %zu, %d", at, *byte);
            }
        }
        snprintf(wrong, sizeof wrong, "%s\n", text);
        machine = odd;
        XT_CHECK(!xg_calibration_parse(wrong, &key, side, &machine), "a line more");
        XT_CHECK(same(&machine, &odd), "refused, but changed");
    }
}

static void test_foreign(void)
{
    static const struct xg_calibration_key keys[] = {
        {"B CPU", 16, 8, "A GPU", "580.1", "libblas.so 5 bytes"},
        {"A CPU", 8, 8, "A GPU", "580.1", "libblas.so 5 bytes"},
        {"A CPU", 16, 8, "B GPU", "580.1", "libblas.so 5 bytes"},
        {"A CPU", 16, 8, "A GPU", "581.1", "libblas.so 5 bytes"},
        {"A CPU", 16, 8, "A GPU", "580.1", "libblas.so 6 bytes"},
        {"A CPU", 16, 4, "A GPU", "580.1", "libblas.so 5 bytes"},
    };
    static const char holds[][XG_SIDE_COUNT] = {{0, 0}, {0, 0}, {1, 0}, {1, 0}, {0, 1}, {0, 1}};
    enum { KEYS = sizeof keys / sizeof keys[0] };
    struct xg_machine machine = odd_machine();
    for (int side = 0; side < XG_SIDE_COUNT; side++)
        for (int i = 0; i < KEYS; i++) {
            char text[XG_CALIBRATION_TEXT_BYTES], path[4096], own[4096];
            xg_calibration_print(text, &keys[i], side, &machine);
            XT_CHECK(xg_calibration_parse(text, &key, side, &machine) == holds[i][side],
                     "side %d of machine %d", side, i);
            XT_CHECK(xg_calibration_path(own, sizeof own, &key, side) &&
                         xg_calibration_path(path, sizeof path, &keys[i], side),
                     "no path");
            XT_CHECK((strcmp(path, own) == 0) == holds[i][side], "%s, %s", path, own);
        }
}

static void test_path(void)
{
    char path[4096], small[8];
    setenv("XDG_CACHE_HOME", "/x/cache", 1);
    setenv("HOME", "/x/home", 1);
    XT_CHECK(xg_calibration_path(path, sizeof path, &key, XG_SIDE_CPU) &&
                 !strncmp(path, "/x/cache/xgemm/cpu-", 19),
             "%s", path);
    XT_CHECK(!xg_calibration_path(small, sizeof small, &key, XG_SIDE_CPU), "too long");
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            setenv("XDG_CACHE_HOME", i ? "not/absolute" : "", 1);
        else
            unsetenv("XDG_CACHE_HOME");
        XT_CHECK(xg_calibration_path(path, sizeof path, &key, XG_SIDE_GPU) &&
                     !strncmp(path, "/x/home/.cache/xgemm/gpu-", 25),
                 "%s", path);
    }
    setenv("HOME", "here", 1);
    XT_CHECK(!xg_calibration_path(path, sizeof path, &key, XG_SIDE_CPU), "%s", path);
    unsetenv("HOME");
    XT_CHECK(!xg_calibration_path(path, sizeof path, &key, XG_SIDE_CPU), "%s", path);
}

/* The library's threads: its own variable, OpenMP's, or all cores; and the first guess follows. */
static void test_threads(void)
{
    static const struct {
        const char *variable, *value;
        int threads; /* 0: all */
    } cases[] = {{"OMP_NUM_THREADS", "1", 1},      {"OMP_NUM_THREADS", "1,4", 1},
                 {"OMP_NUM_THREADS", "many", 0},   {"OMP_NUM_THREADS", "-3", 0},
                 {"OPENBLAS_NUM_THREADS", "1", 1}, {"OPENBLAS_NUM_THREADS", "999999", 0},
                 {"MKL_NUM_THREADS", "1", 0}};
    char folder[] = "/tmp/unit_calibration.XXXXXX", file[64];
    struct xg_calibration_key own;
    if (!mkdtemp(folder))
        exit(XT_HARD);
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(file, sizeof file, "%s/libopenblas.so.0", folder);
    fclose(fopen(file, "w"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        unsetenv(cases[i].variable);
    xg_calibration_key_init(&own, 16, file);
    int all = own.threads;
    XT_CHECK(all >= 1, "%d threads", all);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int expected = cases[i].threads ? cases[i].threads : all;
        struct xg_machine machine, plain;
        setenv(cases[i].variable, cases[i].value, 1);
        xg_calibration_key_init(&own, 16, file);
        XT_CHECK(own.threads == expected, "%s=%s: %d threads of %d", cases[i].variable,
                 cases[i].value, own.threads, all);
        xg_machine_init(&machine, all);
        xg_machine_init(&plain, expected);
        xg_calibration_load(&machine, all, file);
        XT_CHECK(machine.cpu_flops == plain.cpu_flops, "%d threads: %g", expected,
                 machine.cpu_flops);
        unsetenv(cases[i].variable);
    }
    unlink(file);
    rmdir(folder);
}

/* Through the file, with this machine's own key. */
static void test_file(void)
{
    char folder[] = "/tmp/unit_calibration.XXXXXX", path[2][4096];
    const struct xg_machine odd = odd_machine();
    struct xg_machine machine = odd, plain;
    struct xg_calibration_key own;
    if (!mkdtemp(folder))
        exit(XT_HARD);
    setenv("XDG_CACHE_HOME", folder, 1);
    xg_calibration_key_init(&own, 3, NULL);
    XT_CHECK(own.cpu[0] && own.gpu[0] && own.driver[0] && !strcmp(own.blas, "unknown"), "%s",
             own.blas);
    xg_machine_init(&plain, 3);
    xg_machine_set_threads(&plain, own.threads < 3 ? own.threads : 3);
    errno = ENOTTY;
    machine = plain;
    xg_calibration_load(&machine, 3, NULL);
    XT_CHECK(same(&machine, &plain) && errno == ENOTTY, "taken from nowhere");
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        XT_CHECK(xg_calibration_path(path[side], sizeof path[side], &own, side), "no path");
        for (int i = 0; i < 2; i++)
            XT_CHECK(xg_calibration_store(path[side], &own, side, &odd) == XG_OK, "%s: %s",
                     path[side], strerror(errno));
    }
    xg_calibration_load(&machine, 3, NULL);
    XT_CHECK(same(&machine, &odd), "not what was stored");
    machine = plain;
    xg_calibration_load(&machine, 4, NULL);
    XT_CHECK(machine.gpu_call_s == plain.gpu_call_s && machine.cpu_call_s != odd.cpu_call_s,
             "of another number of cores");

    FILE *file = fopen(path[0], "a");
    fputs("x", file);
    fclose(file);
    machine = plain;
    xg_calibration_load(&machine, 3, NULL);
    XT_CHECK(machine.cpu_flops == plain.cpu_flops && machine.gpu_call_s == odd.gpu_call_s,
             "a spoilt file was read, or spoilt the other");
    unlink(path[0]);
    XT_CHECK(mkfifo(path[0], 0600) == 0, "no pipe");
    machine = plain;
    xg_calibration_load(&machine, 3, NULL);
    XT_CHECK(machine.cpu_flops == plain.cpu_flops, "a pipe was read");
    unlink(path[0]);
    unlink(path[1]);
    XT_CHECK(xg_calibration_store("/proc/xgemm/cpu", &own, XG_SIDE_CPU, &odd) == XG_ERR_SYSTEM,
             "stored in /proc");
    *strrchr(path[0], '/') = '\0';
    XT_CHECK(rmdir(path[0]) == 0 && rmdir(folder) == 0, "something was left in %s", path[0]);
}

/* The fit finds a machine that predicts what the measured one does. */
static void test_fit(void)
{
    static const int64_t sizes[] = {64, 512, 4096};
    const struct xg_machine odd = odd_machine();
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        struct fit_sample samples[27];
        struct xg_machine machine;
        uint64_t seed = 1;
        for (int i = 0; i < 27; i++) {
            struct xg_sgemm call = {.m = sizes[i % 3], .n = sizes[i / 3 % 3], .k = sizes[i / 9]};
            samples[i].call = call;
            samples[i].seconds = side == XG_SIDE_CPU
                                     ? xg_machine_cpu_seconds(&odd, &call)
                                     : xg_machine_gpu_seconds(&odd, XG_MATH_ACCURATE, &call);
            samples[i].seconds *= 1 + 0.03 * (double)xt_random(&seed);
        }
        xg_machine_init(&machine, 16);
        machine.device = odd.device;
        double error = fit_machine(&machine, side, samples, 27);
        XT_CHECK_LE(error, 0.04, "side %d: %g", side, error);
        XT_CHECK(side == XG_SIDE_GPU || fabs(log(machine.cpu_flops / odd.cpu_flops)) < 0.05, "%g",
                 machine.cpu_flops);
        XT_CHECK(side == XG_SIDE_CPU || fabs(log(machine.up_bytes_per_s / 12e9)) < 0.1, "%g",
                 machine.up_bytes_per_s);
    }
}

int main(void)
{
    setenv("HOME", "/x/home", 1);
    test_text();
    test_bounds();
    test_refuses();
    test_foreign();
    test_path();
    test_threads();
    test_file();
    test_fit();
    return xt_done();
}
