/* SPDX-License-Identifier: MIT */
#include "machine/calibration.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/cores.h"

/* A figure is stored as a whole number of units. fitted: derived from measured times, not read from
 * the device. */
struct figure {
    const char *name;
    size_t offset;
    bool integer, fitted;
    double unit;
    int64_t least, most;
};

#define FIGURE(member) offsetof(struct xg_model, member)

static const struct figure cpu_figures[] = {
    {"cpu_mflop_per_s", FIGURE(cpu_flops), false, true, 1e6, 10, 1000000000},
    {"cpu_mb_per_s", FIGURE(cpu_bytes_per_s), false, true, 1e6, 10, 10000000},
    {"cpu_call_ns", FIGURE(cpu_call_s), false, true, 1e-9, 1, 1000000000},
    {"cpu_step_ps", FIGURE(cpu_step_s), false, true, 1e-12, 1, 1000000000},
    {NULL, 0, false, false, 0, 0, 0},
};

static const struct figure gpu_figures[] = {
    {"up_mb_per_s", FIGURE(up_bytes_per_s), false, true, 1e6, 10, 10000000},
    {"down_mb_per_s", FIGURE(down_bytes_per_s), false, true, 1e6, 10, 10000000},
    {"gpu_clock_khz", FIGURE(gpu_clock_hz), false, true, 1e3, 100000, 4000000},
    {"gpu_call_ns", FIGURE(gpu_call_s), false, true, 1e-9, 100, 1000000000},
    {"gpu_fill_ns", FIGURE(gpu_fill_s), false, true, 1e-9, 1, 1000000000},
    {"gpu_start_us", FIGURE(starts_s[XG_RESOURCE_GPU]), false, false, 1e-6, 1, 1000000000},
    {"sm", FIGURE(device.sm), true, false, 1, 10, 9999},
    {"sm_count", FIGURE(device.sm_count), true, false, 1, 1, 100000},
    {"smem_block_bytes", FIGURE(device.smem_block_bytes), true, false, 1, 1024, 1 << 30},
    {NULL, 0, false, false, 0, 0, 0},
};

static const struct figure *figures_of(enum xg_side side)
{
    return side == XG_SIDE_CPU ? cpu_figures : gpu_figures;
}

static const char *side_name(enum xg_side side)
{
    return side == XG_SIDE_CPU ? "cpu" : "gpu";
}

double *xg_calibration_figure(struct xg_model *model, enum xg_side side, int index, double *least,
                              double *most)
{
    const struct figure *figure = figures_of(side);
    while (figure->name && (!figure->fitted || index-- > 0))
        figure++;
    if (!figure->name)
        return NULL;
    *least = (double)figure->least * figure->unit;
    *most = (double)figure->most * figure->unit;
    return (double *)(void *)((char *)model + figure->offset);
}

/* --- The key ------------------------------------------------------------------------------- */

/* Reads the front of a file, without its last line feed; empty if it cannot be read. */
static void read_front(const char *path, char *text, size_t size)
{
    ssize_t got = xg_file_read_front(path, text, size - 1);
    text[got > 0 ? got : 0] = '\0';
}

/* Sets one line of printable characters, or "unknown" if there are none. */
static void set_name(char name[XG_CALIBRATION_NAME_BYTES], const char *text)
{
    size_t length = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    for (; *text && *text != '\n' && length < XG_CALIBRATION_NAME_BYTES - 1; text++)
        name[length++] = *text >= ' ' && *text < 0x7f ? *text : '?';
    while (length > 0 && name[length - 1] == ' ')
        length--;
    name[length] = '\0';
    if (length == 0)
        memcpy(name, "unknown", sizeof "unknown");
}

/* Reads the value after "label ... :" at the start of a line of a file in /proc. */
static void read_label(const char *path, const char *label, char name[XG_CALIBRATION_NAME_BYTES])
{
    enum { FRONT_BYTES = 4096 };
    char *text = malloc(FRONT_BYTES);
    if (text)
        read_front(path, text, FRONT_BYTES);
    const char *line = text;
    while (line && strncmp(line, label, strlen(label)) != 0) {
        line = strchr(line, '\n');
        line += line != NULL;
    }
    const char *colon = line ? strchr(line, ':') : NULL;
    set_name(name, colon ? colon + 1 : "");
    free(text);
}

