/* SPDX-License-Identifier: MIT */
/* The built-in product, compared with double precision: transposes, sizes, scalars, padding,
 * special values; and for every operation and type, the operands that BLAS does not read. Contract
 * 2.3, 3.1 (doc/contract.md). */
#include <sys/mman.h>

#include "tests/support/guarded.h"
#include "tests/support/xt_level3.h"

static void test_products(void)
{
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 7, 3},     {5, 1, 9},     {3, 4, 1},
                                       {17, 33, 5}, {31, 15, 130}, {2, 515, 129}, {64, 64, 300},
                                       {0, 5, 3},   {5, 0, 3},     {4, 6, 0}};
    static const float alphas[] = {1.0f, -0.75f, 0.0f}, betas[] = {0.0f, 1.0f, 0.5f};

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int x = 0; x < 36; x++) {
            struct fx_product p =
                fx_product_create(&(struct fx_shape){sizes[s][0], sizes[s][1], sizes[s][2], x & 1,
                                                     x & 2, alphas[x / 12], betas[x / 4 % 3], 3},
                                  s * 36 + (uint64_t)x);
            xg_cpu_compute(&p.call);
            fx_product_check(&p, 1, "built-in");
            fx_product_destroy(&p);
        }
}

/* alpha == 0 or k == 0: A and B are not read; beta == 0: C is not read. */
static void test_unread(void)
{
    float c[4] = {NAN, INFINITY, 1.0f, 2.0f};
    struct xg_problem call = {.m = 2, .n = 2, .k = 5, .lda = 5, .ldb = 2, .ldc = 2, .c = c};

    xg_cpu_compute(&call);
    XT_CHECK(c[0] == 0.0f && c[1] == 0.0f && c[2] == 0.0f && c[3] == 0.0f, "alpha 0, beta 0");
    c[0] = 3.0f;
    call.alpha = NAN;
    call.k = 0;
    call.beta = 2.0f;
    xg_cpu_compute(&call);
    XT_CHECK(c[0] == 6.0f && c[1] == 0.0f, "k 0: %g", (double)c[0]);
    call.k = 5;
    call.alpha = 0.0f;
    const struct xg_cpu_exact exact = xg_cpu_exact(&call, 0, 0, &(float){3.0f});
    XT_CHECK(exact.re == 6.0L && exact.magnitude == 6.0L, "element");
}

/* A small problem of the kind. The form chooses triangle, side and transposes. */
static struct xt_level3_shape shape_of(int kind, int form)
{
    static const int64_t size[] = {9, 7, 8};
    static const double scalars[] = {1.5, -0.5, 0.5, 0.25};
    return xt_level3_of(kind, form, size, scalars);
}

/* If BLAS returns at once it reads and writes no operand: all lie on protected pages. */
static void check_returns(struct xg_problem p, void *nowhere, const char *what)
{
    p.a = p.b = p.c = nowhere;
    xg_cpu_compute(&p);
    XT_CHECK(true, "%s", what); /* a fault would have ended the test */
}

static void test_returns(void *nowhere, const struct xt_level3_shape *shape)
{
    struct xt_level3 o = xt_level3_create(shape, 1);
    struct xg_problem no_rows = o.p, no_columns = o.p, no_depth = o.p, no_alpha = o.p;
    no_rows.m = 0;
    no_columns.n = 0;
    if (shape->uplo != XG_FULL)
        no_rows.n = no_columns.m = 0;
    if (shape->structured == XG_OPERAND_A)
        no_rows.k = 0;
    if (shape->structured == XG_OPERAND_B)
        no_columns.k = 0;
    no_depth.k = 0;
    no_alpha.alpha = no_alpha.alpha_im = 0;
    no_depth.beta = no_alpha.beta = 1;
    no_depth.beta_im = no_alpha.beta_im = 0;
    check_returns(no_rows, nowhere, "no rows");
    check_returns(no_columns, nowhere, "no columns");
    if (!xt_level3_is_in_place(shape->op))
        check_returns(no_alpha, nowhere, "alpha 0, beta 1");
    if (shape->structured == XG_NO_OPERAND)
        check_returns(no_depth, nowhere, "k 0, beta 1");
    xt_level3_destroy(&o);
}

/* alpha == 0 or k == 0: C is scaled or set to zero, and no other operand is read. */
static void check_scaled(const struct xt_level3_shape *shape, void *nowhere)
{
    struct xt_level3 o = xt_level3_create(shape, 2);
    struct xg_problem p = o.p;
    p.a = p.a == p.c ? p.a : nowhere;
    p.b = p.b == p.c ? p.b : nowhere;
    xg_cpu_compute(&p);
    xt_level3_check(&o, xt_level3_name(shape));
    xt_level3_destroy(&o);
}

static void test_kinds(void)
{
    enum { FORMS = 12, BYTES = 4096 };
    void *nowhere = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (nowhere == MAP_FAILED)
        exit(XT_HARD);
    for (int i = 0; i < XG_KIND_COUNT * FORMS; i++) {
        struct xt_level3_shape shape = shape_of(i / FORMS, i % FORMS), no_depth = shape;
        test_returns(nowhere, &shape);
        shape.alpha = shape.alpha_im = no_depth.k = 0;
        check_scaled(&shape, nowhere);
        if (shape.structured == XG_NO_OPERAND)
            check_scaled(&no_depth, nowhere);
        shape.beta = shape.beta_im = no_depth.beta = no_depth.beta_im = 0;
        check_scaled(&shape, nowhere);
        if (shape.structured == XG_NO_OPERAND)
            check_scaled(&no_depth, nowhere);
    }
    munmap(nowhere, BYTES);
}

/* NaN and infinity propagate as in the definition, also multiplied by zero. */
static void test_special(void)
{
    for (int t = 0; t < 4; t++) {
        float a[4] = {0.0f, 1.0f, 2.0f, 0.0f}, b[4] = {NAN, 1.0f, 1.0f, 3.0f};
        float c[4] = {1.0f, 1.0f, 1.0f, NAN};
        struct xg_problem call = xt_problem(XG_TYPE_S, 2, 2, 2, t & 1, t >> 1, a, b, c);
        call.beta = 1;
        xg_cpu_compute(&call);
        XT_CHECK(isnan(c[0]), "0 * NaN");
        XT_CHECK(isnan(c[3]), "NaN in C with beta 1");
        XT_CHECK(t & 2 ? isnan(c[2]) : isnan(c[2]) && !isnan(c[1]), "NaN stays in its column");
    }
}

/* Exact elements, on sums with known values. */
static void test_exact(void)
{
    float a[3] = {0x1p24f, 1.0f, -0x1p24f}, b[3] = {1.0f, 1.0f, 1.0f}, c[1] = {9.0f};
    struct xg_problem call = xt_problem(XG_TYPE_S, 1, 1, 3, false, true, a, b, c);
    call.alpha = -2;
    call.beta = 0.5;
    const struct xg_cpu_exact exact = xg_cpu_exact(&call, 0, 0, &(float){4.0f});
    XT_CHECK(exact.re == -2.0L * 1.0L + 0.5L * 4.0L, "%Lg", exact.re);
    XT_CHECK(exact.magnitude == 2.0L * (0x1p25L + 1.0L) + 2.0L, "%Lg", exact.magnitude);
    XT_CHECK(c[0] == 9.0f, "C is not touched");
}

int main(void)
{
    test_products();
    test_unread();
    test_kinds();
    test_special();
    test_exact();
    return xt_done();
}
