/* SPDX-License-Identifier: MIT */
#include "doctor_questions.h"

#include "doctor_text.h"

void doctor_account_take(struct doctor_run *run, const struct xg_account *account)
{
    run->row_count = 0;
    for (int i = 0; i < account->row_count && run->row_count < DOCTOR_ROWS; i++) {
        const struct xg_account_row *from = &account->rows[i];
        struct doctor_row *row = &run->rows[run->row_count++];
        *row = (struct doctor_row){.place = (enum xg_place)from->place,
                                   .reason = (enum xg_reason)from->reason,
                                   .calls = (long)from->calls,
                                   .gflop = 1e-9 * from->flops,
                                   .seconds = from->seconds};
        doctor_text_set(row->symbol, sizeof row->symbol, "%s", from->symbol);
    }
}
