/* SPDX-License-Identifier: MIT */
/* Calibration: files of other machines, paths, the CPU library's threads, a damaged file, the fit.
 * tests/fuzz/text.c tests which texts are read. Contract 10.4 (doc/contract.md). */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/machine/calibration.h"
#include "tests/support/xt.h"
#include "tools/fit.h"

static const struct xg_calibration_key key = {.cpu = "A CPU",
                                              .cores = 16,
                                              .threads = 8,
                                              .gpu = "A GPU",
                                              .driver = "580.1",
                                              .blas = "libblas.so 5 bytes"};

static struct xg_model odd_machine(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    model.cpu_flops = 123e9;
    model.cpu_bytes_per_s = 7e9;
    model.cpu_call_s = 4e-6;
    model.cpu_step_s = 3e-9;
    model.up_bytes_per_s = 12e9;
    model.down_bytes_per_s = 11e9;
    model.gpu_clock_hz = 1.4e9;
    model.gpu_call_s = 77e-6;
    model.gpu_fill_s = 1e-3;
    model.starts_s[XG_RESOURCE_GPU] = 0.3;
    model.device.sm_count = 40;
    return model;
}

static bool same(const struct xg_model *a, const struct xg_model *b)
{
    const double *x = &a->cpu_flops, *y = &b->cpu_flops;
    bool equal = a->device.sm == b->device.sm && a->device.sm_count == b->device.sm_count &&
                 a->device.smem_block_bytes == b->device.smem_block_bytes;
    for (int i = 0; i < 10; i++)
        equal = equal && fabs(x[i] - y[i]) <= 1e-9 * fabs(y[i]);
    return equal;
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
    struct xg_model model = odd_machine();
    for (int side = 0; side < XG_SIDE_COUNT; side++)
        for (int i = 0; i < KEYS; i++) {
            char text[XG_CALIBRATION_TEXT_BYTES], path[4096], own[4096];
            xg_calibration_print(text, &keys[i], side, &model);
            XT_CHECK(xg_calibration_parse(text, &key, side, &model) == holds[i][side],
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

/* The CPU library has as many threads as its own variable or OpenMP's says, otherwise one for each
 * core. The default rate follows this number. */
static void test_threads(void)
{
    static const struct {
        const char *variable, *value;
        int threads; /* 0: all */
    } cases[] = {{"OMP_NUM_THREADS", "1", 1},      {"OMP_NUM_THREADS", "1,4", 1},
                 {"OMP_NUM_THREADS", "many", 0},   {"OMP_NUM_THREADS", "-3", 0},
                 {"OPENBLAS_NUM_THREADS", "1", 1}, {"OPENBLAS_NUM_THREADS", "999999", 0},
                 {"MKL_NUM_THREADS", "1", 0}};
    char folder[] = "/tmp/xg_calibration.XXXXXX", file[64];
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
        struct xg_model model, plain;
        setenv(cases[i].variable, cases[i].value, 1);
        xg_calibration_key_init(&own, 16, file);
        XT_CHECK(own.threads == expected, "%s=%s: %d threads of %d", cases[i].variable,
                 cases[i].value, own.threads, all);
        xg_model_init(&model, all);
        xg_model_init(&plain, expected);
        xg_calibration_load(&model, all, file);
        XT_CHECK(model.cpu_flops == plain.cpu_flops, "%d threads: %g", expected, model.cpu_flops);
        unsetenv(cases[i].variable);
    }
    unlink(file);
    rmdir(folder);
}

/* FlexiBLAS computes with the library that its variable names. */
static void test_behind(void)
{
    char folder[] = "/tmp/xg_calibration.XXXXXX", front[64], plain[64];
    struct xg_calibration_key one, other;
    if (!mkdtemp(folder))
        exit(XT_HARD);
    snprintf(front, sizeof front, "%s/libflexiblas.so.3", folder);
    snprintf(plain, sizeof plain, "%s/libblas.so.3", folder);
    fclose(fopen(front, "w"));
    fclose(fopen(plain, "w"));
    for (int i = 0; i < 2; i++) {
        const char *file = i ? plain : front;
        setenv("FLEXIBLAS", "/lib/libopenblas.so.0", 1);
        xg_calibration_key_init(&one, 3, file);
        setenv("FLEXIBLAS", "NETLIB", 1);
        xg_calibration_key_init(&other, 3, file);
        XT_CHECK((strcmp(one.blas, other.blas) == 0) == (file == plain), "%s, %s", one.blas,
                 other.blas);
        unlink(file);
    }
    unsetenv("FLEXIBLAS");
    rmdir(folder);
}

/* Files with this machine's own key. */
static void test_file(void)
{
    char folder[] = "/tmp/xg_calibration.XXXXXX", path[2][4096];
    const struct xg_model odd = odd_machine();
    struct xg_model model = odd, plain;
    struct xg_calibration_key own;
    if (!mkdtemp(folder))
        exit(XT_HARD);
    setenv("XDG_CACHE_HOME", folder, 1);
    xg_calibration_key_init(&own, 3, NULL);
    XT_CHECK(own.cpu[0] && own.gpu[0] && own.driver[0] && !strcmp(own.blas, "unknown"), "%s",
             own.blas);
    xg_model_init(&plain, 3);
    xg_model_set_threads(&plain, own.threads < 3 ? own.threads : 3);
    errno = ENOTTY;
    model = plain;
    xg_calibration_load(&model, 3, NULL);
    XT_CHECK(same(&model, &plain) && errno == ENOTTY, "taken from nowhere");
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        XT_CHECK(xg_calibration_path(path[side], sizeof path[side], &own, side), "no path");
        XT_CHECK(xg_file_make_folders(path[side]), "%s: not prepared", path[side]);
        for (int i = 0; i < 2; i++)
            XT_CHECK(xg_calibration_store(path[side], &own, side, &odd), "%s: %s", path[side],
                     strerror(errno));
    }
    xg_calibration_load(&model, 3, NULL);
    XT_CHECK(same(&model, &odd), "not what was stored");
    model = plain;
    xg_calibration_load(&model, 4, NULL);
    XT_CHECK(model.gpu_call_s == plain.gpu_call_s && model.cpu_call_s != odd.cpu_call_s,
             "of another number of cores");

    FILE *file = fopen(path[0], "a");
    fputs("x", file);
    fclose(file);
    model = plain;
    xg_calibration_load(&model, 3, NULL);
    XT_CHECK(model.cpu_flops == plain.cpu_flops && model.gpu_call_s == odd.gpu_call_s,
             "a spoilt file was read, or spoilt the other");
    unlink(path[0]);
    XT_CHECK(mkfifo(path[0], 0600) == 0, "no pipe");
    model = plain;
    xg_calibration_load(&model, 3, NULL);
    XT_CHECK(model.cpu_flops == plain.cpu_flops, "a pipe was read");
    unlink(path[0]);
    unlink(path[1]);
    XT_CHECK(!xg_file_make_folders("/proc/xgemm/cpu"), "prepared in /proc");
    XT_CHECK(!xg_calibration_store("/proc/xgemm/cpu", &own, XG_SIDE_CPU, &odd), "stored in /proc");
    *strrchr(path[0], '/') = '\0';
    XT_CHECK(rmdir(path[0]) == 0 && rmdir(folder) == 0, "something was left in %s", path[0]);
}

/* The fitted machine predicts the times of the measured one. */
static void test_fit(void)
{
    static const int64_t sizes[] = {64, 512, 4096};
    const struct xg_model odd = odd_machine();
    for (int side = 0; side < XG_SIDE_COUNT; side++) {
        struct fit_sample samples[27];
        struct xg_model model;
        uint64_t seed = 1;
        for (int i = 0; i < 27; i++) {
            struct xg_problem call = {.m = sizes[i % 3], .n = sizes[i / 3 % 3], .k = sizes[i / 9]};
            samples[i].call = call;
            samples[i].seconds = side == XG_SIDE_CPU
                                     ? xg_model_cpu_seconds(&odd, &call)
                                     : xg_model_gpu_seconds(&odd, XG_MATH_ACCURATE, &call);
            samples[i].seconds *= 1 + 0.03 * (double)xt_random(&seed);
        }
        xg_model_init(&model, 16);
        model.device = odd.device;
        double error = fit_machine(&model, side, samples, 27);
        XT_CHECK_LE(error, 0.04, "side %d: %g", side, error);
        /* A few slow products change the fit little. */
        for (int i = 0; i < 5; i++)
            samples[5 * i].seconds *= 20;
        error = fit_machine(&model, side, samples, 27);
        XT_CHECK_LE(error, 0.30, "side %d, disturbed: %g", side, error);
        samples[0].seconds /= 20;
        for (int i = 0; i < 5; i++)
            samples[5 * i].seconds /= i ? 20 : 1;
        xg_model_init(&model, 16);
        model.device = odd.device;
        fit_machine(&model, side, samples, 27);
        XT_CHECK(side == XG_SIDE_GPU || fabs(log(model.cpu_flops / odd.cpu_flops)) < 0.05, "%g",
                 model.cpu_flops);
        XT_CHECK(side == XG_SIDE_CPU || fabs(log(model.up_bytes_per_s / 12e9)) < 0.1, "%g",
                 model.up_bytes_per_s);
    }
}

int main(void)
{
    setenv("HOME", "/x/home", 1);
    test_foreign();
    test_path();
    test_threads();
    test_behind();
    test_file();
    test_fit();
    return xt_done();
}
