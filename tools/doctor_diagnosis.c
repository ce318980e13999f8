/* SPDX-License-Identifier: MIT */
/* Applies the tables of diagnoses. */
#include "doctor.h"

#include <string.h>

void doctor_diagnosis_visit(void (*visit)(const struct doctor_diagnosis *diagnosis, void *context),
                            void *context)
{
    const struct doctor_diagnosis *const tables[] = {doctor_setting_diagnoses, doctor_gpu_diagnoses,
                                                     doctor_program_diagnoses,
                                                     doctor_run_diagnoses};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const struct doctor_diagnosis *row = tables[i]; row->id; row++)
            visit(row, context);
}

struct search {
    const struct doctor_facts *facts;
    struct doctor_finding *findings;
    int count;
};

static void look_for(const struct doctor_diagnosis *diagnosis, void *context)
{
    struct search *search = context;
    struct doctor_texts subjects = {.count = 0};
    diagnosis->find(search->facts, diagnosis->detail, &subjects);
    for (int i = 0; i < subjects.count && search->count < DOCTOR_FINDINGS; i++) {
        struct doctor_finding *finding = &search->findings[search->count++];
        finding->diagnosis = diagnosis;
        finding->cost_s = subjects.cost_s;
        memcpy(finding->subject, subjects.text[i], DOCTOR_TEXT_BYTES);
    }
}

static bool comes_before(const struct doctor_finding *a, const struct doctor_finding *b)
{
    return a->diagnosis->level != b->diagnosis->level ? a->diagnosis->level > b->diagnosis->level
                                                      : a->cost_s > b->cost_s;
}

/* Sorts by insertion, which keeps the order of equal findings. */
static void sort(struct doctor_finding *findings, int count)
{
    for (int i = 1; i < count; i++) {
        struct doctor_finding finding = findings[i];
        int at = i;
        for (; at > 0 && comes_before(&finding, &findings[at - 1]); at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
    }
}

int doctor_diagnose(const struct doctor_facts *facts,
                    struct doctor_finding findings[DOCTOR_FINDINGS])
{
    struct search search = {.facts = facts, .findings = findings};
    doctor_diagnosis_visit(look_for, &search);
    sort(findings, search.count);
    return search.count;
}

void doctor_finding_text(const struct doctor_finding *finding, const char *form, char *text,
                         size_t size)
{
    const char *place = strstr(form, "%s");
    if (place)
        doctor_text_set(text, size, "%.*s%s%s", (int)(place - form), form, finding->subject,
                        place + 2);
    else
        doctor_text_set(text, size, "%s", form);
}
