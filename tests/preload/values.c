/* SPDX-License-Identifier: MIT */
/*
 * Products whose operands hold unusual numbers or lie in unusual places: numbers that are not
 * finite, empty products, operands that share memory or are read-only, results between inaccessible
 * pages. Compiled by the preload tests and linked to a BLAS with the C interface; it passes without
 * the library too, so it states what BLAS does. Labels are doc/contract.md's. usage: values
 * SCENARIO
 */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/xt.h"

struct values_product {
    int transa, transb, m, n, k, lda, ldb, ldc;
    float alpha, beta;
    float *a, *b, *c, *old; /* row-major */
};

static size_t values_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Zeros, on pages of their own. */
static float *values_map(size_t elems)
{
    size_t bytes = (elems * sizeof(float) / values_page() + 1) * values_page();
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(XT_HARD);
    return p;
}

static void values_protect(void *p, size_t elems, int protection)
{
    size_t bytes = (elems * sizeof(float) / values_page() + 1) * values_page();
    if (mprotect(p, bytes, protection) != 0)
        exit(XT_HARD);
}

static size_t values_elems_a(const struct values_product *p)
{
    return (size_t)(p->transa ? p->k : p->m) * (size_t)p->lda;
}

static size_t values_elems_b(const struct values_product *p)
{
    return (size_t)(p->transb ? p->n : p->k) * (size_t)p->ldb;
}

static size_t values_elems_c(const struct values_product *p)
{
    return (size_t)p->m * (size_t)p->ldc;
}

/* Random operands. The padding of A and B is NaN, which no sum may contain. */
static struct values_product values_create(int transa, int transb, int m, int n, int k)
{
    struct values_product p = {.transa = transa, .transb = transb, .m = m, .n = n, .k = k};
    uint64_t seed = (uint64_t)(m + n + k);
    p.alpha = 1.0f;
    p.lda = (transa ? m : k) + 3;
    p.ldb = (transb ? k : n) + 5;
    p.ldc = n + 2;
    p.a = values_map(values_elems_a(&p));
    p.b = values_map(values_elems_b(&p));
    p.c = values_map(values_elems_c(&p));
    p.old = values_map(values_elems_c(&p));
    for (size_t i = 0; i < values_elems_a(&p); i++)
        p.a[i] = (int)(i % (size_t)p.lda) < p.lda - 3 ? xt_random(&seed) : NAN;
    for (size_t i = 0; i < values_elems_b(&p); i++)
        p.b[i] = (int)(i % (size_t)p.ldb) < p.ldb - 5 ? xt_random(&seed) : NAN;
    for (size_t i = 0; i < values_elems_c(&p); i++)
        p.c[i] = xt_random(&seed);
    return p;
}

static void values_destroy(struct values_product *p)
{
    munmap(p->a, (values_elems_a(p) * sizeof(float) / values_page() + 1) * values_page());
    munmap(p->b, (values_elems_b(p) * sizeof(float) / values_page() + 1) * values_page());
    munmap(p->c, (values_elems_c(p) * sizeof(float) / values_page() + 1) * values_page());
    munmap(p->old, (values_elems_c(p) * sizeof(float) / values_page() + 1) * values_page());
}

static float *values_a(const struct values_product *p, int i, int l)
{
    return &p->a[p->transa ? l * p->lda + i : i * p->lda + l];
}

static float *values_b(const struct values_product *p, int l, int j)
{
    return &p->b[p->transb ? j * p->ldb + l : l * p->ldb + j];
}

static void values_multiply(const struct values_product *p)
{
    cblas_sgemm(CblasRowMajor, p->transa ? CblasTrans : CblasNoTrans,
                p->transb ? CblasTrans : CblasNoTrans, p->m, p->n, p->k, p->alpha, p->a, p->lda,
                p->b, p->ldb, p->beta, p->c, p->ldc);
}

/*
 * Each element is what IEEE arithmetic gives for its sum: a NaN, an infinity of the right sign, or
 * a number within the bound. The padding is unchanged.
 */
