/* SPDX-License-Identifier: MIT */
#ifndef ONE_THREAD_H
#define ONE_THREAD_H

/* Of a function: long arithmetic on memory that no other thread knows. The thread sanitizer, whose
 * tests it would make ten times as long, does not follow it. */
#ifdef __SANITIZE_THREAD__
#define XT_ONE_THREAD __attribute__((no_sanitize_thread))
#else
#define XT_ONE_THREAD
#endif

#endif
