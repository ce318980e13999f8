/* SPDX-License-Identifier: MIT */
/* The diagnoses as data, and the rules that find them in the facts. */
#ifndef DOCTOR_DIAGNOSIS_H
#define DOCTOR_DIAGNOSIS_H

#include <stddef.h>

#include "doctor_facts.h"

enum doctor_level {
    DOCTOR_NOTE, /* for information: nothing is wrong */
    DOCTOR_MEND, /* something to mend */
};

/* One diagnosis. find adds a subject for each case that it finds; the subject replaces "%s" in
 * words and remedy ("" if they have none). detail is an argument of the rule. */
struct doctor_diagnosis {
    const char *id; /* stable: --json prints it, tests and manuals name it */
    enum doctor_level level;
    void (*find)(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects);
    int detail;
    const char *words, *remedy;
};

/* Begins the definition of a rule; not every rule has a use for its detail. */
#define DOCTOR_RULE(name)                                                                          \
    static void name(const struct doctor_facts *facts, __attribute__((unused)) int detail,         \
                     struct doctor_texts *subjects)

/* Defines a rule that finds one subject, a format and its arguments, if `holds`. */
#define DOCTOR_FIND(name, holds, ...)                                                              \
    DOCTOR_RULE(name)                                                                              \
    {                                                                                              \
        if (holds)                                                                                 \
            doctor_texts_add(subjects, __VA_ARGS__);                                               \
    }

/* Tables by topic; an entry without an id ends each. */
extern const struct doctor_diagnosis doctor_gpu_diagnoses[];
extern const struct doctor_diagnosis doctor_setting_diagnoses[];
extern const struct doctor_diagnosis doctor_program_diagnoses[];
extern const struct doctor_diagnosis doctor_run_diagnoses[];

struct doctor_finding {
    const struct doctor_diagnosis *diagnosis;
    double cost_s; /* seconds of the run's products that it affects; 0: unknown */
    char subject[DOCTOR_TEXT_BYTES];
};

enum { DOCTOR_FINDINGS = 128 };

/* Fills `findings` and returns their number: first the findings to mend; within a level the most
 * expensive first, then in the order of the tables. Pure. */
int doctor_diagnose(const struct doctor_facts *facts,
                    struct doctor_finding findings[DOCTOR_FINDINGS]);

/* Calls visit for every row of the tables, in the order of the findings. */
void doctor_diagnosis_visit(void (*visit)(const struct doctor_diagnosis *diagnosis, void *context),
                            void *context);

/* Writes words or remedy, with the subject inserted. */
void doctor_finding_text(const struct doctor_finding *finding, const char *form, char *text,
                         size_t size);

/* Whether the object makes calls and none can reach the library; rules of doctor_program_diagnoses
 * give the reason (doctor_rules_program.c). */
bool doctor_object_is_lost(const struct doctor_facts *facts, const struct doctor_object *object);

/* Whether there is a finding about a program that the run started (doctor_rules_program.c). */
bool doctor_children_are_lost(const struct doctor_facts *facts);

#endif
