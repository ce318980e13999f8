/* SPDX-License-Identifier: MIT */
/* Reads each executed file once, in the same way as the named program. */
#include "doctor_questions.h"

#include <stdlib.h>
#include <string.h>

#include "doctor_text.h"

enum { STARTS_MAX = 4096 }; /* starts that differ in file, environment or starter */

/* The time that a process takes after its last line, to free its memory. */
static const double LEAVING_S = 1e-3;

static bool is_child(const struct doctor_run *run, const char *path)
{
    for (int i = 0; i < run->child_count; i++)
        if (!strcmp(run->children[i].path, path))
            return true;
    return false;
}

/* Takes "KEPT STARTER PATH", separated by tabs. */
static void take_start(struct doctor_run *run, char *text)
{
    struct doctor_program program;
    const char *kept = strsep(&text, "\t"), *starter = text ? strsep(&text, "\t") : NULL;
    if (!starter || !text)
        return;
    doctor_program_read(&program, text);
    enum doctor_reach reach = program.reach;
    if (program.state == DOCTOR_PROGRAM_FOUND && reach == DOCTOR_REACHED && *kept == '0')
        reach = DOCTOR_REACH_ENVIRONMENT;
    if (reach == DOCTOR_REACHED || is_child(run, program.path) ||
        run->child_count == DOCTOR_CHILDREN)
        return;
    struct doctor_child *child = &run->children[run->child_count++];
    *child = (struct doctor_child){.reach = reach, .multiplies = program.multiplies};
    doctor_text_set(child->path, sizeof child->path, "%s", program.path);
    doctor_text_set(child->starter, sizeof child->starter, "%s", starter);
}

/* A script may start the same file a thousand times. */
static bool is_seen(const char *seen[STARTS_MAX], int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(seen[i], text))
            return true;
    if (*count == STARTS_MAX)
        return true;
    seen[*count] = strdup(text);
    *count += seen[*count] != NULL;
    return false;
}

void doctor_children_take(struct doctor_run *run, char *journal)
{
    static const char *seen[STARTS_MAX];
    int count = 0;
    double told_s = 0;
    for (char *line; (line = strsep(&journal, "\n"));) {
        if (!strncmp(line, "end\t", 4))
            told_s += 1e-6 * strtod(line + 4, NULL) + LEAVING_S;
        else if (!strncmp(line, "start\t", 6) && !is_seen(seen, &count, line + 6))
            take_start(run, line + 6);
    }
    run->untold_s = run->cores_s > told_s ? run->cores_s - told_s : 0;
}
