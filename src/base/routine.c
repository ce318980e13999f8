/* SPDX-License-Identifier: MIT */
/* The routines' rows. */
#include "base/routine.h"

const struct xg_routine_row xg_routine_rows[XG_ROUTINE_COUNT] = {
#define IN .in = true
#define OUT .out = true
#define TRIANGLE .triangle = true
#define REAL .real = true
#define STEPS(...) .steps = {__VA_ARGS__}
#define USE(slot, ...) LIES(slot, AS_IS, slot, __VA_ARGS__)
#define LIES(slot, how, other, ...)                                                                \
    .uses[XG_SLOT_##slot] = {.lies = XG_LIES_##how, .at = XG_SLOT_##other, __VA_ARGS__}
#define ROW(ROUTINE, real, complex, ...)                                                           \
    [XG_ROUTINE_##ROUTINE] = {{"s" #real, "d" #real, "c" #complex, "z" #complex}, __VA_ARGS__}
    ROW(POTRF, potrf, potrf, STEPS(XG_STEP_POTRF), USE(A, IN, OUT, TRIANGLE)),
    ROW(POTRS, potrs, potrs, STEPS(XG_STEP_POTRS), USE(A, IN, TRIANGLE), USE(B, IN, OUT)),
    ROW(POSV, posv, posv, STEPS(XG_STEP_POTRF, XG_STEP_POTRS), USE(A, IN, OUT, TRIANGLE),
        USE(B, IN, OUT)),
    ROW(POTRI, potri, potri, STEPS(XG_STEP_POTRI), USE(A, IN, OUT, TRIANGLE),
        .before = XG_BEFORE_REAL_DIAGONAL),
    ROW(GETRF, getrf, getrf, STEPS(XG_STEP_GETRF), USE(A, IN, OUT), USE(PIVOTS, OUT)),
    ROW(GETRS, getrs, getrs, STEPS(XG_STEP_GETRS), USE(A, IN), USE(PIVOTS, IN), USE(B, IN, OUT)),
    ROW(GESV, gesv, gesv, STEPS(XG_STEP_GETRF, XG_STEP_GETRS), USE(A, IN, OUT), USE(PIVOTS, OUT),
        USE(B, IN, OUT)),
    ROW(GETRI, getri, getri, STEPS(XG_STEP_GETRI), USE(A, IN, OUT), USE(PIVOTS, IN)),
    ROW(TRTRI, trtri, trtri, STEPS(XG_STEP_TRTRI), USE(A, IN, OUT, TRIANGLE)),
    ROW(GEQRF, geqrf, geqrf, STEPS(XG_STEP_GEQRF), USE(A, IN, OUT), USE(TAU, OUT)),
    ROW(ORGQR, orgqr, ungqr, STEPS(XG_STEP_ORGQR), USE(A, IN, OUT), USE(TAU, IN)),
    ROW(ORMQR, ormqr, unmqr, STEPS(XG_STEP_ORMQR), USE(A, IN), USE(TAU, IN), USE(B, IN, OUT)),
    ROW(GELS, gels, gels, STEPS(XG_STEP_GEQRF, XG_STEP_ROTATE, XG_STEP_SOLVE_TRIANGLE),
        USE(A, IN, OUT), USE(B, IN, OUT), LIES(TAU, ALL, TAU), .before = XG_BEFORE_MODERATE,
        .finish = XG_FINISH_FULL_RANK),
    ROW(GELSD, gelsd, gelsd, STEPS(XG_STEP_GEQRF, XG_STEP_ROTATE), USE(A, IN), USE(B, IN),
        LIES(TAU, ALL, TAU), LIES(U, OVER, A, OUT, TRIANGLE), LIES(V, OVER, B, OUT),
        LIES(W, NOWHERE, W, REAL), .before = XG_BEFORE_MODERATE, .finish = XG_FINISH_RANK_D),
    ROW(GELSS, gelss, gelss, STEPS(XG_STEP_GEQRF, XG_STEP_ROTATE), USE(A, IN), USE(B, IN),
        LIES(TAU, ALL, TAU), LIES(U, OVER, A, OUT, TRIANGLE), LIES(V, OVER, B, OUT),
        LIES(W, NOWHERE, W, REAL), .before = XG_BEFORE_MODERATE, .finish = XG_FINISH_RANK_S),
    ROW(SYEVD, syevd, heevd, STEPS(XG_STEP_SYEVD), USE(A, IN, TRIANGLE), LIES(U, OVER, A, OUT),
        LIES(W, ALL, W, OUT, REAL), .proof = XG_PROOF_ALL_VALUES),
    ROW(SYGVD, sygvd, hegvd, STEPS(XG_STEP_SYGVD), USE(A, IN, TRIANGLE), USE(B, IN, OUT, TRIANGLE),
        LIES(U, OVER, A, OUT), USE(W, OUT, REAL), .proof = XG_PROOF_VECTORS),
    ROW(GEEV, geev, geev, STEPS(XG_STEP_GEEV), USE(A, IN), USE(V, OUT), LIES(W, TWICE, W, OUT),
        LIES(WI, BEHIND, W, OUT), .before = XG_BEFORE_IRREDUCIBLE),
    ROW(GESDD, gesdd, gesdd, STEPS(XG_STEP_GESVDP, XG_STEP_GESVD), LIES(A, TALL, A, IN),
        LIES(U, LEFT, U, OUT), LIES(V, RIGHT, V, OUT), USE(W, OUT, REAL), .retries = true),
};

const struct xg_use *xg_routine_use(enum xg_routine_name name, enum xg_slot slot)
{
    return &xg_routine_rows[name].uses[slot];
}

const char *xg_routine_text(enum xg_routine_name name, enum xg_type type)
{
    return xg_routine_rows[name].names[type];
}

enum xg_type xg_routine_slot_type(const struct xg_routine *call, enum xg_slot slot)
{
    const bool real = xg_routine_use(call->name, slot)->real;
    return real ? xg_type_real(call->type) : call->type;
}

size_t xg_routine_slot_bytes(const struct xg_routine *call, enum xg_slot slot)
{
    return slot == XG_SLOT_PIVOTS ? sizeof(int64_t)
                                  : xg_type_bytes(xg_routine_slot_type(call, slot));
}

size_t xg_routine_span_bytes(const struct xg_routine *call, enum xg_slot slot)
{
    const struct xg_matrix *matrix = &call->operand[slot];
    size_t elem_bytes =
        slot == XG_SLOT_PIVOTS ? (size_t)call->pivot_bytes : xg_routine_slot_bytes(call, slot);
    return (size_t)((matrix->columns - 1) * matrix->ld + matrix->rows) * elem_bytes;
}

bool xg_routine_overlaps(const struct xg_routine *call, enum xg_slot a, enum xg_slot b)
{
    uintptr_t a_at = (uintptr_t)call->operand[a].at, b_at = (uintptr_t)call->operand[b].at;
    return a_at < b_at + xg_routine_span_bytes(call, b) &&
           b_at < a_at + xg_routine_span_bytes(call, a);
}
