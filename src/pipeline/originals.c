/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "pipeline/originals.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* A thread takes this many columns at a time: some hundred kilobytes of a large matrix. */
enum { COLUMNS = 16 };

/* True if an operand is also read, or lies where an operand that is read lies. */
static bool is_read(const struct xg_routine *routine, enum xg_slot slot)
{
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const enum xg_slot other = (enum xg_slot)i;
        if (routine->operand[other].at && xg_routine_use(routine->name, other)->in &&
            xg_routine_overlaps(routine, slot, other))
            return true;
    }
    return false;
}

void xg_originals_release(struct xg_originals_memory *memory)
{
    int saved_errno = errno;
    if (memory->at)
        munmap(memory->at, memory->bytes);
    *memory = (struct xg_originals_memory){0};
    errno = saved_errno;
}

static bool reserve(struct xg_originals_memory *memory, size_t bytes)
{
    int saved_errno = errno;
    if (bytes <= memory->bytes)
        return true;
    xg_originals_release(memory);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
        (void)madvise(at, bytes, MADV_HUGEPAGE);
        *memory = (struct xg_originals_memory){at, bytes};
    }
    errno = saved_errno;
    return at != MAP_FAILED;
}

enum xg_status xg_originals_init(struct xg_originals *originals, const struct xg_routine *routine,
                                 struct xg_originals_memory *memory)
{
    *originals = (struct xg_originals){.memory = memory};
    for (int i = 0; i < XG_SLOT_COUNT; i++) {
        const enum xg_slot slot = (enum xg_slot)i;
        const struct xg_use *use = xg_routine_use(routine->name, slot);
        const struct xg_matrix *host = &routine->operand[slot];
        if (!host->at || !use->out || slot == XG_SLOT_PIVOTS || !is_read(routine, slot))
            continue;
        struct xg_originals_matrix *matrix = &originals->at[originals->count++];
        *matrix = (struct xg_originals_matrix){
            .host = *host,
            .part = use->triangle ? routine->uplo : XG_FULL,
            .elem_bytes = xg_routine_slot_bytes(routine, slot),
        };
        originals->bytes += (size_t)(host->rows * host->columns) * matrix->elem_bytes;
    }
    if (!reserve(memory, originals->bytes))
        return XG_ERR_NOMEM;
    char *copy = memory->at;
    for (int i = 0; i < originals->count; i++) {
        struct xg_originals_matrix *matrix = &originals->at[i];
        matrix->copy = copy;
        copy += (size_t)(matrix->host.rows * matrix->host.columns) * matrix->elem_bytes;
    }
    return XG_OK;
}

void xg_originals_fini(struct xg_originals *originals)
{
    /* Offering the pages to the kernel takes 0.1 ms, a twentieth of a routine of 1024 columns. */
    static const size_t KEPT_BYTES = (size_t)256 << 20, OFFERED_BYTES = (size_t)16 << 20;
    int saved_errno = errno;
    if (originals->count == 0)
        return;
    if (originals->memory->bytes > KEPT_BYTES)
        xg_originals_release(originals->memory);
    else if (originals->bytes > OFFERED_BYTES)
        (void)madvise(originals->memory->at, originals->memory->bytes, MADV_FREE);
    errno = saved_errno;
}

/* The stored rows of a column, in the caller's memory and in the copy. */
struct run {
    char *host, *copy;
    size_t bytes;
};

static struct run run_of(const struct xg_originals_matrix *matrix, int64_t column)
{
    int64_t begin, end;
    xg_matrix_column(&matrix->host, matrix->part, column, &begin, &end);
    return (struct run){
        .host = (char *)matrix->host.at +
                (size_t)(column * matrix->host.ld + begin) * matrix->elem_bytes,
        .copy = matrix->copy + (size_t)(column * matrix->host.rows + begin) * matrix->elem_bytes,
        .bytes = (size_t)(end - begin) * matrix->elem_bytes,
    };
}

static int64_t columns_of(const struct xg_originals *originals)
{
    int64_t columns = 0;
    for (int i = 0; i < originals->count; i++)
        columns += originals->at[i].host.columns;
    return columns;
}

void xg_originals_save(struct xg_originals *originals)
{
    const int64_t all = columns_of(originals);
    for (;;) {
        int64_t first = atomic_fetch_add(&originals->taken, COLUMNS);
        for (int64_t number = first; number < first + COLUMNS; number++) {
            if (number >= all)
                return;
            const struct xg_originals_matrix *matrix = originals->at;
            int64_t column = number;
            while (column >= matrix->host.columns)
                column -= matrix++->host.columns;
            const struct run run = run_of(matrix, column);
            memcpy(run.copy, run.host, run.bytes);
        }
    }
}

void xg_originals_view(const struct xg_originals *originals, struct xg_routine *before)
{
    for (int i = 0; i < originals->count; i++)
        for (int slot = 0; slot < XG_SLOT_COUNT; slot++) {
            struct xg_matrix *operand = &before->operand[slot];
            if (operand->at != originals->at[i].host.at)
                continue;
            operand->at = originals->at[i].copy;
            operand->ld = operand->rows;
        }
}

void xg_originals_restore(const struct xg_originals *originals)
{
    for (int i = 0; i < originals->count; i++)
        for (int64_t column = 0; column < originals->at[i].host.columns; column++) {
            const struct run run = run_of(&originals->at[i], column);
            memcpy(run.host, run.copy, run.bytes);
        }
}
