/* SPDX-License-Identifier: MIT */
/* With OWN_XERBLA, a program's own handler of illegal arguments, which returns. Before: CALL_INT.
 */
#ifndef PRELOAD_HANDLER_H
#define PRELOAD_HANDLER_H

#ifdef OWN_XERBLA
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void xerbla_(const char *name, const CALL_INT *argument, size_t name_length)
{
    (void)name_length; /* which a BLAS written in C may leave out */
    printf("the program's xerbla_: %.6s, argument %ld\n", name, (long)*argument);
}
#endif

#endif
