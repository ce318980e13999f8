/* SPDX-License-Identifier: MIT */
/* A text table whose columns are as wide as their longest cells. */
#ifndef XG_TABLE_H
#define XG_TABLE_H

#include <stdio.h>

enum { XG_TABLE_COLUMNS = 11, XG_TABLE_CELL = 48 };

typedef char xg_table_cells[XG_TABLE_COLUMNS][XG_TABLE_CELL];

struct xg_table {
    int columns; /* at most XG_TABLE_COLUMNS */
    const char *head[XG_TABLE_COLUMNS];
    unsigned left; /* one bit for each column of words, flush left; numbers are flush right */
    int rows;
    /* Writes the cells of a row. Called twice for each row. */
    void (*fill)(xg_table_cells cells, int row, const void *context);
    const void *context;
};

/* Prints head and rows, each after two blanks. Any thread may call it. */
void xg_table_print(const struct xg_table *table, FILE *out);

#endif
