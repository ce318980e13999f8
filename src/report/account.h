/* SPDX-License-Identifier: MIT */
/* The account of a process's products: sums by name, place and reason, and by shape. Pure. */
/*
 * Memory and files (mapping.h) hold the same struct, so its layout is fixed: numbers have the
 * machine's byte order, texts end with a zero, and only the first row_count rows count. A change of
 * the layout, or of what its numbers mean, is a change of XG_ACCOUNT_VERSION; magic and version
 * have the same place in all versions. python/xgemm_shim/_account.py reads the struct too.
 */
#ifndef XG_ACCOUNT_H
#define XG_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/record.h"

#define XG_ACCOUNT_MAGIC "xgacct\n"

enum {
    XG_ACCOUNT_VERSION = 6, /* 5 had no held_bytes, 4 and 3 fewer reasons, 2 shorter names */
    XG_ACCOUNT_ROWS = 256,
    XG_ACCOUNT_SHAPES = 1024,
    XG_ACCOUNT_TEXT = 40,
    XG_ACCOUNT_PROGRAM = 64,
};

/* Calls of one name that ran in one place for one reason. */
struct xg_account_row {
    char symbol[XG_ACCOUNT_TEXT];
    uint32_t place, reason; /* enum xg_place, enum xg_reason */
    int64_t calls;
    double flops, bytes; /* bytes moved over the link */
    double seconds;      /* wall time; summed over threads that call at once */
    double waited_s;     /* of these: spent waiting for a lane of the GPU */
};

/* Calls of one name and shape that ran in one place by one kernel. calls == 0: free. */
struct xg_account_shape {
    char symbol[XG_ACCOUNT_TEXT];
    char kernel[XG_ACCOUNT_TEXT]; /* empty on the CPU */
    int64_t m, n, k;
    uint32_t place;
    uint8_t transa, transb, beta_zero, unused;
    int64_t calls;
    double flops, seconds;
};

struct xg_account {
    char magic[8];           /* XG_ACCOUNT_MAGIC */
    uint32_t version, bytes; /* XG_ACCOUNT_VERSION, sizeof(struct xg_account) */
    int64_t pid;             /* as the process sees it */
    int64_t begun_ns;        /* time of the first product counted, since 1970 */
    char program[XG_ACCOUNT_PROGRAM];
    int32_t row_count, shape_count;
    int64_t shapes_dropped; /* calls whose shape found the table full */
    double longest_spin_s;
    int64_t right, wrong, unable, rows_skipped; /* counts of the products verified */
    double deviation;                           /* largest of the right products */
    double held_bytes;                          /* not moved: operands that were on the device */
    struct xg_account_row rows[XG_ACCOUNT_ROWS];
    struct xg_account_shape shapes[XG_ACCOUNT_SHAPES]; /* open addressing */
};

_Static_assert(sizeof(struct xg_account_row) == 88 && sizeof(struct xg_account_shape) == 136 &&
                   sizeof(struct xg_account) ==
                       168 + 88 * XG_ACCOUNT_ROWS + 136 * XG_ACCOUNT_SHAPES,
               "the layout of version 6");

/* The parts of an account that a call has changed besides the head; shape -1: no shape. */
struct xg_account_change {
    int row, shape;
};

/* Sums over an account. Seconds on the GPU do not include waits for a lane. */
struct xg_account_sums {
    int64_t calls, gpu_calls; /* gpu_calls: calls that the GPU computed or shared */
    double flops, gpu_flops, bytes, seconds, gpu_seconds;
};

/* None of these takes a lock. */
void xg_account_init(struct xg_account *account);
struct xg_account_change xg_account_add(struct xg_account *account,
                                        const struct xg_call_record *record);
/* Adds the counts of *from; *into keeps its identity and begin. Counts stop at INT64_MAX; so do
 * those of xg_account_sum. */
void xg_account_merge(struct xg_account *into, const struct xg_account *from);
void xg_account_sum(const struct xg_account *account, struct xg_account_sums *sums);

/* Whether *account, read from a file, is valid: of this version, with counts, figures and texts in
 * bounds. */
bool xg_account_is_valid(const struct xg_account *account);

/*
 * The reason why some products had no GPU (xg_reason_is_absence), the most frequent one if there
 * are several. XG_REASON_EARNING: no product met a GPU or its start, and some waited until a start
 * was earned, so it is not known whether there is a GPU. XG_REASON_COUNT: neither.
 */
enum xg_reason xg_account_absence(const struct xg_account *account);

/* Gives this reason to the products that waited until a start was earned. */
void xg_account_explain(struct xg_account *account, enum xg_reason reason);

/* Says why there was no GPU and which command says more; NULL if there may have been a GPU. */
const char *xg_account_absence_text(const struct xg_account *account);

/* Writes the account as XGEMM_STATS=1 does at exit; nothing when no call was added. Tables with
 * lines of more than `most` characters (0: any number) lack some columns. */
void xg_account_print(const struct xg_account *account, int most, FILE *out);

#endif
