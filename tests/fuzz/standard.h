/* SPDX-License-Identifier: MIT */
/* A second statement of the BLAS standard: a call, and the argument that it calls illegal. */
#ifndef FUZZ_STANDARD_H
#define FUZZ_STANDARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "src/base/problem.h"

/* A call in the standard's terms. order: 101 or 102 in the C interface, 0 in Fortran. For SYRK and
 * HERK transa is the transpose; for them and for GEMMT m equals n. For SYMM, HEMM, TRMM and TRSM k
 * follows from the side. TRMM and TRSM write B, not C. GEMV has transa; its x is B, and its y is C.
 */
struct standard {
    enum xg_op op;
    enum xg_type type;
    int order, int_bytes;
    int side, uplo, transa, transb, diag; /* as passed: a number or a letter */
    int64_t m, n, k, lda, ldb, ldc;
};

static inline bool standard_has_one_operand(const struct standard *call)
{
    return call->op == XG_OP_SYRK || call->op == XG_OP_HERK;
}

static inline bool standard_is_rank_2k(const struct standard *call)
{
    return call->op == XG_OP_SYR2K || call->op == XG_OP_HER2K;
}

/* Whether only a triangle of C is written. */
static inline bool standard_has_triangle(const struct standard *call)
{
    return standard_has_one_operand(call) || standard_is_rank_2k(call) || call->op == XG_OP_GEMMT;
}

/* Returns 'N', 'T' or 'C', or 0 for an illegal value. For real numbers 'C' becomes 'T'. */
static inline char standard_trans(const struct standard *call, int trans)
{
    static const char letters[] = "NnTtCcRr", real[] = "NNTTTTNN", complex[] = "NNTTCC";
    if (call->order)
        trans = trans == 111   ? 'N'
                : trans == 112 ? 'T'
                : trans == 113 ? 'C'
                : trans == 114 ? 'R'
                               : '\0';
    const char *found = trans ? strchr(letters, trans) : NULL;
    char meaning = !found                                               ? '\0'
                   : call->type == XG_TYPE_S || call->type == XG_TYPE_D ? real[found - letters]
                   : found - letters < 6                                ? complex[found - letters]
                                                                        : '\0';
    if (call->op == XG_OP_HERK || call->op == XG_OP_HER2K)
        return meaning == 'T' ? '\0' : meaning;
    bool symmetric = call->op == XG_OP_SYRK || call->op == XG_OP_SYR2K;
    return meaning == 'C' && symmetric ? '\0' : meaning;
}

static inline bool standard_is_symm(const struct standard *call)
{
    return call->op == XG_OP_SYMM || call->op == XG_OP_HEMM;
}

static inline bool standard_is_trmm(const struct standard *call)
{
    return call->op == XG_OP_TRMM || call->op == XG_OP_TRSM;
}

/* Returns the first or the second letter, or 0. The second letter's number is number + 1. */
static inline char standard_letter(const struct standard *call, int passed, int number,
                                   const char letters[2])
{
    for (int i = 0; i < 2; i++)
        if (call->order ? passed == number + i
                        : passed == letters[i] || passed == letters[i] + 'a' - 'A')
            return letters[i];
    return '\0';
}

static inline char standard_diag(const struct standard *call)
{
    return standard_letter(call, call->diag, 131, "NU");
}

static inline char standard_side(const struct standard *call)
{
    return standard_letter(call, call->side, 141, "LR");
}

static inline char standard_uplo(const struct standard *call)
{
    return standard_letter(call, call->uplo, 121, "UL");
}

/* Whether ld is legal for a matrix of (rows,cols) in the caller's order. */
static inline bool standard_ld_legal(const struct standard *call, int64_t rows, int64_t cols,
                                     int64_t ld)
{
    int64_t stride = call->order == 101 ? cols : rows;
    return ld >= stride && ld >= 1;
}

/* Whether a condition is broken, and INFO's number of its argument. */
struct standard_rule {
    bool broken;
    int info;
};

/* Returns INFO of the first broken rule; 0: none is broken. */
static inline int standard_first(const struct standard_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].broken)
            return rules[i].info;
    return 0;
}

#define STANDARD_FIRST(rules) standard_first(rules, sizeof(rules) / sizeof(rules)[0])

/* The same for an operand X whose op(X) is (rows,cols). */
static inline bool standard_op_legal(const struct standard *call, char trans, int64_t rows,
                                     int64_t cols, int64_t ld)
{
    return standard_ld_legal(call, trans == 'N' ? rows : cols, trans == 'N' ? cols : rows, ld);
}

