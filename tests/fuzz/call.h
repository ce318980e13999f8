/* SPDX-License-Identifier: MIT */
/* Arguments made of a fuzzer's bytes, and where an element of a matrix lies, stated twice. */
#ifndef FUZZ_CALL_H
#define FUZZ_CALL_H

#include "fuzz.h"
#include "standard.h"

/* Elements from the first to (row,col) of a matrix that the caller stores so, transposed or not. */
static inline uint64_t standard_offset(const struct standard *call, char trans, int64_t row,
                                       int64_t col, int64_t ld)
{
    uint64_t r = (uint64_t)(trans != 'N' ? col : row), c = (uint64_t)(trans != 'N' ? row : col);
    return call->order == 101 ? r * (uint64_t)ld + c : c * (uint64_t)ld + r;
}

/* The same of the normalised problem: row-major, op(X)(row,col). */
static inline uint64_t problem_offset(bool trans, int64_t row, int64_t col, int64_t ld)
{
    return trans ? (uint64_t)col * (uint64_t)ld + (uint64_t)row
                 : (uint64_t)row * (uint64_t)ld + (uint64_t)col;
}

/* Mostly small, now and then at the ends of what the integers hold. */
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

#endif
