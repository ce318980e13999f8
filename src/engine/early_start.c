/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "engine/early_start.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/library_start.h"
#include "engine/remembered.h"
#include "host/aside.h"

/* cuSOLVER loads beside the driver's start; cuBLAS needs the device. */
static void start(const struct xg_conf *none)
{
    const struct xg_conf *conf = xg_conf_get();
    (void)none;
    xg_remembered_confirm(conf);
    const unsigned needs = xg_remembered_promise();
    if (!needs)
        return;
    xg_remembered_take();
    if (needs & 1u << XG_RESOURCE_CUSOLVER)
        xg_library_start_done(XG_TOOLKIT_CUSOLVER, conf);
    xg_engine_start(conf);
    if (!(needs & 1u << XG_RESOURCE_CUBLAS))
        return;
    xg_aside_add(-1); /* the end of the process need not wait for a wait */
    const bool ready = xg_engine_wait(conf) == XG_ENGINE_READY;
    xg_aside_add(1);
    if (ready)
        xg_library_start_done(XG_TOOLKIT_CUBLAS, conf);
}

struct initial {
    unsigned long long left;
    bool has_cuda;
};

static int find_cuda(struct dl_phdr_info *object, size_t size, void *context)
{
    static const char *const names[] = {"libcuda.",     "libcudart.",   "libcublas",
                                        "libcusolver.", "libcusparse.", "libnvJitLink."};
    struct initial *initial = context;
    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        initial->has_cuda |= !strncmp(xg_file_name(object->dlpi_name), names[i], strlen(names[i]));
    return initial->has_cuda || --initial->left == 0;
}

/*
 * While the dynamic linker constructs the libraries that the program is linked to, a dlopen on
 * another thread constructs those that both need, and main may begin before they are ready.
 * NVIDIA's libraries need only libc and each other, so they must not be among the program's own.
 */
static bool is_safe(unsigned long long objects)
{
    struct initial initial = {.left = objects};
    dl_iterate_phdr(find_cuda, &initial);
    return !initial.has_cuda;
}

void xg_early_start(unsigned long long objects, xg_history_lookup *lookup)
{
    int error = errno;
    if (xg_remembered_find(true, lookup) && is_safe(objects)) {
        xg_engine_watch(); /* a fork must see the thread */
        xg_aside_run(start, NULL);
    }
    errno = error;
}
