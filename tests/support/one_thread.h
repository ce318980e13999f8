/* SPDX-License-Identifier: MIT */
#ifndef ONE_THREAD_H
#define ONE_THREAD_H

/* Of a function: long arithmetic on memory that no other thread knows. The thread sanitizer, whose
 * tests it would make ten times as long, does not follow it. */
#ifdef __SANITIZE_THREAD__
#define XT_ONE_THREAD __attribute__((no_sanitize_thread))
/* What it is told instead where other threads know the memory: that `bytes` of it are read, or
 * written, at once. */
void __tsan_read_range(void *address, long bytes);
void __tsan_write_range(void *address, long bytes);
#define XT_TELL_READ(address, bytes) __tsan_read_range((void *)(address), (long)(bytes))
#define XT_TELL_WRITE(address, bytes) __tsan_write_range((void *)(address), (long)(bytes))
#else
#define XT_ONE_THREAD
#define XT_TELL_READ(address, bytes) ((void)(address), (void)(bytes))
#define XT_TELL_WRITE XT_TELL_READ
#endif

#endif
