/* SPDX-License-Identifier: MIT */
/* Problems: how much data moves, parts that together compute the whole problem, and leading
 * dimensions that separate no rows. Contract 3.3 (doc/contract.md). */
#include "tests/support/xt.h"

#include "src/base/integers.h"
#include "src/base/problem.h"
#include "src/reference/cpu.h"
#include "tests/support/xt_level3.h"

/* Computes the problem's parts one after the other. */
static void compute_parts(const struct xg_problem *p, int64_t step)
{
    struct xg_problem parts[XG_PROBLEM_PARTS];
    /* A part of an in-place problem has all columns; if the triangle is on the left, all rows too.
     */
    bool in_place = xg_problem_is_in_place(p), left = p->structured == XG_OPERAND_A;
    int64_t rows_step = in_place && left ? p->m : step;
    int64_t columns_step = in_place ? p->n : step + 1;
    for (int64_t row = 0; row < p->m; row += rows_step)
        for (int64_t column = 0; column < p->n; column += columns_step) {
            int64_t rows = xg_min_i64(rows_step, p->m - row);
            int64_t columns = xg_min_i64(columns_step, p->n - column);
            int count = xg_problem_parts(p, row, rows, column, columns, parts);
            XT_CHECK(count <= XG_PROBLEM_PARTS, "%d parts", count);
            for (int i = 0; i < count; i++) {
                XT_CHECK(parts[i].m > 0 && parts[i].n > 0, "an empty part");
                XT_CHECK(parts[i].uplo == XG_FULL || parts[i].m == parts[i].n, "not a square");
                xg_cpu_compute(&parts[i]);
            }
        }
}

/* The parts of any operation, and of each instance of a batch, compute the whole problem. */
static void test_parts(const struct xt_level3_shape *shape, int64_t step)
{
    struct xt_level3 o = xt_level3_create(shape, 9);
    for (int64_t i = 0; i < xg_problem_instances(&o.p); i++) {
        const struct xg_problem instance = xg_problem_instance(&o.p, i);
        compute_parts(&instance, step);
    }
    xt_level3_check(&o, xt_level3_name(shape));
    xt_level3_destroy(&o);
}

static void test_kinds(void)
{
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        for (int form = 0; form < 16; form++) {
            static const int64_t size[] = {13, 11, 5};
            const double scalars[] = {1.5, -1, form % 4 ? 0.5 : 0, form % 4 ? 2 : 0};
            const struct xt_level3_shape s = xt_level3_of(kind, form, size, scalars);
            test_parts(&s, 1 + form % 5);
        }
}

static void test_traits(void)
{
    const struct xg_problem gemm = {.type = XG_TYPE_Z, .m = 3, .n = 5, .k = 7};
    const struct xg_problem syrk = {
        .op = XG_OP_SYRK, .type = XG_TYPE_D, .uplo = XG_LOWER, .m = 4, .n = 4, .k = 6};
    const struct xg_problem gemmt = {
        .op = XG_OP_GEMMT, .type = XG_TYPE_C, .uplo = XG_UPPER, .m = 4, .n = 4, .k = 6};
    XT_CHECK(xg_problem_up_elems(&gemm) == 3 * 7 + 7 * 5 && xg_problem_down_elems(&gemm) == 15);
    XT_CHECK(xg_problem_flops(&gemm) == 8.0 * 3 * 5 * 7);
    XT_CHECK(xg_problem_up_elems(&syrk) == 24 && xg_problem_down_elems(&syrk) == 10);
    XT_CHECK(xg_problem_flops(&syrk) == 2.0 * 10 * 6);
    XT_CHECK(xg_problem_up_elems(&gemmt) == 48 && xg_problem_down_elems(&gemmt) == 10);
    XT_CHECK(xg_problem_flops(&gemmt) == 8.0 * 10 * 6);
    XT_CHECK(!strcmp(xg_kind_name(xg_problem_kind(&syrk)), "dsyrk"));
    XT_CHECK(!strcmp(xg_kind_name(XG_KIND_SGEMM), "sgemm"));
    XT_CHECK(!strcmp(xg_kind_name(xg_kind(XG_OP_HERK, XG_TYPE_C)), "cherk"));
    for (int kind = 0; kind < XG_KIND_COUNT; kind++) {
        const char *name = xg_kind_name(kind);
        XT_CHECK(xg_kind(xg_kind_op(kind), xg_kind_type(kind)) == kind, "kind %d", kind);
        XT_CHECK(name[0] == "sdcz"[xg_kind_type(kind)], "kind %d is %s", kind, name);
    }
    XT_CHECK(xg_type_bytes(XG_TYPE_S) == 4 && xg_type_bytes(XG_TYPE_D) == 8);
    XT_CHECK(xg_type_bytes(XG_TYPE_C) == 8 && xg_type_bytes(XG_TYPE_Z) == 16);
}

