/* SPDX-License-Identifier: MIT */
/* The variables of each launcher, and an even distribution of devices to ranks. */
#include <string.h>

#include "src/host/local_rank.h"
#include "tests/support/xt.h"

struct variable {
    const char *name, *value;
};

static const char *look_up(void *ctx, const char *name)
{
    for (const struct variable *v = ctx; v->name; v++)
        if (!strcmp(v->name, name))
            return v->value;
    return NULL;
}

static void test_launchers(void)
{
    static struct {
        struct variable set[4];
        int rank, size, world; /* -1: unknown */
    } rows[] = {
        {{{0}}, -1, 0, -1},
        {{{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "5"}}, 1, 0, 5},
        {{{"MPI_LOCALRANKID", "0"}, {"PMI_RANK", "4"}}, 0, 0, 4},
        {{{"MV2_COMM_WORLD_LOCAL_RANK", "1"}, {"MV2_COMM_WORLD_RANK", "3"}}, 1, 0, 3},
        {{{"PALS_LOCAL_RANKID", "2"}, {"PALS_RANKID", "6"}}, 2, 0, 6},
        {{{"FLUX_TASK_LOCAL_ID", "5"}, {"FLUX_TASK_RANK", "9"}}, 5, 0, 9},
        {{{"SLURM_LOCALID", "1"}, {"SLURM_PROCID", "7"}}, 1, 0, 7},
        {{{"LOCAL_RANK", "0"}, {"RANK", "8"}}, 0, 0, 8},
        {{{"LOCAL_RANK", "0"}, {"SLURM_PROCID", "3"}, {"RANK", "x"}}, 0, 0, -1},
        {{{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}}, 3, 8, -1},
        {{{"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}}, 0, 2, -1},
        {{{"MV2_COMM_WORLD_LOCAL_RANK", "1"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "4"}}, 1, 4, -1},
        {{{"PALS_LOCAL_RANKID", "2"}, {"PALS_LOCAL_SIZE", "4"}}, 2, 4, -1},
        {{{"FLUX_TASK_LOCAL_ID", "5"}}, 5, 0, -1},
        {{{"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "4"}}, 1, 4, -1},
        {{{"LOCAL_RANK", "7"}, {"LOCAL_WORLD_SIZE", "8"}}, 7, 8, -1},
        /* mpirun within a job of one task: mpirun's variables count. */
        {{{"SLURM_LOCALID", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}}, 2, 0, -1},
        {{{"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "1"}}, 1, 0, -1}, /* impossible */
        {{{"LOCAL_RANK", "-1"}}, -1, 0, -1},
        {{{"LOCAL_RANK", ""}}, -1, 0, -1},
        {{{"LOCAL_RANK", "1x"}}, -1, 0, -1},
        {{{"LOCAL_RANK", "99999999999999999999"}}, -1, 0, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct xg_local_rank local = {0};
        bool known = xg_local_rank_read(&local, look_up, rows[i].set);
        XT_CHECK(known == (rows[i].rank >= 0), "row %d", (int)i);
        XT_CHECK(!known || (local.rank == rows[i].rank && local.size == rows[i].size &&
                            local.world == rows[i].world),
                 "row %d: %d of %d, %d", (int)i, local.rank, local.size, local.world);
    }
}

/* For any number of ranks and devices the numbers of ranks on two devices differ by at most 1. */
static void test_shares(void)
{
    for (int size = 1; size <= 20; size++)
        for (int count = 1; count <= 8; count++) {
            int ranks[8] = {0}, least = size, most = 0;
            struct xg_local_rank local = {.size = size};
            for (local.rank = 0; local.rank < size; local.rank++)
                ranks[xg_local_rank_device(&local, count)]++;
            for (int i = 0; i < count; i++) {
                least = ranks[i] < least ? ranks[i] : least;
                most = ranks[i] > most ? ranks[i] : most;
            }
            XT_CHECK(most - least <= 1, "%d ranks, %d devices: %d to %d", size, count, least, most);
            XT_CHECK(xg_local_rank_sharers(&local, count) == most, "%d ranks, %d devices", size,
                     count);
        }
    const struct xg_local_rank alone = {.rank = 5};
    XT_CHECK(xg_local_rank_sharers(&alone, 2) == 1, "how many there are is not known");
}

int main(void)
{
    test_launchers();
    test_shares();
    return xt_done();
}
