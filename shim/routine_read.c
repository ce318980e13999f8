/* SPDX-License-Identifier: MIT */
/*
 * Reads the calls of LAPACK's routines. A reader names the operands with their sizes. It leaves to
 * the caller's library the calls that LAPACK would refuse and those without a counterpart on the
 * GPU.
 */
#include "routine_reading.h"

#include <math.h>

/* A row of the table below. m, n, info, lengths: numbers of arguments in the words of the list; a
 * length of 0: the list has no such workspace (the first argument is never a length). */
static const struct list {
    void (*read)(struct reading *);
    unsigned char m, n, info;
    unsigned char lengths[3]; /* of workspaces */
} lists[SHIM_OP_COUNT];

static const struct list *row_of(const struct shim_call *call)
{
    return &lists[call->symbol->op];
}

static const void *word(const struct shim_call *call, int index)
{
    return (const void *)call->words[index];
}

/* --- Systems --------------------------------------------------------------------------------- */

static void read_potrf(struct reading *r)
{
    const struct shim_potrf *c = &r->call->potrf;
    uplo(r, c->uplo);
    square(r, c->n, c->a, c->lda);
}

static void read_potrs(struct reading *r)
{
    const struct shim_potrs *c = &r->call->potrs;
    uplo(r, c->uplo);
    square(r, c->n, c->a, c->lda);
    right_sides(r, c->nrhs, c->b, c->ldb);
}

/* The diagonal of a unit triangle is neither read nor written; the rest must not be empty. */
static void read_trtri(struct reading *r)
{
    const struct shim_trtri *c = &r->call->trtri;
    uplo(r, c->uplo);
    r->routine->unit = letter(r, c->diag, "NU");
    square(r, c->n, c->a, c->lda);
    r->legal = r->legal && r->routine->n > r->routine->unit;
}

static void read_getrf(struct reading *r)
{
    const struct shim_getrf *c = &r->call->getrf;
    rectangle(r, c->m, c->n, c->a, c->lda);
    vector(r, XG_SLOT_PIVOTS, c->ipiv, xg_min_i64(r->routine->m, r->routine->n));
}

static void read_getrs(struct reading *r)
{
    static const enum xg_trans trans[] = {XG_NO_TRANS, XG_TRANS, XG_CONJ_TRANS};
    const struct shim_getrs *c = &r->call->getrs;
    r->routine->trans = trans[letter(r, c->trans, "NTC")];
    square(r, c->n, c->a, c->lda);
    vector(r, XG_SLOT_PIVOTS, c->ipiv, r->routine->n);
    right_sides(r, c->nrhs, c->b, c->ldb);
}

static void read_gesv(struct reading *r)
{
    const struct shim_gesv *c = &r->call->gesv;
    square(r, c->n, c->a, c->lda);
    vector(r, XG_SLOT_PIVOTS, c->ipiv, r->routine->n);
    right_sides(r, c->nrhs, c->b, c->ldb);
}

static void read_getri(struct reading *r)
{
    const struct shim_getri *c = &r->call->getri;
    square(r, c->n, c->a, c->lda);
    vector(r, XG_SLOT_PIVOTS, c->ipiv, r->routine->n);
    workspace(r, c->lwork, r->routine->n);
}

/* --- Orthogonal factors ---------------------------------------------------------------------- */

static void read_geqrf(struct reading *r)
{
    const struct shim_geqrf *c = &r->call->geqrf;
    rectangle(r, c->m, c->n, c->a, c->lda);
    vector(r, XG_SLOT_TAU, c->tau, xg_min_i64(r->routine->m, r->routine->n));
    workspace(r, c->lwork, r->routine->n);
}

static void read_orgqr(struct reading *r)
{
    const struct shim_orgqr *c = &r->call->orgqr;
    rectangle(r, c->m, c->n, c->a, c->lda);
    r->routine->k = extent(r, c->k);
    r->legal = r->legal && r->routine->n <= r->routine->m && r->routine->k <= r->routine->n;
    vector(r, XG_SLOT_TAU, c->tau, r->routine->k);
    workspace(r, c->lwork, r->routine->n);
}

