/* SPDX-License-Identifier: MIT */
/* Products of matrices that may stay on the device, and what the library knows of them. */
#ifndef RESIDENT_H
#define RESIDENT_H

#include <sys/mman.h>

#include "scenario.h"
#include "src/dispatch.h"
#include "src/resident/resident.h"
#include "src/resident/room.h"

/* The linker puts these functions in front of the library's. */
static _Atomic uint64_t held_bytes, up_bytes;
static _Atomic long on_gpu;
static void (*before_compute)(void); /* called once, by the next product */

/* Memory that the program has registered; NULL: none. */
static const void *cuda_knows;
bool __real_xg_mem_is_known(const struct xg_dev *dev, const void *at);
bool __wrap_xg_mem_is_known(const struct xg_dev *dev, const void *at);

bool __wrap_xg_mem_is_known(const struct xg_dev *dev, const void *at)
{
    return (cuda_knows && at >= cuda_knows) || __real_xg_mem_is_known(dev, at);
}

/* What earlier runs of the program have promised. */
static unsigned promised;
unsigned __wrap_xg_remembered_promise(void);

unsigned __wrap_xg_remembered_promise(void)
{
    return promised;
}

enum xg_status __real_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result);
enum xg_status __wrap_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result);

enum xg_status __wrap_xg_engine_compute(const struct xg_call *call, const struct xg_conf *conf,
                                        const struct xg_cpu *cpu,
                                        const struct xg_patience *patience,
                                        struct xg_result *result)
{
    if (before_compute) {
        void (*const act)(void) = before_compute;
        before_compute = NULL;
        act();
    }
    const enum xg_status status = __real_xg_engine_compute(call, conf, cpu, patience, result);
    held_bytes += result->held_bytes;
    up_bytes += result->up_bytes;
    on_gpu += status == XG_OK;
    return status;
}

/* --- Matrices of small whole numbers, whose products are exact -------------------------------- */

enum { ROWS = 620, COLUMNS = 600, THIN = 24 };

struct matrix {
    enum xg_type type;
    int64_t rows, columns, ld;
    char *memory; /* mapped; the matrix begins within its first page */
    size_t bytes;
    void *at;
};

static inline void set(const struct matrix *x, int64_t i, int64_t j, double value)
{
    if (x->type == XG_TYPE_S)
        ((float *)x->at)[i * x->ld + j] = (float)value;
    else
        ((double *)x->at)[i * x->ld + j] = value;
}

static inline double get(const struct matrix *x, int64_t i, int64_t j)
{
    return x->type == XG_TYPE_S ? ((const float *)x->at)[i * x->ld + j]
                                : ((const double *)x->at)[i * x->ld + j];
}

static inline int draw(uint64_t *seed, int below)
{
    return (int)(((double)xt_random(seed) + 1) / 2 * below) % below;
}

static inline void fill(const struct matrix *x, int64_t first, int64_t count, uint64_t *seed)
{
    for (int64_t i = first; i < first + count; i++)
        for (int64_t j = 0; j < x->columns; j++)
            set(x, i, j, draw(seed, 9) - 4);
}

static inline struct matrix create(enum xg_type type, int64_t rows, int64_t columns, int64_t pad,
                                   uint64_t *seed)
{
    struct matrix x = {.type = type, .rows = rows, .columns = columns, .ld = columns + pad};
    x.bytes = (size_t)(rows * x.ld + 64) * xg_type_bytes(type);
    x.memory = mmap(NULL, x.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (x.memory == MAP_FAILED)
        exit(XT_HARD);
    x.at = x.memory + 16 * (size_t)(pad % 4);
    fill(&x, 0, rows, seed);
    return x;
}

static inline void destroy(const struct matrix *x)
{
    munmap(x->memory, x->bytes);
}

static inline void compute_on_cpu(void *ctx)
{
    xg_cpu_compute(ctx);
}

static inline void compute_part(void *ctx, const struct xg_problem *part)
{
    (void)ctx;
    xg_cpu_compute(part);
}

/* C = op(A) op(B), and checks some rows of C; false: one is wrong. c NULL: a matrix of its own. */
static inline bool multiply(const struct matrix *a, bool transa, const struct matrix *b,
                            bool transb, const struct matrix *c, uint64_t *seed)
{
    const int64_t m = transa ? a->columns : a->rows, k = transa ? a->rows : a->columns;
    const int64_t n = transb ? b->rows : b->columns;
    const struct matrix own = c ? *c : create(a->type, m, n, 0, seed);
    struct xg_problem call = {.type = a->type,
                              .transa = transa,
                              .transb = transb,
                              .m = m,
                              .n = n,
                              .k = k,
                              .alpha = 1,
                              .a = a->at,
                              .lda = a->ld,
                              .b = b->at,
                              .ldb = b->ld,
                              .c = own.at,
                              .ldc = own.ld};
    const struct xg_cpu cpu = {.whole = compute_on_cpu, .part = compute_part, .ctx = &call};
    bool right = true;
    xg_dispatch(&(struct xg_call){.symbol = "test_gemm", .problem = &call}, &cpu);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = draw(seed, 3); i < m; i += 1 + draw(seed, 5)) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum +=
                    (transa ? get(a, l, i) : get(a, i, l)) * (transb ? get(b, j, l) : get(b, l, j));
            right = right && sum == get(&own, i, j);
        }
    if (!c)
        destroy(&own);
    return right;
}

