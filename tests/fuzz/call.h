/* SPDX-License-Identifier: MIT */
/* Arguments made of a fuzzer's bytes, and a second statement of where an element of a matrix lies.
 */
#ifndef FUZZ_CALL_H
#define FUZZ_CALL_H

#include "fuzz.h"
#include "shim/args.h"
#include "standard.h"

/* The distance in elements from a matrix's first element to op(X)(row,col), in the caller's order.
 */
static inline uint64_t standard_offset(const struct standard *call, char trans, int64_t row,
                                       int64_t col, int64_t ld)
{
    uint64_t r = (uint64_t)(trans != 'N' ? col : row), c = (uint64_t)(trans != 'N' ? row : col);
    return call->order == 101 ? r * (uint64_t)ld + c : c * (uint64_t)ld + r;
}

/* The same for the problem, which is row-major. */
static inline uint64_t problem_offset(bool trans, int64_t row, int64_t col, int64_t ld)
{
    return trans ? (uint64_t)col * (uint64_t)ld + (uint64_t)row
                 : (uint64_t)row * (uint64_t)ld + (uint64_t)col;
}

/* Mostly small numbers, sometimes the largest or smallest integers. */
static inline int64_t take_int(struct fuzz_bytes *bytes, int int_bytes)
{
    uint8_t kind = fuzz_byte(bytes);
    if (kind < 160)
        return kind % 24;
    if (kind < 200)
        return -(int64_t)(kind % 5);
    if (kind < 230)
        return int_bytes == 8 ? (int64_t)fuzz_word(bytes, 8) : (int32_t)fuzz_word(bytes, 4);
    return (int_bytes == 8 ? INT64_MAX : INT32_MAX) - kind % 3;
}

static inline int take_trans(struct fuzz_bytes *bytes, bool cblas)
{
    uint8_t byte = fuzz_byte(bytes);
    if (cblas)
        return byte < 230 ? 111 + byte % 4 : (int8_t)fuzz_byte(bytes);
    return byte < 230 ? "NTCntcRr"[byte % 8] : fuzz_byte(bytes);
}

/* A scalar for the C interface. */
static inline union shim_scalar fuzz_scalar(enum xg_type type, const void *number)
{
    switch (type) {
    case XG_TYPE_S:
        return (union shim_scalar){.s = *(const float *)number};
    case XG_TYPE_D:
        return (union shim_scalar){.d = *(const double *)number};
    default:
        return (union shim_scalar){.c = number};
    }
}

/* An integer as a call passes it: the upper half of the slot of an int has any bits. */
static inline int64_t fuzz_slot(const struct standard *call, int64_t value, uint64_t garbage)
{
    return call->int_bytes == 8 ? value : (int64_t)((uint64_t)(uint32_t)value | garbage << 32);
}

/* Element (i,j) of C and term l of its sum lie where the standard says. */
static inline void fuzz_check_gemm(const struct standard *call, const struct xg_problem *p,
                                   void *const operands[3], int64_t i, int64_t j, int64_t l)
{
    char ta = standard_trans(call, call->transa), tb = standard_trans(call, call->transb);
    uint64_t a = standard_offset(call, ta, i, l, call->lda);
    uint64_t b = standard_offset(call, tb, l, j, call->ldb);
    uint64_t c = standard_offset(call, 'N', i, j, call->ldc);
    bool swapped = call->order != 101;
    int64_t row = swapped ? j : i, col = swapped ? i : j;
    uint64_t first = problem_offset(p->transa, row, l, p->lda);
    uint64_t second = problem_offset(p->transb, l, col, p->ldb);
    FUZZ_CHECK(p->a == operands[swapped] && first == (swapped ? b : a), "the first operand");
    FUZZ_CHECK(p->b == operands[!swapped] && second == (swapped ? a : b), "the second operand");
    FUZZ_CHECK((p->transa == XG_CONJ_TRANS) == ((swapped ? tb : ta) == 'C') &&
                   (p->transb == XG_CONJ_TRANS) == ((swapped ? ta : tb) == 'C'),
               "conjugates");
    FUZZ_CHECK(p->c == operands[2] && problem_offset(false, row, col, p->ldc) == c, "C");
}

#endif
