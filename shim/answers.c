/* SPDX-License-Identifier: MIT */
/*
 * Answers are kept by the caller's object, because all its call sites are bound alike. If only the
 * place of a call identifies the object, the answer is kept by that place (next.c).
 *
 * A slot is overwritten when its object is gone or when there are too many answers. So readers copy
 * a slot and check that it was not written meanwhile: `turn` is odd while a thread writes it. No
 * thread waits: a reader that finds a slot being written goes on without it.
 *
 * A process that is forked during a write inherits the odd turn but not the writing thread. So the
 * turn names its process, and another process takes it over. A closed process may not ask for its
 * number and uses 0. Handlers of pthread_atfork would not suffice: _Fork and clone call none.
 */
#include "answers.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "src/base/sandbox.h"

enum {
    SLOT_BITS = 10, /* an object may call by a dozen names */
    SLOTS = 1 << SLOT_BITS,
    PROBES = 8,
    WORDS = sizeof(struct shim_answer) / sizeof(uint64_t),
};
_Static_assert(sizeof(struct shim_answer) % sizeof(uint64_t) == 0, "copied word by word");

static struct slot {
    _Atomic uint64_t turn; /* upper half: the process that wrote last; odd: a thread is writing */
    _Atomic uint64_t key;  /* 0: free */
    _Atomic uint64_t word[WORDS];
} table[SLOTS];

static struct slot *slot_of(uint64_t key, int probe)
{
    return &table[((key * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS)) + (uint64_t)probe) % SLOTS];
}

static bool read_slot(struct slot *slot, struct shim_answer *out)
{
    uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
    for (int i = 0; i < WORDS; i++) {
        uint64_t word = atomic_load_explicit(&slot->word[i], memory_order_acquire);
        memcpy((char *)out + (size_t)i * sizeof word, &word, sizeof word);
    }
    return turn % 2 == 0 && atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn;
}

/* The turn after `turn`, written by `process`: odd after an even one. */
static uint64_t next_turn(uint64_t turn, uint64_t process)
{
    return process << 32 | ((turn + 1) & 0xffffffff);
}

static void write_slot(struct slot *slot, const struct shim_answer *answer)
{
    uint64_t process = xg_sandbox_closed() ? 0 : (uint64_t)getpid();
    uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
    if (turn % 2 && turn >> 32 == process)
        return;
    uint64_t odd = next_turn(turn % 2 ? turn + 1 : turn, process);
    if (!atomic_compare_exchange_strong(&slot->turn, &turn, odd))
        return;
    atomic_store_explicit(&slot->key, answer->key, memory_order_release);
    for (int i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, (const char *)answer + (size_t)i * sizeof word, sizeof word);
        atomic_store_explicit(&slot->word[i], word, memory_order_release);
    }
    atomic_store_explicit(&slot->turn, next_turn(odd, process), memory_order_release);
}

bool shim_answers_find(uint64_t key, struct shim_answer *out)
{
    for (int probe = 0; probe < PROBES; probe++) {
        struct slot *slot = slot_of(key, probe);
        uint64_t held = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (!held)
            return false;
        if (held == key && read_slot(slot, out) && out->key == key)
            return true;
    }
    return false;
}

/* Uses the slot of this key or the first free one, else the key's first slot. */
void shim_answers_keep(const struct shim_answer *answer)
{
    uint64_t key = answer->key;
    for (int probe = 0; probe < PROBES; probe++) {
        struct slot *slot = slot_of(key, probe);
        uint64_t held = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (!held || held == key) {
            write_slot(slot, answer);
            return;
        }
    }
    write_slot(slot_of(key, 0), answer);
}
