/* SPDX-License-Identifier: MIT */
#include "pipeline/balance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "verify/block.h"

/* GEBAL doubles a column of norm c and halves its row of norm r if 2 c + r / 2 < 0.95 (c + r), and
 * the reverse. It permutes where a norm is 0. */
static bool is_even(double row, double column)
{
    static const double LEAST = 0.45 / 1.05;
    const double least = LEAST * LEAST * fmax(row, column);
    return isfinite(row + column) && row > 0 && column > 0 && row >= least && column >= least;
}

enum xg_status xg_balance_check(const struct xg_matrix *a, enum xg_type type)
{
    const struct xg_factor matrix = {.matrix = *a, .type = type};
    const int64_t n = a->rows;
    double *rows = calloc(2 * (size_t)n, sizeof *rows), *columns = rows + n;
    if (!rows)
        return XG_ERR_NOMEM;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double re, im;
            xg_factor_get(&matrix, i, j, &re, &im);
            const double square = i == j ? 0 : re * re + im * im;
            rows[i] += square;
            columns[j] += square;
        }
    bool even = true;
    for (int64_t i = 0; i < n && even && n > 1; i++)
        even = is_even(rows[i], columns[i]);
    free(rows);
    return even ? XG_OK : XG_DECLINED;
}