static void read_gpu(char name[XG_CALIBRATION_NAME_BYTES])
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    char first[64] = "", path[128];
    DIR *gpus = opendir(folder);
    for (struct dirent *entry; gpus && (entry = readdir(gpus));)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof first &&
            (!first[0] || strcmp(entry->d_name, first) < 0))
            memcpy(first, entry->d_name, strlen(entry->d_name) + 1);
    if (gpus)
        closedir(gpus);
    snprintf(path, sizeof path, "%s/%s/information", folder, first);
    read_label(path, "Model", name);
}

/* FlexiBLAS computes with the library that its variable names. */
static void describe_blas(const char *real, char name[XG_CALIBRATION_NAME_BYTES])
{
    struct stat status;
    char text[512] = "";
    if (real && stat(real, &status) == 0) {
        const char *behind = strstr(xg_file_name(real), "flexiblas") ? getenv("FLEXIBLAS") : NULL;
        snprintf(text, sizeof text, "%.96s %lld bytes%s%.64s", xg_file_name(real),
                 (long long)status.st_size, behind ? " " : "", behind ? xg_file_name(behind) : "");
    }
    set_name(name, text);
}

/*
 * Returns the number of threads that the library starts. Each library reads its own variable before
 * OpenMP's. In a path such as openblas-pthread/libblas.so.3 the folder names the library.
 */
static int count_threads(int cores, const char *real)
{
    static const struct {
        const char *library, *variable;
    } table[] = {
        {"openblas", "OPENBLAS_NUM_THREADS"},
        {"openblas", "GOTO_NUM_THREADS"},
        {"mkl", "MKL_NUM_THREADS"},
        {"blis", "BLIS_NUM_THREADS"},
        {"", "OMP_NUM_THREADS"},
    };
    cpu_set_t mask;
    xg_cores_mask(&mask);
    int all = CPU_COUNT(&mask) ? CPU_COUNT(&mask) : cores;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *value = getenv(table[i].variable);
        long count =
            value && strstr(real ? real : "", table[i].library) ? strtol(value, NULL, 10) : 0;
        if (count > 0)
            return count < all ? (int)count : all;
    }
    return all;
}

void xg_calibration_device(char gpu[XG_CALIBRATION_NAME_BYTES],
                           char driver[XG_CALIBRATION_NAME_BYTES])
{
    char version[XG_CALIBRATION_NAME_BYTES];
    read_gpu(gpu);
    read_front("/sys/module/nvidia/version", version, sizeof version);
    set_name(driver, version);
}

void xg_calibration_key_init(struct xg_calibration_key *key, int cores, const char *blas_file)
{
    char *real = blas_file ? realpath(blas_file, NULL) : NULL;
    *key = (struct xg_calibration_key){.cores = cores, .threads = count_threads(cores, real)};
    read_label("/proc/cpuinfo", "model name", key->cpu);
    xg_calibration_device(key->gpu, key->driver);
    describe_blas(real, key->blas);
    free(real);
}

/* Bytes of a key as text: two names and some numbers. */
enum { KEY_BYTES = 2 * XG_CALIBRATION_NAME_BYTES + 160 };

/* Prints the first lines of the text; returns their length. */
static size_t print_key(char text[KEY_BYTES], const struct xg_calibration_key *key,
                        enum xg_side side)
{
    int length = snprintf(text, KEY_BYTES, "xgemm-calibration=2\nside=%s\ncpu=%s\ncores=%d\n",
                          side_name(side), key->cpu, key->cores);
    size_t at = (size_t)length;
    if (side == XG_SIDE_CPU)
        length =
            snprintf(text + at, KEY_BYTES - at, "threads=%d\nblas=%s\n", key->threads, key->blas);
    else
        length = snprintf(text + at, KEY_BYTES - at, "gpu=%s\ndriver=%s\n", key->gpu, key->driver);
    return at + (size_t)length;
}

/* --- The text ------------------------------------------------------------------------------ */

static int64_t figure_get(const struct figure *figure, const struct xg_model *model)
{
    const char *at = (const char *)model + figure->offset;
    double value;
    int whole;
    if (figure->integer) {
        memcpy(&whole, at, sizeof whole);
        value = whole;
    } else {
        memcpy(&value, at, sizeof value);
        value /= figure->unit;
    }
    return (int64_t)fmax((double)figure->least, fmin(round(value), (double)figure->most));
}

static void figure_set(const struct figure *figure, int64_t count, struct xg_model *model)
{
    char *at = (char *)model + figure->offset;
    double value = (double)count * figure->unit;
    int whole = (int)count;
    if (figure->integer)
        memcpy(at, &whole, sizeof whole);
    else
        memcpy(at, &value, sizeof value);
}

