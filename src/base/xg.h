/* SPDX-License-Identifier: MIT */
/* The vocabulary of the engine: the types that all modules of src/ share. */
/*
 * Glossary. Words of BLAS and CUDA have their usual meaning; these are ours:
 *
 * - problem: one call as data (problem.h); also called a product, although TRSM solves.
 * - routine: one call of a LAPACK routine as data (routine.h); in shim/ also a name of BLAS or
 *   LAPACK without its spelling.
 * - instance: one product of a batch, which is one problem.
 * - kind: an operation with a type, such as DGEMM; tables are indexed by it.
 * - side: CPU or GPU, in predictions and observations.
 * - place: where a call ran; in a table the index of an entry, in a runner an operand's address.
 * - model: predicts the time of a problem on each side; feedback: corrects that prediction.
 * - phase: a stretch of the program's products that run on one side together.
 * - plan: a problem cut into panels and tiles, and the order of their loads and runs.
 * - panel: an operand's share in one row or column of tiles; slice: a range of k.
 * - tile: the part of C that one kernel writes; run: that kernel, in a plan.
 * - staging: copying between the caller's memory and page-locked memory, by a number of threads.
 * - chunk: rows of a panel or tile that one copy over the link moves. It lies in a block of
 *   page-locked memory; a stripe of that is what one worker copies at a time.
 * - submitter: the one worker of a product that calls the driver.
 * - lane: an execution context: streams, memory, blocks and team of one call at a time.
 * - row: an entry of the kernel table: a kernel, its tile and its constraints.
 * - pieces: 16-bit numbers whose sum is a float; tensor cores multiply them instead of the float.
 *   An operand is split into them.
 * - residue: a remainder; tensor cores multiply the residues of doubles modulo small integers.
 * - residual: what a LAPACK routine's result leaves of its equation, such as A - L U.
 * - resident: an operand that may stay on the device; a plan whose A and B are there as a whole.
 * - kept: an operand of which the device has a copy; a call whose routine keeps it on the CPU.
 * - held: what the device has of A or B, so that it need not travel; a device that stays open.
 * - leave: to let an operand stay on the device; ..._leave also ends what ..._enter began.
 * - room: the state of resident/ behind its lock (room.h); elsewhere free memory.
 * - credit: seconds that tracking operands may still lose (credit.h), or a trial (feedback.h).
 * - ledger: what calls lost because the GPU or a library was not ready, which pays for its start.
 * - settle: resident/ notes the decision; problem.h normalises; a settled shape needs no decision.
 * - floor: the size below which products are forwarded at once; in bench/, the least time that link
 *   and arithmetic need.
 */
#ifndef XG_H
#define XG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/integers.h"
#include "base/problem.h"

/*
 * The values that a function can return. XG_DECLINED is policy, not an error: the work belongs on
 * the CPU and nothing was touched. Failures are negative. The function that decides a failure logs
 * it once (log.h); its callers only propagate it.
 */
enum xg_status {
    XG_OK = 0,
    XG_DECLINED = 1,
    XG_ERR_NOMEM = -1,    /* host, page-locked or device memory, or XGEMM_MEM_LIMIT */
    XG_ERR_DRIVER = -2,   /* a driver call failed; the context still works */
    XG_ERR_LOST = -3,     /* the context is unusable: no GPU for the rest of the process */
    XG_ERR_NOTFOUND = -4, /* a library, symbol, kernel or device does not exist */
    XG_ERR_SYSTEM = -5,   /* a system call failed (threads, locks) */
    XG_ERR_HUNG = -6,     /* the device makes no progress: nothing that it holds may be freed */
    XG_ERR_CAPTURE = -7,  /* the program captures a stream: retry later; functions that return
                           * XG_ERR_LOST may return this and need not document it */
    XG_ERR_WRONG = -8,    /* verification found a wrong result of the device */
};

/* One word for a status, for logs; never NULL. */
const char *xg_status_name(enum xg_status status);

struct xg_routine;

/*
 * The CPU side of one intercepted call, given by the shim (or by a test).
 *   whole:   repeats the caller's own call, argument for argument, in the caller's own BLAS.
 *   part:    computes any normalised product (a tile of the call) in the same library.
 *   factored: computes GELSD or GELSS in the same library from R and Qᴴ B, the routine's U and V,
 *            and overwrites these as A and B. False: it failed. NULL for other calls.
 *   library: the file of that library, valid until the call ends; NULL if it is not known.
 *   threads: the largest number of threads, including the caller's, that whole would use now; 0:
 *            not known. Takes a few nanoseconds.
 *   spin_s:  the seconds for which those threads spin after a product: an upper bound, 0 if they do
 *            not, INFINITY if they never stop. Takes a few nanoseconds.
 *   own_pool: those threads are the library's own, OpenBLAS's; its `threads` takes no lock.
 *   shared_pool: they are an OpenMP run-time's; the program's own parallel parts use them too.
 *
 * The functions run on the application's thread. whole, part and factored may run for long; whole
 * and part cannot fail. library, threads and spin_s may be NULL.
 */
struct xg_cpu {
    void (*whole)(void *ctx);
    void (*part)(void *ctx, const struct xg_problem *part);
    bool (*factored)(void *ctx, const struct xg_routine *routine);
    const char *(*library)(void *ctx);
    int (*threads)(void *ctx);
    double (*spin_s)(void *ctx);
    bool own_pool, shared_pool;
    void *ctx;
};

static inline double xg_cpu_spin_s(const struct xg_cpu *cpu)
{
    return cpu->spin_s ? cpu->spin_s(cpu->ctx) : 0.0;
}

