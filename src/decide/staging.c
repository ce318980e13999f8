/* SPDX-License-Identifier: MIT */
/* Chooses by the bytes that move in each direction. */
#include "decide/staging.h"

#include <math.h>

#include "decide/plan.h"

/* This many threads fill a device's link and populate C; the program keeps the other cores. */
enum { DEVICE_MOST = 15, SIXTEENTHS = 15 };

static int clamp(int threads, int most)
{
    return threads < 1 ? 1 : threads > most ? most : threads;
}

int xg_staging_threads(int asked, int cores)
{
    return asked > 0 ? asked : clamp(cores * SIXTEENTHS / 16, DEVICE_MOST);
}

int xg_staging_share(int asked, int cores, int devices, int lanes)
{
    int all = asked > 0 ? asked : clamp(cores * SIXTEENTHS / 16, devices * DEVICE_MOST);
    return (int)xg_min_i64(xg_ceil_div(all, lanes), xg_staging_threads(asked, cores));
}

/*
 * A direct operand needs no worker. These are staged: rows whose length is not a multiple of 4
 * elements, because kernels need them padded with zeros; a C with nonzero beta or in place, because
 * after a failure it must have its old values; rows too far apart for the driver's copies; short
 * rows that are not contiguous, because such copies move fewer bytes per second; and a batch, whose
 * matrices may be at any address.
 */
enum { DIRECT_ROW_MIN = 256 };

static bool admits_direct(const struct xg_problem *call, int64_t columns, int64_t ld)
{
    bool follow = ld == columns && columns % 4 == 0;
    return !call->batch && ld <= xg_plan_pitch_max(call->type) &&
           (columns >= DIRECT_ROW_MIN || follow);
}

struct xg_staging_direct xg_staging_admit_direct(const struct xg_problem *call)
{
    int64_t a = xg_problem_stored(call, false).columns, b = xg_problem_stored(call, true).columns;
    bool c_is_written =
        xg_problem_beta_zero(call) && call->uplo == XG_FULL && !xg_problem_is_in_place(call);
    return (struct xg_staging_direct){
        .a = a % 4 == 0 && call->structured != XG_OPERAND_A && admits_direct(call, a, call->lda),
        .b = b % 4 == 0 && call->structured != XG_OPERAND_B && admits_direct(call, b, call->ldb),
        .c = c_is_written && admits_direct(call, call->n, call->ldc)};
}

/* Bytes that move over the link, or the staged part of them. */
struct traffic {
    double up_bytes, down_bytes;
};

static struct traffic traffic_of(const struct xg_problem *call)
{
    double bytes = (double)xg_problem_elem_bytes(call);
    double up = xg_problem_travel_elems(call, false) + xg_problem_travel_elems(call, true);
    return (struct traffic){up * bytes, xg_problem_down_elems(call) * bytes};
}

static struct traffic staged_of(const struct xg_problem *call,
                                const struct xg_staging_direct *direct)
{
    double a = direct->a ? 0 : xg_problem_travel_elems(call, false);
    double b = direct->b ? 0 : xg_problem_travel_elems(call, true);
    return (struct traffic){(a + b) * (double)xg_problem_elem_bytes(call),
                            direct->c ? 0 : traffic_of(call).down_bytes};
}

/*
 * Small products move in smaller chunks, so that the first copy starts early and the last one ends
 * early. Chunks down are larger in proportion than chunks up: the link needs 2 MiB at a time, and
 * no kernel waits for results.
 */
static const double LOADS = 16, STORES = 8, CHUNK_BYTES_MIN = 1 << 20;

static size_t chunk_bytes(double bytes, size_t most)
{
    return (size_t)fmin(fmax(bytes, CHUNK_BYTES_MIN), (double)most);
}