static void read_ormqr(struct reading *r)
{
    const struct shim_ormqr *c = &r->call->ormqr;
    const bool complex = xg_type_is_complex(r->routine->type);
    r->routine->right = letter(r, c->side, "LR");
    bool transposed = letter(r, c->trans, complex ? "NC" : "NT");
    r->routine->trans = !transposed ? XG_NO_TRANS : complex ? XG_CONJ_TRANS : XG_TRANS;
    r->routine->m = extent(r, c->m);
    r->routine->n = extent(r, c->n);
    r->routine->k = extent(r, c->k);
    int64_t order = r->routine->right ? r->routine->n : r->routine->m;
    r->legal = r->legal && r->routine->k <= order;
    matrix(r, XG_SLOT_A, c->a, order, r->routine->k, c->lda);
    vector(r, XG_SLOT_TAU, c->tau, r->routine->k);
    matrix(r, XG_SLOT_B, c->c, r->routine->m, r->routine->n, c->ldc);
    workspace(r, c->lwork, r->routine->right ? r->routine->m : r->routine->n);
}

/* --- Least squares --------------------------------------------------------------------------- */

static void least_squares(struct reading *r, const void *m, const void *n, const void *nrhs,
                          void *a, const void *lda, void *b, const void *ldb)
{
    rectangle(r, m, n, a, lda);
    right_sides(r, nrhs, b, ldb);
    r->legal = r->legal && r->routine->m >= r->routine->n;
}

/* The caller's library solves the other systems of GELS, A X = B with fewer rows than columns and
 * Aᴴ X = B, whose shortest solution is wanted. */
