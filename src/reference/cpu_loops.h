/* SPDX-License-Identifier: MIT */
/*
 * The loops of cpu.c for one type. cpu.c includes this file once for each type, and first defines
 * NUMBER, the type of an element; NAME(x), x with the type's letter; SCALAR(re, im), a NUMBER;
 * CONJ(x), RE(x), IM(x).
 */
#ifdef NUMBER

/* Scales a Hermitian C, whose beta and diagonal are real. */
static void NAME(scale_hermitian)(const struct xg_problem *p)
{
    for (int64_t i = 0; i < p->m; i++) {
        NUMBER *row = (NUMBER *)p->c + i * p->ldc;
        int64_t begin, end;
        xg_problem_row(p, i, 0, p->n, &begin, &end);
        for (int64_t j = begin; j < end; j++)
            row[j] = SCALAR(RE(row[j]) * p->beta, j == i ? 0 : IM(row[j]) * p->beta);
    }
}

/* C = beta * C. beta == 0 writes zeros without reading: C may hold NaN. */
static void NAME(scale)(const struct xg_problem *p)
{
    const NUMBER beta = SCALAR(p->beta, p->beta_im);
    if (xg_problem_is_hermitian(p) && !xg_problem_beta_zero(p)) {
        NAME(scale_hermitian)(p);
        return;
    }
    for (int64_t i = 0; i < p->m; i++) {
        NUMBER *row = (NUMBER *)p->c + i * p->ldc;
        int64_t begin, end;
        xg_problem_row(p, i, 0, p->n, &begin, &end);
        if (xg_problem_beta_zero(p))
            memset(row + begin, 0, (size_t)(end - begin) * sizeof *row);
        else if (beta != 1)
            for (int64_t j = begin; j < end; j++)
                row[j] *= beta;
    }
}

/* An element of op() of the operand with one stored triangle. It is a separate function, so that
 * the functions that read other operands' elements stay small enough to be inlined. */
static __attribute__((noinline)) NUMBER NAME(structured)(const struct xg_problem *p,
                                                         const NUMBER *x, int64_t ld,
                                                         enum xg_trans trans, int64_t i, int64_t j)
{
    const int64_t row = trans ? j : i, column = trans ? i : j;
    if (p->unit && row == column)
        return 1;
    bool stored = p->stored == XG_UPPER ? row <= column : row >= column;
    NUMBER value = stored ? x[row * ld + column] : x[column * ld + row];
    if (p->op == XG_OP_HEMM && row == column)
        return SCALAR(RE(value), 0);
    return trans == XG_CONJ_TRANS || (p->op == XG_OP_HEMM && !stored) ? CONJ(value) : value;
}

static inline NUMBER NAME(a)(const struct xg_problem *p, int64_t i, int64_t l)
{
    const NUMBER *a = p->a;
    if (p->structured == XG_OPERAND_A)
        return NAME(structured)(p, a, p->lda, p->transa, i, l);
    NUMBER x = p->transa ? a[l * p->lda + i] : a[i * p->lda + l];
    return p->transa == XG_CONJ_TRANS ? CONJ(x) : x;
}

static inline NUMBER NAME(b)(const struct xg_problem *p, int64_t l, int64_t j)
{
    const NUMBER *b = p->b;
    if (p->structured == XG_OPERAND_B)
        return NAME(structured)(p, b, p->ldb, p->transb, l, j);
    NUMBER x = p->transb ? b[j * p->ldb + l] : b[l * p->ldb + j];
    return p->transb == XG_CONJ_TRANS ? CONJ(x) : x;
}

/* C[i, j0:j1] += alpha * op(A)[i, l0:l1] * B[l0:l1, j0:j1], along rows of B. */
static void NAME(rows)(const struct xg_problem *p, int64_t i, int64_t l0, int64_t l1, int64_t j0,
                       int64_t j1)
{
    const NUMBER alpha = SCALAR(p->alpha, p->alpha_im);
    NUMBER *restrict c = (NUMBER *)p->c + i * p->ldc;
    for (int64_t l = l0; l < l1; l++) {
        const NUMBER *restrict b = (const NUMBER *)p->b + l * p->ldb;
        NUMBER a = alpha * NAME(a)(p, i, l);
        for (int64_t j = j0; j < j1; j++)
            c[j] += a * b[j];
    }
}

