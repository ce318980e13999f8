/* SPDX-License-Identifier: MIT */
/* Remembered callers are found again and whole, by many threads and in children of fork. */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/answers.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

enum { KEYS = 4, FORKS = 40, FOUND = 20000 };

/* Every field of an answer identifies it. */
static struct shim_answer answer_of(uint64_t key, int turn)
{
    struct shim_answer answer = {.key = key};
    answer.caller.begin = (uintptr_t)(key + (uint64_t)turn);
    answer.caller.end = answer.library.end = answer.caller.begin;
    answer.next.int_bytes = turn;
    answer.next.blas.int_bytes = turn;
    return answer;
}

static int answer_whole(const struct shim_answer *answer, uint64_t key)
{
    struct shim_answer expected = answer_of(key, answer->next.int_bytes);
    return answer->key == key && answer->caller.begin == expected.caller.begin &&
           answer->caller.end == expected.caller.end &&
           answer->library.end == expected.library.end &&
           answer->next.blas.int_bytes == answer->next.int_bytes;
}

static atomic_bool ended;

/* Writes to every place in turn, without a pause. */
static void *write_on(void *arg)
{
    for (int turn = 0; !ended; turn++) {
        struct shim_answer answer = answer_of(1 + (uint64_t)turn % KEYS, turn);
        shim_answers_keep(&answer);
    }
    return arg;
}

static void test_whole(void)
{
    struct shim_answer answer;
    int found = 0, torn = 0;
    for (int i = 0; found < FOUND; i++) {
        uint64_t key = 1 + (uint64_t)i % KEYS;
        if (!shim_answers_find(key, &answer))
            continue;
        found++;
        torn += !answer_whole(&answer, key);
    }
    XT_CHECK(torn == 0, "%d found, %d of them torn", found, torn);
}

/* A child has the places as they were at the fork, and lacks the thread that was writing one. */
static int child(void)
{
    struct shim_answer answer;
    int lost = 0;
    for (uint64_t key = 1; key <= KEYS; key++) {
        struct shim_answer kept = answer_of(key, -1);
        shim_answers_keep(&kept);
        lost += !shim_answers_find(key, &answer) || answer.next.int_bytes != -1 ||
                !answer_whole(&answer, key);
    }
    return lost;
}

static void test_forked(void)
{
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(child());
        waitpid(pid, &status, 0);
        XT_CHECK(status == 0, "child %d: %d of %d answers lost", i, WEXITSTATUS(status), KEYS);
    }
}

static void test_many(void)
{
    struct shim_answer answer;
    int found = 0, torn = 0;
    for (uint64_t key = 1; key <= 4000; key++) {
        struct shim_answer kept = answer_of(key * 4096, 7);
        shim_answers_keep(&kept);
        XT_CHECK(shim_answers_find(key * 4096, &answer) && answer_whole(&answer, key * 4096),
                 "the last of %d", (int)key);
    }
    for (uint64_t key = 1; key <= 4000; key++)
        if (shim_answers_find(key * 4096, &answer)) {
            found++;
            torn += !answer_whole(&answer, key * 4096);
        }
    XT_CHECK(found >= 128 && torn == 0, "%d kept, %d of them torn", found, torn);
}

int main(void)
{
    alarm(120); /* ends a test that finds nothing */
    const pthread_t writer = xt_thread_start(write_on, NULL);
    test_whole();
    test_forked();
    ended = true;
    pthread_join(writer, NULL);
    test_many();
    return xt_done();
}
