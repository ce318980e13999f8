/* SPDX-License-Identifier: MIT */
/* Runs a function that asks the dynamic linker, so that the program does not notice. */
#ifndef SHIM_LINKER_THREAD_H
#define SHIM_LINKER_THREAD_H

/*
 * Calls run(context) on a new thread and returns when it is done. dlopen, dlsym and dlclose start
 * by clearing the calling thread's last error, even if they succeed. On the program's thread they
 * would discard the error that its next dlerror should report, or the text that its last one
 * returned.
 *
 * Uses the calling thread if no other can be created, or if it may itself hold the dynamic linker's
 * lock: for example in a constructor, before which dlopen has cleared the last error anyway.
 *
 * Call it with signals and cancellation held back (shelter.h). It does not preserve errno.
 */
void shim_linker_thread_run(void (*run)(void *context), void *context);

#endif