/* The same with B stored transposed, (n,k): each element is a dot product along contiguous k. */
static void NAME(dots)(const struct xg_problem *p, int64_t i, int64_t l0, int64_t l1, int64_t j0,
                       int64_t j1)
{
    const NUMBER alpha = SCALAR(p->alpha, p->alpha_im);
    NUMBER *restrict c = (NUMBER *)p->c + i * p->ldc;
    const bool conjugate = p->transb == XG_CONJ_TRANS;
    for (int64_t j = j0; j < j1; j++) {
        const NUMBER *restrict b = (const NUMBER *)p->b + j * p->ldb;
        NUMBER sum = 0;
        for (int64_t l = l0; l < l1; l++)
            sum += NAME(a)(p, i, l) * (conjugate ? CONJ(b[l]) : b[l]);
        c[j] += alpha * sum;
    }
}

/* Clears what rounding has left in the imaginary parts of a Hermitian C's diagonal. */
static void NAME(settle)(const struct xg_problem *p)
{
    for (int64_t i = 0; xg_problem_is_hermitian(p) && i < p->n; i++) {
        NUMBER *c = (NUMBER *)p->c + i * p->ldc + i;
        *c = SCALAR(RE(*c), 0);
    }
}

/* The same for a B with one stored triangle. */
static void NAME(mirrored)(const struct xg_problem *p, int64_t i, int64_t l0, int64_t l1,
                           int64_t j0, int64_t j1)
{
    const NUMBER alpha = SCALAR(p->alpha, p->alpha_im);
    NUMBER *restrict c = (NUMBER *)p->c + i * p->ldc;
    for (int64_t l = l0; l < l1; l++) {
        NUMBER a = alpha * NAME(a)(p, i, l);
        for (int64_t j = j0; j < j1; j++)
            c[j] += a * NAME(b)(p, l, j);
    }
}

/* C += alpha op(A) op(B). */
static void NAME(accumulate)(const struct xg_problem *p)
{
    void (*add)(const struct xg_problem *, int64_t, int64_t, int64_t, int64_t, int64_t) =
        p->structured == XG_OPERAND_B ? NAME(mirrored)
        : p->transb                   ? NAME(dots)
                                      : NAME(rows);
    for (int64_t l0 = 0; l0 < p->k; l0 += BLOCK_K)
        for (int64_t j0 = 0; j0 < p->n; j0 += BLOCK_N)
            for (int64_t i = 0; i < p->m; i++) {
                int64_t begin, end, l1 = xg_min_i64(l0 + BLOCK_K, p->k);
                xg_problem_row(p, i, j0, xg_min_i64(j0 + BLOCK_N, p->n), &begin, &end);
                add(p, i, l0, l1, begin, end);
            }
}

/* Multiplies or solves row `at` of C, or its column, by the rows (columns) [first, last) that it
 * depends on. `rows` is constant at each call, so that the loops over a row are contiguous. */
static inline __attribute__((always_inline)) void NAME(triangular_line)(const struct xg_problem *p,
                                                                        bool rows, int64_t at,
                                                                        int64_t first, int64_t last)
{
    const bool solves = p->op == XG_OP_TRSM;
    const NUMBER alpha = SCALAR(p->alpha, p->alpha_im);
    const NUMBER diagonal = rows ? NAME(a)(p, at, at) : NAME(b)(p, at, at);
    const int64_t count = rows ? p->n : p->m, step = rows ? 1 : p->ldc, apart = rows ? p->ldc : 1;
    NUMBER *line = (NUMBER *)p->c + at * apart;
    for (int64_t i = 0; i < count; i++)
        line[i * step] *= solves ? alpha : alpha * diagonal;
    for (int64_t l = first; l < last; l++) {
        const NUMBER factor = rows ? NAME(a)(p, at, l) : NAME(b)(p, l, at);
        const NUMBER scaled = solves ? -factor : alpha * factor;
        const NUMBER *other = (const NUMBER *)p->c + l * apart;
        for (int64_t i = 0; i < count; i++)
            line[i * step] += scaled * other[i * step];
    }
    for (int64_t i = 0; i < count && solves && !p->unit; i++)
        line[i * step] /= diagonal;
}

