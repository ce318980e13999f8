/* SPDX-License-Identifier: MIT */
/* The fake driver's modules: any image is accepted, and a kernel's name says what it computes. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/integers.h"

enum { SMEM_DEFAULT_BYTES = 48 << 10, THREADS_MAX = 1024, CLUSTER_PORTABLE = 8 };

struct CUfunc_st {
    char name[96];
    bool trans_named, transa, transb; /* the name ends in _nn, _nt, _tn or _tt */
    bool padded, split;
    bool dgemm;                       /* its parameter is struct xg_dgemm_args */
    const struct fake_kernel *kernel; /* a kernel with a table row; NULL: none */
    int bm, bn, bk;
    int smem_limit_bytes;
    bool wide; /* may run in clusters of more than CLUSTER_PORTABLE blocks */
    struct CUfunc_st *next;
};

struct CUmod_st {
    CUcontext context;
    const void *image;
    struct CUfunc_st *functions;
    struct CUmod_st *next;
};

static CUmodule modules;

/* Methods whose grid has a block for each tile and slice of k. */
static bool is_split(const char *method)
{
    static const char *const methods[] = {"gemv_",   "dot_",  "skinny_",
                                          "splitk_", "deep_", "dmma_split_"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (!strncmp(method, methods[i], strlen(methods[i])))
            return true;
    return false;
}

/* The kernel with this name in the tables, or NULL. */
static const struct fake_kernel *find_kernel(const char *name)
{
    static const struct fake_kernel *const files[] = {fake_split_kernels, fake_residue_kernels,
                                                      fake_lu_kernels, fake_qr_kernels,
                                                      fake_matrix_kernels};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        for (const struct fake_kernel *each = files[i]; each->name; each++)
            if (!strcmp(each->name, name))
                return each;
    return NULL;
}

/* Parses xg_[sd]gemm_<method>_sm<sm>_<bm>x<bn>x<bk>[_<n|t><n|t>] or finds the name in the tables;
 * false: neither. */
static bool parse_name(const char *name, struct CUfunc_st *function)
{
    int sm, used = 0;
    const char *tile = NULL;
    snprintf(function->name, sizeof(function->name), "%s", name);
    function->kernel = find_kernel(name);
    if (function->kernel)
        return true;
    for (const char *at = name; (at = strstr(at, "_sm")); at++)
        tile = at;
    function->dgemm = !strncmp(name, "xg_dgemm_", 9);
    if ((!function->dgemm && strncmp(name, "xg_sgemm_", 9)) || !tile ||
        sscanf(tile, "_sm%d%n", &sm, &used) != 1)
        return false;
    tile += used + strcspn(tile + used, "_"); /* skips the letter of sm_90a */
    used = 0;
    if (sscanf(tile, "_%dx%dx%d%n", &function->bm, &function->bn, &function->bk, &used) != 3)
        return false;
    const char *suffix = tile + used;
    if (*suffix) {
        if (suffix[0] != '_' || !strchr("nt", suffix[1]) || !strchr("nt", suffix[2]) || suffix[3])
            return false;
        function->trans_named = true;
        function->transa = suffix[1] == 't';
        function->transb = suffix[2] == 't';
    }
    function->padded = !strncmp(name, "xg_sgemm_vectorized_", 20) ||
                       !strncmp(name, "xg_sgemm_pipelined_sm", 21) ||
                       !strncmp(name, "xg_sgemm_deep_sm", 16);
    function->split = is_split(name + 9);
    return function->bm > 0 && function->bn > 0 && function->bk > 0;
}

static void module_free(CUmodule *link)
{
    CUmodule module = *link;
    *link = module->next;
    while (module->functions) {
        struct CUfunc_st *function = module->functions;
        module->functions = function->next;
        free(function);
    }
    free(module);
    fake.live.modules--;
}

void fake_module_reclaim(CUcontext context)
{
    for (CUmodule *link = &modules; *link;) {
        if ((*link)->context != context) {
            link = &(*link)->next;
            continue;
        }
        module_free(link);
        fake.live.reclaimed++;
    }
}

static CUmodule *find_module(CUmodule module, const char *what)
{
    CUmodule *link = &modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (!*link)
        fake_abort("%s: the module is not loaded", what);
    return link;
}

static void check_function(CUfunction function, const char *what)
{
    for (CUmodule module = modules; module; module = module->next)
        for (struct CUfunc_st *each = module->functions; each; each = each->next)
            if (each == function && module->context == fake_context())
                return;
    fake_abort("%s: the function is of no module of this context", what);
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *image)
{
    CUresult result = fake_enter("cuModuleLoadData", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        CUmodule module = image ? calloc(1, sizeof(*module)) : NULL;
        if (!module) {
            result = image ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
        } else {
            module->context = fake_context();
            module->image = image;
            module->next = modules;
            modules = module;
            fake.live.modules++;
            *out = module;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    CUresult result = fake_enter("cuModuleUnload", FAKE_CONTEXT);
    if (fake_releases(result)) {
        fake_stream_drain();
        module_free(find_module(module, "cuModuleUnload"));
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    CUresult result = fake_enter("cuModuleGetFunction", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        struct CUfunc_st *function = calloc(1, sizeof(*function));
        find_module(module, "cuModuleGetFunction");
        if (!function || !parse_name(name, function)) {
            result = function ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_OUT_OF_MEMORY;
            free(function);
        } else {
            function->smem_limit_bytes = SMEM_DEFAULT_BYTES;
            function->next = module->functions;
            module->functions = function;
            *out = function;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value)
{
    CUresult result = fake_enter("cuFuncSetAttribute", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_function(function, "cuFuncSetAttribute");
        if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value <= 227 << 10)
            function->smem_limit_bytes = value;
        else if (which == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
            function->wide = value;
        else if (which != CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return fake_leave(result);
}

/* Returns the fake device's own architecture for any image. */
CUresult CUDAAPI cuFuncGetAttribute(int *out, CUfunction_attribute which, CUfunction function)
{
    CUresult result = fake_enter("cuFuncGetAttribute", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_function(function, "cuFuncGetAttribute");
        if (which == CU_FUNC_ATTRIBUTE_PTX_VERSION)
            *out = fake.sm;
        else
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return fake_leave(result);
}

/* All multiprocessors are in one group. */
CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *out, CUfunction function,
                                              const CUlaunchConfig *config)
{
    CUresult result = fake_enter("cuOccupancyMaxActiveClusters", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        check_function(function, "cuOccupancyMaxActiveClusters");
        const unsigned cluster = config->attrs[0].value.clusterDim.x;
        *out = cluster > CLUSTER_PORTABLE && !function->wide ? 0 : fake.sm_count / (int)cluster;
    }
    return fake_leave(result);
}

static CUresult launch_dgemm(const struct CUfunc_st *function, const void *parameter,
                             const struct fake_launch *launch, CUstream stream)
{
    struct xg_dgemm_args args = *(const struct xg_dgemm_args *)parameter;
    int64_t tiles = xg_ceil_div(args.m, function->bm) * xg_ceil_div(args.n, function->bn);
    if (args.split < 1 || (args.split > 1 && !function->split) ||
        launch->blocks != tiles * args.split || launch->cluster != (unsigned)args.split)
        fake_abort("%s: a grid of %u in clusters of %u for %lld tiles of %d slices", function->name,
                   launch->blocks, launch->cluster, (long long)tiles, args.split);
    args.transa = function->transa;
    args.transb = function->transb;
    return fake_dgemm_queue(&args, stream);
}

static CUresult launch_sgemm(const struct CUfunc_st *function, const void *parameter,
                             const struct fake_launch *launch, CUstream stream)
{
    struct xg_sgemm_args args = *(const struct xg_sgemm_args *)parameter;
    int64_t tiles = xg_ceil_div(args.m, function->bm) * xg_ceil_div(args.n, function->bn);
    int64_t blocks = function->split ? tiles * args.split : tiles;
    if (launch->blocks != blocks || launch->cluster != (unsigned)args.split)
        fake_abort("%s: a grid of %u in clusters of %u, not %lld of %d", function->name,
                   launch->blocks, launch->cluster, (long long)blocks, args.split);
    if (function->trans_named) {
        args.transa = function->transa;
        args.transb = function->transb;
    }
    return fake_sgemm_queue(&args, function->padded, stream);
}

static void resolve(void *launch)
{
    ((struct fake_launch *)launch)->kernel->role->resolve(launch);
}

static void run(void *launch)
{
    ((const struct fake_launch *)launch)->kernel->role->run(launch);
}

static CUresult launch_known(struct fake_launch *launch, const void *parameter, CUstream stream)
{
    const struct fake_role *role = launch->kernel->role;
    if (role->bytes > sizeof launch->parameter)
        fake_abort("%s: a parameter of %zu bytes", launch->kernel->name, role->bytes);
    memcpy(launch->parameter, parameter, role->bytes);
    if ((role->threads && launch->threads != role->threads) || !role->allows(launch))
        fake_abort("%s: %u blocks of %u threads, or its parameter", launch->kernel->name,
                   launch->blocks, launch->threads);
    return fakecuda_call(launch, sizeof *launch, resolve, run, false, stream);
}

/* config: its grid and blocks have one dimension. */
static CUresult launch_kernel(CUfunction function, const CUlaunchConfig *config, unsigned cluster,
                              void **parameters, void **extra)
{
    CUresult result = fake_enter("cuLaunchKernel", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        struct fake_launch launch = {.kernel = function->kernel,
                                     .blocks = config->gridDimX,
                                     .threads = config->blockDimX,
                                     .smem_bytes = config->sharedMemBytes,
                                     .cluster = cluster};
        const CUstream stream = config->hStream;
        check_function(function, "cuLaunchKernel");
        if (extra || config->gridDimY != 1 || config->gridDimZ != 1)
            fake_abort("%s: a grid of (%u,%u,%u)", function->name, config->gridDimX,
                       config->gridDimY, config->gridDimZ);
        if (launch.threads < 1 || launch.threads > THREADS_MAX ||
            launch.smem_bytes > (unsigned)function->smem_limit_bytes ||
            (cluster > CLUSTER_PORTABLE && !function->wide))
            result = CUDA_ERROR_INVALID_VALUE;
        else if (function->kernel)
            result = launch_known(&launch, parameters[0], stream);
        else if (function->dgemm)
            result = launch_dgemm(function, parameters[0], &launch, stream);
        else
            result = launch_sgemm(function, parameters[0], &launch, stream);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned smem_bytes, CUstream stream,
                                void **parameters, void **extra)
{
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x * block_y * block_z,
                                   .sharedMemBytes = smem_bytes,
                                   .hStream = stream};
    return launch_kernel(function, &config, 1, parameters, extra);
}

/* A cluster is a number of consecutive blocks; the fake product does not depend on it. */
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                  void **parameters, void **extra)
{
    CUlaunchConfig flat = *config;
    unsigned blocks = 1;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ||
            config->gridDimX % attribute->value.clusterDim.x != 0)
            fake_abort("cuLaunchKernelEx: attribute %d", (int)attribute->id);
        blocks = attribute->value.clusterDim.x;
    }
    flat.blockDimX *= config->blockDimY * config->blockDimZ;
    return launch_kernel(function, &flat, blocks, parameters, extra);
}