/* Arrays of evenly spaced matrices become strides that describe the same matrices. */
static void test_settle(void)
{
    enum { COUNT = 4, EACH = 10 };
    static double space[COUNT * EACH];
    static const int64_t strides[] = {EACH, -EACH, 0, 1};
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        const void *as[COUNT], *bs[COUNT];
        void *cs[COUNT];
        double *first = strides[s] < 0 ? space + (COUNT - 1) * EACH : space;
        for (int i = 0; i < COUNT; i++) {
            as[i] = cs[i] = first + i * strides[s];
            bs[i] = i == 2 ? space : as[i];
        }
        bs[3] = (char *)space + 4; /* half an element further */
        struct xg_batch batch = {.count = COUNT, .a = as, .b = bs, .c = cs};
        struct xg_problem p = {.op = XG_OP_GEMM_BATCH,
                               .type = XG_TYPE_D,
                               .m = COUNT * 2,
                               .n = 3,
                               .k = 2,
                               .a = as[0],
                               .b = bs[0],
                               .c = cs[0],
                               .batch = &batch};
        xg_batch_settle(&batch, sizeof(double));
        XT_CHECK(!batch.a && batch.stride_a == strides[s] && !batch.c && batch.b,
                 "stride %ld, not %ld", (long)batch.stride_a, (long)strides[s]);
        for (int i = 0; i < COUNT; i++) {
            const struct xg_problem one = xg_problem_instance(&p, i);
            XT_CHECK(one.op == XG_OP_GEMM && one.m == 2 && !one.batch);
            XT_CHECK(one.a == as[i] && one.b == bs[i] && one.c == cs[i], "instance %d", i);
        }
    }
    /* C is one matrix if its instances follow each other without a gap. */
    struct xg_batch batch = {.count = 3, .stride_c = 20};
    struct xg_problem p = {.m = 12, .n = 4, .ldc = 5, .c = space, .batch = &batch};
    XT_CHECK(xg_problem_c_is_whole(&p));
    XT_CHECK(xg_problem_c_at(&p, 7, 3) == (float *)(void *)space + 38);
    batch.stride_c = 24;
    XT_CHECK(!xg_problem_c_is_whole(&p));
    XT_CHECK(xg_problem_c_at(&p, 7, 3) == (float *)(void *)space + 42);
    /* If A's instances also follow each other and all share one B, the batch is a GEMM. */
    struct xg_problem gemm;
    p.k = 2, p.lda = 3, p.a = p.b = space;
    batch.stride_a = 12, batch.stride_c = 20;
    XT_CHECK(xg_problem_is_stacked(&p, &gemm));
    XT_CHECK(gemm.op == XG_OP_GEMM && gemm.m == 12 && !gemm.batch && gemm.a == p.a &&
             gemm.b == p.b && gemm.c == p.c && gemm.lda == 3 && gemm.ldc == 5);
    batch.stride_b = 8;
    XT_CHECK(!xg_problem_is_stacked(&p, &gemm), "each has a B");
    batch.stride_b = 0, batch.stride_a = 13;
    XT_CHECK(!xg_problem_is_stacked(&p, &gemm), "A has gaps");
    batch.stride_a = 12, p.transa = XG_TRANS;
    XT_CHECK(!xg_problem_is_stacked(&p, &gemm), "A lies in columns");
    p.transa = XG_NO_TRANS, batch.stride_c = 24;
    XT_CHECK(!xg_problem_is_stacked(&p, &gemm), "C has gaps");
    XT_CHECK(xg_problem_up_elems(&p) == 24 + 24 && xg_problem_down_elems(&p) == 48);
    XT_CHECK(xg_problem_flops(&p) == 2.0 * 48 * 2);
}