/* Where a call ran. */
enum xg_place { XG_PLACE_CPU, XG_PLACE_GPU, XG_PLACE_BOTH /* compare, or finished by the CPU */ };

/* "CPU", "GPU" or "both". */
const char *xg_place_text(enum xg_place place);

/* The reason for a place; xg_reason_text gives the words of XGEMM_VERBOSE and the statistics. */
enum xg_reason {
    XG_REASON_MODE,       /* XGEMM_MODE says so */
    XG_REASON_SMALL,      /* too small to gain anything on the GPU */
    XG_REASON_MODEL,      /* the cost model predicts that it finishes here first */
    XG_REASON_PHASE,      /* the products around it run there: a change costs more than it saves */
    XG_REASON_TRIAL,      /* a trial of the side with the longer prediction */
    XG_REASON_EARNING,    /* the GPU would be faster, but its start does not pay yet */
    XG_REASON_STARTING,   /* the GPU is starting in the background */
    XG_REASON_BUSY,       /* the GPU is computing other threads' calls */
    XG_REASON_MEMORY,     /* it does not fit the device memory, not even in tiles */
    XG_REASON_FORKED,     /* child of a process that used the GPU */
    XG_REASON_NO_GPU,     /* no kernel for the device, the device was given up, or unknown cause */
    XG_REASON_FAILED,     /* a failure on the GPU: finished by the CPU */
    XG_REASON_STACK,      /* the calling thread has too little stack for the driver */
    XG_REASON_WRONG,      /* the GPU's result was wrong: the CPU computed it again */
    XG_REASON_DEGENERATE, /* a dimension or scalar is 0: nothing to multiply */
    XG_REASON_OVERLAP,    /* C shares memory with an operand: left to the CPU library */
    XG_REASON_IN_PLACE,   /* mode compare: it overwrites its operand and cannot be done twice */
    XG_REASON_OPERATION,  /* not one of XGEMM_OPERATIONS */
    XG_REASON_KERNEL,     /* nothing on this device computes it: no kernel, no cuBLAS */
    XG_REASON_NO_DRIVER,  /* no GPU here: neither the driver's library nor a device file exists */
    XG_REASON_NO_DEVICE,  /* no GPU here: the driver finds no device */
    XG_REASON_DENIED,     /* no GPU here: its device files may not be opened */
    XG_REASON_ROUTINE,    /* cuSOLVER does not serve this call of a LAPACK routine */
    XG_REASON_SOLVER,     /* in records: a routine for which there is no kernel, no cuSOLVER */
    XG_REASON_COUNT
};

/* Never NULL. */
const char *xg_reason_text(enum xg_reason reason);

/* True if the reason is that there is no GPU. */
static inline bool xg_reason_is_absence(enum xg_reason reason)
{
    return reason == XG_REASON_NO_GPU || reason == XG_REASON_NO_DRIVER ||
           reason == XG_REASON_NO_DEVICE || reason == XG_REASON_DENIED;
}

/* Returns `found` if it says why there is no GPU, else XG_REASON_NO_GPU: the cause is not known. */
static inline enum xg_reason xg_reason_of_absence(enum xg_reason found)
{
    return xg_reason_is_absence(found) ? found : XG_REASON_NO_GPU;
}

/* The state of the engine as other modules see it. */
enum xg_engine_state {
    XG_ENGINE_COLD,     /* not started */
    XG_ENGINE_STARTING, /* starting in the background */
    XG_ENGINE_READY,
    XG_ENGINE_NONE,   /* no driver, device or kernel; or failed too often */
    XG_ENGINE_FORKED, /* the parent had started the engine */
};

/* A library of NVIDIA's toolkit, which a call may need. */
enum xg_library_state {
    XG_LIBRARY_COLD,      /* not loaded */
    XG_LIBRARY_UNDER_WAY, /* being loaded in the background */
    XG_LIBRARY_READY,
    XG_LIBRARY_ABSENT, /* not found, or it cannot be loaded */
};

/* How a device rounds the sums of a product: how far from exact a right result may be. */
enum xg_sums {
    XG_SUMS_FP32,   /* FP32 multiply-add in some order */
    XG_SUMS_PIECES, /* products of 16-bit pieces, or FP32 if pieces cannot be used */
    XG_SUMS_TF32,   /* factors cut to 11 bits */
};

/* The result of verification (XGEMM_VERIFY) for a product. */
enum xg_verdict {
    XG_VERDICT_NONE = 0, /* not verified */
    XG_VERDICT_RIGHT,
    XG_VERDICT_WRONG,  /* the CPU computed it again */
    XG_VERDICT_UNABLE, /* the product cannot be verified, or no memory for it */
};

/* The record of a product that went through a device. */
struct xg_result {
    const char *kernel;            /* the kernel row that computed (the first of several) */
    uint64_t up_bytes, down_bytes; /* moved over the link */
    uint64_t held_bytes;           /* of operands that were on the device: not moved */
    int device;                    /* index among the devices in use, from 0 */
    bool busy;                     /* every lane was busy: nothing was tried */
    bool unserved;                 /* nothing on the device computes such a problem */
    bool failed;                   /* the code for it could not be opened this time */
    bool nonfinite;                /* an operand or a result of the routine is not finite */
    bool factored;                 /* of a routine with a rank: U and V are complete, and no more */
    bool decomposed;               /* of such a routine: so is what xg_least_squares_finish needs */
    double waited_s;               /* time spent waiting for a lane */
    int64_t tiles, tiles_done; /* of C; done: committed to the caller's memory by the GPU's side */
    enum xg_sums sums;
    enum xg_verdict verdict;
    double verify_s;      /* time of the verification */
    double deviation;     /* see struct xg_verify_report */
    int64_t rows_skipped; /* likewise */
};

#endif
