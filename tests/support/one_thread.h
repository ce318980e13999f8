/* SPDX-License-Identifier: MIT */
#ifndef ONE_THREAD_H
#define ONE_THREAD_H

/* For a function with long arithmetic on memory of one thread. The thread sanitizer, which would
 * make it ten times as long, ignores it. */
#ifdef __SANITIZE_THREAD__
#define XT_ONE_THREAD __attribute__((no_sanitize_thread))
/* If other threads use the memory, these report to the sanitizer that `bytes` of it are read or
 * written. */
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
