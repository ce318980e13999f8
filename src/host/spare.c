/* SPDX-License-Identifier: MIT */
/* One product at a time lends a thread's core to the start. */
#include "host/spare.h"

#include <stdatomic.h>

#include "host/tally.h"

/* Fewer threads cannot spare one, nor need they: the loss would be as large as the gain. */
enum { THREADS_LEAST = 4 };

static _Atomic int lowered;                   /* the count before; 0: nobody has lowered it */
static void (*_Atomic lowered_by)(int count); /* in which library */

/* The program may have changed it meanwhile: then it is left as it is. */
static void put_back(const struct xg_cpu *cpu)
{
    int before = atomic_load(&lowered);
    if (cpu->get_threads() == before - 1)
        cpu->set_threads(before);
    atomic_store(&lowered, 0);
}

/* True: this product alone lowers the count. */
static bool lower(const struct xg_cpu *cpu, int threads)
{
    int nobody = 0;
    if (!atomic_compare_exchange_strong(&lowered, &nobody, threads))
        return false;
    /* The program may have changed it since the product was decided about. */
    if (cpu->get_threads() != threads) {
        atomic_store(&lowered, 0);
        return false;
    }
    atomic_store(&lowered_by, cpu->set_threads);
    cpu->set_threads(threads - 1);
    return true;
}

bool xg_spare_begin(const struct xg_cpu *cpu, int threads, int cores)
{
    if (!cpu->set_threads || !cpu->get_threads || threads < THREADS_LEAST || threads < cores)
        return false;
    xg_tally_add(XG_TALLY_LENT, 1); /* before the count is lowered: nobody takes it for left */
    if (xg_tally_own(XG_TALLY_LENT) && lower(cpu, threads))
        return true;
    xg_tally_take(XG_TALLY_LENT, 1);
    return false;
}

void xg_spare_end(const struct xg_cpu *cpu)
{
    if (!xg_tally_own(XG_TALLY_LENT))
        return;
    put_back(cpu);
    xg_tally_take(XG_TALLY_LENT, 1);
}

/* Lowered, by a product that no thread has: nobody else is at it where this thread alone counts. */
void xg_spare_settle(const struct xg_cpu *cpu)
{
    if (!atomic_load(&lowered) || !cpu->set_threads ||
        cpu->set_threads != atomic_load(&lowered_by) || xg_tally_all(XG_TALLY_LENT))
        return;
    xg_tally_add(XG_TALLY_LENT, 1);
    if (xg_tally_all(XG_TALLY_LENT) == 1 && atomic_load(&lowered))
        put_back(cpu);
    xg_tally_take(XG_TALLY_LENT, 1);
}

bool xg_spare_is_lowered(void)
{
    return atomic_load(&lowered) != 0;
}
