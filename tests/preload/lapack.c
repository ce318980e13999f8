/* SPDX-License-Identifier: MIT */
/*
 * A program that calls the machine's LAPACK by its Fortran names. It passes without the library
 * too. It prints its failures and returns 1.
 */
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/routines.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

/* All arguments are addresses; the lengths of letters follow them. */
#define DECLARE(name)                                                                              \
    void s##name(void *, ...);                                                                     \
    void d##name(void *, ...);                                                                     \
    void c##name(void *, ...);                                                                     \
    void z##name(void *, ...);
#define DECLARE_PAIR(real, complex)                                                                \
    void s##real(void *, ...);                                                                     \
    void d##real(void *, ...);                                                                     \
    void c##complex(void *, ...);                                                                  \
    void z##complex(void *, ...);
DECLARE(potrf_)
DECLARE(potrs_)
DECLARE(posv_)
DECLARE(potri_)
DECLARE(getrf_)
DECLARE(getrs_)
DECLARE(gesv_)
DECLARE(getri_)
DECLARE(trtri_)
DECLARE(geqrf_)
DECLARE_PAIR(orgqr_, ungqr_)
DECLARE_PAIR(ormqr_, unmqr_)
DECLARE_PAIR(syev_, heev_)
DECLARE_PAIR(syevd_, heevd_)
DECLARE_PAIR(syevr_, heevr_)
DECLARE_PAIR(sygvd_, hegvd_)
DECLARE(geev_)
DECLARE(gesdd_)
DECLARE(gesvd_)

typedef void routine(void *, ...);
#define TYPES(real, complex)                                                                       \
    {                                                                                              \
        s##real, d##real, c##complex, z##complex                                                   \
    }

/* Which LAPACK routine is called, where several are one routine of the engine. */
enum { SYEV, SYEVD, SYEVR, GESDD, GESVD };
static int eigen_by = SYEVD, singular_by = GESDD;

/* --- A call ---------------------------------------------------------------------------------- */

/* An argument list under construction; Fortran's integers have 32 bits here. */
struct list {
    void *at[26];
    int count;
    int32_t integers[26];
    int integer_count;
};

static void add(struct list *list, void *at)
{
    list->at[list->count++] = at;
}

static int32_t *add_integer(struct list *list, int64_t value)
{
    int32_t *at = &list->integers[list->integer_count++];
    *at = (int32_t)value;
    add(list, at);
    return at;
}

static void add_matrix(struct list *list, const struct xg_matrix *matrix)
{
    add(list, matrix->at);
    add_integer(list, matrix->ld > 0 ? matrix->ld : 1);
}

/* Every routine has at most 23 arguments and 3 lengths; it does not read the rest. */
static void call(routine *function, const struct list *list, int letters)
{
    void *w[26];
    for (int i = 0; i < 26; i++)
        w[i] = i < list->count             ? list->at[i]
               : i < list->count + letters ? (void *)(uintptr_t)1
                                           : NULL;
    function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
             w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23], w[24], w[25]);
}

/* Workspaces, whose sizes the first call returns. */
struct work {
    int32_t *length;
    void **at;
    size_t elem_bytes;
};

struct works {
    struct work of[3];
    int count;
};

static void add_work(struct list *list, struct works *works, size_t elem_bytes)
{
    add(list, NULL);
    works->of[works->count].at = &list->at[list->count - 1];
    works->of[works->count].elem_bytes = elem_bytes;
    works->of[works->count++].length = add_integer(list, -1);
}

/* Adds a workspace without a length. */
static void add_scratch(struct list *list, size_t bytes)
{
    add(list, calloc(1, bytes));
}

/* The length in a first element: an integer in an array of integers, else a real number. */
static int64_t length_of(const struct work *work, const void *first, bool integers, bool wide)
{
    return integers ? *(const int32_t *)first
           : wide   ? (int64_t) * (const double *)first
                    : (int64_t) * (const float *)first;
    (void)work;
}