static inline void write_element(const struct matrix *x, uint64_t *seed)
{
    set(x, draw(seed, (int)x->rows), draw(seed, (int)x->columns), draw(seed, 9) - 4);
}

static inline void write_first(const struct matrix *x, uint64_t *seed)
{
    set(x, 0, 0, draw(seed, 9) - 4);
    set(x, x->rows - 1, x->columns - 1, draw(seed, 9) - 4);
}

static inline void write_rows(const struct matrix *x, uint64_t *seed)
{
    fill(x, draw(seed, (int)x->rows - 9), 9, seed);
}

/* --- Scenarios ---------------------------------------------------------------------------------
 */

static inline const struct xg_conf *begin(void)
{
    const struct xg_conf *conf = xg_conf_get();
    fx_fake();
    XT_CHECK(xg_engine_wait(conf) == XG_ENGINE_READY);
    return conf;
}

/* This kernel, or this container, does not track pages: then all operands are sent. */
static inline bool tracks(void)
{
    return !xg_room_is_off();
}

/* C = A B with a triangle of A: B in place for TRMM. False: an element is wrong. */
static inline bool multiply_structured(enum xg_op op, enum xg_uplo stored, const struct matrix *a,
                                       uint64_t *seed)
{
    const int64_t m = a->rows;
    const struct matrix b = create(a->type, m, THIN, 0, seed),
                        c = create(a->type, m, THIN, 0, seed);
    if (op == XG_OP_TRMM)
        memcpy(c.at, b.at, (size_t)(m * THIN) * xg_type_bytes(a->type));
    struct xg_problem call = {.op = op,
                              .type = a->type,
                              .structured = XG_OPERAND_A,
                              .stored = stored,
                              .m = m,
                              .n = THIN,
                              .k = m,
                              .alpha = 1,
                              .a = a->at,
                              .lda = a->ld,
                              .b = op == XG_OP_TRMM ? c.at : b.at,
                              .ldb = THIN,
                              .c = c.at,
                              .ldc = THIN};
    const struct xg_cpu cpu = {.whole = compute_on_cpu, .part = compute_part, .ctx = &call};
    bool right = true;
    xg_dispatch(&(struct xg_call){.symbol = "test_structured", .problem = &call}, &cpu);
    for (int64_t i = 0; i < m; i += 1 + draw(seed, 5))
        for (int64_t j = 0; j < THIN; j++) {
            double sum = 0;
            for (int64_t l = 0; l < m; l++) {
                const bool mine = stored == XG_LOWER ? l <= i : l >= i;
                if (mine || op == XG_OP_SYMM)
                    sum += (mine ? get(a, i, l) : get(a, l, i)) * get(&b, l, j);
            }
            right = right && sum == get(&c, i, j);
        }
    destroy(&b);
    destroy(&c);
    return right;
}

/* What the room knows of a matrix; NULL: nothing. */
static inline const struct xg_table_entry *entry_of(const struct matrix *x)
{
    for (int i = 0; i < XG_TABLE_ENTRIES; i++)
        if (xg_room.table.hashes[i] && xg_room.table.entries[i].key.at == x->at)
            return &xg_room.table.entries[i];
    return NULL;
}

static inline bool is_kept(const struct matrix *x)
{
    return entry_of(x) && entry_of(x)->copy;
}

#endif