size_t xg_calibration_print(char text[XG_CALIBRATION_TEXT_BYTES],
                            const struct xg_calibration_key *key, enum xg_side side,
                            const struct xg_model *model)
{
    size_t at = print_key(text, key, side);
    for (const struct figure *figure = figures_of(side); figure->name; figure++)
        at += (size_t)snprintf(text + at, XG_CALIBRATION_TEXT_BYTES - at, "%s=%lld\n", figure->name,
                               (long long)figure_get(figure, model));
    return at;
}

/* Parses name=digits and a line feed; moves *text after it. */
static bool parse_figure(const struct figure *figure, const char **text, int64_t *count)
{
    size_t length = strlen(figure->name);
    const char *at = *text;
    if (strncmp(at, figure->name, length) != 0 || at[length] != '=')
        return false;
    at += length + 1;
    if (*at < '0' || *at > '9')
        return false;
    for (*count = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*count, 10, count) ||
            __builtin_add_overflow(*count, *at - '0', count))
            return false;
    *text = at + 1;
    return *at == '\n' && *count >= figure->least && *count <= figure->most;
}

bool xg_calibration_parse(const char *text, const struct xg_calibration_key *key, enum xg_side side,
                          struct xg_model *model)
{
    char expected[KEY_BYTES];
    size_t length = print_key(expected, key, side);
    struct xg_model read = *model;
    if (strncmp(text, expected, length) != 0)
        return false;
    text += length;
    for (const struct figure *figure = figures_of(side); figure->name; figure++) {
        int64_t count;
        if (!parse_figure(figure, &text, &count))
            return false;
        figure_set(figure, count, &read);
    }
    if (*text)
        return false;
    read.gpu_measured |= side == XG_SIDE_GPU;
    read.device.generation = xg_generation_find(read.device.sm, NULL);
    xg_model_set_large(&read);
    *model = read;
    return true;
}

/* --- The file ------------------------------------------------------------------------------ */

/* Hashes with FNV-1a, because the key may contain characters that a file name must not contain. */
static uint64_t hash_key(const struct xg_calibration_key *key, enum xg_side side)
{
    char text[KEY_BYTES];
    uint64_t hash = 0xcbf29ce484222325u;
    size_t length = print_key(text, key, side);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

bool xg_calibration_path(char *path, size_t path_bytes, const struct xg_calibration_key *key,
                         enum xg_side side)
{
    char name[64];
    snprintf(name, sizeof name, "xgemm/%s-%016llx", side_name(side),
             (unsigned long long)hash_key(key, side));
    return xg_file_of_user(path, path_bytes, "XDG_CACHE_HOME", "/.cache", name);
}

/* Not on the stack, because the program's thread may have a small one. */
struct file {
    char path[4096], text[XG_CALIBRATION_TEXT_BYTES];
};

static void load_side(struct file *file, struct xg_model *model,
                      const struct xg_calibration_key *key, enum xg_side side)
{
    static int once;
    struct stat status;
    if (!xg_calibration_path(file->path, sizeof file->path, key, side) ||
        stat(file->path, &status) != 0)
        return;
    file->text[0] = '\0';
    if (S_ISREG(status.st_mode) && status.st_size < (off_t)sizeof file->text)
        read_front(file->path, file->text, sizeof file->text);
    bool whole = strlen(file->text) == (size_t)status.st_size;
    if (whole && xg_calibration_parse(file->text, key, side, model))
        xg_log(XG_LOG_INFO, "calibrated by %s", file->path);
    else
        xg_log_once(&once,
                    "ignoring %s: it was made on another machine, or is damaged; run "
                    "xgemm-run calibrate",
                    file->path);
}

void xg_calibration_load(struct xg_model *model, int cores, const char *blas_file)
{
    struct xg_calibration_key key;
    int saved_errno = errno;
    xg_calibration_key_init(&key, cores, blas_file);
    xg_model_set_threads(model, key.threads < cores ? key.threads : cores);
    struct file *file = malloc(sizeof *file);
    if (file) {
        load_side(file, model, &key, XG_SIDE_CPU);
        load_side(file, model, &key, XG_SIDE_GPU);
    }
    free(file);
    errno = saved_errno;
}

bool xg_calibration_store(const char *path, const struct xg_calibration_key *key, enum xg_side side,
                          const struct xg_model *model)
{
    char text[XG_CALIBRATION_TEXT_BYTES];
    size_t length = xg_calibration_print(text, key, side, model);
    return xg_file_replace(path, text, length);
}