/* Asks for the sizes, calls, and checks that the call leaves sizes in the workspaces. */
static int32_t call_with(routine *function, struct list *list, struct works *works, int letters,
                         enum xg_type type, const char *what)
{
    const bool wide = xg_type_is_double(type);
    double firsts[3][2] = {{0}};
    int64_t asked[3] = {0};
    int32_t info = -99;
    add(list, &info);
    for (int i = 0; i < works->count; i++)
        *works->of[i].at = firsts[i];
    if (works->count) {
        call(function, list, letters);
        XT_CHECK(info == 0, "%s: asked: info %d", what, info);
    }
    for (int i = 0; i < works->count; i++) {
        struct work *work = &works->of[i];
        bool integers = work->elem_bytes == sizeof(int32_t) && i > 0 && i == works->count - 1;
        asked[i] = length_of(work, firsts[i], integers, wide);
        XT_CHECK(asked[i] > 0, "%s: workspace %d: %lld", what, i, (long long)asked[i]);
        *work->length = (int32_t)asked[i];
        *work->at = calloc((size_t)asked[i] + 1, work->elem_bytes);
    }
    info = -99;
    call(function, list, letters);
    for (int i = 0; i < works->count; i++) {
        struct work *work = &works->of[i];
        bool integers = work->elem_bytes == sizeof(int32_t) && i > 0 && i == works->count - 1;
        XT_CHECK(length_of(work, *work->at, integers, wide) > 0, "%s: workspace %d has no size",
                 what, i);
        free(*work->at);
    }
    return info;
}

/* --- The engine's calls as LAPACK's ---------------------------------------------------------- */

static char vectors_letter(const struct xg_routine *r)
{
    return r->vectors ? 'V' : 'N';
}

static int32_t call_system(const struct xg_routine *r, const char *what)
{
    static routine *const functions[][XG_TYPE_COUNT] = {
        [XG_ROUTINE_POTRF] = TYPES(potrf_, potrf_), [XG_ROUTINE_POTRS] = TYPES(potrs_, potrs_),
        [XG_ROUTINE_POSV] = TYPES(posv_, posv_),    [XG_ROUTINE_POTRI] = TYPES(potri_, potri_),
        [XG_ROUTINE_GETRF] = TYPES(getrf_, getrf_), [XG_ROUTINE_GETRS] = TYPES(getrs_, getrs_),
        [XG_ROUTINE_GESV] = TYPES(gesv_, gesv_),    [XG_ROUTINE_GETRI] = TYPES(getri_, getri_),
        [XG_ROUTINE_TRTRI] = TYPES(trtri_, trtri_)};
    char uplo = r->uplo == XG_LOWER ? 'l' : 'U', trans = "NTC"[r->trans], diag = "nU"[r->unit];
    struct list list = {0};
    struct works works = {0};
    int letters = 0;
    if ((size_t)r->name >= sizeof functions / sizeof functions[0] || !functions[r->name][r->type])
        exit(XT_HARD); /* it needs a row above, or a case in call_lapack */
    const bool inverse = r->name == XG_ROUTINE_TRTRI;
    const bool triangle = xg_routine_use(r->name, XG_SLOT_A)->triangle;
    if (triangle || r->name == XG_ROUTINE_GETRS)
        add(&list, triangle ? &uplo : &trans), letters++;
    if (inverse)
        add(&list, &diag), letters++;
    if (r->name == XG_ROUTINE_GETRF)
        add_integer(&list, r->m);
    add_integer(&list, r->n);
    if (r->operand[XG_SLOT_B].at)
        add_integer(&list, r->k);
    add_matrix(&list, &r->operand[XG_SLOT_A]);
    if (!triangle)
        add(&list, r->operand[XG_SLOT_PIVOTS].at);
    if (r->operand[XG_SLOT_B].at)
        add_matrix(&list, &r->operand[XG_SLOT_B]);
    if (r->name == XG_ROUTINE_GETRI)
        add_work(&list, &works, xg_type_bytes(r->type));
    return call_with(functions[r->name][r->type], &list, &works, letters, r->type, what);
}