static void values_check(const struct values_product *p, const char *what)
{
    int bad = 0, at_i = 0, at_j = 0, strays = 0;
    for (int i = 0; i < p->m; i++) {
        for (int j = 0; j < p->n; j++) {
            float old = p->old[i * p->ldc + j], got = p->c[i * p->ldc + j];
            double sum = 0, scale = 0;
            for (int l = 0; l < p->k && p->alpha != 0; l++) {
                double product = (double)*values_a(p, i, l) * (double)*values_b(p, l, j);
                sum += product;
                scale += fabs(product);
            }
            sum = p->alpha != 0 ? (double)p->alpha * sum : 0;
            scale *= fabs((double)p->alpha);
            if (p->beta != 0) {
                sum += (double)p->beta * (double)old;
                scale += fabs((double)p->beta * (double)old);
            }
            int good = isnan(sum)   ? isnan(got)
                       : isinf(sum) ? (double)got == sum
                                    : fabs((double)got - sum) <= (p->k + 3) * 0x1p-23 * scale;
            if (!good && !bad++)
                at_i = i, at_j = j;
        }
        for (int j = p->n; j < p->ldc; j++)
            strays += memcmp(&p->c[i * p->ldc + j], &p->old[i * p->ldc + j], sizeof(float)) != 0;
    }
    XT_CHECK(bad == 0, "%s: trans %d %d, %d,%d,%d, alpha %g, beta %g: %d wrong, first %d,%d: %g",
             what, p->transa, p->transb, p->m, p->n, p->k, (double)p->alpha, (double)p->beta, bad,
             at_i, at_j, (double)p->c[at_i * p->ldc + at_j]);
    XT_CHECK(strays == 0, "contract 3.2: %s: %d elements of padding", what, strays);
}

static void values_run(struct values_product *p, const char *what)
{
    memcpy(p->old, p->c, values_elems_c(p) * sizeof(float));
    values_multiply(p);
    values_check(p, what);
}

static const int values_sizes[][3] = {{70, 66, 64}, {129, 260, 37}, {33, 150, 300}};

/* --- NaN and infinity ---------------------------------------------------------------------- */

static void values_strike(struct values_product *p, int strike)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    int m = p->m, n = p->n, k = p->k;
    float value = odd[strike % 3];
    switch (strike / 3) {
    case 0: /* in A: the last of a row, where padding begins */
        *values_a(p, m - 1, k - 1) = value;
        *values_a(p, 1, 0) = value;
        break;
    case 1:
        *values_b(p, k - 1, n - 1) = value;
        *values_b(p, 0, 2) = value;
        break;
    case 2: /* 0 times infinity, and an infinity met by its opposite */
        *values_a(p, 3, 2) = value;
        *values_a(p, 3, k - 2) = -value;
        *values_b(p, 5 % k, 7) = value;
        *values_a(p, 9, 5 % k) = 0.0f;
        break;
    default: /* all of A zero */
        for (int i = 0; i < m; i++)
            for (int l = 0; l < k; l++)
                *values_a(p, i, l) = 0.0f;
        *values_b(p, 1, 1) = value;
        break;
    }
}

static void values_not_finite(void)
{
    for (size_t s = 0; s < sizeof values_sizes / sizeof values_sizes[0]; s++)
        for (int trans = 0; trans < 4; trans++)
            for (int strike = 0; strike < 12; strike++) {
                struct values_product p = values_create(trans & 1, trans >> 1, values_sizes[s][0],
                                                        values_sizes[s][1], values_sizes[s][2]);
                p.beta = strike % 2 ? 0.5f : 0.0f;
                values_strike(&p, strike);
                values_run(&p, "contract 2.1");
                values_destroy(&p);
            }
}

/* C may hold anything if beta is 0; otherwise the old C counts. */
static void values_old_c(void)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f};
    static const float betas[] = {0.0f, 1.0f, -2.0f};
    for (size_t s = 0; s < sizeof values_sizes / sizeof values_sizes[0]; s++)
        for (int i = 0; i < 12; i++) {
            struct values_product p =
                values_create(i & 1, 0, values_sizes[s][0], values_sizes[s][1], values_sizes[s][2]);
            p.beta = betas[i % 3];
            for (int j = 0; j < p.n; j++)
                p.c[(p.m - 1) * p.ldc + j] = p.c[j] = odd[i / 3];
            values_run(&p, p.beta == 0 ? "contract 2.2" : "contract 2.4");
            values_destroy(&p);
        }
}

