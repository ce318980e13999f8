/* SPDX-License-Identifier: MIT */
/* Asks a BLAS library in a child process, because its constructors may do anything. */
#define _GNU_SOURCE
#include "doctor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "../shim/blas.h"
#include "../shim/threads.h"
#include "doctor_probe.h"
#include "shim/pools.h"
#include "src/base/conf.h"
#include "src/host/library.h"

static const double LIMIT_S = 20;

/* OpenBLAS's configuration text, under any of its names. */
static const char *ask_openblas(void *library)
{
    static const char *const names[] = {
        "openblas_get_config",       "openblas_get_config64_",       "openblas_get_config_64",
        "scipy_openblas_get_config", "scipy_openblas_get_config64_", "scipy_openblas_get_config_64",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *(*config)(void);
        *(void **)&config = dlsym(library, names[i]);
        if (config)
            return config();
    }
    return NULL;
}

static void ask_version(void *library, char version[160])
{
    const char *(*blis)(void);
    void (*mkl)(char *, int);
    const char *text = ask_openblas(library);
    *(void **)&blis = dlsym(library, "bli_info_get_version_str");
    *(void **)&mkl = dlsym(library, "MKL_Get_Version_String");
    if (text)
        doctor_text_set(version, 160, "%s", text);
    else if (blis)
        doctor_text_set(version, 160, "%s", blis());
    else if (mkl)
        mkl(version, 159);
    size_t length = strlen(version);
    while (length > 0 && version[length - 1] == ' ')
        version[--length] = '\0';
}

/* The variables that decide how long the threads of a pool spin, in the order in which they count;
 * xgemm-run sets none of a pool that has one (tools/settings.c). */
static const struct {
    enum shim_pool pool;
    const char *name;
} spin_variables[] = {
    {SHIM_POOL_OPENBLAS, SHIM_POOLS_POWER}, {SHIM_POOL_GOMP, SHIM_POOLS_ROUNDS},
    {SHIM_POOL_GOMP, "OMP_WAIT_POLICY"},    {SHIM_POOL_KMP, "KMP_BLOCKTIME"},
    {SHIM_POOL_KMP, "OMP_WAIT_POLICY"},     {SHIM_POOL_MKL, "KMP_BLOCKTIME"},
    {SHIM_POOL_MKL, "OMP_WAIT_POLICY"},     {SHIM_POOL_MKL, SHIM_POOLS_ROUNDS},
};

/* Writes the setting of the user that decides how long the threads spin; empty: none does. */
static void name_spin(enum shim_pool pool, char setting[64])
{
    for (size_t i = 0; i < sizeof spin_variables / sizeof spin_variables[0] && !*setting; i++) {
        const char *name = spin_variables[i].name;
        /* The library answers getenv, if the shell preloads it. */
        const char *value = spin_variables[i].pool == pool ? secure_getenv(name) : NULL;
        if (value)
            doctor_text_set(setting, 64, "%s=%s", name, value);
    }
    if (!*setting && xg_conf_get()->spin == XG_SPINNING_KEEP &&
        (pool == SHIM_POOL_OPENBLAS || pool == SHIM_POOL_GOMP))
        doctor_text_set(setting, 64, "XGEMM_SPIN=keep");
}

static void ask(void *answer, const void *file)
{
    struct doctor_blas *blas = answer;
    struct shim_blas found = {0};
    struct shim_threads threads;
    struct link_map *map = NULL;
    doctor_text_set(blas->path, sizeof blas->path, "%s", (const char *)file);
    char why[XG_LIBRARY_WHY_BYTES];
    void *library = xg_library_load(file, RTLD_LAZY | RTLD_LOCAL, why);
    if (!library)
        return;
    blas->loads = true;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name)
        doctor_text_set(blas->path, sizeof blas->path, "%s", map->l_name);
    ask_version(library, blas->version);
    for (int routine = 0; routine < SHIM_BLAS_ROUTINES && !blas->has_names; routine++)
        blas->has_names = shim_blas_search(library, shim_symbol_spellings(routine), 4, SHIM_NOTHING,
                                           &found) != SHIM_NOTHING;
    blas->int_bytes = found.int_bytes;
    shim_threads_find(library, NULL, &threads);
    blas->threads = shim_threads_count(&threads, NULL);
    blas->pool = threads.pool;
    if (!secure_getenv(SHIM_POOLS_POWER)) /* as in the program */
        (void)shim_pools_answer(xg_conf_environment, NULL);
    name_spin(threads.pool, blas->spin_setting);
    blas->spin_s = threads.count && blas->threads > 1 ? shim_pools_spin_s(threads.pool) : 0;
}

void doctor_blas_read(struct doctor_blas *blas, const char *file)
{
    struct doctor_elf elf;
    *blas = (struct doctor_blas){0};
    doctor_text_set(blas->path, sizeof blas->path, "%s", file);
    (void)doctor_probe(ask, blas, sizeof *blas, file, LIMIT_S);
    if (doctor_elf_read(&elf, blas->path))
        blas->vendor = elf.vendor;
    /* Debian's libblas.so.3 of OpenBLAS has no mark of a vendor; a library that it needs has
     * answered. */
    if (blas->vendor == DOCTOR_VENDOR_OTHER && !strncmp(blas->version, "OpenBLAS", 8))
        blas->vendor = DOCTOR_VENDOR_OPENBLAS;
    doctor_elf_fini(&elf);
}
