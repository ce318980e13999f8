/* SPDX-License-Identifier: MIT */
/* One finished call, as the account and the trace are told of it. */
#ifndef XG_RECORD_H
#define XG_RECORD_H

#include <stdint.h>

#include "base/xg.h"

struct xg_call_record {
    const char *symbol;     /* the name that the program called: "cblas_sgemm"; a static string */
    struct xg_problem call; /* the pointers in it are not followed, but for the batch's while the
                               call lasts */
    enum xg_place place;
    enum xg_reason reason;
    int device;         /* which of those that serve, from 0 */
    const char *kernel; /* the row's name, or NULL on the CPU; a static string */
    double seconds;     /* wall time, all of it */
    double predicted_cpu_s, predicted_gpu_s; /* what the policy thought; 0 when it was not asked */
    double waited_s;                         /* of the wall time: for a lane of the GPU */
    uint64_t up_bytes, down_bytes;           /* moved over the link */
    double spin_s; /* OpenBLAS's threads spin for so long after it; 0: they do not, or it did not
                      run on the CPU beside a GPU that is ready */
    enum xg_verdict verdict;
    double deviation;     /* where it was verified: see verify.h */
    int64_t rows_skipped; /* likewise */
};

#endif
