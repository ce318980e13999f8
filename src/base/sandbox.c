/* SPDX-License-Identifier: MIT */
#include "base/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>

/* CLOSED, plus TRYING for each call under way that may close. */
enum { CLOSED = 1, TRYING = 2 };

_Atomic unsigned xg_sandbox_state;

void xg_sandbox_enter(void)
{
    atomic_fetch_add(&xg_sandbox_state, TRYING);
}

void xg_sandbox_leave(bool closed)
{
    if (closed)
        atomic_fetch_or(&xg_sandbox_state, CLOSED);
    atomic_fetch_sub(&xg_sandbox_state, TRYING);
}

/* Other architectures lack this switch, and prctl fails there. */
void xg_sandbox_look(void)
{
    static _Atomic bool looked;
    int error = errno, access = PR_TSC_ENABLE;
    if (xg_sandbox_closed() || atomic_exchange_explicit(&looked, true, memory_order_relaxed))
        return;
    if (!prctl(PR_GET_TSC, &access) && access == PR_TSC_SIGSEGV)
        atomic_fetch_or(&xg_sandbox_state, CLOSED);
    errno = error;
}
