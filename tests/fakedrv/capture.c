/* SPDX-License-Identifier: MIT */
/* The fake driver's stream captures: the calls that they forbid, and how they are lost. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

/*
 * The rules of cuThreadExchangeStreamCaptureMode. A call that may be unsafe fails on a thread of
 * mode GLOBAL if any capture that began in that mode is running, or a capture of the thread that
 * did not begin RELAXED. On a thread of mode THREAD_LOCAL only the thread's own captures count; on
 * a RELAXED thread none does. The capture that forbids the call is lost. The driver's manual gives
 * examples of unsafe calls. Here they are all calls that allocate, free, load, or query an event.
 */
static const char *const unsafe[] = {
    "cuMemAlloc",       "cuMemFree",          "cuMemHostAlloc",      "cuMemFreeHost",
    "cuEventQuery",     "cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize",
    "cuModuleLoadData", "cuModuleUnload",
};

struct capture {
    CUstream stream; /* NULL: the entry is free */
    pthread_t thread;
    CUstreamCaptureMode mode;
    bool lost;
};
enum { CAPTURES = 4 };

static struct capture captures[CAPTURES];
static _Thread_local CUstreamCaptureMode thread_mode __attribute__((tls_model("initial-exec"))) =
    CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool is_unsafe(const char *name)
{
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        if (!strcmp(unsafe[i], name))
            return true;
    return false;
}

static bool forbids(const struct capture *capture)
{
    bool own = pthread_equal(capture->thread, pthread_self());
    if (!capture->stream || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return true;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

bool fake_capture_forbids(const char *name)
{
    bool forbidden = false;
    for (int i = 0; i < CAPTURES && is_unsafe(name); i++)
        if (forbids(&captures[i]))
            forbidden = captures[i].lost = true;
    return forbidden;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = fake_enter("cuThreadExchangeStreamCaptureMode", FAKE_INIT);
    if (result == CUDA_SUCCESS) {
        CUstreamCaptureMode before = thread_mode;
        thread_mode = *mode;
        *mode = before;
    }
    return fake_leave(result);
}

/* The entry of the stream; NULL: a free one. Ends the test if there is none. */
static struct capture *find(CUstream stream)
{
    for (int i = 0; i < CAPTURES; i++)
        if (captures[i].stream == stream)
            return &captures[i];
    fake_abort(stream ? "cuStreamEndCapture: nothing is captured" : "too many captures");
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    CUresult result = fake_enter("cuStreamBeginCapture", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        *find(NULL) = (struct capture){.stream = stream, .thread = pthread_self(), .mode = mode};
    }
    return fake_leave(result);
}

/* *graph cannot be launched. */
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    static char nothing;
    CUresult result = fake_enter("cuStreamEndCapture", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        struct capture *capture = find(stream);
        result = capture->lost ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
        *graph = capture->lost ? NULL : (CUgraph)(void *)&nothing;
        capture->stream = NULL;
    }
    return fake_leave(result);
}
