/* SPDX-License-Identifier: MIT */
#include "host/local_rank.h"

#include <stddef.h>

/* Open MPI; Hydra (MPICH, Intel MPI); MVAPICH2; PALS (Cray); Flux; Slurm, which comes after them
 * because srun starts other launchers too; torchrun. */
static const struct {
    const char *rank, *size, *world;
} launchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK"},
    {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_RANK"},
    {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PALS_RANKID"},
    {"FLUX_TASK_LOCAL_ID", "", "FLUX_TASK_RANK"},
    {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID"},
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK"},
};

/* -1: not a number, or more than six digits. */
static int read_number(const char *text)
{
    enum { DIGITS = 6 };
    int value = 0, digits = 0;
    for (; text && text[digits] >= '0' && text[digits] <= '9' && digits < DIGITS; digits++)
        value = 10 * value + (text[digits] - '0');
    return digits > 0 && !text[digits] ? value : -1;
}

bool xg_local_rank_read(struct xg_local_rank *local, const char *(*lookup)(void *, const char *),
                        void *ctx)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        int rank = read_number(lookup(ctx, launchers[i].rank));
        int size = read_number(lookup(ctx, launchers[i].size));
        if (rank < 0)
            continue;
        *local = (struct xg_local_rank){rank, size > rank ? size : 0, launchers[i].rank,
                                        read_number(lookup(ctx, launchers[i].world))};
        return true;
    }
    return false;
}

int xg_local_rank_device(const struct xg_local_rank *local, int count)
{
    return local->rank % count;
}

int xg_local_rank_sharers(const struct xg_local_rank *local, int count)
{
    return local->size > count ? (local->size + count - 1) / count : 1;
}
