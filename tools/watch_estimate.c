/* SPDX-License-Identifier: MIT */
/* xgemm-run estimate: runs a program on the CPU, and predicts what GPUs would save; without a
 * program, the sizes from which they gain. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accounts.h"
#include "forecast.h"
#include "gpus.h"
#include "src/decide/routine_times.h"
#include "src/decide/tuning.h"
#include "src/host/cores.h"
#include "src/machine/past.h"
#include "watch.h"

/* The calls of one process, in the order of their begin. */
struct calls {
    struct xg_tape_call *at; /* allocated by malloc */
    size_t count;
    uint64_t dropped; /* for which its tape had no room */
    int cores;
    double seconds; /* in calls, summed over threads */
};

static int by_begin(const void *a, const void *b)
{
    const struct xg_tape_call *x = a, *y = b;
    return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

/* A call may lack its time if its process was killed in between. */
static bool copy_calls(const struct xg_tape *tape, size_t bytes, struct calls *calls)
{
    if (bytes != sizeof *tape + XG_TAPE_CALLS * sizeof *tape->calls ||
        memcmp(tape->magic, XG_TAPE_MAGIC, sizeof tape->magic) ||
        tape->call_bytes != sizeof *tape->calls)
        return false;
    const size_t count = tape->count < XG_TAPE_CALLS ? (size_t)tape->count : XG_TAPE_CALLS;
    *calls = (struct calls){.cores = tape->cores, .dropped = tape->count - count};
    calls->at = malloc((count + 1) * sizeof *calls->at);
    for (size_t i = 0; calls->at && i < count; i++) {
        if (!(tape->calls[i].seconds > 0) || tape->calls[i].thread < 0)
            continue;
        calls->at[calls->count++] = tape->calls[i];
        calls->seconds += tape->calls[i].seconds;
    }
    if (calls->at)
        qsort(calls->at, calls->count, sizeof *calls->at, by_begin);
    return calls->at != NULL;
}

static bool read_calls(const char *path, struct calls *calls)
{
    struct stat status;
    bool whole = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0) {
        const size_t bytes = (size_t)status.st_size;
        void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        whole = at != MAP_FAILED && bytes >= sizeof(struct xg_tape) && copy_calls(at, bytes, calls);
        if (at != MAP_FAILED)
            munmap(at, bytes);
    }
    if (fd >= 0)
        close(fd);
    return whole;
}

/* Reads the process that spent most time in calls; returns the number of processes with calls. */
static int read_folder(const char *path, struct calls *most)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char file[PATH_MAX];
    int processes = 0;
    *most = (struct calls){0};
    while (folder && (entry = readdir(folder))) {
        struct calls calls;
        if (entry->d_name[0] == '.' ||
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name) >= PATH_MAX ||
            !read_calls(file, &calls))
            continue;
        processes += calls.count > 0;
        if (calls.seconds > most->seconds) {
            free(most->at);
            *most = calls;
        } else {
            free(calls.at);
        }
    }
    if (folder)
        closedir(folder);
    return processes;
}

/* True if the name contains the words that the user gave, in any case; "4090" is enough. */
static bool is_asked(const struct gpu *gpu, const char *asked)
{
    return !asked || strcasestr(gpu->name, asked);
}

static void print_times(const char *between, double seconds, double plain_s)
{
    printf("%s%9.2f %7.2f", between, seconds, plain_s / seconds);
}

static bool print_gpu(const struct gpu *gpu, const struct calls *calls, double plain_s)
{
    struct forecast first, later;
    if (!forecast_run(calls->at, calls->count, calls->cores, gpu, false, &first) ||
        !forecast_run(calls->at, calls->count, calls->cores, gpu, true, &later))
        return false;
    /* A program that gains less is promised nothing, and a start in vain is not repeated. */
    if (later.saved_s < XG_PAST_NEEDED * later.starts_s || later.saved_s <= first.saved_s)
        later = first;
    if (later.saved_s <= 0.0)
        later = (struct forecast){0};
    printf("%-11s", gpu->name);
    print_times("", fmax(plain_s - first.saved_s, 0.001), plain_s);
    print_times("   ", fmax(plain_s - later.saved_s, 0.001), plain_s);
    printf("   %8ld\n", later.gpu_calls);
    return true;
}

static void print_estimate(const char *asked, const struct calls *calls, int processes,
                           double plain_s)
{
    printf("xgemm-run estimate: %.2f s on the CPU, of which %.2f s are in %zu calls of BLAS and\n"
           "LAPACK that a GPU might compute. Predictions for a GPU beside these %d cores:\n\n",
           plain_s, calls->seconds, calls->count, calls->cores);
    printf("               first run           later runs     calls on\n"
           "GPU            seconds  faster      seconds  faster    the GPU\n");
    for (int i = 0; i < gpu_count; i++)
        if (is_asked(&gpus[i], asked) && !print_gpu(&gpus[i], calls, plain_s)) {
            puts("(out of memory)");
            return;
        }
    puts("\n\"faster\": times as fast. Starts of the GPU are included; in later runs they pass\n"
         "while the program loads its libraries. The last column is of later runs. LAPACK is\n"
         "computed with cuSOLVER. Operands that stay on the GPU, as in a loop of A @ x, are not\n"
         "predicted. Where GPUs show equal times, the rest of the program is the limit.");
    if (calls->dropped)
        printf("%llu further calls are not in the prediction, which has the first %d.\n",
               (unsigned long long)calls->dropped, XG_TAPE_CALLS);
    if (processes > 1)
        printf("%d processes made such calls; the predictions are for the one with most of their "
               "time.\n",
               processes);
}