static int32_t call_qr(const struct xg_routine *r, const char *what)
{
    static routine *const functions[][XG_TYPE_COUNT] = {[XG_ROUTINE_GEQRF] = TYPES(geqrf_, geqrf_),
                                                        [XG_ROUTINE_ORGQR] = TYPES(orgqr_, ungqr_),
                                                        [XG_ROUTINE_ORMQR] = TYPES(ormqr_, unmqr_)};
    char side = r->right ? 'R' : 'L', trans = "NTC"[r->trans];
    struct list list = {0};
    struct works works = {0};
    bool multiplies = r->name == XG_ROUTINE_ORMQR;
    if (multiplies)
        add(&list, &side), add(&list, &trans);
    add_integer(&list, r->m);
    add_integer(&list, r->n);
    if (r->name != XG_ROUTINE_GEQRF)
        add_integer(&list, r->k);
    add_matrix(&list, &r->operand[XG_SLOT_A]);
    add(&list, r->operand[XG_SLOT_TAU].at);
    if (multiplies)
        add_matrix(&list, &r->operand[XG_SLOT_B]);
    add_work(&list, &works, xg_type_bytes(r->type));
    return call_with(functions[r->name][r->type], &list, &works, multiplies ? 2 : 0, r->type, what);
}

static int32_t call_eigen(const struct xg_routine *r, const char *what)
{
    static routine *const functions[][XG_TYPE_COUNT] = {[SYEV] = TYPES(syev_, heev_),
                                                        [SYEVD] = TYPES(syevd_, heevd_),
                                                        [SYEVR] = TYPES(syevr_, heevr_)};
    static routine *const generalized[XG_TYPE_COUNT] = TYPES(sygvd_, hegvd_);
    const bool complex = xg_type_is_complex(r->type), pair = r->name == XG_ROUTINE_SYGVD;
    const size_t bytes = xg_type_bytes(r->type), real_bytes = xg_type_bytes(xg_type_real(r->type));
    const int by = pair ? SYEVD : eigen_by;
    const int64_t count = r->operand[XG_SLOT_W].rows;
    const bool some = count != r->n;
    char jobz = vectors_letter(r), range = some ? 'i' : 'a', uplo = r->uplo == XG_LOWER ? 'L' : 'u';
    double zeros[2] = {0};
    int32_t found = -1, *supports = calloc((size_t)(2 * r->n), sizeof *supports);
    struct list list = {0};
    struct works works = {0};
    if (pair)
        add_integer(&list, r->itype);
    add(&list, &jobz);
    if (by == SYEVR)
        add(&list, &range);
    add(&list, &uplo);
    add_integer(&list, r->n);
    add_matrix(&list, &r->operand[XG_SLOT_A]);
    if (pair)
        add_matrix(&list, &r->operand[XG_SLOT_B]);
    if (by == SYEVR) {
        add(&list, zeros);
        add(&list, zeros);
        add_integer(&list, some ? r->first + 1 : 0);
        add_integer(&list, some ? r->first + count : 0);
        add(&list, zeros);
        add(&list, &found);
    }
    add(&list, r->operand[XG_SLOT_W].at);
    if (by == SYEVR) {
        struct xg_matrix z = r->operand[XG_SLOT_U];
        if (!z.at)
            z = r->operand[XG_SLOT_A];
        add_matrix(&list, &z);
        add(&list, supports);
    }
    add_work(&list, &works, bytes);
    if (complex && by == SYEV)
        add_scratch(&list, (size_t)(3 * r->n) * real_bytes);
    else if (complex)
        add_work(&list, &works, real_bytes);
    if (by != SYEV)
        add_work(&list, &works, sizeof(int32_t));
    int32_t info = call_with(pair ? generalized[r->type] : functions[by][r->type], &list, &works,
                             by == SYEVR ? 3 : 2, r->type, what);
    XT_CHECK(by != SYEVR || info || found == count, "%s: %d values", what, found);
    for (int64_t i = 0; by == SYEVR && r->vectors && !info && !some && i < r->n; i++)
        XT_CHECK(supports[2 * i] >= 1 && supports[2 * i + 1] <= r->n, "%s: support", what);
    free(supports);
    return info;
}

static int32_t call_general(const struct xg_routine *r, const char *what)
{
    static routine *const functions[XG_TYPE_COUNT] = TYPES(geev_, geev_);
    const struct xg_matrix none = {.ld = 1};
    char left = 'n', right = vectors_letter(r);
    struct list list = {0};
    struct works works = {0};
    add(&list, &left);
    add(&list, &right);
    add_integer(&list, r->n);
    add_matrix(&list, &r->operand[XG_SLOT_A]);
    add(&list, r->operand[XG_SLOT_W].at);
    if (r->operand[XG_SLOT_WI].at)
        add(&list, r->operand[XG_SLOT_WI].at);
    add_matrix(&list, &none);
    add_matrix(&list, r->vectors ? &r->operand[XG_SLOT_V] : &none);
    add_work(&list, &works, xg_type_bytes(r->type));
    if (xg_type_is_complex(r->type))
        add_scratch(&list, (size_t)(2 * r->n) * xg_type_bytes(xg_type_real(r->type)));
    return call_with(functions[r->type], &list, &works, 2, r->type, what);
}

