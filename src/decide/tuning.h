/* SPDX-License-Identifier: MIT */
/* The tuned constants of the decisions, of phases and of learning: value, unit and source. */
/*
 * Measured on one H100 or H200 with 16 cores. "Replay" is bench/replay, each program of
 * tests/traces twelve times in a row, with threads that spin for 0.5, 5 and 134 ms; "regret" is the
 * unit test of that name. "Tests" are those of policy, phase, ledger, feedback, routine, programs
 * and model in tests/unit that fail if the constant is doubled or halved. unit/golden compares
 * decisions.
 */
#ifndef XG_TUNING_H
#define XG_TUNING_H

/* --- Which products need a decision -------------------------------------------------------- */

/* m*n*k. OpenBLAS computes 64^3 in 4 us, less than an empty GPU call (55 us). Tests: policy. */
#define XG_TUNING_FLOOR_MNK 262144.0

/* m*n*k. A plain loop of 2 GFLOP/s computes 32^3 in 33 us, less than an empty GPU call. Tests:
 * policy, feedback. */
#define XG_TUNING_FLOOR_LEAST_MNK 32768.0

/* Bytes of a GEMV's matrix. Sixteen cores read 32 MiB in 0.2 ms (OpenBLAS), a GPU that has it takes
 * 0.07 ms, and a look at it, 64 numbers from all over it, 8 us. resident/resident.h has the floors
 * of the other operands that stay. Tests: operations in tests/engine. */
#define XG_TUNING_FLOOR_BYTES 33554432.0

/* A call that goes to the GPU only to leave an operand there may lose what so many later uses gain,
 * and at most as many as have found it unchanged. Tests: programs. */
#define XG_TUNING_USES 16

/* Seconds on the CPU. A decision and its observation take 0.25 us, which shows in short calls
 * only. Tests: none. */
#define XG_TUNING_SETTLED_S 1e-3

/* Calls without a decision. One decision in a hundred calls shows in no call, even of 4 us. Tests:
 * none. */
#define XG_TUNING_SETTLED_CALLS 100

/* GPU time over CPU time. The model's error is a factor of 1.4 (standard deviation; model.c), so
 * a GPU this far behind is not worth a trial. Tests: none. */
#define XG_TUNING_SETTLED_RATIO 3.0

/* --- The side of one product --------------------------------------------------------------- */

/* GPU time over CPU time. Staging takes memory bandwidth from the rest of the process; replay and
 * regret are the same at 1. Tests: policy, routine, programs. */
#define XG_TUNING_GPU_FRACTION 0.92

/* GPU times that a thread waits for a lane. A few waiting threads keep two lanes busy; if all
 * sixteen wait, their cores do nothing. Tests: policy. */
#define XG_TUNING_QUEUE 2.0

/* Concurrent products over cores. Replay, each program once: without it KMeans on 16 threads over
 * 16 cores takes 1.004 times as long as on the CPU. Tests: policy. */
#define XG_TUNING_CROWDED 0.75

/* Seconds. The same program's threads all pause between two iterations, for less than this. Tests:
 * none. */
#define XG_TUNING_CROWD_S 0.5

/* --- The start ----------------------------------------------------------------------------- */

/* Times the GPU's time plus a wait for starts. The model errs by a factor of 1.4. Tests: policy,
 * ledger, routine, programs. */
#define XG_TUNING_SURE 0.7

/* Share of a start's time that a call beside it loses: SYEVD of 2700 lost 0.37 of 0.75 s. Tests:
 * policy, ledger, programs. */
#define XG_TUNING_BESIDE 0.5

/* Times the expected wait for starts. A longer wait ends. Tests: ledger, programs. */
#define XG_TUNING_PATIENCE 3.0

/* Seconds. Driver, context and memory, until the first product can run there; what starts take is
 * then measured (machine/history.h). Tests: policy, routine, programs. */
#define XG_TUNING_GPU_S 0.4

/* Seconds. The load of cuSOLVER takes 0.06 s if its files are in memory, else 0.5 s. Six steps of
 * SYEVD of 1200 took 1.5 times plain's time with a third of what routines must have missed now,
 * the whole time of their starts. Tests: routine, programs. */
#define XG_TUNING_CUSOLVER_S 0.2

/* Seconds. cuBLAS and its handle, in memory; products that need it go on, so a fifth must have
 * been missed. Tests: none. */
