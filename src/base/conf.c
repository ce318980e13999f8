/* SPDX-License-Identifier: MIT */
/* The XGEMM_* environment: one table that parsing, defaults and help all read. */
#include "base/conf.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/problem.h"

enum kind {
    KIND_CHOICE,     /* an enum: the index of a word in choices */
    KIND_INT,        /* int in [0, max] */
    KIND_FRACTION,   /* double in [0, 1] */
    KIND_OPERATIONS, /* uint64_t, a bit a name: "sgemm,dgemm" */
    KIND_SIZE,       /* int64_t bytes in [0, max], with a suffix K, M, G or T (1024-based) */
    KIND_STRING,     /* const char *, as it is */
    KIND_ORDINALS,   /* const char *, checked: "0" or "0,2,3" */
};

enum { CHOICES_MAX = 4, ORDINAL_MAX = 1023 };

struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* of the field in struct xg_conf */
    int64_t max;
    const char *choices[CHOICES_MAX + 1]; /* in the order of the enum; the first is the default */
    const char *accepts;                  /* as help and messages say it */
    const char *default_text;
    const char *help;
};

#define FIELD(name) offsetof(struct xg_conf, name)

/* Numbers default to 0, strings to NULL, choices to their first: a zeroed struct is the default. */
static const struct setting settings[] = {
    {.name = "XGEMM_MODE",
     .kind = KIND_CHOICE,
     .offset = FIELD(mode),
     .choices = {"auto", "cpu", "gpu", "compare"},
     .accepts = "auto|cpu|gpu|compare",
     .default_text = "auto",
     .help =
         "Where products run: auto (where the cost model says that they finish first), cpu, "
         "gpu (waits for the GPU to start), compare (both, but for trmm and trsm, which work in "
         "place; times and errors are printed at exit)."},
    {.name = "XGEMM_MATH",
     .kind = KIND_CHOICE,
     .offset = FIELD(math),
     .choices = {"accurate", "strict", "tf32"},
     .accepts = "accurate|strict|tf32",
     .default_text = "accurate",
     .help = "accurate (no less exact than FP32), strict (FP32 multiply-add instructions only), "
             "tf32 (about three decimal digits)."},
    {.name = "XGEMM_KERNEL",
     .kind = KIND_STRING,
     .offset = FIELD(kernel),
     .accepts = "name",
     .default_text = "unset",
     .help = "Kernel that computes every product on the GPU, where it can serve it; unset: chosen "
             "by shape and device."},
    {.name = "XGEMM_DEVICES",
     .kind = KIND_ORDINALS,
     .offset = FIELD(devices),
     .max = ORDINAL_MAX,
     .accepts = "number[,number...]",
     .default_text = "unset",
     .help =
         "CUDA devices that may be used, 16 at most, as the driver counts them: the first that can "
         "be had, and of the others those of its kind, each product on one of them; unset: device "
         "0."},
    {.name = "XGEMM_MEM_LIMIT",
     .kind = KIND_SIZE,
     .offset = FIELD(mem_limit_bytes),
     .max = INT64_MAX,
     .accepts = "bytes, or with a suffix K, M, G, T",
     .default_text = "0",
     .help = "Memory that may be held at most of each device; 0: nine tenths of what is free."},
    {.name = "XGEMM_STAGE_THREADS",
     .kind = KIND_INT,
     .offset = FIELD(stage_threads),
     .max = 256,
     .accepts = "0..256",
     .default_text = "0",
     .help = "Threads that copy operands to and from page-locked memory (13 of them at most) and "
             "make the pages of a new C; 0: from the cores that the process may use."},
    {.name = "XGEMM_CPU_BLAS",
     .kind = KIND_STRING,
     .offset = FIELD(cpu_blas),
     .accepts = "path or soname",
     .default_text = "unset",
     .help =
         "CPU library for products that do not run on the GPU; unset: the caller's own, and where "
         "there is none the one configured at build time."},
    {.name = "XGEMM_OPERATIONS",
     .kind = KIND_OPERATIONS,
     .offset = FIELD(operations),
     .accepts = "name[,name...]",
     .default_text = "all",
     .help = "Operations that may run on the GPU, with commas between: gemm, gemmt (which is "
             "gemmtr's too), gemm_batch, gemm_batch_strided, syrk, symm, syr2k, trmm, trsm with s, "
             "d, c or z in front, herk, hemm, her2k with c or z, or all; the program's own library "
             "computes the others. gemm, gemmt, gemm_batch, gemm_batch_strided, syrk, symm and "
             "syr2k with s run on this library's own kernels, and with d from compute capability "
             "8.0 on; all else needs cuBLAS."},
    {.name = "XGEMM_VERBOSE",
     .kind = KIND_INT,
     .offset = FIELD(verbose),
     .max = 3,
     .accepts = "0..3",
     .default_text = "0",
     .help =
         "What is told: 0 warnings only, 1 one line a product (where it ran and why; repeats in "
         "one), 2 start-up too, 3 every step."},
    {.name = "XGEMM_LOG",
     .kind = KIND_STRING,
     .offset = FIELD(log),
     .accepts = "path",
     .default_text = "unset",
     .help = "File that messages and reports are appended to; unset: standard error."},
    {.name = "XGEMM_STATS",
     .kind = KIND_INT,
     .offset = FIELD(stats),
     .max = 1,
     .accepts = "0|1",
     .default_text = "0",
     .help = "1: prints at exit how many products ran where and why, and the shapes that took "
             "longest."},
    {.name = "XGEMM_TRACE",
     .kind = KIND_STRING,
     .offset = FIELD(trace),
     .accepts = "path",
     .default_text = "unset",
     .help = "File that an event a product is appended to, in the JSON array format of Chrome "
             "traces; %p in it stands for the process's id; unset: none."},
    {.name = "XGEMM_ACCOUNT",
     .kind = KIND_STRING,
     .offset = FIELD(account),
     .accepts = "path",
     .default_text = "unset",
     .help = "Folder in which each process keeps the account of its products in a file, which "
             "outlives it, however it ends; xgemm-run ab and xgemm-run top read such files; "
             "unset: none."},
    {.name = "XGEMM_TIMEOUT_MS",
     .kind = KIND_INT,
     .offset = FIELD(timeout_ms),
     .max = INT32_MAX,
     .accepts = "milliseconds",
     .default_text = "0",
     .help = "How long a product waits for a GPU that gets nothing done, before the CPU computes "
             "it and the GPU is given up; 0: 30000."},
    {.name = "XGEMM_SPIN",
     .kind = KIND_CHOICE,
     .offset = FIELD(spin),
     .choices = {"auto", "short", "keep"},
     .accepts = "auto|short|keep",
     .default_text = "auto",
     .help =
         "For how long OpenBLAS's threads spin after a product, where OPENBLAS_THREAD_TIMEOUT is "
         "not set: auto (short on a machine with an NVIDIA device, unless XGEMM_MODE=cpu), short "
         "(0.5 ms in place of 0.1 s: OpenBLAS is told 20 when it asks for that variable), keep."},
    {.name = "XGEMM_EXIT",
     .kind = KIND_CHOICE,
     .offset = FIELD(exit),
     .choices = {"leave", "wait"},
     .accepts = "leave|wait",
     .default_text = "leave",
     .help = "Whether the end of the program waits while the kernel closes what the GPU used: "
             "leave (a second process, xgemm-exit, does), wait."},
    {.name = "XGEMM_VERIFY",
     .kind = KIND_FRACTION,
     .offset = FIELD(verify),
     .accepts = "0..1",
     .default_text = "0",
     .help =
         "Share of the products on the GPU (0.01: one in a hundred) whose results are verified; "
         "the CPU computes again what is wrong, and after three wrong ones in a row all; 0: "
         "none."},
    {.name = "XGEMM_REPRODUCIBLE",
     .kind = KIND_INT,
     .offset = FIELD(reproducible),
     .max = 1,
     .accepts = "0|1",
     .default_text = "0",
     .help = "1: place and kernel depend on shape and device alone, so that results are the same "
             "bits in every run and thread."},
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

_Static_assert(sizeof(enum xg_mode) == sizeof(int) && sizeof(enum xg_math) == sizeof(int) &&
                   sizeof(enum xg_exit) == sizeof(int) && sizeof(enum xg_spinning) == sizeof(int),
               "choices are stored as int");

static bool parse_choice(const struct setting *setting, const char *text, int *out)
{
    for (int i = 0; i < CHOICES_MAX && setting->choices[i]; i++) {
        if (!strcmp(text, setting->choices[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* The digits at the front of text, and *end behind them; no sign, no blank, no overflow. */
static bool parse_digits(const char *text, const char **end, int64_t *out)
{
    int64_t value = 0;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value))
            return false;
    }
    *end = text;
    *out = value;
    return true;
}

static bool parse_number(const struct setting *setting, const char *text, bool suffix, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    const char *end;
    int64_t value;

    if (!parse_digits(text, &end, &value))
        return false;
    if (suffix && *end) {
        const char *found = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!found ||
            __builtin_mul_overflow(value, (int64_t)1 << 10 * (found - suffixes + 1), &value))
            return false;
        end++;
    }
    if (*end || value > setting->max)
        return false;
    *out = value;
    return true;
}

/* Digits with a point or without, in any locale. */
static bool parse_fraction(const char *text, double *out)
{
    double value = 0, place = 1;
    bool digits = false;

    for (; *text >= '0' && *text <= '9'; text++, digits = true)
        value = 10 * value + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, digits = true)
            value += (*text - '0') * (place /= 10);
    if (*text || !digits || !(value <= 1))
        return false;
    *out = value;
    return true;
}

static bool check_ordinals(const struct setting *setting, const char *text)
{
    int64_t value;

    for (;;) {
        if (!parse_digits(text, &text, &value) || value > setting->max)
            return false;
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
}

/* A bit a name; "all" is every one. */
static bool parse_operations(const char *text, uint64_t *out)
{
    uint64_t kinds = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        uint64_t found = length == 3 && !strncmp(text, "all", length) ? XG_KINDS_ALL : 0;
        for (int kind = 0; kind < XG_KIND_COUNT; kind++) {
            const char *name = xg_kind_name(kind);
            if (strlen(name) == length && !strncmp(text, name, length))
                found = xg_kind_bit(kind);
        }
        if (!found)
            return false;
        kinds |= found;
        text += length;
        if (!*text++)
            break;
    }
    *out = kinds;
    return true;
}

bool xg_conf_operates(const struct xg_conf *conf, int kind)
{
    uint64_t kinds = conf->operations ? conf->operations : XG_KINDS_ALL;
    return kinds & xg_kind_bit(kind);
}

/* Stores a value that parses; false, and nothing stored, for one that does not. */
static bool setting_store(const struct setting *setting, const char *text, struct xg_conf *conf)
{
    char *field = (char *)conf + setting->offset;
    int64_t number;
    double fraction;
    uint64_t kinds;
    int word;
    char *copy;

    switch (setting->kind) {
    case KIND_CHOICE:
        if (!parse_choice(setting, text, &word))
            return false;
        memcpy(field, &word, sizeof word);
        return true;
    case KIND_INT:
        if (!parse_number(setting, text, false, &number))
            return false;
        word = (int)number;
        memcpy(field, &word, sizeof word);
        return true;
    case KIND_FRACTION:
        if (!parse_fraction(text, &fraction))
            return false;
        memcpy(field, &fraction, sizeof fraction);
        return true;
    case KIND_SIZE:
        if (!parse_number(setting, text, true, &number))
            return false;
        memcpy(field, &number, sizeof number);
        return true;
    case KIND_OPERATIONS:
        if (!parse_operations(text, &kinds))
            return false;
        memcpy(field, &kinds, sizeof kinds);
        return true;
    case KIND_ORDINALS:
        if (!check_ordinals(setting, text))
            return false;
        /* fall through */
    case KIND_STRING:
        copy = strdup(text);
        if (!copy)
            return false;
        memcpy(field, &copy, sizeof copy);
        return true;
    }
    return false;
}

void xg_conf_parse(struct xg_conf *conf, const char *(*lookup)(void *ctx, const char *name),
                   void (*report)(void *ctx, const char *text), void *ctx)
{
    memset(conf, 0, sizeof *conf);
    for (int i = 0; i < SETTINGS; i++) {
        const struct setting *setting = &settings[i];
        const char *text = lookup(ctx, setting->name);
        char message[512];

        if (!text || !*text || setting_store(setting, text, conf))
            continue;
        snprintf(message, sizeof message,
                 "%s=%.200s is not understood (accepted: %s); the default (%s) stands",
                 setting->name, text, setting->accepts, setting->default_text);
        report(ctx, message);
    }
}

void xg_conf_fini(struct xg_conf *conf)
{
    for (int i = 0; i < SETTINGS; i++) {
        char *field = (char *)conf + settings[i].offset;
        char *copy;

        if (settings[i].kind != KIND_STRING && settings[i].kind != KIND_ORDINALS)
            continue;
        memcpy(&copy, field, sizeof copy);
        free(copy);
        copy = NULL;
        memcpy(field, &copy, sizeof copy);
    }
}

/* Writes text in lines of at most width columns, each indented. */
static void print_wrapped(FILE *out, const char *text, int indent, int width)
{
    int column = 0;

    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column == 0 || column + 1 + length > width) {
            fprintf(out, "%s%*s", column ? "\n" : "", indent, "");
            column = indent;
        } else {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

void xg_conf_print_help(FILE *out)
{
    for (int i = 0; i < SETTINGS; i++) {
        fprintf(out, "  %s=%s (default: %s)\n", settings[i].name, settings[i].accepts,
                settings[i].default_text);
        print_wrapped(out, settings[i].help, 6, 96);
    }
}

/* secure_getenv: a set-user-ID program must not be steered, nor write a log, by its caller. */
static const char *lookup_environment(void *ctx, const char *name)
{
    (void)ctx;
    return secure_getenv(name);
}

static void report_nothing(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

static void report_warning(void *ctx, const char *text)
{
    (void)ctx;
    xg_log(XG_LOG_WARN, "%s", text);
}

static struct xg_conf process_conf;
static pthread_once_t process_conf_once = PTHREAD_ONCE_INIT;

/* Reads twice: bad values can only be reported where XGEMM_LOG says once that has been read. */
static void process_conf_init(void)
{
    struct xg_conf again;
    int error = errno;

    xg_conf_parse(&process_conf, lookup_environment, report_nothing, NULL);
    xg_log_setup(process_conf.verbose, process_conf.log);
    xg_conf_parse(&again, lookup_environment, report_warning, NULL);
    xg_conf_fini(&again);
    errno = error;
}

const struct xg_conf *xg_conf_get(void)
{
    pthread_once(&process_conf_once, process_conf_init);
    return &process_conf;
}
