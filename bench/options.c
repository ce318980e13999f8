/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void store(const struct option_row *row, const char *value)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->to = true;
        break;
    case OPTION_INT:
        *(int *)row->to = atoi(value);
        break;
    case OPTION_NUMBER:
        *(uint64_t *)row->to = strtoull(value, NULL, 0);
        break;
    case OPTION_REAL:
        *(double *)row->to = atof(value);
        break;
    case OPTION_TEXT:
        *(const char **)row->to = value;
        break;
    }
}

int options_read(int argc, char **argv, const struct option_row *rows)
{
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        const char *name = argv[i] + 2;
        size_t length = strcspn(name, "=");
        const char *value = name[length] ? name + length + 1 : NULL;
        const struct option_row *row = rows;
        while (row->name && (strncmp(row->name, name, length) != 0 || row->name[length]))
            row++;
        if (!row->name || (row->kind == OPTION_FLAG && value))
            return 0;
        if (!value && row->kind != OPTION_FLAG && !(value = argv[++i]))
            return 0;
        store(row, value);
    }
    return i;
}
