/* SPDX-License-Identifier: MIT */
/*
 * A program that calls the machine's LAPACK by its Fortran names. It passes without the library
 * too. It prints its failures and returns 1.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/routines.h"
#include "tests/support/routines.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

/* All arguments are addresses; the lengths of letters follow them. */
typedef void routine(void *, ...);
routine dpotrf_, dgetrf_, dgesv_, dgetri_, dtrtri_, dsyev_, dsyevd_, dgeev_, dgesvd_, cgesvd_;

/* Which LAPACK routine is called, where several are one routine of the engine. */
enum { SYEV, SYEVD, SYEVR, GESDD, GESVD };
static int eigen_by = SYEVD, singular_by = GESDD;

/* --- A call ---------------------------------------------------------------------------------- */

/* An argument list under construction. */
struct list {
    void *at[26];
    int count;
};

static void add(struct list *list, void *at)
{
    list->at[list->count++] = at;
}

/* Every routine has at most 23 arguments and 3 lengths; those that are too many are not read. */
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
    bool integers;
};

struct works {
    struct work of[3];
    int32_t lengths[4];
    int count;
};

/* The first element as a length. */
static int64_t length_of(const struct work *work, const void *first, bool wide)
{
    return work->integers ? *(const int32_t *)first
           : wide         ? (int64_t) * (const double *)first
                          : (int64_t) * (const float *)first;
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
        asked[i] = length_of(work, firsts[i], wide);
        XT_CHECK(asked[i] > 0, "%s: workspace %d: %lld", what, i, (long long)asked[i]);
        *work->length = (int32_t)asked[i];
        *work->at = calloc((size_t)asked[i] + 1, work->elem_bytes);
    }
    info = -99;
    call(function, list, letters);
    for (int i = 0; i < works->count; i++) {
        struct work *work = &works->of[i];
        XT_CHECK(length_of(work, *work->at, wide) > 0, "%s: workspace %d says nothing", what, i);
        free(*work->at);
    }
    return info;
}

/* --- The engine's calls as LAPACK's ---------------------------------------------------------- */

/* The arguments of each routine, as the shim has them; the machine's LAPACK refuses wrong ones. */
static const struct {
    const char *arguments;
    int letters;
} lists[] = {
#define LIST(list, words, letters, ...) {#__VA_ARGS__, letters},
    SHIM_LISTS(LIST)};

static const struct {
    const char *name;
    enum shim_list list;
} names[] = {
#define NAME(context, letter, LETTER, name, ROUTINE, list, words) {#letter #name, SHIM_LIST_##list},
    SHIM_ROUTINES(NAME, )};

/* What the arguments point to, beside the operands. */
struct values {
    char uplo, diag, trans, side, job, none, range;
    int32_t m, n, k, itype, first, last, one, ld[XG_SLOT_COUNT];
    int32_t found, *supports; /* what SYEVR writes */
    double zeros[2];
};

/* The address of an argument, or of an operand's leading dimension. SYEVR's vectors have a matrix
 * of their own. */
static const void *address_of(const struct values *v, const struct xg_routine *r, const char *name)
{
    const enum xg_slot z = r->operand[XG_SLOT_U].at ? XG_SLOT_U : XG_SLOT_A;
    const bool ld = !strncmp(name, "ld", 2);
    const struct {
        const char *name;
        enum xg_slot slot;
    } operands[] = {{"a", XG_SLOT_A},         {"b", XG_SLOT_B},  {"c", XG_SLOT_B},
                    {"u", XG_SLOT_U},         {"z", z},          {"vt", XG_SLOT_V},
                    {"vr", XG_SLOT_V},        {"w", XG_SLOT_W},  {"tau", XG_SLOT_TAU},
                    {"ipiv", XG_SLOT_PIVOTS}, {"wr", XG_SLOT_W}, {"s", XG_SLOT_W},
                    {"wi", XG_SLOT_WI}};
    const struct {
        const char *name;
        const void *at;
    } others[] = {{"uplo", &v->uplo},
                  {"diag", &v->diag},
                  {"trans", &v->trans},
                  {"side", &v->side},
                  {"jobz", &v->job},
                  {"jobu", &v->job},
                  {"jobvt", &v->job},
                  {"jobvr", &v->job},
                  {"jobvl", &v->none},
                  {"range", &v->range},
                  {"n", &v->n},
                  {"k", &v->k},
                  {"nrhs", &v->k},
                  {"itype", &v->itype},
                  {"il", &v->first},
                  {"iu", &v->last},
                  {"m", v->supports ? &v->found : &v->m},
                  {"isuppz", v->supports}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(name, others[i].name))
            return others[i].at;
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
        if (!strcmp(name + (ld ? 2 : 0), operands[i].name) && r->operand[operands[i].slot].at)
            return ld ? &v->ld[operands[i].slot] : r->operand[operands[i].slot].at;
    return ld ? (const void *)&v->one : v->zeros;
}