static void read_gels(struct reading *r)
{
    const struct shim_gels *c = &r->call->gels;
    letter(r, c->trans, "N");
    least_squares(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    workspace(r, c->lwork, r->routine->n + xg_max_i64(r->routine->n, r->routine->k));
}

static void ranked(struct reading *r)
{
    const struct shim_gelsd *c = &r->call->gelsd;
    least_squares(r, c->m, c->n, c->nrhs, c->a, c->lda, c->b, c->ldb);
    r->routine->uplo = XG_UPPER;
    r->routine->operand[XG_SLOT_V] = r->routine->operand[XG_SLOT_B];
    matrix(r, XG_SLOT_U, c->a, r->routine->n, r->routine->n, c->lda);
    vector(r, XG_SLOT_W, c->s, r->routine->n);
    r->routine->rank = c->rank;
    r->legal = r->legal && c->rank && c->rcond;
    if (r->legal)
        r->routine->rcond = xg_type_real_at(r->routine->type, c->rcond, 0);
}

/* The rows that count for the workspace: LAPACK first factorizes a tall matrix, and then needs the
 * workspace of R. */
static int64_t rows_left(const struct reading *r)
{
    const int64_t m = r->routine->m, n = r->routine->n;
    return 5 * m < 8 * (n + 1) ? m : n;
}

/* Requires the workspaces that LAPACK demands for A; for R it demands no more. */
static void read_gelsd(struct reading *r)
{
    static const int64_t LEAF = 25; /* the largest problem that LAPACK does not divide */
    ranked(r);
    const int64_t n = r->routine->n;
    if (xg_type_is_complex(r->routine->type)) {
        workspace(r, r->call->gelsd.lwork, 2 * n + xg_max_i64(rows_left(r), n * r->routine->k));
        return;
    }
    int64_t levels = 2 * n > LEAF + 1;
    while ((LEAF + 1) << levels <= n)
        levels++;
    workspace(r, r->call->gelsd.lwork,
              12 * n + 2 * n * LEAF + 8 * n * levels + n * r->routine->k + (LEAF + 1) * (LEAF + 1));
}

static void read_gelss(struct reading *r)
{
    ranked(r);
    const int64_t m = r->routine->m, n = r->routine->n, k = r->routine->k;
    workspace(r, r->call->gelss.lwork,
              xg_type_is_complex(r->routine->type)
                  ? 2 * n + xg_max_i64(m, k)
                  : xg_max_i64(5 * n, 3 * n + xg_max_i64(rows_left(r), k)));
}

/* --- Eigenvalues ----------------------------------------------------------------------------- */

/* LAPACK treats a matrix of one element separately, also its workspace. */
static void eigen(struct reading *r, const void *jobz, const void *triangle, const void *n, void *a,
                  const void *lda, void *w)
{
    r->routine->vectors = letter(r, jobz, "NV") ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    uplo(r, triangle);
    square(r, n, a, lda);
    vector(r, XG_SLOT_W, w, r->routine->n);
    r->legal = r->legal && r->routine->n > 1;
    if (r->routine->vectors)
        r->routine->operand[XG_SLOT_U] = r->routine->operand[XG_SLOT_A];
}

/* Workspaces of the type, of real numbers if the type is complex, and of integers. */
static void workspaces(struct reading *r, int64_t work, int64_t rwork, int64_t iwork)
{
    const unsigned char *lengths = row_of(r->call)->lengths;
    const bool complex = xg_type_is_complex(r->routine->type);
    workspace(r, word(r->call, lengths[0]), work);
    if (complex)
        workspace(r, word(r->call, lengths[1]), rwork);
    workspace(r, word(r->call, lengths[1 + complex]), iwork);
}

/* The workspaces of the divide-and-conquer routines. */
static void least_workspaces(struct reading *r)
{
    const int64_t n = r->routine->n;
    const bool complex = xg_type_is_complex(r->routine->type);
    if (r->routine->vectors)
        workspaces(r, complex ? 2 * n + n * n : 1 + 6 * n + 2 * n * n, 1 + 5 * n + 2 * n * n,
                   3 + 5 * n);
    else
        workspaces(r, complex ? n + 1 : 2 * n + 1, n, 1);
}

static void read_syev(struct reading *r)
{
    const struct shim_syev *c = &r->call->syev;
    eigen(r, c->jobz, c->uplo, c->n, c->a, c->lda, c->w);
    r->routine->rotates = true;
    workspace(r, c->lwork, (xg_type_is_complex(r->routine->type) ? 2 : 3) * r->routine->n - 1);
}

static void read_syevd(struct reading *r)
{
    const struct shim_syevd *c = &r->call->syevd;
    eigen(r, c->jobz, c->uplo, c->n, c->a, c->lda, c->w);
    least_workspaces(r);
}

/* All values, or those with the numbers il to iu, whose vectors have their own matrix. For an
 * interval (range V) no argument tells how many columns that matrix has. */
static void some_eigen(struct reading *r, const void *range, const void *il, const void *iu,
                       void *z, const void *ldz)
{
    const bool some = letter(r, range, "AI");
    const int64_t n = r->routine->n, first = some && r->legal ? integer(r, il) : 1;
    const int64_t last = some && r->legal ? integer(r, iu) : n;
    r->legal = r->legal && first >= 1 && first <= last && last <= n;
    if (!r->legal)
        return;
    r->routine->first = first - 1;
    r->routine->operand[XG_SLOT_W].rows = last - first + 1;
    if (r->routine->vectors)
        matrix(r, XG_SLOT_U, z, n, last - first + 1, ldz);
    else
        r->legal = integer(r, ldz) >= 1;
}

static void read_syevr(struct reading *r)
{
    const struct shim_syevr *c = &r->call->syevr;
    eigen(r, c->jobz, c->uplo, c->n, c->a, c->lda, c->w);
    some_eigen(r, c->range, c->il, c->iu, c->z, c->ldz);
    const int64_t n = r->routine->n;
    workspaces(r, (xg_type_is_complex(r->routine->type) ? 2 : 26) * n, 24 * n, 10 * n);
}

static void generalized(struct reading *r, const void *itype, void *b, const void *ldb)
{
    int64_t type = integer(r, itype);
    r->legal = r->legal && type >= 1 && type <= 3;
    r->routine->itype = r->legal ? (int)type : 1;
    matrix(r, XG_SLOT_B, b, r->routine->n, r->routine->n, ldb);
}

static void read_sygvd(struct reading *r)
{
    const struct shim_sygvd *c = &r->call->sygvd;
    eigen(r, c->jobz, c->uplo, c->n, c->a, c->lda, c->w);
    generalized(r, c->itype, c->b, c->ldb);
    least_workspaces(r);
}

/* cuSOLVER computes no left vectors. */
static void general(struct reading *r, const void *jobvl, const void *jobvr, const void *n, void *a,
                    const void *lda, void *w)
{
    letter(r, jobvl, "N");
    r->routine->vectors = letter(r, jobvr, "NV") ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    square(r, n, a, lda);
    vector(r, XG_SLOT_W, w, r->routine->n);
}

static void general_vectors(struct reading *r, const void *ldvl, void *vr, const void *ldvr)
{
    r->legal = r->legal && integer(r, ldvl) >= 1 && integer(r, ldvr) >= 1;
    if (r->routine->vectors)
        matrix(r, XG_SLOT_V, vr, r->routine->n, r->routine->n, ldvr);
}

static void read_geev(struct reading *r)
{
    const struct shim_geev *c = &r->call->geev;
    general(r, c->jobvl, c->jobvr, c->n, c->a, c->lda, c->wr);
    vector(r, XG_SLOT_WI, c->wi, r->routine->n);
    general_vectors(r, c->ldvl, c->vr, c->ldvr);
    workspace(r, c->lwork, (r->routine->vectors ? 4 : 3) * r->routine->n);
}

static void read_complex_geev(struct reading *r)
{
    const struct shim_complex_geev *c = &r->call->complex_geev;
    general(r, c->jobvl, c->jobvr, c->n, c->a, c->lda, c->w);
    general_vectors(r, c->ldvl, c->vr, c->ldvr);
    workspace(r, c->lwork, 2 * r->routine->n);
}

/* --- Singular values ------------------------------------------------------------------------- */

static void singular(struct reading *r, const void *m, const void *n, void *a, const void *lda,
                     void *s, int job)
{
    r->routine->vectors = (enum xg_vectors)job;
    rectangle(r, m, n, a, lda);
    vector(r, XG_SLOT_W, s, xg_min_i64(r->routine->m, r->routine->n));
}

static void singular_vectors(struct reading *r, void *u, const void *ldu, void *vt,
                             const void *ldvt)
{
    const int64_t m = r->routine->m, n = r->routine->n, least = xg_min_i64(m, n);
    const bool all = r->routine->vectors == XG_VECTORS_ALL;
    r->legal = r->legal && integer(r, ldu) >= 1 && integer(r, ldvt) >= 1;
    if (!r->routine->vectors)
        return;
    matrix(r, XG_SLOT_U, u, m, all ? m : least, ldu);
    matrix(r, XG_SLOT_V, vt, all ? n : least, n, ldvt);
}

/* The least workspace that gesdd accepts, which is smaller than its documentation says and depends
 * on its path. */
static int64_t least_gesdd(const struct reading *r)
{
    const int64_t n = xg_min_i64(r->routine->m, r->routine->n);
    const int64_t m = xg_max_i64(r->routine->m, r->routine->n);
    const int64_t divide = r->routine->vectors ? 3 * n * n + 4 * n : 7 * n;
    const bool all = r->routine->vectors == XG_VECTORS_ALL;
    if (xg_type_is_complex(r->routine->type)) {
        if (m < n * 17 / 9)
            return 2 * n + m;
        return !r->routine->vectors ? 3 * n : n * n + xg_max_i64(3 * n, all ? n + m : 0);
    }
    if (m < n * 11 / 6)
        return 3 * n + xg_max_i64(m, divide);
    return !r->routine->vectors ? n + divide : n * n + xg_max_i64(3 * n + divide, all ? n + m : 0);
}

static int64_t least_gesvd(const struct reading *r)
{
    const int64_t least = xg_min_i64(r->routine->m, r->routine->n);
    const int64_t most = xg_max_i64(r->routine->m, r->routine->n);
    return xg_type_is_complex(r->routine->type) ? 2 * least + most
                                                : xg_max_i64(3 * least + most, 5 * least);
}

static void read_gesdd(struct reading *r)
{
    const struct shim_gesdd *c = &r->call->gesdd;
    singular(r, c->m, c->n, c->a, c->lda, c->s, letter(r, c->jobz, "NSA"));
    singular_vectors(r, c->u, c->ldu, c->vt, c->ldvt);
    workspace(r, c->lwork, least_gesdd(r));
}

static void read_gesvd(struct reading *r)
{
    const struct shim_gesvd *c = &r->call->gesvd;
    const int left = letter(r, c->jobu, "NSA"), right = letter(r, c->jobvt, "NSA");
    r->legal = r->legal && left == right;
    r->routine->rotates = true;
    singular(r, c->m, c->n, c->a, c->lda, c->s, left);
    singular_vectors(r, c->u, c->ldu, c->vt, c->ldvt);
    workspace(r, c->lwork, least_gesvd(r));
}

/* --- All lists ------------------------------------------------------------------------------- */

#define AT(list, name) (offsetof(struct shim_##list, name) / sizeof(uintptr_t))
#define LIST(list, reader, rows, ...)                                                              \
    [SHIM_OP_##list] = {reader, AT(list, rows), AT(list, n), AT(list, info), {__VA_ARGS__}}

static const struct list lists[SHIM_OP_COUNT] = {
    LIST(potrf, read_potrf, n),
    LIST(potrs, read_potrs, n),
    LIST(trtri, read_trtri, n),
    LIST(getrf, read_getrf, m),
    LIST(getrs, read_getrs, n),
    LIST(gesv, read_gesv, n),
    LIST(getri, read_getri, n, AT(getri, lwork)),
    LIST(geqrf, read_geqrf, m, AT(geqrf, lwork)),
    LIST(orgqr, read_orgqr, m, AT(orgqr, lwork)),
    LIST(ormqr, read_ormqr, m, AT(ormqr, lwork)),
    LIST(gels, read_gels, m, AT(gels, lwork)),
    LIST(gelsd, read_gelsd, m, AT(gelsd, lwork)),
    LIST(complex_gelsd, read_gelsd, m, AT(complex_gelsd, lwork)),
    LIST(gelss, read_gelss, m, AT(gelss, lwork)),
    LIST(complex_gelss, read_gelss, m, AT(complex_gelss, lwork)),
    LIST(syev, read_syev, n, AT(syev, lwork)),
    LIST(heev, read_syev, n, AT(heev, lwork)),
    LIST(syevd, read_syevd, n, AT(syevd, lwork), AT(syevd, liwork)),
    LIST(heevd, read_syevd, n, AT(heevd, lwork), AT(heevd, lrwork), AT(heevd, liwork)),
    LIST(syevr, read_syevr, n, AT(syevr, lwork), AT(syevr, liwork)),
    LIST(heevr, read_syevr, n, AT(heevr, lwork), AT(heevr, lrwork), AT(heevr, liwork)),
    LIST(sygvd, read_sygvd, n, AT(sygvd, lwork), AT(sygvd, liwork)),
    LIST(hegvd, read_sygvd, n, AT(hegvd, lwork), AT(hegvd, lrwork), AT(hegvd, liwork)),
    LIST(geev, read_geev, n, AT(geev, lwork)),
    LIST(complex_geev, read_complex_geev, n, AT(complex_geev, lwork)),
    LIST(gesdd, read_gesdd, m, AT(gesdd, lwork)),
    LIST(complex_gesdd, read_gesdd, m, AT(complex_gesdd, lwork)),
    LIST(gesvd, read_gesvd, m, AT(gesvd, lwork)),
    LIST(complex_gesvd, read_gesvd, m, AT(complex_gesvd, lwork)),
};

void shim_routine_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n,
                       int64_t *k)
{
    *k = 0;
    *m = shim_terms_int(word(call, row_of(call)->m), int_bytes);
    *n = shim_terms_int(word(call, row_of(call)->n), int_bytes);
}

void *shim_routine_info(const struct shim_call *call)
{
    return (void *)call->words[row_of(call)->info];
}

void shim_routine_reduce(struct shim_call *call, const struct xg_routine *routine, int64_t *info)
{
    call->gelsd.ldb = call->gelsd.m;
    call->gelsd.m = call->gelsd.lda = call->gelsd.n;
    call->gelsd.a = routine->operand[XG_SLOT_U].at;
    call->gelsd.b = routine->operand[XG_SLOT_V].at;
    call->words[row_of(call)->info] = (uintptr_t)info;
}

bool shim_routine_ask(struct shim_call *call, int64_t *minus_one)
{
    const unsigned char *lengths = row_of(call)->lengths;
    for (int i = 0; i < 3 && lengths[i]; i++)
        call->words[lengths[i]] = (uintptr_t)minus_one;
    return lengths[0];
}

/* The sizes of LAPACK and OpenBLAS (ilaenv.f). */
enum {
    QR_CROSSOVER = 128, /* GEQRF and ORGQR of fewer reflectors work without blocks */
    TRIDIAGONAL_BLOCK = 32,
};

/* Whether a routine that asks for n columns of `asked` elements works without blocks of columns,
 * and leaves n then. */
static bool is_unblocked(const struct shim_call *call, const struct xg_routine *routine,
                         double asked, bool mkl)
{
    const int64_t block = (int64_t)asked / routine->n;
    const int64_t k =
        call->symbol->op == SHIM_OP_orgqr ? routine->k : xg_min_i64(routine->m, routine->n);
    if (call->symbol->op == SHIM_OP_getri)
        return block >= routine->n;
    return (call->symbol->op == SHIM_OP_geqrf || call->symbol->op == SHIM_OP_orgqr) && !mkl &&
           (block >= k || QR_CROSSOVER >= k);
}

/* A workspace precedes its length. SYGVD leaves the size that is best for SYEVD. MKL's routines
 * leave their answers, except GETRI. */
void shim_routine_leave(const struct shim_call *call, const struct xg_routine *routine,
                        enum shim_pool pool)
{
    void *work = (void *)call->words[row_of(call)->lengths[0] - 1];
    const bool mkl = pool == SHIM_POOL_MKL;
    const double asked = xg_type_real_at(routine->type, work, 0);
    const int64_t n = routine->n;
    double left = asked;
    if (routine->name == XG_ROUTINE_SYGVD && !mkl)
        left = fmax(asked, (double)((xg_type_is_complex(routine->type) ? 1 : 2) * n +
                                    TRIDIAGONAL_BLOCK * n));
    if (is_unblocked(call, routine, asked, mkl))
        left = (double)n;
    if (xg_type_is_double(routine->type))
        *(double *)work = left;
    else
        *(float *)work = (float)left;
}

/* LAPACK forbids operands that overlap, and libraries treat them differently. Of two operands that
 * begin at one address, one is written over the other (struct xg_use). */
static bool overlap(const struct xg_routine *routine)
{
    for (int i = 0; i < XG_SLOT_COUNT; i++)
        for (int j = 0; j < i; j++) {
            const struct xg_matrix *a = &routine->operand[i], *b = &routine->operand[j];
            const struct xg_use *use = xg_routine_use(routine->name, (enum xg_slot)i);
            if (!a->at || !b->at ||
                (a->at == b->at && use->lies == XG_LIES_OVER && use->at == (enum xg_slot)j))
                continue;
            if (xg_routine_overlaps(routine, (enum xg_slot)i, (enum xg_slot)j))
                return true;
        }
    return false;
}

/* True if the operands' sizes in bytes cannot overflow address arithmetic. */
static bool is_addressable(const struct xg_routine *routine)
{
    static const int64_t elems_most = INT64_MAX / 64;
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const struct xg_matrix *matrix = &routine->operand[i];
        int64_t elems;
        if (matrix->at &&
            (__builtin_mul_overflow(matrix->ld, matrix->columns, &elems) || elems > elems_most))
            return false;
    }
    return true;
}

