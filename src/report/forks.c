/* SPDX-License-Identifier: MIT */
#include "report/forks.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
    _Atomic pid_t pid; /* the fork that has claimed it; 0: free */
    struct xg_account account;
};

/* Shared with all forks; NULL: there is none. */
static struct shared {
    _Atomic int lost;
    _Atomic bool printed;
    struct place places[XG_FORKS];
} * shared;

static pid_t owner; /* the process that has made it */

/* The library's constructor may run before libc knows the environment, so it reads its argument.
 * Pages that no fork writes take no memory. */
__attribute__((constructor)) static void prepare(int argc, char **argv, char **environment)
{
    bool wanted = false;
    (void)argc, (void)argv;
    for (; environment && *environment; environment++)
        wanted |= !strcmp(*environment, "XGEMM_STATS=1");
    if (!wanted || getauxval(AT_SECURE))
        return;
    void *at = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return;
    shared = at;
    owner = getpid();
}

struct xg_account *xg_forks_claim(const struct xg_account *account)
{
    const pid_t self = getpid();
    if (!shared || self == owner)
        return NULL;
    for (int i = 0; i < XG_FORKS; i++) {
        struct place *place = &shared->places[i];
        pid_t none = 0;
        if (atomic_compare_exchange_strong(&place->pid, &none, self)) {
            place->account = *account;
            return &place->account;
        }
    }
    atomic_fetch_add(&shared->lost, 1);
    return NULL;
}

void xg_forks_release(struct xg_account *claimed)
{
    atomic_store(&shared->printed, true);
    for (int i = 0; i < XG_FORKS; i++)
        if (claimed == &shared->places[i].account)
            atomic_store(&shared->places[i].pid, 0);
}

/* A child that the process has not waited for stays one that can be waited for. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return info.si_pid == pid;
    return kill(pid, 0) && errno == ESRCH;
}

bool xg_forks_are_shared(void)
{
    return shared != NULL;
}

bool xg_forks_are_collected(void)
{
    return shared && getpid() == owner;
}

void xg_forks_collect(struct xg_account *account, struct xg_forks_sum *sum)
{
    static struct xg_account one; /* threads may have little stack */
    *sum = (struct xg_forks_sum){.lost = shared->lost, .printed = shared->printed};
    for (int i = 0; i < XG_FORKS; i++) {
        struct place *place = &shared->places[i];
        const pid_t pid = atomic_load(&place->pid);
        if (pid == 0 || !has_ended(pid))
            continue;
        one = place->account;
        if (xg_account_is_valid(&one)) {
            xg_account_merge(account, &one);
            sum->count++;
        }
        atomic_store(&place->pid, 0);
    }
}