#define XG_TUNING_CUBLAS_S 0.07
#define XG_TUNING_CUBLAS_SHARE 0.2

/* Seconds. A program that fills its cores loses 0.17 to 0.19 s (bench/results/h200/start.txt).
 * Tests: policy. */
#define XG_TUNING_START_CORE_S 0.2

/* Spin times. scikit-learn's LogisticRegression, which ends during the start, lost a median of
 * 0.2 s among threads that spin for 0.1 s, and nothing without them. Tests: policy. */
#define XG_TUNING_START_SPINS 2.0

/* Seconds. Products of 0.25 ms took 3.5 to 4 ms on the GPU while the program's OpenMP loops woke
 * the threads of the pool (bench/results/h100/torch.txt). Tests: programs. */
#define XG_TUNING_SLICE_S 3e-3

/* Slices. A transformer's block on 32 cores: among OpenMP threads that spin for 6 ms a product on
 * the GPU took 3.5 ms longer, and the loops after it 3.4 to 7.6 ms; all took 1.9 times plain's
 * time. Tests: programs. */
#define XG_TUNING_LOOP_SLICES 2.0

/* --- Phases and trials --------------------------------------------------------------------- */

/* Seconds. Threads that spin for longer spin forever; 0.2 s is the longest default
 * (shim/pools.h). Tests: none. */
#define XG_TUNING_SPIN_MOST_S 0.3

/* Seconds. Replay, each program once, threads that spin for 134 ms: with 30 ms the program on a
 * slow GPU takes 1.014 times as long as on the CPU, with 5 ms 1.010. Tests: phase. */
#define XG_TUNING_LOSS_S 5e-3

/* Share of the loss that ends a phase. Another process may delay one product, so two must lose.
 * Tests: phase, programs. */
#define XG_TUNING_LOSS_ONE 0.5

/* Share of a side's time. Regret: trials find the better side at a cost within the bounds; replay
 * is the same at 0.01. Tests: phase, feedback, routine, programs. */
#define XG_TUNING_TRIAL_SHARE 0.02

/* Times the expectation. Spinning threads make products up to 14 times as long; beyond this the
 * process was stopped. Tests: phase, routine. */
#define XG_TUNING_STOPPED 16.0

/* --- Estimates ----------------------------------------------------------------------------- */

/* Observations. Replay: with 3 `logistic` takes 10 % longer, with 20 `mixture` takes 1 to 3 %
 * longer. Tests: policy, feedback. */
#define XG_TUNING_WEIGHT_MAX 5.0f

/* Observations after which an estimate is trusted: between the 2 that a surprise needs and
 * XG_TUNING_WEIGHT_MAX. Tests: policy, feedback. */
#define XG_TUNING_SURE_WEIGHT 3.0f

/* log(observed / expected): log 2. Regret: without it a single long time costs a shape 3.3 times
 * its time. Tests: programs. */
#define XG_TUNING_SURPRISE 0.693f

/* -log(observed / estimate): -log 3/4. OpenBLAS computes 920 x 256 x 8 in 0.14 ms, and sometimes
 * in 0.04. Replay: without it `logistic` takes 10 to 16 % longer. Tests: feedback. */
#define XG_TUNING_ODD 0.288f

/* Share of the way down to a lower time. Outliers are long times. Replay: without it `logistic`
 * takes 8 to 18 % longer. Tests: policy, feedback. */
#define XG_TUNING_FALL_SHARE 0.5f

/* log(observed / predicted): log 1000. Beyond it the clock jumped or the process was stopped.
 * Tests: policy, feedback. */
#define XG_TUNING_RATIO_MAX 6.908f

/* log(observed / predicted). A smaller change needs no new count of votes; replay and regret are
 * the same at 0.1. Tests: none. */
#define XG_TUNING_VOTE_CHANGE 0.01f

/* Votes of the smaller size among the classes of a size. With one vote, a class that waits for
 * memory would decide for all others (the unit test of feedback). Tests: policy, feedback,
 * programs. */
#define XG_TUNING_PRIOR_VOTES 2

/* Votes of the model among a routine's sizes. With two, one size would say nothing of the next
 * one, and a program may make six calls (the unit test of routine). Tests: feedback, routine. */
#define XG_TUNING_ROUTINE_VOTES 1

#endif
