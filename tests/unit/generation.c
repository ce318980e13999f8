/* SPDX-License-Identifier: MIT */
/* The generations' rates agree with the peaks of data sheets, and predict when integers compute
 * products of doubles. */
#include <math.h>
#include <string.h>

#include "kernels/table.h"
#include "src/decide/facts.h"
#include "src/decide/model.h"
#include "src/decide/route.h"
#include "src/decide/select.h"

#include "tests/support/xt.h"

/* TFLOP/s at the boost clock; fp16: with FP32 sums; int8: TOP/s; 0: not compared. */
static const struct {
    const char *name;
    int sm, sm_count, fp64_ratio;
    double clock_ghz, fp32, fp16, fp64, int8;
} devices[] = {
    {"Tesla V100-SXM2-16GB", 70, 80, 2, 1.53, 15.7, 125, 7.8, 0},
    {"Tesla T4", 75, 40, 32, 1.59, 8.1, 65, 0, 130},
    {"NVIDIA GeForce RTX 2080 Ti", 75, 68, 32, 1.545, 13.4, 53.8, 0, 215},
    {"NVIDIA A100-SXM4-80GB", 80, 108, 2, 1.41, 19.5, 312, 19.5, 624},
    {"NVIDIA A30", 80, 56, 2, 1.44, 10.3, 165, 10.3, 330},
    {"NVIDIA GeForce RTX 3090", 86, 82, 64, 1.695, 35.6, 71, 0.556, 284},
    {"NVIDIA A40", 86, 84, 64, 1.74, 37.4, 149.7, 0.585, 299},
    {"NVIDIA GeForce RTX 4090", 89, 128, 64, 2.52, 82.6, 165.2, 1.29, 661},
    {"NVIDIA L40S", 89, 142, 64, 2.52, 91.6, 362, 1.43, 733},
    {"NVIDIA H100 80GB HBM3", 90, 132, 2, 1.98, 66.9, 0, 66.9, 0},
    {"NVIDIA B200", 100, 148, 2, 1.965, 74.4, 0, 37.2, 0},
    {"NVIDIA B300", 103, 148, 64, 1.98, 75, 0, 0, 0}, /* FP64: 1.25, coarsely rounded */
    {"NVIDIA GeForce RTX 5080", 120, 84, 64, 2.617, 56.3, 112.6, 0.88, 450},
    {"NVIDIA GeForce RTX 5090", 120, 170, 64, 2.407, 104.8, 209.5, 1.64, 838},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 188, 64, 2.617, 126, 503.8, 1.97,
     1008},
};

static struct xg_device_facts facts_of(size_t i)
{
    return (struct xg_device_facts){.sm = devices[i].sm,
                                    .sm_count = devices[i].sm_count,
                                    .smem_block_bytes = 99 << 10,
                                    .generation =
                                        xg_generation_find(devices[i].sm, devices[i].name),
                                    .fp64_ratio = devices[i].fp64_ratio,
                                    .images = true};
}

static void compare(const char *name, const char *what, double macs, int sm_count, double ghz,
                    double published)
{
    double ours = 2e-3 * macs * sm_count * ghz;
    XT_CHECK(published == 0 || fabs(ours / published - 1) < 0.03, "%s: %s %.2f TFLOP/s, not %.2f",
             name, what, ours, published);
}

/* Integers are chosen on devices with few FP64 units and a known INT8 rate, and on no others. */
static void predict(const char *name, struct xg_device_facts facts, double ghz, enum xg_type type)
{
    const bool few = facts.fp64_ratio > 2 && facts.generation->rates.int8 > 0;
    const struct xg_kernel *usual = xg_select_emulated(&facts, XG_KERNEL_RESIDUES, NULL);
    facts.residues = xg_select_emulated(&facts, XG_KERNEL_RESIDUES, "ozaki2_mma");
    facts.cublas = xg_type_is_complex(type);
    XT_CHECK(usual == (few ? facts.residues : NULL), "%s", name);
    for (int64_t n = 1024; facts.residues && n <= 8192; n *= 2) {
        const struct xg_shape shape = {.m = n, .n = n, .k = n, .type = type};
        struct xg_choice choice = xg_route_resident(&facts, XG_MATH_ACCURATE, NULL, &shape);
        struct xg_choice strict = xg_route_resident(&facts, XG_MATH_STRICT, NULL, &shape);
        XT_CHECK((choice.row == facts.residues) == few && strict.row != facts.residues, "%s", name);
        if (few)
            printf("%s, %s, %lld: predicted %.1f ms by integers, %.1f by doubles\n", name,
                   xg_kind_name(xg_kind(XG_OP_GEMM, type)), (long long)n,
                   1e-6 * choice.cycles / ghz, 1e-6 * strict.cycles / ghz);
    }
}

