/* SPDX-License-Identifier: MIT */
#include "pipeline/copy.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* C may have any alignment; compiled code for an aligned float could fault. */
typedef float loose __attribute__((aligned(1)));

static void combine(loose *c, const float *block, size_t count, float beta)
{
    for (size_t i = 0; i < count; i++)
        c[i] = block[i] + beta * c[i];
}

#ifdef __x86_64__
#include <immintrin.h>

enum { LINE_BYTES = 64 };

/* Below this size the ragged ends of a copy cost more than streaming saves. */
enum { STREAM_BYTES_MIN = 1024 };

/*
 * Prefetch distances in bytes: the memory's latency times one thread's copy rate. Prefetching
 * raises one thread from 8.5 to 9.6 GB/s, and four threads from 29 to 34. copy_lines prefetches
 * nothing beyond the row, because the matrix's next row lies elsewhere.
 */
enum { AHEAD_MEMORY = 2048, AHEAD_BLOCK = 1024 };

static inline __attribute__((always_inline, target("avx2"))) void
copy_line(char *dst, const char *src, bool stream)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)src);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + 32));
    __m256i *to = (__m256i *)(void *)dst;
    if (stream) {
        _mm256_stream_si256(to, low);
        _mm256_stream_si256(to + 1, high);
    } else {
        _mm256_store_si256(to, low);
        _mm256_store_si256(to + 1, high);
    }
}

/* Copies whole lines; dst begins a line. */
static inline __attribute__((always_inline, target("avx2"))) void
copy_lines(char *dst, const char *src, size_t bytes, bool stream, bool block)
{
    size_t ahead = block ? AHEAD_BLOCK : AHEAD_MEMORY, at = 0;
    for (; at + ahead < bytes; at += LINE_BYTES) {
        if (block)
            _mm_prefetch(src + at + ahead, _MM_HINT_NTA);
        else
            _mm_prefetch(src + at + ahead, _MM_HINT_T1);
        copy_line(dst + at, src + at, stream);
    }
    for (; at < bytes; at += LINE_BYTES)
        copy_line(dst + at, src + at, stream);
}

/* Copies whole lines by copy_lines and the ragged ends by memcpy. */
static inline __attribute__((always_inline, target("avx2"))) void
copy_row(char *dst, const char *src, size_t bytes, bool stream, bool block)
{
    size_t head = (size_t)(-(uintptr_t)dst % LINE_BYTES);
    size_t lines = (bytes - head) / LINE_BYTES * LINE_BYTES, end = head + lines;
    memcpy(dst, src, head);
    copy_lines(dst + head, src + head, lines, stream, block);
    memcpy(dst + end, src + end, bytes - end);
}

__attribute__((target("avx2"))) static void stream_row(char *dst, const char *src, size_t bytes)
{
    copy_row(dst, src, bytes, true, false);
}

__attribute__((target("avx2"))) static void drain_row(char *dst, const char *src, size_t bytes)
{
    copy_row(dst, src, bytes, true, true);
}

__attribute__((target("avx2"))) static void keep_row(char *dst, const char *src, size_t bytes)
{
    copy_row(dst, src, bytes, false, false);
}

/* Combines whole lines of an aligned C. It prefetches C as well, because it reads C. */
__attribute__((target("avx2"))) static void combine_lines(float *c, const float *block,
                                                          size_t count, float beta)
{
    enum { NUMBERS = 8, LINE_NUMBERS = LINE_BYTES / sizeof(float) };
    __m256 factor = _mm256_set1_ps(beta);
    for (size_t at = 0; at < count; at += LINE_NUMBERS) {
        _mm_prefetch((const char *)(block + at) + AHEAD_BLOCK, _MM_HINT_NTA);
        _mm_prefetch((const char *)(c + at) + AHEAD_BLOCK, _MM_HINT_T0);
        for (size_t i = at; i < at + LINE_NUMBERS; i += NUMBERS) {
            __m256 old = _mm256_mul_ps(factor, _mm256_load_ps(c + i));
            _mm256_store_ps(c + i, _mm256_add_ps(_mm256_loadu_ps(block + i), old));
        }
    }
}

static bool worth_it(size_t bytes)
{
    return bytes >= STREAM_BYTES_MIN && __builtin_cpu_supports("avx2");
}

/* The ragged ends are combined plainly. */
static void combine_row(float *c, const float *block, size_t count, float beta)
{
    size_t head = (size_t)(-(uintptr_t)c % LINE_BYTES) / sizeof *c;
    size_t lines = (count - head) * sizeof *c / LINE_BYTES * LINE_BYTES / sizeof *c;
    combine(c, block, head, beta);
    combine_lines(c + head, block + head, lines, beta);
    combine(c + head + lines, block + head + lines, count - head - lines, beta);
}

void xg_copy_fence(void)
{
    _mm_sfence();
}

#else

static bool worth_it(size_t bytes)
{
    (void)bytes;
    return false;
}

/* Never called. */
#define stream_row memcpy
#define drain_row memcpy
#define keep_row memcpy
#define combine_row combine

void xg_copy_fence(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

#endif

void xg_copy_stream(void *dst, const void *src, size_t bytes)
{
    if (worth_it(bytes))
        stream_row(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void xg_copy_drain(void *dst, const void *src, size_t bytes)
{
    if (worth_it(bytes))
        drain_row(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void xg_copy_keep(void *dst, const void *src, size_t bytes)
{
    if (worth_it(bytes))
        keep_row(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void xg_copy_combine(float *c, const float *block, size_t count, float beta)
{
    if (worth_it(count * sizeof *c) && (uintptr_t)c % sizeof *c == 0)
        combine_row(c, block, count, beta);
    else
        combine(c, block, count, beta);
}
