/* SPDX-License-Identifier: MIT */
/* A table of selection's answers, a place a shape. */
#include "decide/choices.h"

#include <stdatomic.h>

static bool same_facts(const struct xg_device_facts *x, const struct xg_device_facts *y)
{
    return x->sm == y->sm && x->sm_count == y->sm_count &&
           x->smem_block_bytes == y->smem_block_bytes && x->clusters == y->clusters &&
           x->images == y->images && x->cublas == y->cublas && x->pieces == y->pieces &&
           x->scratch_bytes == y->scratch_bytes && x->unaligned == y->unaligned &&
           x->transa == y->transa && x->transb == y->transb && x->type == y->type &&
           x->fp64_ratio == y->fp64_ratio;
}

static size_t place(enum xg_math math, const struct xg_device_facts *facts, int64_t m, int64_t n,
                    int64_t k)
{
    uint64_t mixed = (uint64_t)m * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (uint64_t)n) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (uint64_t)k) * 0x94d049bb133111ebu;
    mixed = (mixed ^ (uint64_t)facts->type << 8 ^ (uint64_t)math << 1 ^ facts->pieces) *
            0x9e3779b97f4a7c15u;
    return (size_t)(mixed >> 32) % XG_CHOICES_ANSWERS;
}

static const struct xg_kernel *ask(const struct xg_device_facts *facts, enum xg_math math,
                                   const char *name, int64_t m, int64_t n, int64_t k,
                                   double *cycles)
{
    const struct xg_kernel *row = xg_select(facts, math, name, m, n, k);
    if (cycles)
        *cycles = row ? xg_select_cycles(row, facts, m, n, k) : 0.0;
    return row;
}

const struct xg_kernel *xg_choices_select(struct xg_choices *choices,
                                          const struct xg_device_facts *facts, enum xg_math math,
                                          const char *name, int64_t m, int64_t n, int64_t k,
                                          double *cycles)
{
    if (!choices || name)
        return ask(facts, math, name, m, n, k, cycles);
    struct xg_choices_answer *answer = &choices->answers[place(math, facts, m, n, k)];
    if (answer->m != m || answer->n != n || answer->k != k || answer->math != math ||
        !same_facts(&answer->facts, facts)) {
        struct xg_choices_answer now = {.facts = *facts, .math = math, .n = n, .k = k};
        now.row = ask(facts, math, NULL, m, n, k, &now.cycles);
        answer->m = 0; /* no shape's, for as long as a handler may leave it half written */
        atomic_signal_fence(memory_order_seq_cst);
        *answer = now;
        atomic_signal_fence(memory_order_seq_cst);
        answer->m = m;
    }
    if (cycles)
        *cycles = answer->cycles;
    return answer->row;
}
