/* SPDX-License-Identifier: MIT */
/* The policy's tuned constants (policy.c, phase.c, feedback.c): value, unit, source. */
/*
 * Measured on one H100 or H200 with 16 cores unless a line says otherwise. "Replay" is the traced
 * programs (bench/replay), "regret" the simulated machines (tests/unit_regret.c).
 */
#ifndef XG_TUNING_H
#define XG_TUNING_H

/* --- Which products need a decision -------------------------------------------------------- */

/* m*n*k. OpenBLAS computes 64^3 in 4 us, less than an empty GPU call (55 us). */
#define XG_TUNING_FLOOR_MNK 262144.0

/* m*n*k. A plain loop of 2 GFLOP/s computes 32^3 in 33 us, also less than an empty GPU call. */
#define XG_TUNING_FLOOR_LEAST_MNK 32768.0

/* Seconds. A decision takes up to 1 us on a busy host, which does not show in longer calls. */
#define XG_TUNING_SETTLED_S 1e-3

/* Calls. The decision that a shape stays settled then costs 10 ns a call. */
#define XG_TUNING_SETTLED_CALLS 100

/* GPU time over CPU time. Regret: predictions err by less, so the GPU need not be tried. */
#define XG_TUNING_SETTLED_RATIO 3.0

/* --- The side of one product --------------------------------------------------------------- */

/* GPU time over CPU time. Staging takes memory bandwidth from the rest of the program. */
#define XG_TUNING_GPU_FRACTION 0.92

/* GPU times. A thread that computes by itself waits no longer for a lane: a few waiting threads
 * keep the lanes busy, and all threads together lose when each of them waits. */
#define XG_TUNING_QUEUE 2.0

/* Concurrent products over cores. scikit-learn's KMeans, whose 16 threads fill 16 cores. */
#define XG_TUNING_CROWDED 0.75

/* Seconds. Threads pause between products; the same program pauses for less than this. */
#define XG_TUNING_CROWD_S 0.5

/* --- The start ----------------------------------------------------------------------------- */

/* Seconds of a core. A program that filled its cores lost 0.17 to 0.19 s (results/h200/start.txt).
 */
#define XG_TUNING_START_CORE_S 0.2

/* Spin times. scikit-learn's LogisticRegression lost a median of 0.2 s to a start among threads
 * that spin for 0.1 s, and nothing without them. */
#define XG_TUNING_START_SPINS 2.0

/* Seconds. Products of 0.25 ms took 3.5 to 4 ms on the GPU while the program's OpenMP loops kept
 * the cores (results/h100/torch.txt): a time slice of the scheduler. */
#define XG_TUNING_SLICE_S 3e-3

/* --- Phases and trials --------------------------------------------------------------------- */

/* Seconds. Longer than any pool's default (0.2 s), and bounds what a phase may lose among threads
 * that spin forever. */
#define XG_TUNING_SPIN_MOST_S 0.3

/* Seconds. Replay: at 10 ms a GPU behind a slow link costs 1.004 of the CPU's time, at 5 ms 1.002.
 */
#define XG_TUNING_LOSS_S 5e-3

/* Share of that loss. One product that another process delays must not end a phase. */
#define XG_TUNING_LOSS_ONE 0.5

/* Share of a side's time. Regret: trials find the better side in time at a cost below 2 %. */
#define XG_TUNING_TRIAL_SHARE 0.02

/* Times the expectation. Products among spinning threads took up to 14 times as long; a process
 * that was stopped takes longer, and its time says nothing. */
#define XG_TUNING_STOPPED 16.0

/* --- Estimates ----------------------------------------------------------------------------- */

/* Observations. Regret: an estimate of so many follows a change within about ten calls. */
#define XG_TUNING_WEIGHT_MAX 5.0f

/* Observations. Replay: an estimate of fewer follows odd times. */
#define XG_TUNING_SURE_WEIGHT 3.0f

/* log(observed / expected), log 2. Page faults and other processes double single times. */
#define XG_TUNING_SURPRISE 0.693f

/* -log(observed / estimate), -log 3/4. 920 x 256 x 8 takes 0.14 ms on OpenBLAS, sometimes 0.04. */
#define XG_TUNING_ODD 0.288f

/* Share of the way down to a lower time. Long times are outliers more often than short ones. */
#define XG_TUNING_FALL_SHARE 0.5f

/* log(observed / predicted), log 1000. Beyond it the clock jumped or the process was stopped. */
#define XG_TUNING_RATIO_MAX 6.908f

/* log(observed / predicted). A smaller change needs no new count of votes, which takes 1 us. */
#define XG_TUNING_VOTE_CHANGE 0.01f

/* Votes of the smaller products among the classes of a size, so that one class is no majority. */
#define XG_TUNING_PRIOR_VOTES 2

#endif