static int32_t call_singular(const struct xg_routine *r, const char *what)
{
    static routine *const functions[][XG_TYPE_COUNT] = {
        [GESDD] = TYPES(gesdd_, gesdd_), [GESVD] = TYPES(gesvd_, gesvd_)};
    const int64_t least = xg_min_i64(r->m, r->n), most = xg_max_i64(r->m, r->n);
    const size_t real_bytes = xg_type_bytes(xg_type_real(r->type));
    char job = "NSA"[r->vectors];
    double none[2] = {0};
    struct list list = {0};
    struct works works = {0};
    struct xg_matrix u = r->operand[XG_SLOT_U], vt = r->operand[XG_SLOT_V];
    u.at = u.at ? u.at : none;
    vt.at = vt.at ? vt.at : none;
    add(&list, &job);
    if (singular_by == GESVD)
        add(&list, &job);
    add_integer(&list, r->m);
    add_integer(&list, r->n);
    add_matrix(&list, &r->operand[XG_SLOT_A]);
    add(&list, r->operand[XG_SLOT_W].at);
    add_matrix(&list, &u);
    add_matrix(&list, &vt);
    add_work(&list, &works, xg_type_bytes(r->type));
    if (xg_type_is_complex(r->type))
        add_scratch(&list, (size_t)(7 * least * least + 2 * most * least + 7 * most) * real_bytes);
    if (singular_by == GESDD)
        add_scratch(&list, (size_t)(8 * least) * sizeof(int32_t));
    return call_with(functions[singular_by][r->type], &list, &works, singular_by == GESVD ? 2 : 1,
                     r->type, what);
}

static int32_t call_lapack(const struct xg_routine *r)
{
    const char *what = xg_routine_text(r->name, r->type);
    if (r->name == XG_ROUTINE_GEEV)
        return call_general(r, what);
    if (r->name == XG_ROUTINE_GESDD)
        return call_singular(r, what);
    if (r->name == XG_ROUTINE_SYEVD || r->name == XG_ROUTINE_SYGVD)
        return call_eigen(r, what);
    if (r->name == XG_ROUTINE_GEQRF || r->name == XG_ROUTINE_ORGQR || r->name == XG_ROUTINE_ORMQR)
        return call_qr(r, what);
    return call_system(r, what);
}

static enum xg_status run(const struct xg_routine *routine)
{
    int32_t info = call_lapack(routine);
    XT_CHECK(info == 0, "%s: info %d", xg_routine_text(routine->name, routine->type), info);
    return info ? XG_ERR_WRONG : XG_OK;
}

/* --- Right ----------------------------------------------------------------------------------- */

static void test_type(enum xg_type type, int64_t n, int64_t pad)
{
    const int64_t k = n / 3 + 1, wide = n + n / 2;
    for (int lower = 0; lower <= 1; lower++) {
        const enum xg_uplo uplo = lower ? XG_LOWER : XG_UPPER;
        rx_cholesky(run, type, uplo, n, k, pad);
        rx_triangle(run, type, uplo, false, n, pad);
        rx_triangle(run, type, uplo, true, n, pad);
        for (int vectors = 0; vectors <= 1; vectors++) {
            for (eigen_by = SYEV; eigen_by <= SYEVR; eigen_by++)
                rx_eigen(run, type, uplo, n, pad, vectors, eigen_by != SYEVR, RX_RANDOM);
            eigen_by = SYEVR;
            rx_some_eigen(run, type, uplo, n, pad, vectors, n / 3, n / 2);
            rx_generalized(run, type, uplo, n, pad, vectors, 1 + lower);
        }
    }
    rx_general(run, type, n, pad, false);
    rx_general(run, type, n, pad, true);
    rx_lu(run, type, n, n, k, pad, 4);
    rx_lu(run, type, wide, n, k, pad, 4);
    rx_qr(run, type, wide, n, k, pad);
    for (int vectors = XG_VECTORS_NONE; vectors <= XG_VECTORS_ALL; vectors++)
        for (singular_by = GESDD; singular_by <= GESVD; singular_by++) {
            rx_singular(run, type, wide, n, pad, (enum xg_vectors)vectors, RX_RANDOM);
            rx_singular(run, type, n, wide, pad, (enum xg_vectors)vectors, RX_DEFICIENT);
        }
    singular_by = GESDD;
}

