/* SPDX-License-Identifier: MIT */
/* One finished call, as the account and the trace receive it. */
#ifndef XG_RECORD_H
#define XG_RECORD_H

#include <stdint.h>

#include "base/xg.h"

struct xg_call_record {
    const char *symbol;     /* the name that the program called: "cblas_sgemm"; a static string */
    struct xg_problem call; /* its pointers are not followed, except the batch's during the call */
    const char *routine; /* LAPACK's name, such as "dpotrf"; a static string. NULL: a problem. For a
                          * routine `call` has only the type and m, n, k */
    double routine_flops; /* of that routine; the bytes are those of its operands and results */
    double routine_up_bytes, routine_down_bytes;
    enum xg_place place;
    enum xg_reason reason;
    struct xg_result gpu; /* the GPU's part: all zeros if nothing was tried there */
    double seconds;       /* wall time of the whole call, without inside_s */
    double inside_s;      /* wall time of the calls inside it that have records of their own */
    double predicted_cpu_s, predicted_gpu_s; /* the policy's predictions; 0: it was not asked */
    double spin_s; /* how long OpenBLAS's threads spin after the call; 0: they do not, or the call
                    * did not run on the CPU beside a ready GPU */
};

/* Floating-point operations; 0 if a dimension is 0. */
static inline double xg_record_flops(const struct xg_call_record *record)
{
    const struct xg_problem *call = &record->call;
    if (record->routine)
        return record->routine_flops;
    return call->m > 0 && call->n > 0 && call->k > 0 ? xg_problem_flops(call) : 0.0;
}

#endif
