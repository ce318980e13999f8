/* SPDX-License-Identifier: MIT */
#include "pipeline/magnitude.h"

#include <string.h>

static uint64_t magnitude_at(const char *at, bool wide)
{
    uint64_t word;
    uint32_t half;
    if (wide) {
        memcpy(&word, at, sizeof word);
        return word & INT64_MAX;
    }
    memcpy(&half, at, sizeof half);
    return half & INT32_MAX;
}

static uint64_t largest_of(const char *at, size_t bytes, bool wide, uint64_t largest)
{
    const size_t step = wide ? sizeof(double) : sizeof(float);
    for (; bytes >= step; at += step, bytes -= step) {
        const uint64_t magnitude = magnitude_at(at, wide);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

#ifdef __x86_64__
#include <immintrin.h>

enum { VECTOR_BYTES = sizeof(__m256i), STEP_BYTES = 2 * VECTOR_BYTES };

static inline __attribute__((always_inline, target("avx2"))) __m256i
larger(__m256i largest, const char *at, bool wide)
{
    const __m256i word = _mm256_loadu_si256((const __m256i *)(const void *)at);
    const __m256i magnitude =
        _mm256_and_si256(word, wide ? _mm256_set1_epi64x(INT64_MAX) : _mm256_set1_epi32(INT32_MAX));
    return wide ? _mm256_blendv_epi8(largest, magnitude, _mm256_cmpgt_epi64(magnitude, largest))
                : _mm256_max_epu32(largest, magnitude);
}

/* A compiler vectorizes the plain loops only at higher levels of optimization. With them one thread
 * reads 6 GB/s. */
__attribute__((target("avx2"))) static uint64_t largest_avx2(const char *at, size_t bytes,
                                                             bool wide)
{
    const size_t whole = bytes / STEP_BYTES * STEP_BYTES;
    __m256i largest[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t i = 0; i < whole; i += STEP_BYTES) {
        largest[0] = larger(largest[0], at + i, wide);
        largest[1] = larger(largest[1], at + i + VECTOR_BYTES, wide);
    }
    return largest_of(at + whole, bytes - whole, wide,
                      largest_of((const char *)largest, sizeof largest, wide, 0));
}

uint64_t xg_magnitude_largest(const void *numbers, size_t bytes, bool wide)
{
    return bytes >= STEP_BYTES && __builtin_cpu_supports("avx2")
               ? largest_avx2(numbers, bytes, wide)
               : largest_of(numbers, bytes, wide, 0);
}

#else

uint64_t xg_magnitude_largest(const void *numbers, size_t bytes, bool wide)
{
    return largest_of(numbers, bytes, wide, 0);
}

#endif
