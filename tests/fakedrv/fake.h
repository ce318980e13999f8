/* SPDX-License-Identifier: MIT */
/* The parts of the fake driver: state, faults, memory, streams, kernels. One lock guards all. */
#ifndef FAKE_H
#define FAKE_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fakecuda.h"
#include "kernels/emulated/split_kabi.h"
#include "kernels/kabi.h"
#include "kernels/lapack/cast_kabi.h"
#include "kernels/lapack/mirror_kabi.h"
#include "src/base/problem.h"
#include "tests/support/typed.h"

enum { FAKE_MAX_DEVICES = 8 };

/* What a driver function needs before it works. */
enum fake_need {
    FAKE_NOTHING, /* works before cuInit */
    FAKE_INIT,    /* works without a context, and on a lost one */
    FAKE_CONTEXT, /* needs a current context that works */
};

struct CUctx_st {
    int device;
    int refs;      /* number of times that the primary context is retained */
    CUresult lost; /* the result of every later call; CUDA_SUCCESS: the context works */
    size_t used_bytes;
};

struct fake_state {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* work was queued or done, or a context was lost */
    bool initialized, exiting, hung, mixed;
    _Atomic pid_t pid; /* of the process that called cuInit */
    int devices, sm, sm_count, compute_mode;
    size_t mem_bytes;
    long init_ms, delay_us;
    uint64_t random;
    struct CUctx_st contexts[FAKE_MAX_DEVICES];
    struct fakecuda_live live;
};
extern struct fake_state fake;