static double seconds(const struct xg_model *model, enum xg_op op, enum xg_type type,
                      double alpha_im, enum xg_math math)
{
    const struct xg_problem call = {
        .op = op, .type = type, .m = 4096, .n = 4096, .k = 4096, .alpha = 1, .alpha_im = alpha_im};
    return xg_model_gpu_seconds(model, math, &call);
}

/* The model predicts integers only for problems that use them. */
static void test_model(void)
{
    struct xg_model model;
    xg_model_init(&model, 16);
    model.device = (struct xg_device_facts){.sm = 86,
                                            .sm_count = 82,
                                            .generation = xg_generation_find(86, "GeForce"),
                                            .fp64_ratio = 64,
                                            .images = true};
    model.device.residues = xg_select_emulated(&model.device, XG_KERNEL_RESIDUES, NULL);
    for (int op = XG_OP_GEMM; op <= XG_OP_TRSM; op++)
        for (int form = 0; form < 3; form++) { /* real, complex, and with a complex alpha */
            const enum xg_type type = form ? XG_TYPE_Z : XG_TYPE_D;
            const double alpha_im = form == 2;
            const bool other = op == XG_OP_SYR2K || op == XG_OP_HER2K || op == XG_OP_TRMM ||
                               op == XG_OP_TRSM || form == 2;
            double accurate = seconds(&model, (enum xg_op)op, type, alpha_im, XG_MATH_ACCURATE);
            double strict = seconds(&model, (enum xg_op)op, type, alpha_im, XG_MATH_STRICT);
            XT_CHECK(other ? accurate == strict : accurate < 0.5 * strict, "%d, %d: %g s, %g", op,
                     form, accurate, strict);
        }
}

/* --- From host to host ----------------------------------------------------------------------- */

static const struct host {
    const char *name;
    int cores;
    double link_bytes_per_s; /* in one direction */
} hosts[] = {
    {"NVIDIA A100-SXM4-80GB", 16, 31.5e9},  {"NVIDIA L40S", 16, 31.5e9},
    {"NVIDIA GeForce RTX 3090", 8, 31.5e9}, {"NVIDIA GeForce RTX 4090", 8, 31.5e9},
    {"NVIDIA GeForce RTX 5080", 8, 63e9},
};

static struct xg_model model_of(const struct host *host)
{
    struct xg_model model;
    size_t i = 0;
    while (strcmp(devices[i].name, host->name))
        i++;
    struct xg_model_device device = {.facts = facts_of(i),
                                     .clock_hz = 1e9 * devices[i].clock_ghz,
                                     .link_bytes_per_s = host->link_bytes_per_s};
    device.facts.pieces = xg_select_emulated(&device.facts, XG_KERNEL_PIECES, NULL);
    xg_model_init(&model, host->cores);
    xg_model_set_device(&model, &device);
    return model;
}