/* INFO of xSYRK and of xSYR2K, which has ldb before ldc. */
static inline int standard_info_syrk(const struct standard *call)
{
    const char trans = standard_trans(call, call->transa);
    const bool two = standard_is_rank_2k(call);
    const struct standard_rule rules[] = {
        {!standard_uplo(call), 1},
        {!trans, 2},
        {call->n < 0, 3},
        {call->k < 0, 4},
        {!standard_op_legal(call, trans, call->n, call->k, call->lda), 7},
        {two && !standard_op_legal(call, trans, call->n, call->k, call->ldb), 9},
        {!standard_ld_legal(call, call->n, call->n, call->ldc), two ? 12 : 10}};
    return STANDARD_FIRST(rules);
}

/* INFO of xSYMM and xHEMM. */
static inline int standard_info_symm(const struct standard *call)
{
    const int64_t na = standard_side(call) == 'L' ? call->m : call->n;
    const struct standard_rule rules[] = {
        {!standard_side(call), 1},
        {!standard_uplo(call), 2},
        {call->m < 0, 3},
        {call->n < 0, 4},
        {!standard_ld_legal(call, na, na, call->lda), 7},
        {!standard_ld_legal(call, call->m, call->n, call->ldb), 9},
        {!standard_ld_legal(call, call->m, call->n, call->ldc), 12}};
    return STANDARD_FIRST(rules);
}

/* INFO of xTRMM and xTRSM. */
static inline int standard_info_trmm(const struct standard *call)
{
    const int64_t na = standard_side(call) == 'L' ? call->m : call->n;
    const struct standard_rule rules[] = {
        {!standard_side(call), 1},
        {!standard_uplo(call), 2},
        {!standard_trans(call, call->transa), 3},
        {!standard_diag(call), 4},
        {call->m < 0, 5},
        {call->n < 0, 6},
        {!standard_ld_legal(call, na, na, call->lda), 9},
        {!standard_ld_legal(call, call->m, call->n, call->ldb), 11}};
    return STANDARD_FIRST(rules);
}

/* INFO of xGEMM and of GEMMT, which the standard calls xGEMMTR: uplo comes first, and m is missing.
 */
static inline int standard_info_gemm(const struct standard *call)
{
    const char ta = standard_trans(call, call->transa), tb = standard_trans(call, call->transb);
    const bool triangle = call->op == XG_OP_GEMMT;
    const struct standard_rule rules[] = {
        {triangle && !standard_uplo(call), 1},
        {!ta, triangle ? 2 : 1},
        {!tb, triangle ? 3 : 2},
        {!triangle && call->m < 0, 3},
        {call->n < 0, 4},
        {call->k < 0, 5},
        {!standard_op_legal(call, ta, call->m, call->k, call->lda), 8},
        {!standard_op_legal(call, tb, call->k, call->n, call->ldb), 10},
        {!standard_ld_legal(call, call->m, call->n, call->ldc), 13}};
    return STANDARD_FIRST(rules);
}

/* INFO of xGEMV. */
static inline int standard_info_gemv(const struct standard *call)
{
    const struct standard_rule rules[] = {
        {!standard_trans(call, call->transa), 1},
        {call->m < 0, 2},
        {call->n < 0, 3},
        {!standard_ld_legal(call, call->m, call->n, call->lda), 6},
        {call->ldb == 0, 8},
        {call->ldc == 0, 11}};
    return STANDARD_FIRST(rules);
}

/* Whether count times the rows of C (the columns, if C is column-major) fits an integer. */
static inline bool standard_rows_legal(const struct standard *call, int64_t count)
{
    int64_t rows = call->order == 101 ? call->m : call->n;
    return count >= 0 && (!rows || count <= INT64_MAX / rows);
}

/* INFO of a strided batch: GEMM's, with a stride after each leading dimension. */
static inline int standard_info_strided(const struct standard *call, int64_t count)
{
    if (call->order && call->order != 101 && call->order != 102)
        return 1;
    int info = standard_info_gemm(call);
    if (!info && !standard_rows_legal(call, count))
        info = 17;
    else if (info == 10)
        info = 11;
    else if (info == 13)
        info = 15;
    return info && call->order ? info + 1 : info;
}

/* INFO of one group of a batch. *sum: the sum of the sizes so far. */
static inline int standard_info_group(const struct standard *call, int64_t size, uint64_t *sum)
{
    int info = standard_info_gemm(call);
    if (info)
        return info;
    if (!standard_rows_legal(call, size))
        return 15;
    *sum += (uint64_t)size;
    return *sum > INT64_MAX ? 15 : 0;
}

/* INFO of any operation but batches. The C interface counts the order as argument 1. */
static inline int standard_info(const struct standard *call)
{
    if (call->order && call->order != 101 && call->order != 102)
        return 1;
    int info = call->op != XG_OP_GEMMT && standard_has_triangle(call) ? standard_info_syrk(call)
               : standard_is_symm(call)                               ? standard_info_symm(call)
               : standard_is_trmm(call)                               ? standard_info_trmm(call)
               : call->op == XG_OP_GEMV                               ? standard_info_gemv(call)
                                                                      : standard_info_gemm(call);
    return info && call->order ? info + 1 : info;
}

#endif
