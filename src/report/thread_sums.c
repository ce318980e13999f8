/* SPDX-License-Identifier: MIT */
#include "report/thread_sums.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct xg_thread_sums *own __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int keyed;

static void free_own(void *sums)
{
    own = NULL;
    free(sums);
}

static void init(void)
{
    keyed = pthread_key_create(&key, free_own) == 0;
}

struct xg_thread_sums *xg_thread_sums_own(void)
{
    if (own)
        return own;
    pthread_once(&once, init);
    struct xg_thread_sums *sums = keyed ? calloc(1, sizeof *sums) : NULL;
    if (!sums || pthread_setspecific(key, sums) != 0) {
        free(sums);
        return NULL;
    }
    sums->bytes = sizeof *sums;
    own = sums;
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