/* A row of the table in doc/explanation/performance.md. By name: fp16x3_mma, ozaki2_mma. */
static void predict_host(const struct host *host, int64_t n)
{
    struct xg_model model = model_of(host), named = model;
    struct xg_problem single = {.op = XG_OP_GEMM, .type = XG_TYPE_S, .m = n, .n = n, .k = n};
    struct xg_problem doubles = {.op = XG_OP_GEMM, .type = XG_TYPE_D, .m = n, .n = n, .k = n};
    named.device.pieces = xg_select_emulated(&model.device, XG_KERNEL_PIECES, "fp16x3_mma");
    named.device.residues = xg_select_emulated(&model.device, XG_KERNEL_RESIDUES, "ozaki2_mma");
    double cpu_s = xg_model_cpu_seconds(&model, &single);
    double gpu_s = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &single);
    double pieces = xg_model_gpu_seconds(&named, XG_MATH_ACCURATE, &single);
    double cpu_d = xg_model_cpu_seconds(&model, &doubles);
    double gpu_d = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &doubles);
    double residues = xg_model_gpu_seconds(&named, XG_MATH_ACCURATE, &doubles);
    const bool few = model.device.fp64_ratio > 2;
    doubles.type = XG_TYPE_Z;
    double cpu_z = xg_model_cpu_seconds(&model, &doubles);
    double gpu_z = xg_model_gpu_seconds(&model, XG_MATH_ACCURATE, &doubles);
    double residues_z = xg_model_gpu_seconds(&named, XG_MATH_ACCURATE, &doubles);
    printf("| %s, %lld | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n",
           host->name, (long long)n, 1e3 * cpu_s, 1e3 * gpu_s, 1e3 * pieces, 1e3 * cpu_d,
           1e3 * gpu_d, 1e3 * residues, 1e3 * cpu_z, 1e3 * gpu_z, 1e3 * residues_z);
    XT_CHECK(!few || residues_z < fmin(cpu_z, gpu_z / 2), "%s, %lld: complex", host->name,
             (long long)n);
    XT_CHECK(gpu_s < cpu_s && gpu_d < cpu_d, "%s, %lld", host->name, (long long)n);
    XT_CHECK(pieces <= gpu_s && residues <= gpu_d, "%s, %lld", host->name, (long long)n);
    XT_CHECK(n < 4096 || (few ? residues < gpu_d / 5 : residues == gpu_d), "%s, %lld: %g s, %g s",
             host->name, (long long)n, gpu_d, residues);
    XT_CHECK(n < 4096 || few || pieces < gpu_s / 1.5, "%s, %lld: %g s, %g s", host->name,
             (long long)n, gpu_s, pieces);
}

int main(void)
{
    test_model();
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        for (int64_t n = 1024; n <= 8192; n *= 2)
            predict_host(&hosts[i], n);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const struct xg_device_facts facts = facts_of(i);
        const struct xg_generation *row = facts.generation;
        const char *name = devices[i].name;
        const int count = devices[i].sm_count;
        const double ghz = devices[i].clock_ghz;
        compare(name, "FP32", xg_facts_macs_per_cycle(&facts, XG_TYPE_S), count, ghz,
                devices[i].fp32);
        compare(name, "FP64", xg_facts_macs_per_cycle(&facts, XG_TYPE_D), count, ghz,
                devices[i].fp64);
        compare(name, "FP16", row->rates.fp16, count, ghz, devices[i].fp16);
        compare(name, "INT8", row->rates.int8, count, ghz, devices[i].int8);
        predict(name, facts, ghz, XG_TYPE_D);
        predict(name, facts, ghz, XG_TYPE_Z);
    }
    /* Devices between two generations, before the first and after the last. */
    XT_CHECK(xg_generation_find(35, NULL) == xg_generation_find(50, NULL));
    XT_CHECK(xg_generation_find(52, "NVIDIA GeForce GTX 980")->sm == 50);
    XT_CHECK(xg_generation_find(87, NULL)->rates.fp16 == 512);
    XT_CHECK(xg_generation_find(104, NULL)->sm == 103);
    XT_CHECK(xg_generation_find(121, "NVIDIA GB10")->sm == 120);
    XT_CHECK(xg_generation_find(86, NULL)->rates.fp16 == 512);
    for (int sm = 51; sm < 200; sm++) {
        const struct xg_generation *found = xg_generation_find(sm, NULL);
        XT_CHECK(found->sm <= sm && found->sm >= xg_generation_find(sm - 1, NULL)->sm, "%d", sm);
        XT_CHECK(found->fit && found->source, "%d", sm);
    }
    return xt_done();
}