/* --- What LAPACK reports --------------------------------------------------------------------- */

static void test_info(void)
{
    enum { N = 100 };
    double *a = calloc(N * N, sizeof *a), b[N];
    int32_t n = N, one = 1, info = -99, pivots[N];
    for (int i = 0; i < N; i++)
        a[i * (N + 1)] = i == 70 ? -1 : 2, b[i] = i;
    char uplo = 'L';
    dpotrf_(&uplo, &n, a, &n, &info, (size_t)1);
    XT_CHECK(info == 71, "dpotrf_: info %d", info);
    memset(a, 0, N * N * sizeof *a);
    for (int i = 0; i < N; i++)
        a[i * (N + 1)] = i == 30 ? 0 : 2;
    dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
    XT_CHECK(info == 31, "dgesv_: info %d", info);
    for (int i = 0; i < N; i++)
        XT_CHECK(b[i] == i, "dgesv_: B has changed");
    double work[N];
    for (int i = 0; i < N; i++)
        pivots[i] = i + 1;
    dgetri_(&n, a, &n, pivots, work, &n, &info);
    XT_CHECK(info == 31 && a[0] == 2, "dgetri_: info %d", info);
    char diag = 'N';
    dtrtri_(&uplo, &diag, &n, a, &n, &info, (size_t)1, (size_t)1);
    XT_CHECK(info == 31 && a[0] == 2, "dtrtri_: info %d", info);
    free(a);
}

/* The GPU has no counterpart for right singular vectors alone that overwrite A. */
static void test_letters(void)
{
    double a[4] = {3, 0, 0, -2}, s[2], u[4], vt[4], work[64];
    int32_t n = 2, lwork = 64, info = -99;
    char none = 'N', over = 'O';
    dgesvd_(&none, &over, &n, &n, a, &n, s, u, &n, vt, &n, work, &lwork, &info, (size_t)1,
            (size_t)1);
    XT_CHECK(info == 0 && fabs(fabs(a[0]) - 1) < 1e-12 && fabs(fabs(a[3]) - 1) < 1e-12,
             "dgesvd_: no right vectors over A: %g, %g", a[0], a[3]);
    float af[8] = {3, 0, 0, 0, 0, 0, -2, 0}, sf[2], uf[8], vtf[8], workf[64], rwork[10];
    cgesvd_(&none, &over, &n, &n, af, &n, sf, uf, &n, vtf, &n, workf, &(int32_t){32}, rwork, &info,
            (size_t)1, (size_t)1);
    XT_CHECK(info == 0 && fabsf(hypotf(af[0], af[1]) - 1) < 1e-5f,
             "cgesvd_: no right vectors over A: %g", (double)af[0]);
}

/* Left eigenvectors have no counterpart on the GPU. */
static void test_left(void)
{
    enum { N = 3 };
    double a[N * N] = {2, 0, 0, 1, 3, 0, 0, 1, 5}, wr[N], wi[N], vl[N * N], work[64];
    int32_t n = N, one = 1, lwork = 64, info = -99;
    char vectors = 'V', none = 'N';
    dgeev_(&vectors, &none, &n, a, &n, wr, wi, vl, &n, NULL, &one, work, &lwork, &info, (size_t)1,
           (size_t)1);
    XT_CHECK(info == 0 && fabs(vl[1]) > 0.5, "dgeev_: left vectors: info %d", info);
}

/* OpenBLAS declares its routines as int, and returns 0. */
extern char *openblas_get_config(void) __attribute__((weak));

static void test_returned(void)
{
    double a[4] = {4, 1, 1, 3}, b[2] = {1, 2};
    int32_t n = 2, one = 1, info = -99, pivots[2];
    int (*function)(void *, ...) = (int (*)(void *, ...))dgesv_;
    int returned = function(&n, &one, a, &n, pivots, b, &n, &info);
    XT_CHECK(!openblas_get_config || returned == 0, "dgesv_ returns %d", returned);
}

