/* SPDX-License-Identifier: MIT */
#include "report/thread_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct xg_thread_sums *own __attribute__((tls_model("initial-exec")));

struct xg_thread_sums *xg_thread_sums_own(void)
{
    if (!own)
        own = calloc(1, sizeof *own);
    if (own)
        own->bytes = sizeof *own;
    return own;
}

static struct xg_thread_row *find_row(const char *symbol, int64_t place)
{
    struct xg_thread_row *row = own->rows, *end = row + own->row_count;

    while (row < end &&
           (row->place != place || strncmp(row->symbol, symbol, sizeof row->symbol - 1) != 0))
        row++;
    if (row < end)
        return row;
    if (own->row_count == XG_THREAD_SUMS_ROWS)
        return end - 1;
    *row = (struct xg_thread_row){.place = place};
    snprintf(row->symbol, sizeof row->symbol, "%s", symbol);
    own->row_count++;
    return row;
}

void xg_thread_sums_add(const struct xg_call_record *record)
{
    if (!own)
        return;
    struct xg_thread_row *row = find_row(record->symbol, record->place);
    row->calls++;
    row->seconds += record->seconds;
    if (record->place == XG_PLACE_GPU && record->predicted_cpu_s > 0.0) {
        row->predicted++;
        row->saved_s += record->predicted_cpu_s - record->seconds;
    }
}