/* --- Without a program ------------------------------------------------------------------------ */

static double product_ratio(const struct xg_model *model, enum xg_type type, int64_t n)
{
    static const struct xg_conf conf; /* the defaults */
    const struct xg_problem call = {
        .type = type, .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n, .alpha = 1};
    struct xg_recent recent = {0};
    struct xg_route route;
    return xg_model_cpu_seconds(model, &call) /
           xg_model_route_seconds(model, &conf, INT_MAX, &call, &recent, &route);
}

/* The smallest n, a multiple of 32, from which on products of n x n gain; 0: none up to 8192. */
static int64_t least_extent(const struct xg_model *model, enum xg_type type)
{
    int64_t least = 0;
    for (int64_t n = 8192; n > 0; n -= 32) {
        if (product_ratio(model, type, n) * XG_TUNING_GPU_FRACTION <= 1)
            break;
        least = n;
    }
    return least;
}

static double routine_ratio(const struct xg_model *model, enum xg_routine_name name)
{
    const int64_t n = 4096;
    const struct xg_matrix matrix = {NULL, n, n, n};
    const struct xg_routine call = {
        .name = name,
        .type = XG_TYPE_D,
        .uplo = XG_LOWER,
        .vectors = XG_VECTORS_ALL,
        .m = n,
        .n = n,
        .operand = {[XG_SLOT_A] = matrix, [XG_SLOT_U] = matrix, [XG_SLOT_V] = matrix}};
    return xg_routine_cpu_seconds(model, &call) / xg_routine_gpu_seconds(model, &call);
}

static void print_gains(const char *asked, int cores)
{
    static const enum xg_routine_name routines[] = {XG_ROUTINE_SYEVD, XG_ROUTINE_GESDD,
                                                    XG_ROUTINE_GETRF, XG_ROUTINE_POTRF};
    printf(
        "Predictions for a GPU beside %d cores. Products of n x n gain from n on; of 4096 x 4096\n"
        "they are so many times as fast, and so are LAPACK's routines of doubles there.\n\n"
        "             float32          float64        LAPACK, 4096 x 4096\n"
        "GPU         from n  4096     from n  4096     eigh    svd     LU  Cholesky\n",
        cores);
    for (int i = 0; i < gpu_count; i++) {
        const struct xg_model_device device = gpu_describe(&gpus[i]);
        struct xg_model model;
        if (!is_asked(&gpus[i], asked))
            continue;
        xg_model_init(&model, cores);
        xg_model_set_device(&model, &device);
        printf("%-11s", gpus[i].name);
        for (enum xg_type type = XG_TYPE_S; type <= XG_TYPE_D; type++) {
            char least[16] = "-";
            const int64_t n = least_extent(&model, type);
            if (n)
                snprintf(least, sizeof least, "%lld", (long long)n);
            printf("%7s %5.1f    ", least, product_ratio(&model, type, 4096));
        }
        for (size_t j = 0; j < sizeof routines / sizeof routines[0]; j++)
            printf("%6.1f ", routine_ratio(&model, routines[j]));
        puts("");
    }
    puts("\nBelow 1 the CPU is faster, and computes. Only H100 and H200 have been measured.");
}

/* --- The command ------------------------------------------------------------------------------ */

static void refuse_unknown(const char *asked)
{
    for (int i = 0; i < gpu_count; i++)
        if (is_asked(&gpus[i], asked))
            return;
    fprintf(stderr, "xgemm-run: no GPU %s; known are", asked);
    for (int i = 0; i < gpu_count; i++)
        fprintf(stderr, "%s %s", i ? "," : "", gpus[i].name);
    fputs("\n", stderr);
    exit(125);
}

_Noreturn void watch_estimate(struct watch *watch)
{
    char folder[PATH_MAX];
    struct child_end end;
    struct calls calls;
    refuse_unknown(watch->gpu);
    if (!*watch->argv) {
        print_gains(watch->gpu, xg_cores_count());
        exit(0);
    }
    if (!accounts_folder_make(folder, true))
        exit(125);
    watch_set(watch->preloaded, "XGEMM_TAPE", folder);
    watch_set(watch->preloaded, "XGEMM_MODE", "cpu");
    watch_set(watch->preloaded, "XGEMM_SPIN", "keep");
    const struct child child = {.argv = watch->argv, .settings = watch->preloaded};
    bool ran = child_run(&child, &end);
    int processes = ran ? read_folder(folder, &calls) : 0;
    accounts_folder_remove(folder);
    if (processes)
        print_estimate(watch->gpu, &calls, processes, end.seconds);
    else if (ran)
        puts("xgemm-run estimate: no call that a GPU might compute was seen: there is nothing to "
             "save.\nxgemm-run doctor PROGRAM says whether it multiplies in another way.");
    child_leave(end.status);
}