static void values_scalars(void)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 9; i++) {
        struct values_product p = values_create(i & 1, i >> 1 & 1, 70, 66, 64);
        if (i < 3)
            p.alpha = odd[i];
        else if (i < 6)
            p.beta = odd[i - 3];
        else /* only beta C, with a beta that is not finite */
            p.alpha = 0, p.beta = odd[i - 6];
        if (i == 8)
            memset(p.c, 0, values_elems_c(&p) * sizeof(float));
        values_run(&p, "contract 2.4");
        values_destroy(&p);
    }
}

/* alpha or k is 0: A and B are not read, and may be inaccessible. */
static void values_unread(void)
{
    static const float betas[] = {0.0f, 1.0f, -0.5f};
    for (int i = 0; i < 6; i++) {
        struct values_product p = values_create(0, i & 1, 130, 140, 150);
        p.alpha = i < 3 ? 0.0f : 2.0f;
        p.beta = betas[i % 3];
        values_protect(p.a, values_elems_a(&p), PROT_NONE);
        values_protect(p.b, values_elems_b(&p), PROT_NONE);
        memcpy(p.old, p.c, values_elems_c(&p) * sizeof(float));
        int k = p.k;
        if (i >= 3)
            p.k = 0;
        values_multiply(&p);
        values_check(&p, "contract 2.3");
        p.k = k;
        values_destroy(&p);
    }
}

/* --- Sizes and places ---------------------------------------------------------------------- */

/* m or n is 0: C is empty, and no operand is read. */
static void values_empty(void)
{
    for (int i = 0; i < 6; i++) {
        int m = i % 3 == 0 ? 300 : 0, n = i % 3 == 1 ? 300 : 0;
        float beta = i < 3 ? 0.0f : 2.0f;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, 300, 1.0f, NULL, 300, NULL,
                    n ? n : 1, beta, NULL, n ? n : 1);
        cblas_sgemm(CblasColMajor, CblasTrans, CblasNoTrans, m, n, 300, 1.0f, NULL, 300, NULL, 300,
                    beta, NULL, m ? m : 1);
        printf("contract 3.1: %d,%d did not fault\n", m, n);
        xt_checks++;
    }
}

/*
 * Each operand begins behind an inaccessible page and ends before one. Rows of C lie so far apart
 * that whole pages of padding between them are inaccessible too.
 */
static void values_edges(void)
{
    static const int offsets[] = {0, 1, 7}; /* floats less than what would fill the pages */
    const int page = (int)(values_page() / sizeof(float));
    for (int i = 0; i < 12; i++) {
        struct values_product p = values_create(i & 1, i >> 1 & 1, 90, 70, 130 + i);
        const size_t elems[3] = {values_elems_a(&p) - 3, values_elems_b(&p) - 5,
                                 values_elems_c(&p) - 2};
        float **operand[3] = {&p.a, &p.b, &p.c}, *kept[3], *mapped[3];
        p.beta = i % 3 ? 1.5f : 0.0f;
        for (int o = 0; o < 3; o++) {
            size_t pages = elems[o] / (size_t)page + 1;
            float *end;
            mapped[o] = values_map((pages + 2) * (size_t)page);
            end = mapped[o] + (pages + 1) * (size_t)page - offsets[i % 3];
            kept[o] = *operand[o];
            *operand[o] = memcpy(end - elems[o], kept[o], elems[o] * sizeof(float));
            if (offsets[i % 3] == 0)
                memset(mapped[o], 0x7f, (size_t)(end - elems[o] - mapped[o]) * sizeof(float));
            values_protect(mapped[o], 0, PROT_NONE);
            values_protect(mapped[o] + (pages + 1) * (size_t)page, 0, PROT_NONE);
        }
        memcpy(p.old, kept[2], elems[2] * sizeof(float));
        values_multiply(&p);
        p.m--; /* the last row has no padding to compare */
        values_check(&p, "contract 3.2");
        p.m++;
        for (int o = 0; o < 3; o++)
            *operand[o] = kept[o];
        values_destroy(&p);
    }
    enum { ROWS = 40 };
    struct values_product p = values_create(0, 0, ROWS, page, 100);
    struct values_product far = p;
    far.ldc = 3 * page;
    far.c = values_map((size_t)far.ldc * ROWS);
    far.old = values_map((size_t)far.ldc * ROWS);
    for (int i = 0; i < ROWS; i++) {
        values_protect(far.c + i * far.ldc + page, (size_t)page, PROT_NONE);
    }
    values_multiply(&far);
    for (int i = 0; i < ROWS; i++)
        values_protect(far.c + i * far.ldc + page, (size_t)page, PROT_READ);
    values_check(&far, "contract 3.2: pages between rows");
    values_destroy(&p);
}

