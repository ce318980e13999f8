/* SPDX-License-Identifier: MIT */
/* Runs what asks the dynamic linker where the program does not notice. */
#ifndef SHIM_ASIDE_H
#define SHIM_ASIDE_H

/*
 * Calls run(context) on a thread of its own, and returns when it is done. dlopen, dlsym and dlclose
 * begin by forgetting the calling thread's last error, even where they succeed: on the program's
 * thread they would take away what its next dlerror shall tell, or the text that its last one gave.
 *
 * On the calling thread where no other one can be made, and where it may be the calling thread
 * itself that holds the dynamic linker's lock: in a constructor, say, which dlopen runs, and before
 * which that has forgotten the last error anyhow.
 *
 * With signals and cancellation held back (shelter.h). Keeps no errno.
 */
void shim_aside(void (*run)(void *context), void *context);

#endif
