/* SPDX-License-Identifier: MIT */
#include "report/recorder.h"

#include "host/tally.h"
#include "report/stats.h"
#include "report/thread_sums.h"
#include "report/trace.h"

/* The time of this thread's recorded calls inside its outermost routine. */
static _Thread_local double recorded_s __attribute__((tls_model("initial-exec")));

/* Whether the GPU had no part in a call, not even a failure. */
static bool is_of_cpu(const struct xg_call_record *record)
{
    return record->place == XG_PLACE_CPU && record->gpu.verdict == XG_VERDICT_NONE &&
           record->reason != XG_REASON_FAILED && record->reason != XG_REASON_WRONG &&
           record->reason != XG_REASON_MEMORY && record->reason != XG_REASON_STACK;
}

void xg_recorder_add(const struct xg_call_record *record, double begin_s)
{
    bool inside = xg_tally_own(XG_TALLY_ROUTINES) > 0;
    if (inside && is_of_cpu(record))
        return;
    if (inside)
        recorded_s += record->seconds;
    xg_stats_add(record);
    xg_thread_sums_add(record);
    xg_trace_add(record, begin_s);
}

double xg_recorder_enter(void)
{
    if (xg_tally_own(XG_TALLY_ROUTINES) == 0)
        recorded_s = 0;
    xg_tally_add(XG_TALLY_ROUTINES, 1);
    return recorded_s;
}

double xg_recorder_leave(double entered)
{
    xg_tally_take(XG_TALLY_ROUTINES, 1);
    return recorded_s - entered;
}