/*
 * C may not be written to, and nothing is to be computed: reference BLAS writes nothing, and some
 * versions of OpenBLAS write what C held. Prints how a child ends that makes such a call.
 */
static void values_read_only(void)
{
    static const char *const cases[] = {"k 0", "alpha 0", "m 0", "n 0"};
    for (int i = 0; i < 8; i++) {
        struct values_product p = values_create(0, 0, i < 4 ? 200 : 20, 210, 220), q;
        int status = -1;
        memcpy(p.old, p.c, values_elems_c(&p) * sizeof(float));
        values_protect(p.c, values_elems_c(&p), PROT_READ);
        q = p;
        q.beta = 1.0f;
        q.k = i % 4 == 0 ? 0 : q.k;
        q.alpha = i % 4 == 1 ? 0.0f : q.alpha;
        q.m = i % 4 == 2 ? 0 : q.m;
        q.n = i % 4 == 3 ? 0 : q.n;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            values_multiply(&q);
            _exit(memcmp(p.c, p.old, values_elems_c(&p) * sizeof(float)) != 0);
        }
        waitpid(child, &status, 0);
        printf("contract 4.3: %s: wait status %d\n", cases[i % 4], status);
        xt_checks++;
        values_destroy(&p);
    }
}

/* A and B are read-only. */
static void values_const(void)
{
    for (int i = 0; i < 4; i++) {
        struct values_product p = values_create(i & 1, i >> 1, 200, 210, 220);
        values_protect(p.a, values_elems_a(&p), PROT_READ);
        values_protect(p.b, values_elems_b(&p), PROT_READ);
        values_run(&p, "contract 4.4");
        values_destroy(&p);
    }
}

/* A and B may be the same matrix, and may overlap. */
static void values_same_inputs(void)
{
    for (int i = 0; i < 8; i++) {
        struct values_product p = values_create(i & 1, i >> 1 & 1, 150, 150, 150), q = p;
        q.ldb = q.lda;
        q.b = i < 4 ? q.a : q.a - 1; /* the padding's NaN is B's first element */
        q.b += i < 4 ? 0 : 1 + q.lda;
        q.k = q.n = i < 4 ? 150 : 149;
        q.m = 149;
        q.old = p.old;
        memcpy(p.old, p.c, values_elems_c(&p) * sizeof(float));
        values_multiply(&q);
        values_check(&q, "contract 4.1");
        values_destroy(&p);
    }
}

/*
 * C shares elements with A or B. BLAS leaves the result open, and the program gets that of its own
 * library. Prints a hash of C, which must be the same without the library.
 */
static void values_overlap(void)
{
    static const int sizes[] = {40, 150, 700};
    for (int i = 0; i < 12; i++) {
        int n = sizes[i % 3];
        struct values_product p = values_create(0, i & 1, n, n, n), q = p;
        unsigned hash = 2166136261u;
        q.lda = q.ldb = q.ldc = n;
        q.beta = i % 2 ? 1.0f : 0.0f;
        q.c = i < 6 ? q.a : q.b;
        q.c += i / 3 % 2 ? n / 2 : 0; /* shifted: a row of C covers halves of two rows */
        q.m -= i / 3 % 2;
        for (int e = 0; e < n * n; e++)
            q.a[e] = (float)(e % 7 - 3) / 3, q.b[e] = (float)(e % 5 - 2) / 3;
        values_multiply(&q);
        for (size_t e = 0; e < (size_t)n * (size_t)n * sizeof(float); e++)
            hash = (hash ^ ((unsigned char *)(i < 6 ? q.a : q.b))[e]) * 16777619u;
        printf("contract 4.2: %d of %d: %08x\n", i, n, hash);
        xt_checks++;
        values_destroy(&p);
    }
}

