/* SPDX-License-Identifier: MIT */
/* Reads the account's text (src/report/stats.c). */
#include "doctor_account.h"

#include <stdio.h>
#include <string.h>

#include "doctor_text.h"

/* The words stand between two places that are known: blanks are in them. */
static const char *skip_reason(const char *text, enum xg_reason *reason)
{
    for (int i = 0; i < XG_REASON_COUNT; i++) {
        const char *words = xg_reason_text((enum xg_reason)i);
        size_t length = strlen(words);
        if (!strncmp(text, words, length) && text[length] == ' ') {
            *reason = (enum xg_reason)i;
            return text + length;
        }
    }
    return NULL;
}

/* "  CPU   too small   cblas_sgemm   12   0.1   0.0   0.001   100.0" */
static bool parse_row(const char *line, struct doctor_row *row)
{
    double moved_gb;
    *row = (struct doctor_row){0};
    for (int i = XG_PLACE_CPU; i <= XG_PLACE_BOTH; i++) {
        const char *place = xg_place_text((enum xg_place)i), *at = line + 2;
        size_t length = strlen(place);
        if (strncmp(line, "  ", 2) != 0 || strncmp(at, place, length) != 0 || at[length] != ' ')
            continue;
        at += length + strspn(at + length, " ");
        row->place = (enum xg_place)i;
        at = skip_reason(at, &row->reason);
        return at && sscanf(at, " %31s %ld %lf %lf %lf", row->symbol, &row->calls, &row->gflop,
                            &moved_gb, &row->seconds) == 5;
    }
    return false;
}

static void add_row(struct doctor_run *run, const struct doctor_row *row)
{
    for (int i = 0; i < run->row_count; i++) {
        struct doctor_row *known = &run->rows[i];
        if (known->place == row->place && known->reason == row->reason &&
            !strcmp(known->symbol, row->symbol)) {
            known->calls += row->calls;
            known->gflop += row->gflop;
            known->seconds += row->seconds;
            return;
        }
    }
    if (run->row_count < DOCTOR_ROWS)
        run->rows[run->row_count++] = *row;
}

void doctor_account_read(struct doctor_run *run, char *text)
{
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n"))) {
        struct doctor_row row;
        long products;
        if (parse_row(line, &row))
            add_row(run, &row);
        else if (!strncmp(line, "xgemm: ", 7) &&
                 sscanf(line, "xgemm: %ld products,", &products) != 1)
            doctor_texts_add(&run->messages, "%s", line + 7);
    }
}
