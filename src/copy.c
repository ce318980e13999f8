/* SPDX-License-Identifier: MIT */
/* Streaming copies. */
#include "copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

enum { LINE_BYTES = 64 };

/* Below this a copy's ends weigh more than what streaming saves. */
enum { STREAM_BYTES_MIN = 1024 };

__attribute__((target("avx2"))) static void stream_lines(char *dst, const char *src, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE_BYTES) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)(src + at));
        __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(src + at + 32));
        _mm256_stream_si256((__m256i *)(void *)(dst + at), low);
        _mm256_stream_si256((__m256i *)(void *)(dst + at + 32), high);
    }
}

void xg_copy_stream(void *dst, const void *src, size_t bytes)
{
    if (bytes < STREAM_BYTES_MIN || !__builtin_cpu_supports("avx2")) {
        memcpy(dst, src, bytes);
        return;
    }
    /* Whole lines are streamed; the ragged ends are copied. */
    size_t head = (size_t)(-(uintptr_t)dst % LINE_BYTES);
    size_t lines = (bytes - head) / LINE_BYTES * LINE_BYTES;
    memcpy(dst, src, head);
    stream_lines((char *)dst + head, (const char *)src + head, lines);
    memcpy((char *)dst + head + lines, (const char *)src + head + lines, bytes - head - lines);
}

void xg_copy_fence(void)
{
    _mm_sfence();
}

#else

void xg_copy_stream(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

void xg_copy_fence(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

#endif
