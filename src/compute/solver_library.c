/* SPDX-License-Identifier: MIT */
#include "compute/solver_library.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/log.h"
#include "compute/toolkit.h"

struct xg_solver_functions xg_solver_functions;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static bool loaded;

#define ONE(member, name)                                                                          \
    {                                                                                              \
        "cusolverDn" name, &xg_solver_functions.member, false                                      \
    }
#define LATER(member, name)                                                                        \
    {                                                                                              \
        "cusolverDn" name, &xg_solver_functions.member, true                                       \
    }
#define SIZED(member, name) ONE(member##_size, name "_bufferSize"), ONE(member, name)
#define TYPED(member, real, complex)                                                               \
    SIZED_AT(member, XG_TYPE_S, "S" real), SIZED_AT(member, XG_TYPE_D, "D" real),                  \
        SIZED_AT(member, XG_TYPE_C, "C" complex), SIZED_AT(member, XG_TYPE_Z, "Z" complex)
#define SIZED_AT(member, type, name)                                                               \
    ONE(member##_size[type], name "_bufferSize"), ONE(member[type], name)

static const struct {
    const char *name;
    void *slot;
    bool later; /* older versions lack it */
} symbols[] = {
    ONE(create, "Create"),
    ONE(destroy, "Destroy"),
    ONE(set_stream, "SetStream"),
    ONE(create_params, "CreateParams"),
    ONE(destroy_params, "DestroyParams"),
    ONE(potrs, "Xpotrs"),
    SIZED(getrf, "Xgetrf"),
    ONE(getrs, "Xgetrs"),
    SIZED(geqrf, "Xgeqrf"),
    SIZED(syevd, "Xsyevd"),
    SIZED(gesvd, "Xgesvd"),
    SIZED(gesvdp, "Xgesvdp"),
    LATER(geev_size, "Xgeev_bufferSize"),
    LATER(geev, "Xgeev"),
    LATER(trtri_size, "Xtrtri_bufferSize"),
    LATER(trtri, "Xtrtri"),
    TYPED(potrf, "potrf", "potrf"),
    TYPED(potri, "potri", "potri"),
    TYPED(orgqr, "orgqr", "ungqr"),
    TYPED(ormqr, "ormqr", "unmqr"),
    TYPED(sygvd, "sygvd", "hegvd"),
};

static void load(void)
{
    void *library = xg_toolkit_open(XG_TOOLKIT_CUSOLVER);
    if (!library)
        return;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!(*(void **)symbols[i].slot = dlsym(library, symbols[i].name))) {
            xg_log(XG_LOG_INFO, "cuSOLVER lacks %s", symbols[i].name);
            if (symbols[i].later)
                continue;
            return;
        }
    loaded = true;
}

bool xg_solver_load(void)
{
    pthread_once(&load_once, load);
    return loaded;
}
