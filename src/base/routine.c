/* SPDX-License-Identifier: MIT */
/* The routines' traits: their names, and what they read and write. */
#include "base/routine.h"

static const struct {
    const char *names[XG_TYPE_COUNT];
    struct xg_use uses[XG_SLOT_COUNT];
} traits[XG_ROUTINE_COUNT] = {
#define IN                                                                                         \
    {                                                                                              \
        .in = true                                                                                 \
    }
#define OUT                                                                                        \
    {                                                                                              \
        .out = true                                                                                \
    }
#define BOTH                                                                                       \
    {                                                                                              \
        .in = true, .out = true                                                                    \
    }
#define IN_TRIANGLE                                                                                \
    {                                                                                              \
        .in = true, .triangle = true                                                               \
    }
#define OUT_TRIANGLE                                                                               \
    {                                                                                              \
        .out = true, .triangle = true                                                              \
    }
#define BOTH_TRIANGLE                                                                              \
    {                                                                                              \
        .in = true, .out = true, .triangle = true                                                  \
    }
    [XG_ROUTINE_POTRF] = {{"spotrf", "dpotrf", "cpotrf", "zpotrf"}, {[XG_SLOT_A] = BOTH_TRIANGLE}},
    [XG_ROUTINE_POTRS] = {{"spotrs", "dpotrs", "cpotrs", "zpotrs"},
                          {[XG_SLOT_A] = IN_TRIANGLE, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_POSV] = {{"sposv", "dposv", "cposv", "zposv"},
                         {[XG_SLOT_A] = BOTH_TRIANGLE, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_POTRI] = {{"spotri", "dpotri", "cpotri", "zpotri"}, {[XG_SLOT_A] = BOTH_TRIANGLE}},
    [XG_ROUTINE_GETRF] = {{"sgetrf", "dgetrf", "cgetrf", "zgetrf"},
                          {[XG_SLOT_A] = BOTH, [XG_SLOT_PIVOTS] = OUT}},
    [XG_ROUTINE_GETRS] = {{"sgetrs", "dgetrs", "cgetrs", "zgetrs"},
                          {[XG_SLOT_A] = IN, [XG_SLOT_PIVOTS] = IN, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_GESV] = {{"sgesv", "dgesv", "cgesv", "zgesv"},
                         {[XG_SLOT_A] = BOTH, [XG_SLOT_PIVOTS] = OUT, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_GETRI] = {{"sgetri", "dgetri", "cgetri", "zgetri"},
                          {[XG_SLOT_A] = BOTH, [XG_SLOT_PIVOTS] = IN}},
    [XG_ROUTINE_TRTRI] = {{"strtri", "dtrtri", "ctrtri", "ztrtri"}, {[XG_SLOT_A] = BOTH_TRIANGLE}},
    [XG_ROUTINE_GEQRF] = {{"sgeqrf", "dgeqrf", "cgeqrf", "zgeqrf"},
                          {[XG_SLOT_A] = BOTH, [XG_SLOT_TAU] = OUT}},
    [XG_ROUTINE_ORGQR] = {{"sorgqr", "dorgqr", "cungqr", "zungqr"},
                          {[XG_SLOT_A] = BOTH, [XG_SLOT_TAU] = IN}},
    [XG_ROUTINE_ORMQR] = {{"sormqr", "dormqr", "cunmqr", "zunmqr"},
                          {[XG_SLOT_A] = IN, [XG_SLOT_TAU] = IN, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_GELS] = {{"sgels", "dgels", "cgels", "zgels"},
                         {[XG_SLOT_A] = BOTH, [XG_SLOT_B] = BOTH}},
    [XG_ROUTINE_GELSD] =
        {{"sgelsd", "dgelsd", "cgelsd", "zgelsd"},
         {[XG_SLOT_A] = IN, [XG_SLOT_B] = IN, [XG_SLOT_U] = OUT_TRIANGLE, [XG_SLOT_V] = OUT}},
    [XG_ROUTINE_GELSS] =
        {{"sgelss", "dgelss", "cgelss", "zgelss"},
         {[XG_SLOT_A] = IN, [XG_SLOT_B] = IN, [XG_SLOT_U] = OUT_TRIANGLE, [XG_SLOT_V] = OUT}},
    [XG_ROUTINE_SYEVD] = {{"ssyevd", "dsyevd", "cheevd", "zheevd"},
                          {[XG_SLOT_A] = IN_TRIANGLE, [XG_SLOT_U] = OUT, [XG_SLOT_W] = OUT}},
    [XG_ROUTINE_SYGVD] = {{"ssygvd", "dsygvd", "chegvd", "zhegvd"},
                          {[XG_SLOT_A] = IN_TRIANGLE,
                           [XG_SLOT_B] = BOTH_TRIANGLE,
                           [XG_SLOT_U] = OUT,
                           [XG_SLOT_W] = OUT}},
    [XG_ROUTINE_GEEV] =
        {{"sgeev", "dgeev", "cgeev", "zgeev"},
         {[XG_SLOT_A] = IN, [XG_SLOT_V] = OUT, [XG_SLOT_W] = OUT, [XG_SLOT_WI] = OUT}},
    [XG_ROUTINE_GESDD] =
        {{"sgesdd", "dgesdd", "cgesdd", "zgesdd"},
         {[XG_SLOT_A] = IN, [XG_SLOT_U] = OUT, [XG_SLOT_V] = OUT, [XG_SLOT_W] = OUT}},
#undef IN
#undef OUT
#undef BOTH
#undef IN_TRIANGLE
#undef OUT_TRIANGLE
#undef BOTH_TRIANGLE
};

const struct xg_use *xg_routine_use(enum xg_routine_name name, enum xg_slot slot)
{
    return &traits[name].uses[slot];
}

const char *xg_routine_text(enum xg_routine_name name, enum xg_type type)
{
    return traits[name].names[type];
}

enum xg_type xg_routine_slot_type(const struct xg_routine *call, enum xg_slot slot)
{
    return slot == XG_SLOT_W && call->name != XG_ROUTINE_GEEV ? xg_type_real(call->type)
                                                              : call->type;
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
