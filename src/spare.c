/* SPDX-License-Identifier: MIT */
/* One product at a time lends a thread's core to the start. */
#include "spare.h"

#include <stdatomic.h>

/* Fewer threads cannot spare one, nor need they: the loss would be as large as the gain. */
enum { THREADS_LEAST = 4 };

static atomic_flag lowered = ATOMIC_FLAG_INIT;

bool xg_spare_begin(const struct xg_cpu *cpu, int threads, int cores)
{
    if (!cpu->set_threads || !cpu->threads || threads < THREADS_LEAST || threads < cores)
        return false;
    if (atomic_flag_test_and_set(&lowered))
        return false;
    /* The program may have changed it since the product was decided about. */
    if (cpu->threads(cpu->ctx) != threads) {
        atomic_flag_clear(&lowered);
        return false;
    }
    cpu->set_threads(cpu->ctx, threads - 1);
    return true;
}

void xg_spare_end(const struct xg_cpu *cpu, int threads)
{
    if (cpu->threads(cpu->ctx) == threads - 1)
        cpu->set_threads(cpu->ctx, threads);
    atomic_flag_clear(&lowered);
}
