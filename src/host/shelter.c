/* SPDX-License-Identifier: MIT */
#include "host/shelter.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "base/sandbox.h"
#include "base/xg.h"

void xg_shelter_signals(sigset_t *blocked)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigfillset(blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(blocked, faults[i]);
}

static void block(struct xg_shelter *shelter)
{
    sigset_t ours;
    shelter->open = xg_sandbox_closed();
    if (shelter->open)
        return;
    xg_shelter_signals(&ours);
    pthread_sigmask(SIG_BLOCK, &ours, &shelter->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &shelter->cancel_state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &shelter->cancel_type);
}

/* Signals come first: a handler that leaves by a jump would leave the other settings changed. */
void xg_shelter_enter(struct xg_shelter *shelter)
{
    block(shelter);
    feholdexcept(&shelter->env);
}

/*
 * A pending cancellation acts by itself if the type is asynchronous, but glibc before 2.41 then
 * loses the thread's result: pthread_join returns NULL. So pthread_testcancel makes it act first.
 */
static void set_asynchronous(void)
{
    pthread_testcancel();
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

/* The type cannot be read without setting it. */
void xg_shelter_enter_open(struct xg_shelter *shelter)
{
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &shelter->cancel_type);
    shelter->open = shelter->cancel_type == PTHREAD_CANCEL_DEFERRED;
    if (shelter->open) {
        feholdexcept(&shelter->env);
        return;
    }
    set_asynchronous();
    xg_shelter_enter(shelter);
}

void xg_shelter_close(struct xg_shelter *shelter)
{
    if (shelter->open)
        block(shelter);
}

void xg_shelter_enter_again(struct xg_shelter *shelter)
{
    if (shelter->open)
        xg_shelter_enter_open(shelter);
    else
        xg_shelter_enter(shelter);
}

static void allow_cancellation(const struct xg_shelter *shelter)
{
    pthread_setcancelstate(shelter->cancel_state, NULL);
    if (shelter->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS)
        set_asynchronous();
}

/* Signals come last, because a handler may never return. */
void xg_shelter_leave(const struct xg_shelter *shelter)
{
    int saved_errno = errno;
    fesetenv(&shelter->env);
    if (shelter->open)
        return;
    allow_cancellation(shelter);
    errno = saved_errno;
    pthread_sigmask(SIG_SETMASK, &shelter->signals, NULL);
}

void xg_shelter_leave_to(struct xg_shelter *shelter, const struct xg_cpu *cpu)
{
    xg_shelter_leave(shelter);
    cpu->whole(cpu->ctx);
    xg_shelter_enter_again(shelter);
}

void xg_shelter_wait(const struct xg_shelter *shelter)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t through;
    int count = 0;
    if (shelter->open)
        return;
    sigemptyset(&through);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction action;
        if (sigismember(&shelter->signals, ends[i]) || sigaction(ends[i], NULL, &action) != 0 ||
            action.sa_handler != SIG_DFL)
            continue;
        sigaddset(&through, ends[i]);
        count++;
    }
    if (count)
        pthread_sigmask(SIG_UNBLOCK, &through, NULL);
}