/* A workspace whose length is the next argument, or one without a length. */
static void add_work(struct list *list, struct works *works, const struct xg_routine *r,
                     const char *name, bool sized)
{
    const int64_t least = xg_min_i64(r->m, r->n), most = xg_max_i64(r->m, r->n);
    const bool integers = *name == 'i';
    const size_t elem_bytes =
        integers ? sizeof(int32_t) : xg_type_bytes(*name == 'r' ? xg_type_real(r->type) : r->type);
    if (!sized) {
        add(list, calloc((size_t)(7 * least * least + 2 * most * least + 8 * most), elem_bytes));
        return;
    }
    struct work *work = &works->of[works->count++];
    *work =
        (struct work){&works->lengths[works->count], &list->at[list->count], elem_bytes, integers};
    *work->length = -1;
    add(list, NULL);
    add(list, work->length);
}

/* Calls the function `name`, which is one of the routine's. */
static int32_t call_named(const struct xg_routine *r, const char *name, struct values *v)
{
    struct list list = {0};
    struct works works = {0};
    char arguments[128], symbol[9], *rest;
    size_t at = 0;
    snprintf(symbol, sizeof symbol, "%s_", name);
    routine *function = (routine *)(uintptr_t)dlsym(RTLD_DEFAULT, symbol);
    while (at < sizeof names / sizeof names[0] && strcmp(names[at].name, name))
        at++;
    if (at == sizeof names / sizeof names[0] || !function)
        exit(XT_HARD);
    snprintf(arguments, sizeof arguments, "%s", lists[names[at].list].arguments);
    for (char *next = strtok_r(arguments, ", ", &rest); next; next = strtok_r(NULL, ", ", &rest)) {
        const bool space = strstr(next, "work");
        if (space && *next != 'l')
            add_work(&list, &works, r, next, rest[strspn(rest, " ")] == 'l');
        else if (!space && strcmp(next, "info"))
            add(&list, (void *)address_of(v, r, next));
    }
    return call_with(function, &list, &works, lists[names[at].list].letters, r->type, name);
}

static int32_t call_lapack(const struct xg_routine *r)
{
    const bool eigen = r->name == XG_ROUTINE_SYEVD, some = eigen && eigen_by == SYEVR;
    const bool part = eigen && r->operand[XG_SLOT_W].rows != r->n;
    char name[8];
    struct values v = {.uplo = r->uplo == XG_LOWER ? 'l' : 'U',
                       .diag = "nU"[r->unit],
                       .trans = "NTC"[r->trans],
                       .side = r->right ? 'R' : 'L',
                       .job = (r->name == XG_ROUTINE_GESDD ? "NSA" : "NVV")[r->vectors],
                       .none = 'n',
                       .range = part ? 'i' : 'a',
                       .m = (int32_t)r->m,
                       .n = (int32_t)r->n,
                       .k = (int32_t)r->k,
                       .itype = r->itype,
                       .first = part ? (int32_t)r->first + 1 : 0,
                       .last = part ? (int32_t)(r->first + r->operand[XG_SLOT_W].rows) : 0,
                       .one = 1,
                       .found = -1,
                       .supports = some ? calloc((size_t)r->n, 2 * sizeof(int32_t)) : NULL};
    for (int i = 0; i < XG_SLOT_COUNT; i++)
        v.ld[i] = (int32_t)xg_max_i64(r->operand[i].ld, 1);
    snprintf(name, sizeof name, "%s", xg_routine_text(r->name, r->type));
    if (eigen)
        snprintf(name + 5, sizeof name - 5, "%s", (const char *[]){"", "d", "r"}[eigen_by]);
    if (r->name == XG_ROUTINE_GESDD && singular_by == GESVD)
        name[4] = 'v';
    const int32_t info = call_named(r, name, &v);
    if (some && !info)
        XT_CHECK(v.found == r->operand[XG_SLOT_W].rows, "%s: %d values", name, v.found);
    for (int64_t i = 0; some && r->vectors && !info && !part && i < r->n; i++)
        XT_CHECK(v.supports[2 * i] >= 1 && v.supports[2 * i + 1] <= r->n, "%s: support", name);
    free(v.supports);
    return info;
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