static void test_nothing(void)
{
    double a[4] = {4, 1, 1, 3}, w[2] = {7, 7}, work[64];
    int32_t n = 0, lda = 2, lwork = 64, info = -99, pivots[2] = {9, 9};
    char jobz = 'V', uplo = 'U';
    dgetrf_(&n, &n, a, &lda, pivots, &info);
    XT_CHECK(info == 0 && pivots[0] == 9 && a[0] == 4, "dgetrf_ of 0: info %d", info);
    dsyev_(&jobz, &uplo, &n, a, &lda, w, work, &lwork, &info, (size_t)1, (size_t)1);
    XT_CHECK(info == 0 && w[0] == 7, "dsyev_ of 0: info %d", info);
    n = 1;
    dtrtri_(&uplo, &uplo, &n, a, &lda, &info, (size_t)1, (size_t)1);
    XT_CHECK(info == 0 && a[0] == 4, "dtrtri_ of one, which is unit: info %d", info);
}

/* --- From several threads, and in a child ---------------------------------------------------- */

static void *multiply(void *arg)
{
    enum { N = 120 };
    double *a = calloc(N * N, sizeof *a), b[N];
    int32_t n = N, one = 1, info, pivots[N];
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < N * N; i++)
            a[i] = i % (N + 1) ? 0.001 * (i % 7) : 3;
        for (int i = 0; i < N; i++)
            b[i] = 1;
        dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += (j * N % (N + 1) ? 0.001 * (j * N % 7) : 3) * b[j];
        if (info || !(fabs(sum - 1) < 1e-10))
            *(int *)arg = 1;
    }
    free(a);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 6 };
    int wrong[THREADS] = {0}, status = -1;
    xt_threads_run(THREADS, multiply, wrong, sizeof wrong[0]);
    for (int i = 0; i < THREADS; i++)
        XT_CHECK(!wrong[i], "thread %d", i);
    pid_t child = fork();
    if (child == 0) {
        multiply(&wrong[0]);
        _exit(wrong[0]);
    }
    waitpid(child, &status, 0);
    XT_CHECK(status == 0, "child: %d", status);
}

/* --- While the process ends ------------------------------------------------------------------ */

static _Atomic int computed;

/* Computes eigenvalues and vectors without end. Ends the process with 1 if an answer is wrong. */
static void *compute(void *unused)
{
    enum { N = 40, WORK = 1 + 6 * N + 2 * N * N, IWORK = 3 + 5 * N };
    static double a[N * N], w[N], work[WORK];
    int32_t n = N, lwork = WORK, liwork = IWORK, info, iwork[IWORK];
    char jobz = 'V', uplo = 'L';
    for (;;) {
        for (int i = 0; i < N * N; i++)
            a[i] = 1.0 / (1 + i % N + i / N) + (i % (N + 1) ? 0 : i / N);
        dsyevd_(&jobz, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, (size_t)1,
                (size_t)1);
        double residual = 0;
        for (int row = 0; row < N; row++) {
            double sum = -w[N - 1] * a[row + (N - 1) * N];
            for (int j = 0; j < N; j++)
                sum += (1.0 / (1 + row + j) + (row == j ? j : 0)) * a[j + (N - 1) * N];
            residual += fabs(sum);
        }
        if (info || !(residual < 1e-10)) {
            printf("at the end: info %d, residual %g\n", info, residual);
            fflush(stdout);
            _exit(XT_FAIL);
        }
        computed++;
    }
    return unused;
}

/* Returns 3, main's status, while a thread is in a call. */
static int end_among_calls(int microseconds)
{
    pthread_t thread;
    pthread_create(&thread, NULL, compute, NULL);
    while (!computed)
        usleep(100);
    usleep((unsigned)microseconds);
    return 3;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return end_among_calls(atoi(argv[2]));
    const int64_t n = argc > 1 ? atoi(argv[1]) : 70;
    for (int type = XG_TYPE_S; type < XG_TYPE_COUNT; type++)
        test_type((enum xg_type)type, n, type % 2 ? 5 : 0);
    test_info();
    test_letters();
    test_left();
    test_returned();
    test_nothing();
    test_threads();
    return xt_done();
}
