/* SPDX-License-Identifier: MIT */
/* The fake driver's streams and events, executed by one thread in a seeded random order. */
#include "fake.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/integers.h"
#include "tests/support/one_thread.h"

/*
 * A real device may be much faster or slower than the host, and code that forgets to wait may still
 * work on most days. So each operation behaves in one of three random ways. It is held until a
 * thread waits or queries, which catches a ring slot that is filled too early; or it is executed
 * before the call that queued it returns, which catches a slot that is filled too late; or it runs
 * in its turn. Streams whose first operation may run take turns at random.
 */
enum { HELD_IN_16 = 7, AT_ONCE_IN_16 = 1 };

struct CUstream_st {
    CUcontext context;
    struct fake_op *first, **last;
    uint64_t queued, done; /* sequence numbers of the last operation queued and executed */
    uint64_t awaited;      /* the first operation after `done` that a thread waits for */
    bool destroyed;        /* the program destroyed it; it is freed when it is empty */
    struct CUstream_st *next;
};

struct CUevent_st {
    CUcontext context;
    bool timed;
    struct fake_record *record; /* the most recent record */
    struct CUevent_st *next;
};

static CUstream streams;
static CUevent events;
static uint64_t sequence, released; /* held operations up to `released` may run */
static pthread_t worker;
static bool worker_runs;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER; /* what the worker waits for */

static void record_put(struct fake_record *record)
{
    if (record && --record->refs == 0)
        free(record);
}

static void op_free(struct fake_op *op)
{
    record_put(op->record);
    free(op->owned);
    free(op);
}

/* Takes the first operation off the stream. */
static void stream_shift(CUstream stream)
{
    struct fake_op *op = stream->first;
    stream->first = op->next;
    if (!stream->first)
        stream->last = &stream->first;
    stream->done = op->sequence;
    op_free(op);
}

static void stream_free(CUstream stream)
{
    CUstream *link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    free(stream);
}

static bool runnable(const struct fake_op *op)
{
    if (!op || op->running || (op->held && op->sequence > released))
        return false;
    return op->kind != FAKE_OP_WAIT || op->record->done;
}

static CUstream choose(void)
{
    unsigned count = 0;
    CUstream chosen = NULL;
    for (CUstream stream = streams; stream; stream = stream->next)
        if (runnable(stream->first) && fake_random(++count) == 0)
            chosen = stream;
    return chosen;
}

XT_ONE_THREAD static void fill(char *to, uint32_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + 4 * i, &value, 4);
}

/* Moves the bytes of a copy or fill. The lock is not held, so that the host continues. */
static void move(const struct fake_op *op, char *to, const char *from)
{
    if (op->kind == FAKE_OP_FILL) {
        XT_TELL_WRITE(to, 4 * op->width);
        fill(to, op->value, op->width);
    } else
        for (size_t y = 0; y < op->height; y++)
            memcpy(to + y * op->to.pitch, from + y * op->from.pitch, op->width);
}

static char *end_address(const struct fake_end *end, size_t bytes, const char *what)
{
    return end->host ? end->host : fake_mem_dev(end->dev, bytes, what);
}

/* Called with the lock held, which it releases in between. */
static void execute(const struct fake_op *op)
{
    char *to = NULL, *from = NULL;
    struct timespec delay = {fake.delay_us / 1000000, fake.delay_us % 1000000 * 1000};
    if (op->kind == FAKE_OP_COPY) {
        to = end_address(&op->to, (op->height - 1) * op->to.pitch + op->width, "copy to");
        from = end_address(&op->from, (op->height - 1) * op->from.pitch + op->width, "copy from");
    } else if (op->kind == FAKE_OP_FILL) {
        to = fake_mem_dev(op->to.dev, op->width * 4, "fill");
    } else if (op->kind == FAKE_OP_CALL) {
        op->resolve(op->owned);
    }
    pthread_mutex_unlock(&fake.lock);
    if (fake.delay_us)
        nanosleep(&delay, NULL);
    if (op->kind == FAKE_OP_CALL)
        op->run(op->owned);
    else if (to)
        move(op, to, from);
    pthread_mutex_lock(&fake.lock);
    if (op->kind == FAKE_OP_RECORD) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        op->record->when_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
        op->record->done = true;
    }
}