void shim_routine_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    struct xg_routine *routine = &args->routine;
    struct reading reading = {call, int_bytes, routine, true};
    *routine = (struct xg_routine){.name = (enum xg_routine_name)call->symbol->kind,
                                   .type = call->symbol->type,
                                   .pivot_bytes = int_bytes};
    row_of(call)->read(&reading);
    args->illegal =
        !reading.legal || !shim_routine_info(call) || !is_addressable(routine) || overlap(routine);
}

/* Writes the number of values and, if LAPACK writes them too, the supports: each vector has all
 * elements. */
static void finish_some(void *m, void *isuppz, int int_bytes, const struct xg_routine *routine)
{
    const int64_t count = routine->operand[XG_SLOT_W].rows;
    shim_terms_put_int(m, int_bytes, 0, count);
    for (int64_t i = 0; routine->vectors && count == routine->n && i < count; i++) {
        shim_terms_put_int(isuppz, int_bytes, 2 * i, 1);
        shim_terms_put_int(isuppz, int_bytes, 2 * i + 1, routine->n);
    }
}

void shim_routine_finish(const struct shim_call *call, int int_bytes,
                         const struct xg_routine *routine)
{
    if (call->symbol->op == SHIM_OP_syevr || call->symbol->op == SHIM_OP_heevr)
        finish_some(call->syevr.m, call->syevr.isuppz, int_bytes, routine);
    shim_terms_put_int(shim_routine_info(call), int_bytes, 0, 0);
}