/*
 * Blocks of one matrix that share no element, as in factorizations: C lies between A and B, and
 * rows of all three share pages.
 */
static void values_blocks(void)
{
    enum { SIDE = 400, AT = 130 };
    uint64_t seed = 3;
    float *all = values_map(SIDE * SIDE), *old = values_map(SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        all[i] = old[i] = xt_random(&seed);
    struct values_product p = {.m = SIDE - AT,
                               .n = SIDE - AT,
                               .k = AT,
                               .lda = SIDE,
                               .ldb = SIDE,
                               .ldc = SIDE,
                               .alpha = -1.0f,
                               .beta = 1.0f,
                               .a = all + AT * SIDE,
                               .b = all + AT,
                               .c = all + AT * SIDE + AT,
                               .old = old + AT * SIDE + AT};
    values_multiply(&p);
    p.ldc = SIDE;
    struct values_product inner = p;
    inner.n--, inner.m--; /* beyond the last column and row lies A, which is unchanged */
    int strays = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            strays += (i < AT || j < AT) && all[i * SIDE + j] != old[i * SIDE + j];
    XT_CHECK(strays == 0, "contract 4.2: %d elements outside of C", strays);
    inner.ldc = SIDE;
    for (int i = 0; i < inner.m; i++)
        for (int j = 0; j < inner.n; j++) {
            double sum = (double)inner.old[i * SIDE + j];
            for (int l = 0; l < AT; l++)
                sum -= (double)inner.a[i * SIDE + l] * (double)inner.b[l * SIDE + j];
            XT_CHECK(fabs((double)inner.c[i * SIDE + j] - sum) <= (AT + 3) * 0x1p-23 * AT,
                     "contract 4.2: blocks: %d,%d", i, j);
        }
}

/* Prints a hash of each product's bits, which do not depend on the leading dimensions. */
static void values_bits(void)
{
    static const int sizes[][3] = {{64, 64, 8000}, {150, 140, 700}, {500, 300, 90}, {20, 30, 40}};
    for (int i = 0; i < 16; i++) {
        const int *size = sizes[i % 4];
        struct values_product p = values_create(i >> 2 & 1, i >> 3, size[0], size[1], size[2]);
        unsigned hash[2] = {2166136261u, 2166136261u};
        for (int pad = 0; pad < 2; pad++) {
            struct values_product q = p;
            uint64_t seed = 11;
            q.lda -= pad, q.ldb -= 2 * pad, q.ldc -= 2 * pad;
            for (int r = 0; r < p.m; r++)
                for (int l = 0; l < p.k; l++)
                    *values_a(&q, r, l) = xt_random(&seed);
            for (int l = 0; l < p.k; l++)
                for (int c = 0; c < p.n; c++)
                    *values_b(&q, l, c) = xt_random(&seed);
            values_multiply(&q);
            for (int r = 0; r < p.m; r++)
                for (size_t e = 0; e < (size_t)p.n * sizeof(float); e++)
                    hash[pad] = (hash[pad] ^ ((unsigned char *)&q.c[r * q.ldc])[e]) * 16777619u;
        }
        XT_CHECK(hash[0] == hash[1], "contract 6.1: product %d by leading dimensions", i);
        printf("contract 6.1: product %d: %08x\n", i, hash[0]);
        values_destroy(&p);
    }
}

/* --- Triangles ----------------------------------------------------------------------------- */

struct values_writer {
    float *c;
    int n, upper; /* it writes strictly above the diagonal, else below it */
    atomic_int stop, lost;
};

/* Writes the triangle that SYRK leaves alone, again and again, and checks that its numbers stay. */
static void *values_write_on(void *arg)
{
    struct values_writer *w = arg;
    for (int turn = 1; !w->stop; turn++)
        for (int i = 0; i < w->n; i++)
            for (int j = w->upper ? i + 1 : 0; j < (w->upper ? w->n : i); j++) {
                volatile float *at = &w->c[i * w->n + j];
                if (turn > 1 && !(*at == (float)(turn - 1)))
                    w->lost++;
                *at = (float)turn;
            }
    return NULL;
}

static void values_check_triangle(const float *a, const float *c, int n, int k, int ldc, int upper,
                                  int is_nan)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        for (int j = upper ? i : 0; j < (upper ? n : i + 1); j++) {
            double sum = 0, scale = 0;
            for (int l = 0; l < k; l++) {
                sum += (double)a[i * k + l] * (double)a[j * k + l];
                scale += fabs((double)a[i * k + l] * (double)a[j * k + l]);
            }
            float got = c[(size_t)i * (size_t)ldc + (size_t)j];
            bad += (i == is_nan || j == is_nan)
                       ? !isnan(got)
                       : !(fabs((double)got - sum) <= (k + 3) * 0x1p-23 * scale);
        }
    XT_CHECK(bad == 0, "contract 3.2: SYRK of %d, NaN in %d: %d wrong", n, is_nan, bad);
}