/* Ends the test: the library did something that has undefined results on a real device. */
void fake_abort(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * Every entry point begins with fake_enter, which counts the call, takes the lock, and returns the
 * requested fault or the error of a missing context. It ends with fake_leave.
 */
CUresult fake_enter(const char *name, enum fake_need need);
CUresult fake_leave(CUresult result);

/* Functions that free something do so even if they fail because of the context's state. */
bool fake_releases(CUresult result);

/* Allocates a library's object, zeroed, for free(). Objects that are not freed stay reachable: a
 * context that cannot be entered keeps its handles, and a leak checker must report only other
 * leaks. */
void *fake_make(size_t bytes);

/* Returns after the test has called fakecuda_release. The lock is not held. */
void fake_await_release(void);

/* The error of the operation that runs next; CUDA_SUCCESS: none. */
CUresult fake_exec_fault(void);

/* The bit to invert in the result that was just computed; CUDA_SUCCESS: none. *i and *j: an element
 * of a matrix of this size, set only with a bit. Takes the lock. */
CUresult fakecuda_flip(int64_t rows, int64_t columns, int64_t *i, int64_t *j);

/* A number below `below`, from the seeded sequence. */
unsigned fake_random(unsigned below);

/* The current context of this thread, or NULL. */
CUcontext fake_context(void);

/* From now on every call on the context returns the code, and queued operations never run. */
void fake_context_lose(CUcontext context, CUresult code);

/* memory.c. Returns the host memory of a device address; ends the test if not all bytes are
 * allocated. */
void *fake_mem_dev(CUdeviceptr address, size_t bytes, const char *what);
/* The same, for the fake libraries above the driver. The lock is held. */
void *fakecuda_device_memory(CUdeviceptr address, size_t bytes, const char *what);
/* Turns a kernel's device address into a host address. */
static inline void fake_mem_resolve(uint64_t *address, int64_t bytes, const char *what)
{
    *address = (uintptr_t)fake_mem_dev(*address, (size_t)bytes, what);
}
/* True: all page-locked; false: none. Ends the test if only a part is. */
bool fake_mem_pinned(const void *address, size_t bytes, const char *what);
/* Frees what the context still holds, and counts it. */
void fake_mem_reclaim(CUcontext context);

/* tensor_map.c. The fields that this driver stores in a CUtensorMap's opaque bytes. Missing ones
 * are 0. */
struct fake_tensor_map {
    uint64_t address, rank, extents[3], strides[2], box[3], type, swizzle;
};
/* Returns the map's address; ends the test if other fields differ from the wanted ones. */
uint64_t fake_tensor_map_check(const struct xg_tensor_map *opaque,
                               const struct fake_tensor_map *wanted, const char *kernel);

/* capture.c. Whether a stream capture forbids this thread the call; then the capture is lost. */
bool fake_capture_forbids(const char *name);

/* stream.c. */
void fake_stream_reclaim(CUcontext context);
void fake_stream_discard(CUcontext context);
/* Waits until nothing is queued on any stream. */
void fake_stream_drain(void);
/* Ends the thread that executes. */
void fake_stream_stop(void);

/* One operation on a stream. */
enum fake_op_kind { FAKE_OP_COPY, FAKE_OP_FILL, FAKE_OP_CALL, FAKE_OP_RECORD, FAKE_OP_WAIT };

struct fake_end { /* source or target of a copy: host memory or a device address */
    char *host;
    CUdeviceptr dev;
    size_t pitch;
};

struct fake_record { /* one cuEventRecord; exists after its event as long as a stream needs it */
    int refs;
    bool done;
    double when_s;
};

struct fake_op {
    struct fake_op *next;
    enum fake_op_kind kind;
    uint64_t sequence;
    bool held; /* runs only when a thread waits, as on a slow device */
    bool running;
    struct fake_end to, from;
    size_t width, height;
    void *owned; /* copy of a pageable source; the call of FAKE_OP_CALL */
    void (*resolve)(void *), (*run)(void *); /* of FAKE_OP_CALL */
    uint32_t value;
    struct fake_record *record;
};

/* Queues a copy of *op, which takes over its references. wait: returns after it has run. */
CUresult fake_stream_push(CUstream stream, const struct fake_op *op, bool wait);
/*
 * Queues a copy of a call, for kernels and for the fake libraries. resolve turns its addresses into
 * host addresses and ends the test if they are not valid, with the lock held: once now on a copy,
 * and again before run computes without the lock. wait: returns when neither function will use the
 * call's pointers any more.
 */
CUresult fakecuda_call(const void *call, size_t bytes, void (*resolve)(void *), void (*run)(void *),
                       bool wait, CUstream stream);

/* module.c. */
void fake_module_reclaim(CUcontext context);

/* sgemm.c. */
/* Whether a kernel computes C(i,j). Counts the elements that it does not compute. Takes no lock. */
bool fake_wants(const struct xg_triangle *wanted, enum xg_type type, int64_t i, int64_t j);
/* Turns the addresses of a product without padding into host addresses. The lock is held. */
void fake_sgemm_resolve(struct xg_sgemm_args *args);
/* Computes the wanted elements of C. The lock is not held. */
void fake_sgemm_run(const struct xg_problem *p, const struct xg_triangle *wanted, int split,
                    bool padded);
/* Inverts a bit of a kernel's result if the test asks for it. wide: doubles, in their upper half.
 * Takes the lock. */
void fake_result_flip(void *c, int64_t m, int64_t n, int64_t ldc, bool wide);

/* A kernel that is known by its name. Its file says what kind and extent are. */
struct fake_kernel {
    const char *name;
    const struct fake_role *role;
    int kind, extent;
};
/* A launch of such a kernel, with a copy of its parameter. */
struct fake_launch {
    const struct fake_kernel *kernel;
    unsigned blocks, threads, smem_bytes;
    unsigned cluster; /* blocks of a cluster; 1: no cluster */
    _Alignas(struct xg_tensor_map) char parameter[512];
};
/* The kind of a kernel whose kind is a type. */
static inline enum xg_type fake_type(const struct fake_launch *launch)
{
    return (enum xg_type)launch->kernel->kind;
}
/* Element i of a matrix of the kernel's type, which is real. */
static inline double fake_get(const struct fake_launch *launch, uint64_t at, int64_t i)
{
    return xt_get(fake_type(launch), (const void *)(uintptr_t)at, i);
}
static inline void fake_set(const struct fake_launch *launch, uint64_t at, int64_t i, double x)
{
    xt_set(fake_type(launch), (void *)(uintptr_t)at, i, x);
}
/* The functions of all kernels that have the same parameter. */
struct fake_role {
    size_t bytes;     /* of the parameter */
    unsigned threads; /* of a block; 0: allows checks them */
    /* Whether the kernel allows the grid and the parameter. */
    bool (*allows)(const struct fake_launch *launch);
    /* Turns the parameter's addresses into host addresses; ends the test if memory is not
     * allocated. */
    void (*resolve)(struct fake_launch *launch);
    void (*run)(const struct fake_launch *launch);
};
/* Kernels of pieces, of DGEMM by residues, of the LU and QR factorizations, those that make a
 * matrix Hermitian, and those that cast one. The last row of each table has no name. */
extern const struct fake_kernel fake_split_kernels[], fake_residue_kernels[], fake_lu_kernels[],
    fake_qr_kernels[], fake_matrix_kernels[];

static inline void fake_raise(uint32_t *most, uint32_t x)
{
    *most = x > *most ? x : *most;
}

/* problem.c: products of the fake cuBLAS, of any type, and of kernels. padded: for XG_KERNEL_VEC4,
 * like all kernels of double; split: slices of k that a product of floats adds up. */
CUresult fakecuda_problem(const struct xg_problem *p, int split, CUstream stream);
CUresult fake_sgemm_queue(const struct xg_sgemm_args *args, bool padded, CUstream stream);
CUresult fake_dgemm_queue(const struct xg_dgemm_args *args, CUstream stream);
/* Turn the addresses of all operands, or of A and B, into host addresses; end the test if sizes,
 * leading dimensions or alignments are wrong. The lock is held. */
void fake_problem_resolve(struct xg_problem *p, bool padded);
void fake_factors_resolve(struct xg_problem *p, bool padded);
/* Ends the test if A or B must be padded with zeros and is not. Takes no lock. */
void fake_factors_check(const struct xg_problem *p, bool padded);
/* The product that a struct xg_sgemm_args or xg_dgemm_args states. */
#define FAKE_PROBLEM(type_, args)                                                                  \
    ((struct xg_problem){.type = type_,                                                            \
                         .transa = (args)->transa ? XG_TRANS : XG_NO_TRANS,                        \
                         .transb = (args)->transb ? XG_TRANS : XG_NO_TRANS,                        \
                         .m = (args)->m,                                                           \
                         .n = (args)->n,                                                           \
                         .k = (args)->k,                                                           \
                         .alpha = (args)->alpha,                                                   \
                         .a = (const void *)(uintptr_t)(args)->a,                                  \
                         .lda = (args)->lda,                                                       \
                         .b = (const void *)(uintptr_t)(args)->b,                                  \
                         .ldb = (args)->ldb,                                                       \
                         .beta = (args)->beta,                                                     \
                         .c = (void *)(uintptr_t)(args)->c,                                        \
                         .ldc = (args)->ldc})

#endif