static void *work(void *unused)
{
    pthread_mutex_lock(&fake.lock);
    while (!fake.exiting) {
        CUstream stream = choose();
        if (!stream) {
            pthread_cond_wait(&ready, &fake.lock);
            continue;
        }
        CUresult fault = fake_exec_fault();
        if ((int)fault == FAKECUDA_HANG) {
            fake.hung = true;
            pthread_cond_broadcast(&fake.changed);
            while (!fake.exiting)
                pthread_cond_wait(&ready, &fake.lock);
            continue;
        }
        if (fault != CUDA_SUCCESS) {
            fake_context_lose(stream->context, fault);
            continue;
        }
        stream->first->running = true;
        bool record = stream->first->kind == FAKE_OP_RECORD;
        execute(stream->first);
        stream_shift(stream);
        /* A thread is woken only for what it may wait for: wakes are most of the time of small
         * products. */
        bool wakes = record || stream->done == stream->awaited || !stream->first;
        if (stream->destroyed && !stream->first)
            stream_free(stream);
        if (wakes)
            pthread_cond_broadcast(&fake.changed);
    }
    pthread_mutex_unlock(&fake.lock);
    return unused;
}

static bool worker_start(void)
{
    sigset_t all, before;
    if (worker_runs)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker_runs = pthread_create(&worker, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return worker_runs;
}

void fake_stream_stop(void)
{
    pthread_mutex_lock(&fake.lock);
    bool runs = worker_runs;
    fake.exiting = true;
    worker_runs = false;
    pthread_cond_signal(&ready);
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    if (runs)
        pthread_join(worker, NULL);
}

/* Lets everything queued so far run: a thread waits. */
static void release_all(void)
{
    released = sequence;
    pthread_cond_signal(&ready);
}

/* Waits until the stream has executed operation `goal` or its context is lost. */
static CUresult wait_for(CUstream stream, uint64_t goal, bool forever)
{
    const CUcontext context = stream->context;
    release_all();
    while (stream->done < goal && context->lost == CUDA_SUCCESS && !fake.exiting &&
           (forever || !fake.hung)) {
        if (stream->awaited <= stream->done || goal < stream->awaited)
            stream->awaited = goal;
        pthread_cond_wait(&fake.changed, &fake.lock);
    }
    return fake.exiting ? CUDA_ERROR_DEINITIALIZED : context->lost;
}

static bool all_idle(void)
{
    for (CUstream stream = streams; stream; stream = stream->next)
        if (stream->first)
            return false;
    return true;
}

/* On a device that hangs this would never return, and the library cannot interrupt the caller. Like
 * a driver that finally resets its device, it returns late. */
void fake_stream_drain(void)
{
    enum { HUNG_S = 5 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += HUNG_S;
    release_all();
    for (int late = 0; !all_idle() && !fake.exiting && !(late && fake.hung);)
        if (fake.hung)
            late = pthread_cond_timedwait(&fake.changed, &fake.lock, &until);
        else
            pthread_cond_wait(&fake.changed, &fake.lock);
}

void fake_stream_discard(CUcontext context)
{
    CUstream next;
    pthread_cond_signal(&ready); /* other contexts' streams may wait for records that end here */
    for (CUstream stream = streams; stream; stream = next) {
        next = stream->next;
        if (stream->context != context || !stream->first)
            continue;
        struct fake_op **link = stream->first->running ? &stream->first->next : &stream->first;
        while (*link) {
            struct fake_op *op = *link;
            *link = op->next;
            if (op->record)
                op->record->done = true;
            op_free(op);
        }
        stream->last = link;
        if (!stream->first) {
            stream->done = stream->queued;
            if (stream->destroyed)
                stream_free(stream);
        }
    }
}

void fake_stream_reclaim(CUcontext context)
{
    fake_stream_drain();
    for (CUevent *link = &events; *link;) {
        CUevent event = *link;
        if (event->context != context) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        record_put(event->record);
        free(event);
        fake.live.events--;
        fake.live.reclaimed++;
    }
    CUstream next;
    for (CUstream stream = streams; stream; stream = next) {
        next = stream->next;
        if (stream->context != context)
            continue;
        fake.live.streams--;
        fake.live.reclaimed++;
        stream_free(stream);
    }
}

static void check_stream(CUstream stream, const char *what)
{
    CUstream each = streams;
    while (each && each != stream)
        each = each->next;
    if (!each || each->destroyed)
        fake_abort("%s: the stream does not exist", what);
    if (each->context != fake_context())
        fake_abort("%s: the stream is of another context", what);
}

static void check_event(CUevent event, const char *what)
{
    CUevent each = events;
    while (each && each != event)
        each = each->next;
    if (!each)
        fake_abort("%s: the event does not exist", what);
}

CUresult fake_stream_push(CUstream stream, const struct fake_op *op, bool wait)
{
    check_stream(stream, "an operation");
    struct fake_op *copy = malloc(sizeof(*copy));
    if (!copy) {
        free(op->owned);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    unsigned draw = fake_random(16);
    *copy = *op;
    copy->next = NULL;
    copy->sequence = stream->queued = ++sequence;
    copy->held = draw < HELD_IN_16;
    *stream->last = copy;
    stream->last = &copy->next;
    if (runnable(stream->first))
        pthread_cond_signal(&ready);
    if (wait || (draw >= 16 - AT_ONCE_IN_16 && !fake.hung))
        return wait_for(stream, copy->sequence, wait);
    return CUDA_SUCCESS;
}

/* If the context is lost, the running operation continues. */
CUresult fakecuda_call(const void *call, size_t bytes, void (*resolve)(void *), void (*run)(void *),
                       bool wait, CUstream stream)
{
    const size_t room = (size_t)xg_round_up((int64_t)bytes, _Alignof(struct xg_tensor_map));
    struct fake_op op = {.kind = FAKE_OP_CALL,
                         .owned = aligned_alloc(_Alignof(struct xg_tensor_map), room),
                         .resolve = resolve,
                         .run = run};
    if (!op.owned)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(op.owned, call, bytes);
    resolve(op.owned);
    memcpy(op.owned, call, bytes);
    CUresult result = fake_stream_push(stream, &op, wait);
    while (wait && stream->first && stream->first->running && !fake.exiting)
        pthread_cond_wait(&fake.changed, &fake.lock);
    return result;
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
    CUresult result = fake_enter("cuStreamCreate", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        CUstream stream = calloc(1, sizeof(*stream));
        if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
            fake_abort("cuStreamCreate: flags %u", flags);
        if (!stream || !worker_start()) {
            free(stream);
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            stream->context = fake_context();
            stream->last = &stream->first;
            stream->next = streams;
            streams = stream;
            fake.live.streams++;
            *out = stream;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    CUresult result = fake_enter("cuStreamDestroy", FAKE_CONTEXT);
    if (fake_releases(result)) {
        check_stream(stream, "cuStreamDestroy");
        fake.live.streams--;
        stream->destroyed = true;
        release_all();
        if (!stream->first)
            stream_free(stream);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    CUresult result = fake_enter("cuStreamSynchronize", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_stream(stream, "cuStreamSynchronize");
        result = wait_for(stream, stream->queued, true);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    CUresult result = fake_enter("cuStreamWaitEvent", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_stream(stream, "cuStreamWaitEvent");
        check_event(event, "cuStreamWaitEvent");
        if (flags)
            result = CUDA_ERROR_INVALID_VALUE;
        else if (event->record && !event->record->done) {
            struct fake_op op = {.kind = FAKE_OP_WAIT, .record = event->record};
            event->record->refs++;
            result = fake_stream_push(stream, &op, false);
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int flags)
{
    CUresult result = fake_enter("cuEventCreate", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        CUevent event = calloc(1, sizeof(*event));
        if (!event) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            event->context = fake_context();
            event->timed = !(flags & CU_EVENT_DISABLE_TIMING);
            event->next = events;
            events = event;
            fake.live.events++;
            *out = event;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
    CUresult result = fake_enter("cuEventDestroy", FAKE_CONTEXT);
    if (fake_releases(result)) {
        check_event(event, "cuEventDestroy");
        CUevent *link = &events;
        while (*link != event)
            link = &(*link)->next;
        *link = event->next;
        record_put(event->record);
        free(event);
        fake.live.events--;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
    CUresult result = fake_enter("cuEventRecord", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_stream(stream, "cuEventRecord");
        check_event(event, "cuEventRecord");
        struct fake_record *record = calloc(1, sizeof(*record));
        if (!record) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            struct fake_op op = {.kind = FAKE_OP_RECORD, .record = record};
            record_put(event->record);
            event->record = record;
            record->refs = 2;
            result = fake_stream_push(stream, &op, false);
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventQuery(CUevent event)
{
    CUresult result = fake_enter("cuEventQuery", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_event(event, "cuEventQuery");
        release_all();
        if (event->record && !event->record->done)
            result = CUDA_ERROR_NOT_READY;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
    CUresult result = fake_enter("cuEventSynchronize", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_event(event, "cuEventSynchronize");
        struct fake_record *record = event->record;
        release_all();
        if (record) {
            record->refs++;
            while (!record->done && !fake.exiting)
                pthread_cond_wait(&fake.changed, &fake.lock);
            record_put(record);
        }
        result = fake.exiting ? CUDA_ERROR_DEINITIALIZED : fake_context()->lost;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    CUresult result = fake_enter("cuEventElapsedTime", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_event(start, "cuEventElapsedTime");
        check_event(end, "cuEventElapsedTime");
        if (!start->timed || !end->timed || !start->record || !end->record)
            result = CUDA_ERROR_INVALID_HANDLE;
        else if (!start->record->done || !end->record->done)
            result = CUDA_ERROR_NOT_READY;
        else
            *milliseconds = (float)(1e3 * (end->record->when_s - start->record->when_s));
    }
    return fake_leave(result);
}
