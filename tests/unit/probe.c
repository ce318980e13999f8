/* SPDX-License-Identifier: MIT */
/* Questions that doctor asks in another process: an answer, a crash, a hang, a command's output. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/xt.h"
#include "tools/doctor_probe.h"

static void ask_sum(void *answer, const void *question)
{
    *(int *)answer += *(const int *)question;
}

static void ask_end(void *answer, const void *question)
{
    (void)answer;
    _exit(*(const int *)question);
}

static void ask_sleep(void *answer, const void *question)
{
    (void)answer, (void)question;
    sleep(600);
}

static void prepare(void)
{
    setenv("DOCTOR_WORD", "word", 1);
}

static void test_probe(void)
{
    int answer = 7, question = 3;
    XT_CHECK(doctor_probe(ask_sum, &answer, sizeof answer, &question, 60) == DOCTOR_PROBE_ANSWERED,
             "answered");
    XT_CHECK(answer == 3, "the child begins with zeros: %d", answer);
    XT_CHECK(doctor_probe(ask_end, &answer, sizeof answer, &question, 60) == DOCTOR_PROBE_CRASHED,
             "crashed");
    XT_CHECK(doctor_probe(ask_sleep, &answer, sizeof answer, &question, 0.1) == DOCTOR_PROBE_HUNG,
             "hung");
    XT_CHECK(answer == 3, "untouched");
    char shell[] = "/bin/sh", option[] = "-c", command[] = "echo $DOCTOR_WORD";
    char *argv[] = {shell, option, command, NULL};
    char *text = doctor_probe_output(argv, prepare, 60);
    XT_CHECK(text && !strcmp(text, "word\n"), "%s", text ? text : "nothing");
    free(text);
    XT_CHECK(!getenv("DOCTOR_WORD"), "the environment is the child's");
}

int main(void)
{
    test_probe();
    return xt_done();
}
