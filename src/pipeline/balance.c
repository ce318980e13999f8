/* SPDX-License-Identifier: MIT */
#include "pipeline/balance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Adds the squares of a column's elements to the sums of their rows; returns their sum. */
static double add(const void *column, enum xg_type type, int64_t begin, int64_t end, double *rows)
{
    const int64_t parts = xg_type_parts(type);
    const bool is_double = xg_type_is_double(type);
    double sum = 0;
    for (int64_t i = begin; i < end; i++) {
        double square = 0;
        for (int64_t part = i * parts; part < (i + 1) * parts; part++) {
            const double value =
                is_double ? ((const double *)column)[part] : (double)((const float *)column)[part];
            square += value * value;
        }
        rows[i] += square;
        sum += square;
    }
    return sum;
}

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
    const int64_t n = a->rows;
    const size_t column_bytes = (size_t)a->ld * xg_type_bytes(type);
    double *rows = calloc(2 * (size_t)n, sizeof *rows), *columns = rows + n;
    if (!rows)
        return XG_ERR_NOMEM;
    for (int64_t j = 0; j < n; j++) {
        const char *column = (const char *)a->at + (size_t)j * column_bytes;
        columns[j] = add(column, type, 0, j, rows) + add(column, type, j + 1, n, rows);
    }
    bool even = true;
    for (int64_t i = 0; i < n && even && n > 1; i++)
        even = is_even(rows[i], columns[i]);
    free(rows);
    return even ? XG_OK : XG_DECLINED;
}
