/* SPDX-License-Identifier: MIT */
/*
 * The loops of cpu.c for one type, which includes this file once a type. Before: NUMBER, the type
 * of an element; NAME(x), x with the type's letter; SCALAR(re, im), a NUMBER; CONJ(x), RE(x),
 * IM(x).
 */
#ifdef NUMBER

/* C = beta * C. beta == 0 writes zeros without reading: C may hold NaN. */
static void NAME(scale)(const struct xg_problem *p)
{
    const NUMBER beta = SCALAR(p->beta, p->beta_im);
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

static NUMBER NAME(a)(const struct xg_problem *p, int64_t i, int64_t l)
{
    const NUMBER *a = p->a;
    NUMBER x = p->transa ? a[l * p->lda + i] : a[i * p->lda + l];
    return p->transa == XG_CONJ_TRANS ? CONJ(x) : x;
}

static NUMBER NAME(b)(const struct xg_problem *p, int64_t l, int64_t j)
{
    const NUMBER *b = p->b;
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

static void NAME(compute)(const struct xg_problem *p)
{
    NAME(scale)(p);
    if (xg_problem_alpha_zero(p))
        return;
    for (int64_t l0 = 0; l0 < p->k; l0 += BLOCK_K)
        for (int64_t j0 = 0; j0 < p->n; j0 += BLOCK_N)
            for (int64_t i = 0; i < p->m; i++) {
                int64_t begin, end, l1 = xg_min_i64(l0 + BLOCK_K, p->k);
                xg_problem_row(p, i, j0, xg_min_i64(j0 + BLOCK_N, p->n), &begin, &end);
                (p->transb ? NAME(dots) : NAME(rows))(p, i, l0, l1, begin, end);
            }
}

/* Adds x * y to the sum, and its size. */
static void NAME(add)(struct xg_cpu_exact *sum, NUMBER x, NUMBER y)
{
    add_product(sum, RE(x), IM(x), RE(y), IM(y), sizeof(NUMBER) > sizeof RE(x));
}

static void NAME(exact)(const struct xg_problem *p, int64_t i, int64_t j, const void *c0,
                        struct xg_cpu_exact *sum)
{
    if (!xg_problem_alpha_zero(p))
        for (int64_t l = 0; l < p->k; l++)
            NAME(add)(sum, NAME(a)(p, i, l), NAME(b)(p, l, j));
    scale_exact(p, sum);
    if (!xg_problem_beta_zero(p))
        NAME(add)(sum, SCALAR(p->beta, p->beta_im), *(const NUMBER *)c0);
}

#undef NUMBER
#undef NAME
#undef SCALAR
#undef CONJ
#undef RE
#undef IM

#endif