/*
 * COPIERS_UP and COPIERS_DOWN copiers saturate one direction of the link. More of them take memory
 * bandwidth from the link. If both directions move and packed rows are streamed to memory, the less
 * busy direction gets COPIERS_BESIDE of its own number (100000 x 64 x 64: 0.76 ms instead of 0.87).
 * Rows that stay in the caches need no such limit. Rows that are combined with C take longer and
 * get COPIERS_COMBINE (2048^3 with beta: 1.03 ms instead of 1.21). Few bytes need fewer copiers: w
 * workers take a time proportional to w to start and bytes / w to copy. The sum is least at a w
 * proportional to the root of the bytes, COPIERS_AT_MB for a megabyte. COPIERS_FEW start as fast as
 * one, if each has COPIER_BYTES to copy (256^3: 66 us instead of 80).
 */
enum { COPYING_MOST = 13 };
static const double COPIERS_UP = 8, COPIERS_DOWN = 5, COPIERS_COMBINE = 8, COPIERS_BESIDE = 0.3;
static const double COPIERS_AT_MB = 2, COPIERS_FEW = 6, COPIER_BYTES = 256 << 10;

static double choose_copiers(const struct traffic *traffic, bool combines, bool caches)
{
    double up = traffic->up_bytes, down = traffic->down_bytes, most = fmax(up, down);
    if (most == 0)
        return 0;
    double for_up = COPIERS_UP * up / most;
    double for_down = (combines ? COPIERS_COMBINE : COPIERS_DOWN) * down / most;
    double beside = (caches || combines ? 1 : COPIERS_BESIDE) * fmin(for_up, for_down);
    double saturate = fmax(for_up, for_down) + beside;
    double begin = fmax(COPIERS_FEW, COPIERS_AT_MB * sqrt((up + down) / 1e6));
    return fmin(fmin(saturate, begin), ceil((up + down) / COPIER_BYTES));
}

/*
 * Filled blocks ahead of the link: enough to keep it busy. Workers that run further ahead take
 * memory bandwidth from the link. Rows that wait in the caches may run further ahead. That pays if
 * C comes down at the same time (8192^3: 12.4 ms instead of 14.5), and not if only operands move
 * (128 x 128 x 100000: 2.5 ms instead of 2.2).
 */
enum { AHEAD = 4, AHEAD_CACHED = 8 };
static const double CACHED_DOWN_SHARE = 0.25, CACHED_UP_BYTES = 64e6;

/*
 * Half of the team populates a fresh C from the start, while the others upload; the populating
 * workers help when the link could run out of blocks (queue.c). Without that help seven of them
 * left the link half of its rate on a host with slow memory (8192^3: 18 ms instead of 14). With it
 * eleven of fifteen were too many. A C below POPULATE_C_BYTES is not populated.
 */
enum { POPULATING_MOST = 7 };
static const double POPULATE_C_BYTES = 1 << 20;

static int choose_populate(const struct xg_problem *call, const struct traffic *staged, int workers)
{
    return xg_problem_beta_zero(call) && call->uplo == XG_FULL && !xg_problem_is_in_place(call) &&
                   xg_problem_c_is_whole(call) && staged->down_bytes >= POPULATE_C_BYTES
               ? (int)xg_min_i64(workers / 2, POPULATING_MOST)
               : 0;
}

struct xg_staging xg_staging_choose(const struct xg_problem *call,
                                    const struct xg_staging_direct *direct, int workers,
                                    size_t block_bytes)
{
    struct traffic all = traffic_of(call), staged = staged_of(call, direct);
    bool caches = staged.up_bytes >= CACHED_UP_BYTES &&
                  staged.down_bytes >= CACHED_DOWN_SHARE * staged.up_bytes;
    double copiers = choose_copiers(&staged, !xg_problem_beta_zero(call), caches);
    struct xg_staging staging = {
        .workers = (int)fmin(1 + copiers, xg_min_i64(workers, COPYING_MOST)),
        .ahead = caches ? AHEAD_CACHED : AHEAD,
        .caches = caches,
        .load_bytes = chunk_bytes(all.up_bytes / LOADS, block_bytes),
        .store_bytes = chunk_bytes(all.down_bytes / STORES, block_bytes),
    };
    staging.populate = choose_populate(call, &staged, workers);
    staging.joining = (int)xg_min_i64(staging.populate, workers - staging.workers);
    return staging;
}
