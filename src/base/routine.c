/* SPDX-License-Identifier: MIT */
/* The routines' rows. */
#include "base/routine.h"

const struct xg_routine_row xg_routine_rows[XG_ROUTINE_COUNT] = {
#define IN .in = true
#define OUT .out = true
#define TRIANGLE .triangle = true
#define REAL .real = true
#define USE(slot, ...) LIES(slot, AS_IS, slot, __VA_ARGS__)
#define LIES(slot, how, other, ...)                                                                \
    .uses[XG_SLOT_##slot] = {.lies = XG_LIES_##how, .at = XG_SLOT_##other, __VA_ARGS__}
#define ROW(ROUTINE, real, complex, ...)                                                           \
    [XG_ROUTINE_##                                                                                 \
        ROUTINE] = {.names = {"s" #real, "d" #real, "c" #complex, "z" #complex}, __VA_ARGS__}
    ROW(POTRF, potrf, potrf, USE(A, IN, OUT, TRIANGLE)),
    ROW(POTRS, potrs, potrs, USE(A, IN, TRIANGLE), USE(B, IN, OUT)),
    ROW(POSV, posv, posv, USE(A, IN, OUT, TRIANGLE), USE(B, IN, OUT)),
    ROW(POTRI, potri, potri, USE(A, IN, OUT, TRIANGLE)),
    ROW(GETRF, getrf, getrf, USE(A, IN, OUT), USE(PIVOTS, OUT)),
    ROW(GETRS, getrs, getrs, USE(A, IN), USE(PIVOTS, IN), USE(B, IN, OUT)),
    ROW(GESV, gesv, gesv, USE(A, IN, OUT), USE(PIVOTS, OUT), USE(B, IN, OUT)),
    ROW(GETRI, getri, getri, USE(A, IN, OUT), USE(PIVOTS, IN)),
    ROW(TRTRI, trtri, trtri, USE(A, IN, OUT, TRIANGLE)),
    ROW(GEQRF, geqrf, geqrf, USE(A, IN, OUT), USE(TAU, OUT)),
    ROW(ORGQR, orgqr, ungqr, USE(A, IN, OUT), USE(TAU, IN)),
    ROW(ORMQR, ormqr, unmqr, USE(A, IN), USE(TAU, IN), USE(B, IN, OUT)),
    ROW(GELS, gels, gels, USE(A, IN, OUT), USE(B, IN, OUT), LIES(TAU, ALL, TAU)),
    ROW(GELSD, gelsd, gelsd, USE(A, IN), USE(B, IN), LIES(TAU, ALL, TAU),
        LIES(U, OVER, A, OUT, TRIANGLE), LIES(V, OVER, B, OUT), LIES(W, NOWHERE, W, REAL)),
    ROW(GELSS, gelss, gelss, USE(A, IN), USE(B, IN), LIES(TAU, ALL, TAU),
        LIES(U, OVER, A, OUT, TRIANGLE), LIES(V, OVER, B, OUT), LIES(W, NOWHERE, W, REAL)),
    ROW(SYEVD, syevd, heevd, USE(A, IN, TRIANGLE), LIES(U, OVER, A, OUT),
        LIES(W, ALL, W, OUT, REAL)),
    ROW(SYGVD, sygvd, hegvd, USE(A, IN, TRIANGLE), USE(B, IN, OUT, TRIANGLE), LIES(U, OVER, A, OUT),
        USE(W, OUT, REAL)),
    ROW(GEEV, geev, geev, USE(A, IN), USE(V, OUT), LIES(W, TWICE, W, OUT),
        LIES(WI, BEHIND, W, OUT)),
    ROW(GESDD, gesdd, gesdd, LIES(A, TALL, A, IN), LIES(U, LEFT, U, OUT), LIES(V, RIGHT, V, OUT),
        USE(W, OUT, REAL)),
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
