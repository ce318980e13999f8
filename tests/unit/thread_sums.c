/* SPDX-License-Identifier: MIT */
/* The sums of one thread's calls. */
#include "src/report/thread_sums.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/xt.h"

static void add(const char *symbol, enum xg_place place, double seconds, double predicted_cpu_s)
{
    struct xg_call_record record = {
        .symbol = symbol, .place = place, .seconds = seconds, .predicted_cpu_s = predicted_cpu_s};
    xg_thread_sums_add(&record);
}

/* Calls before the thread asks for its sums, and those of other threads, are not in them. */
static void *other_thread(void *arg)
{
    add("sgemm_", XG_PLACE_CPU, 1, 0);
    struct xg_thread_sums *sums = xg_thread_sums_own();
    XT_CHECK(sums && sums != arg && sums->row_count == 0, "another thread has sums of its own");
    add("dgemm_", XG_PLACE_CPU, 1, 0);
    XT_CHECK(sums->row_count == 1 && !strcmp(sums->rows[0].symbol, "dgemm_"), "one call");
    return NULL;
}

static void test_rows(struct xg_thread_sums *sums)
{
    add("sgemm_", XG_PLACE_CPU, 1, 9); /* nothing is saved on the CPU */
    add("sgemm_", XG_PLACE_GPU, 2, 5);
    add("sgemm_", XG_PLACE_GPU, 1, 0); /* no prediction */
    add("sgemm_", XG_PLACE_GPU, 3, 1);
    add("dgemm_", XG_PLACE_BOTH, 3, 9); /* compared: it takes the time of both sides */
    const struct xg_thread_row *row = sums->rows;
    XT_CHECK(sums->bytes == sizeof *sums && sums->row_count == 3, "%u rows", sums->row_count);
    XT_CHECK(row->place == XG_PLACE_CPU && row->calls == 1 && row->predicted == 0, "CPU");
    XT_CHECK(row->seconds == 1 && row->saved_s == 0, "CPU: %g, %g", row->seconds, row->saved_s);
    row++;
    XT_CHECK(row->place == XG_PLACE_GPU && row->calls == 3 && row->predicted == 2, "GPU");
    XT_CHECK(row->seconds == 6 && row->saved_s == 1, "GPU: %g, %g", row->seconds, row->saved_s);
    row++;
    XT_CHECK(row->place == XG_PLACE_BOTH && row->calls == 1 && row->predicted == 0, "both");
}

static void test_full(struct xg_thread_sums *sums)
{
    char symbol[60];
    int64_t calls = 0;
    sums->row_count = 0;
    for (int i = 0; i < XG_THREAD_SUMS_ROWS + 5; i++) {
        snprintf(symbol, sizeof symbol, "a_name_with_more_than_forty_characters_%02d_", i);
        add(symbol + (i % 2 ? 0 : 35), XG_PLACE_CPU, 1, 0);
    }
    for (uint32_t i = 0; i < sums->row_count; i++) {
        calls += sums->rows[i].calls;
        XT_CHECK(memchr(sums->rows[i].symbol, 0, XG_THREAD_SUMS_TEXT), "row %u has no end", i);
    }
    XT_CHECK(calls == XG_THREAD_SUMS_ROWS + 5, "%lld calls", (long long)calls);
    XT_CHECK(sums->rows[1].calls == (XG_THREAD_SUMS_ROWS + 5) / 2, "a long name is one row");
    for (int i = 100; i < 100 + 2 * XG_THREAD_SUMS_ROWS; i++) {
        snprintf(symbol, sizeof symbol, "%d", i);
        add(symbol, XG_PLACE_CPU, 1, 0);
    }
    XT_CHECK(sums->row_count == XG_THREAD_SUMS_ROWS, "%u rows", sums->row_count);
    XT_CHECK(sums->rows[XG_THREAD_SUMS_ROWS - 1].calls > XG_THREAD_SUMS_ROWS, "the last row");
}

int main(void)
{
    pthread_t thread;
    add("sgemm_", XG_PLACE_CPU, 1, 0);
    struct xg_thread_sums *sums = xg_thread_sums_own();
    if (!sums)
        return XT_HARD;
    XT_CHECK(sums->row_count == 0 && xg_thread_sums_own() == sums, "they count from here");
    if (pthread_create(&thread, NULL, other_thread, sums) || pthread_join(thread, NULL))
        return XT_HARD;
    XT_CHECK(sums->row_count == 0, "a call of another thread");
    test_rows(sums);
    test_full(sums);
    return xt_done();
}