/* A leading dimension that separates no rows becomes the length of a row; others are kept. */
static void test_leading(void)
{
    const int64_t far = INT64_C(1) << 61;
    double at[4];
    struct xg_problem p = {.type = XG_TYPE_D, .m = 1, .n = 5, .k = 3, .alpha = 1};
    p.lda = p.ldb = p.ldc = far;
    xg_problem_settle(&p);
    XT_CHECK(p.lda == 3 && p.ldb == far && p.ldc == 5, "A and C have one row");
    p.m = 2, p.transa = p.transb = XG_TRANS, p.k = 1, p.lda = p.ldb = p.ldc = far;
    xg_problem_settle(&p);
    XT_CHECK(p.lda == 2 && p.ldb == far && p.ldc == far, "A's column has one row");
    p.alpha = 0;
    xg_problem_settle(&p);
    XT_CHECK(p.lda == 2 && p.ldb == 1 && p.ldc == far, "alpha is 0: C alone counts");
    p.alpha = 1, p.k = 0, p.ldb = far;
    xg_problem_settle(&p);
    XT_CHECK(p.lda == 2 && p.ldb == 1 && p.ldc == far, "k is 0");
    p.alpha_im = 1, p.n = 0;
    xg_problem_settle(&p);
    XT_CHECK(p.ldb == 1 && p.ldc == 1, "n is 0");
    for (int side = XG_OPERAND_A; side <= XG_OPERAND_B; side++)
        for (int zero = 0; zero < 2; zero++) {
            const bool left = side == XG_OPERAND_A;
            struct xg_problem q = {.op = XG_OP_TRMM, .structured = (enum xg_operand)side};
            q.m = q.n = 2, q.k = 2, q.alpha = !zero;
            q.a = left ? at + 1 : at, q.b = left ? at : at + 1, q.c = at;
            q.lda = left ? 7 : 9, q.ldb = left ? 9 : 7, q.ldc = 9;
            xg_problem_settle(&q);
            XT_CHECK(q.ldc == 9 && (left ? q.ldb : q.lda) == 9, "in place an operand is C");
            XT_CHECK((left ? q.lda : q.ldb) == (zero ? 2 : 7), "the other is read, or not");
        }
    /* In a batch of single rows the stride is the leading dimension. A batch of one has no stride.
     */
    struct xg_batch batch = {.count = 4, .stride_a = 11, .stride_c = 13};
    struct xg_problem rows = {.type = XG_TYPE_D, .m = 4, .n = 5, .k = 3, .alpha = 1, .a = at};
    rows.batch = &batch, rows.b = at, rows.c = at;
    rows.lda = rows.ldc = far, rows.ldb = 5;
    xg_problem_settle(&rows);
    struct xg_problem gemm;
    XT_CHECK(rows.lda == 11 && rows.ldc == 13 && rows.ldb == 5, "rows of a batch");
    XT_CHECK(xg_problem_is_stacked(&rows, &gemm) && gemm.lda == 11 && gemm.ldc == 13);
    batch = (struct xg_batch){.count = 1, .stride_a = far, .stride_b = far, .stride_c = far};
    rows.m = 1, rows.lda = rows.ldc = far;
    xg_problem_settle(&rows);
    XT_CHECK(rows.lda == 3 && rows.ldc == 5, "a batch of one");
    /* A product with a leading dimension that overflows is not a stride. */
    batch = (struct xg_batch){.count = 2, .stride_c = 0};
    rows.m = 16, rows.lda = rows.ldc = far;
    xg_problem_settle(&rows);
    XT_CHECK(rows.ldc == far && !xg_problem_c_is_whole(&rows));
    XT_CHECK(!xg_problem_is_stacked(&rows, &gemm), "2^64 is not 0");
    batch.stride_a = far;
    XT_CHECK((uintptr_t)xg_problem_instance(&rows, 8).a == (uintptr_t)at, "addresses wrap around");
}

int main(void)
{
    test_kinds();
    test_settle();
    test_leading();
    test_traits();
    return xt_done();
}
