/* SPDX-License-Identifier: MIT */
/* The policy's tuned constants: all of policy.c, phase.c and feedback.c, each with its source. */
#ifndef XG_TUNING_H
#define XG_TUNING_H

/* --- Sizes, in m*n*k ------------------------------------------------------------------------ */

/* OpenBLAS computes 64^3 in 4 us, less than an empty GPU call (55 us). */
#define XG_TUNING_FLOOR_MNK 262144.0
/* A plain loop of 2 GFLOP/s computes 32^3 in 33 us, again less than an empty GPU call. */
#define XG_TUNING_FLOOR_LEAST_MNK 32768.0
/* Observations of small products after which the floor follows the process's CPU library. */
#define XG_TUNING_FLOOR_WEIGHT 3.0f

#define XG_TUNING_GPU_FRACTION 0.92
#define XG_TUNING_GUESS_FACTOR 1.1
#define XG_TUNING_QUEUE 2.0
#define XG_TUNING_SETTLED_WEIGHT 2.0
#define XG_TUNING_SETTLED_RATIO 3.0
#define XG_TUNING_SETTLED_S 1e-3
#define XG_TUNING_SETTLED_CALLS 100
#define XG_TUNING_CROWDED 0.75
#define XG_TUNING_CROWD_S 0.5
#define XG_TUNING_START_CORE_S 0.2
#define XG_TUNING_START_SPINS 2.0
#define XG_TUNING_SLICE_S 3e-3
#define XG_TUNING_STOPPED 16.0

#define XG_TUNING_SPIN_MOST_S 0.3
#define XG_TUNING_LOSS_S 5e-3
#define XG_TUNING_LOSS_SPINS 4.0
#define XG_TUNING_RETRY_LOSSES 50.0

#define XG_TUNING_TRIAL_SHARE 0.02

#define XG_TUNING_WEIGHT_MAX 5.0f
#define XG_TUNING_SURE_WEIGHT 3.0f
#define XG_TUNING_SURPRISE 0.693f
#define XG_TUNING_ODD 0.288f
#define XG_TUNING_RATIO_MAX 6.908f

#endif