/* SYRK leaves the bits of the other triangle, also those that another thread writes meanwhile. */
static void values_triangle(void)
{
    enum { N = 230, K = 170 };
    for (int i = 0; i < 4; i++) {
        uint64_t seed = 5;
        float *a = values_map(N * K), *c = values_map(N * N);
        struct values_writer writer = {.c = c, .n = N, .upper = i & 1};
        const int is_nan = i < 2 ? -1 : 77;
        pthread_t thread;
        for (int e = 0; e < N * K; e++)
            a[e] = xt_random(&seed);
        for (int e = 0; e < N * N; e++)
            c[e] = NAN;
        if (is_nan >= 0)
            a[is_nan * K + 3] = NAN;
        if (pthread_create(&thread, NULL, values_write_on, &writer))
            exit(XT_HARD);
        for (int turn = 0; turn < 3; turn++)
            cblas_ssyrk(CblasRowMajor, writer.upper ? CblasLower : CblasUpper, CblasNoTrans, N, K,
                        1.0f, a, K, 0.0f, c, N);
        writer.stop = 1;
        pthread_join(thread, NULL);
        XT_CHECK(writer.lost == 0, "contract 3.2: %d numbers of another thread lost",
                 (int)writer.lost);
        values_check_triangle(a, c, N, K, N, !writer.upper, is_nan);
    }
}

/* Inaccessible pages that lie only in the other triangle. */
static void values_triangle_pages(void)
{
    enum { K = 6 };
    const int page = (int)(values_page() / sizeof(float)), n = 2 * page + 100, ld = 3 * page;
    uint64_t seed = 9;
    float *a = values_map((size_t)n * K), *c = values_map((size_t)n * (size_t)ld);
    for (int e = 0; e < n * K; e++)
        a[e] = xt_random(&seed);
    for (int i = page; i < n; i++)
        values_protect(c + (size_t)i * (size_t)ld, (size_t)(i / page * page) - 1, PROT_NONE);
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, K, 1.0f, a, K, 1.0f, c, ld);
    values_check_triangle(a, c, n, K, ld, 1, -1);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"not_finite", values_not_finite},
    {"old_c", values_old_c},
    {"scalars", values_scalars},
    {"unread", values_unread},
    {"empty", values_empty},
    {"edges", values_edges},
    {"read_only", values_read_only},
    {"const", values_const},
    {"same_inputs", values_same_inputs},
    {"overlap", values_overlap},
    {"blocks", values_blocks},
    {"bits", values_bits},
    {"triangle", values_triangle},
    {"triangle_pages", values_triangle_pages},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (argc > 1 && !strcmp(argv[1], scenarios[i].name)) {
            scenarios[i].run();
            return xt_done();
        }
    return XT_HARD;
}