/*
 * Computes in place. The order of rows (or columns) is such that, for a product, the rows that a
 * row depends on still hold their old values, and for a solve they are solved already.
 */
static void NAME(triangular)(const struct xg_problem *p)
{
    const bool rows = p->structured == XG_OPERAND_A;
    const bool on_earlier = rows == xg_problem_is_lower(p);
    const bool upwards = on_earlier == (p->op == XG_OP_TRSM);
    for (int64_t step = 0; step < p->k; step++) {
        int64_t at = upwards ? step : p->k - 1 - step;
        int64_t first = on_earlier ? 0 : at + 1, last = on_earlier ? at : p->k;
        if (rows)
            NAME(triangular_line)(p, true, at, first, last);
        else
            NAME(triangular_line)(p, false, at, first, last);
    }
}

/* Like BLAS, this function reads no operand if there is nothing to compute. */
static void NAME(compute)(const struct xg_problem *p)
{
    if (p->m == 0 || p->n == 0)
        return;
    if (xg_problem_is_in_place(p) && !xg_problem_alpha_zero(p)) {
        NAME(triangular)(p);
        return;
    }
    if (p->beta == 1 && p->beta_im == 0 && (xg_problem_alpha_zero(p) || p->k == 0))
        return;
    NAME(scale)(p);
    if (xg_problem_alpha_zero(p))
        return;
    NAME(accumulate)(p);
    if (xg_problem_is_rank_2k(p)) {
        const struct xg_problem exchanged = xg_problem_exchanged(p);
        NAME(accumulate)(&exchanged);
    }
    NAME(settle)(p);
}

/* Adds x * y to the sum, and its magnitude to the sum of magnitudes. */
static void NAME(add)(struct xg_cpu_exact *sum, NUMBER x, NUMBER y)
{
    add_product(sum, RE(x), IM(x), RE(y), IM(y), sizeof(NUMBER) > sizeof RE(x));
}

/* Returns the sum by value, which keeps it in registers: a third of the time. */
static struct xg_cpu_exact NAME(dot)(const struct xg_problem *p, int64_t i, int64_t j)
{
    struct xg_cpu_exact sum = {0, 0, 0};
    for (int64_t l = 0; l < p->k; l++)
        NAME(add)(&sum, NAME(a)(p, i, l), NAME(b)(p, l, j));
    return sum;
}

static void NAME(exact_product)(const struct xg_problem *p, int64_t i, int64_t j,
                                struct xg_cpu_exact *sum)
{
    if (!xg_problem_alpha_zero(p))
        *sum = NAME(dot)(p, i, j);
    scale_exact(p, sum);
}

static void NAME(exact)(const struct xg_problem *p, int64_t i, int64_t j, const void *c0,
                        struct xg_cpu_exact *sum)
{
    NAME(exact_product)(p, i, j, sum);
    if (xg_problem_is_rank_2k(p)) {
        const struct xg_problem exchanged = xg_problem_exchanged(p);
        struct xg_cpu_exact other = {0, 0, 0};
        NAME(exact_product)(&exchanged, i, j, &other);
        sum->re += other.re;
        sum->im += other.im;
        sum->magnitude += other.magnitude;
    }
    if (xg_problem_is_hermitian(p) && i == j)
        sum->im = 0;
    if (!xg_problem_beta_zero(p) && xg_problem_is_hermitian(p) && i == j)
        NAME(add)(sum, SCALAR(p->beta, 0), SCALAR(RE(*(const NUMBER *)c0), 0));
    else if (!xg_problem_beta_zero(p))
        NAME(add)(sum, SCALAR(p->beta, p->beta_im), *(const NUMBER *)c0);
}

#undef NUMBER
#undef NAME
#undef SCALAR
#undef CONJ
#undef RE
#undef IM

#endif
