/* SPDX-License-Identifier: MIT */
/* Tilings: the bottleneck of a product decides how it is cut, and panels stay within bounds. */
#include "tests/support/xt.h"

#include <math.h>

#include "src/decide/tiling.h"

enum { ROW_ELEMS = 1 << 20 };

static struct xg_problem shaped(int64_t m, int64_t n, int64_t k, bool transa, bool transb)
{
    return (struct xg_problem){.m = m, .n = n, .k = k, .transa = transa, .transb = transb};
}

static void check_kinds(void)
{
    static const struct {
        int64_t m, n, k;
        bool transa, transb;
        enum xg_tiling_kind kind;
    } rows[] = {
        {1024, 1024, 1024, 0, 0, XG_TILING_ROWS},
        {3000, 777, 1533, 0, 0, XG_TILING_ROWS},
        {777, 3000, 1533, 0, 0, XG_TILING_COLUMNS},
        {100000, 64, 64, 0, 0, XG_TILING_ROWS},
        {4096, 4096, 4096, 0, 0, XG_TILING_GRID},
        {8192, 4096, 64, 0, 0, XG_TILING_ROWS},
        {128, 128, 100000, 0, 0, XG_TILING_SLICES},
        {64, 8192, 8192, 0, 0, XG_TILING_SLICES},
        {64, 8192, 8192, 0, 1, XG_TILING_COLUMNS}, /* here slices would be parts of rows */
        {8192, 64, 8192, 1, 0, XG_TILING_SLICES},
        {8192, 64, 8192, 0, 0, XG_TILING_ROWS},
        {1024, 1024, ROW_ELEMS + 1, 0, 0, XG_TILING_SLICES},
        {1, 1, 1, 0, 0, XG_TILING_ROWS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct xg_problem call =
            shaped(rows[i].m, rows[i].n, rows[i].k, rows[i].transa, rows[i].transb);
        struct xg_tiling tiling = xg_tiling_choose(&call, ROW_ELEMS, 0);
        XT_CHECK(tiling.kind == rows[i].kind, "row %zu: %d", i, (int)tiling.kind);
    }
}

/* The cut goes through what travels, even if the operand on the device has slices as rows. */
static void check_held(void)
{
    for (int turn = 0; turn < 8; turn++) {
        const bool b = turn & 1, thin = turn & 2, trans = turn & 4;
        struct xg_problem call = shaped(9000, thin ? 1 : 64, 8000, !b && trans, b && trans);
        if (b)
            call.m = call.n, call.n = 9000;
        call.held[b] = 9000.0 * 8000;
        XT_CHECK(xg_tiling_choose(&call, ROW_ELEMS, 0).kind ==
                     (b ? XG_TILING_ROWS : XG_TILING_COLUMNS),
                 "turn %d", turn);
    }
}

static int64_t log_random(uint64_t *state, int bits)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int64_t)((*state >> 20) & ((1u << ((*state >> 58) % (unsigned)bits)) - 1));
}

/* For any shape, panels lie inside it, their rows fit, and they have at most twice the wanted size.
 */
static void check_panels(void)
{
    static const int64_t wide[][3] = {
        {1, 2000000, 64}, {6, 1668634, 5058}, {1264502, 4, 4927}, {1, ROW_ELEMS + 1, 17}};
    uint64_t state = 7;
    for (int turn = 0; turn < 16; turn++) {
        const int64_t *w = wide[turn / 4];
        struct xg_problem call = shaped(w[0], w[1], w[2], turn & 1, turn & 2);
        struct xg_tiling tiling = xg_tiling_choose(&call, ROW_ELEMS, 0);
        int64_t tm = 0, tn = 0, tk = 0;
        xg_tiling_panels(&tiling, &call, ROW_ELEMS, &tm, &tn, &tk);
        XT_CHECK(tm <= ROW_ELEMS && tn <= ROW_ELEMS && tk <= ROW_ELEMS, "%ld,%ld,%ld", (long)call.m,
                 (long)call.n, (long)call.k);
    }
    for (int turn = 0; turn < 20000; turn++) {
        int64_t m = log_random(&state, 22), n = log_random(&state, 22), k = log_random(&state, 22);
        struct xg_problem call = shaped(m, n, k, turn & 1, turn & 2);
        struct xg_tiling tiling = xg_tiling_choose(&call, ROW_ELEMS, 0);
        int64_t tm = 0, tn = 0, tk = 0;
        xg_tiling_panels(&tiling, &call, ROW_ELEMS, &tm, &tn, &tk);
        XT_CHECK(tm >= 1 && tm <= m && tn >= 1 && tn <= n && tk >= 1 && tk <= k);
        bool line = tiling.kind != XG_TILING_GRID;
        XT_CHECK((line || tm < m || tm <= ROW_ELEMS) && (line || tk < k || tk <= ROW_ELEMS));
        if (tiling.kind == XG_TILING_ROWS)
            XT_CHECK(tn == n && tk == k);
        if (tiling.kind == XG_TILING_SLICES)
            XT_CHECK(tm == m && tn == n);
        /* A step has at least 128 rows, even if this exceeds the wanted size. */
        double asked = fmax(tiling.panel_elems, 128.0 * (double)xg_max_i64(n, k));
        if (tiling.kind == XG_TILING_ROWS)
            XT_CHECK((double)tm * (double)xg_max_i64(n, k) <= 2 * asked);
    }
}

int main(void)
{
    check_kinds();
    check_held();
    check_panels();
    return xt_done();
}
