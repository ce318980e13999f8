/* SPDX-License-Identifier: MIT */
/* Fills every row twice: first to measure it, then to print it. */
#include "report/table.h"

#include <string.h>

static void print_cell(const struct xg_table *table, int column, int width, const char *cell,
                       FILE *out)
{
    fprintf(out, "%s%*s", column ? " " : "  ", table->left & 1u << column ? -width : width, cell);
}

void xg_table_print(const struct xg_table *table, FILE *out)
{
    int widths[XG_TABLE_COLUMNS];
    xg_table_cells cells;

    for (int column = 0; column < table->columns; column++)
        widths[column] = (int)strlen(table->head[column]);
    for (int row = 0; row < table->rows; row++) {
        table->fill(cells, row, table->context);
        for (int column = 0; column < table->columns; column++) {
            int length = (int)strlen(cells[column]);
            widths[column] = length > widths[column] ? length : widths[column];
        }
    }
    for (int row = -1; row < table->rows; row++) {
        if (row >= 0)
            table->fill(cells, row, table->context);
        for (int column = 0; column < table->columns; column++)
            print_cell(table, column, widths[column], row < 0 ? table->head[column] : cells[column],
                       out);
        fputc('\n', out);
    }
}
