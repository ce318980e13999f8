/* SPDX-License-Identifier: MIT */
/* The configuration: one table of settings that parsing, messages, tools and help all read. */
#include "base/conf.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/problem.h"
#include "base/sandbox.h"
#include "base/setting.h"

enum { ORDINAL_MAX = 1023 };

#define FIELD(name) offsetof(struct xg_conf, name)

/* Numbers default to 0, strings to NULL, choices to their first: a zeroed struct is the default. */
static const struct xg_setting settings[] = {
    {.name = "XGEMM_CONFIG",
     .kind = XG_SETTING_ELSEWHERE,
     .accepts = "path",
     .help = "Configuration file that replaces the system's and the user's file; empty: no file; "
             "unset: those two."},
    {.name = "XGEMM_MODE",
     .common = true,
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(mode),
     .choices = {"auto", "cpu", "gpu", "compare"},
     .accepts = "auto|cpu|gpu|compare",
     .help =
         "Where products run: auto (on the side that the cost model expects to finish first), cpu, "
         "gpu (the first product waits for the GPU to start), compare (on both sides, except trmm "
         "and trsm, which overwrite an operand; times and errors are printed at exit)."},
    {.name = "XGEMM_MATH",
     .common = true,
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(math),
     .choices = {"accurate", "strict", "tf32"},
     .accepts = "accurate|strict|tf32",
     .help = "accurate (within the error bounds of FP32 and FP64), strict (only FP32 and FP64 "
             "arithmetic), tf32 (about three decimal digits)."},
    {.name = "XGEMM_KERNEL",
     .kind = XG_SETTING_STRING,
     .offset = FIELD(kernel),
     .accepts = "name",
     .help = "Kernel for every product on the GPU that it can compute; unset: the library chooses "
             "by shape and device."},
    {.name = "XGEMM_DEVICES",
     .common = true,
     .kind = XG_SETTING_ORDINALS,
     .offset = FIELD(devices),
     .max = ORDINAL_MAX,
     .accepts = "number[,number...]",
     .help = "CUDA devices to use, at most 16, by the driver's numbers: the first usable one and "
             "those of the list that are of its kind; each product runs on one of them; unset: "
             "device 0, or the device of the rank on the node."},
    {.name = "XGEMM_MEM_LIMIT",
     .common = true,
     .kind = XG_SETTING_SIZE,
     .offset = FIELD(mem_limit_bytes),
     .max = INT64_MAX,
     .accepts = "bytes, or with a suffix K, M, G, T",
     .help = "Limit of the memory held on each device; 0: nine tenths of the free memory."},
    {.name = "XGEMM_STAGE_THREADS",
     .kind = XG_SETTING_INT,
     .offset = FIELD(stage_threads),
     .max = 256,
     .accepts = "0..256",
     .help =
         "Threads that copy operands to and from page-locked memory (at most 13 of them) and "
         "populate the pages of new results; 0: derived from the cores that the process may use."},
    {.name = "XGEMM_CPU_BLAS",
     .kind = XG_SETTING_STRING,
     .offset = FIELD(cpu_blas),
     .accepts = "path or soname",
     .help = "CPU library for products that do not run on the GPU; unset: the caller's own, or the "
             "one configured at build time if the caller has none."},
    {.name = "XGEMM_OPERATIONS",
     .kind = XG_SETTING_OPERATIONS,
     .offset = FIELD(operations),
     .accepts = "name[,name...]",
     .help = "Operations that may run on the GPU, separated by commas: gemm, gemmt (which includes "
             "gemmtr), gemm_batch, gemm_batch_strided, gemv, syrk, symm, syr2k, trmm, trsm with "
             "the prefix s, d, c or z; herk, hemm, her2k with c or z; or all. The program's own "
             "library computes the others. gemm, gemmt, gemm_batch, gemm_batch_strided, gemv, "
             "syrk, symm and syr2k run on this library's own kernels with s, and with d from "
             "compute capability 8.0 on; all others need cuBLAS."},
    {.name = "XGEMM_LAPACK",
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(lapack),
     .choices = {"1", "0"},
     .accepts = "0|1",
     .help =
         "1: LAPACK's factorizations, solvers, inverses, least squares, eigenvalues and singular "
         "values may run on the GPU, with cuSOLVER; 0: the program's own library computes them."},
    {.name = "XGEMM_VERBOSE",
     .common = true,
     .kind = XG_SETTING_INT,
     .offset = FIELD(verbose),
     .max = 3,
     .accepts = "0..3",
     .help = "Which messages are written: 0 only warnings, 1 also one line per product (where it "
             "ran and why; one line for consecutive repeats), 2 also start-up, 3 every step."},
    {.name = "XGEMM_LOG",
     .common = true,
     .kind = XG_SETTING_STRING,
     .offset = FIELD(log),
     .accepts = "path",
     .help = "File to which messages and reports are appended; unset: standard error."},
    {.name = "XGEMM_STATS",
     .common = true,
     .kind = XG_SETTING_INT,
     .offset = FIELD(stats),
     .max = 1,
     .accepts = "0|1",
     .help = "1: prints at exit how many products ran where and why, and the shapes that took the "
             "most time, also of forks that end by a signal or _exit; if no call was seen, a line "
             "says so."},
    {.name = "XGEMM_TRACE",
     .kind = XG_SETTING_STRING,
     .offset = FIELD(trace),
     .accepts = "path",
     .help = "File to which an event per product is appended, in the JSON array format of Chrome "
             "traces, which has no closing bracket (for json.load replace its last comma by ]); %p "
             "stands for the process's id; unset: none."},
    {.name = "XGEMM_ACCOUNT",
     .kind = XG_SETTING_STRING,
     .offset = FIELD(account),
     .accepts = "path",
     .help =
         "Folder in which each process keeps the account of its products in a file that remains "
         "however the process ends; xgemm-run ab and xgemm-run top read these files; unset: none."},
    {.name = "XGEMM_TAPE",
     .kind = XG_SETTING_STRING,
     .offset = FIELD(tape),
     .accepts = "path",
     .help = "Folder in which each process keeps its calls as data, at most 65,536, for xgemm-run "
             "estimate, which reads and removes them; unset: none."},
    {.name = "XGEMM_TIMEOUT_MS",
     .kind = XG_SETTING_INT,
     .offset = FIELD(timeout_ms),
     .max = INT32_MAX,
     .accepts = "milliseconds",
     .help = "How long a product waits for a GPU that makes no progress before the CPU computes it "
             "and the library stops using the GPU; LAPACK routines wait a second longer for every "
             "10^10 operations and each rank that may share the GPU; 0: 30000."},
    {.name = "XGEMM_SPIN",
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(spin),
     .choices = {"auto", "short", "keep"},
     .accepts = "auto|short|keep",
     .help =
         "How long the CPU library's threads spin after a product if OPENBLAS_THREAD_TIMEOUT "
         "and GOMP_SPINCOUNT are not set: auto (on a machine with an NVIDIA device, unless "
         "XGEMM_MODE=cpu, as short as the measured cost of waking threads allows, and OpenBLAS's "
         "at "
         "least 17 ms in a virtual machine; unchanged if xgemm-run has not measured it since the "
         "machine's start), short (0.5 ms), keep (the library's own time, 0.1 s for OpenBLAS). In "
         "a "
         "configuration file it applies to programs that xgemm-run starts, and after enable()."},
    {.name = "XGEMM_HISTORY",
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(history),
     .choices = {"on", "off"},
     .accepts = "on|off",
     .help =
         "on: what a program gains is remembered in the user's cache folder (no names), and the "
         "GPU starts for it when its BLAS is loaded; off: nothing starts early, and nothing is "
         "written."},
    {.name = "XGEMM_RESIDENT",
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(resident),
     .choices = {"auto", "off"},
     .accepts = "auto|off",
     .help =
         "auto: operands that the program does not change stay on the GPU where that saves time "
         "and each reuse can be proved right (Linux 6.7 or newer); off, and with "
         "XGEMM_REPRODUCIBLE=1: every product sends its operands."},
    {.name = "XGEMM_EXIT",
     .kind = XG_SETTING_CHOICE,
     .offset = FIELD(exit),
     .choices = {"leave", "wait"},
     .accepts = "leave|wait",
     .help = "Whether the end of the program waits while the operating system closes the GPU's "
             "context: leave (no; a second process, xgemm-exit, waits), wait."},
    {.name = "XGEMM_VERIFY",
     .common = true,
     .kind = XG_SETTING_FRACTION,
     .offset = FIELD(verify),
     .accepts = "0..1",
     .help =
         "Share of the products and LAPACK routines on the GPU whose results are verified (0.01: "
         "one in a hundred); the CPU recomputes wrong results, and computes everything after "
         "three wrong ones in a row; 0: none."},
    {.name = "XGEMM_REPRODUCIBLE",
     .kind = XG_SETTING_INT,
     .offset = FIELD(reproducible),
     .max = 1,
     .accepts = "0|1",
     .help = "1: side and kernel depend only on shape and device, so that results have the same "
             "bits in every run and thread."},
    {.name = "XGEMM_SHIM_LIB",
     .kind = XG_SETTING_ELSEWHERE,
     .accepts = "path",
     .help =
         "Library that xgemm-run and the packages of Python and Julia load; unset: the one that "
         "was built or installed with them, for Julia the dynamic linker's."},
    {.name = "XGEMM_DOCTOR_FOLDER", .kind = XG_SETTING_ELSEWHERE}, /* doctor's, for its witness */
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

_Static_assert(sizeof(enum xg_mode) == sizeof(int) && sizeof(enum xg_math) == sizeof(int) &&
                   sizeof(enum xg_exit) == sizeof(int) && sizeof(enum xg_spinning) == sizeof(int) &&
                   sizeof(enum xg_history_use) == sizeof(int) &&
                   sizeof(enum xg_resident_use) == sizeof(int),
               "choices are stored as int");

enum { MESSAGE_BYTES = 512 };

bool xg_conf_operates(const struct xg_conf *conf, int kind)
{
    uint64_t kinds = conf->operations ? conf->operations : XG_KINDS_ALL;
    return kinds & xg_kind_bit(kind);
}

void xg_conf_parse(struct xg_conf *conf, const char *(*lookup)(void *ctx, const char *name),
                   void (*report)(void *ctx, const char *text), void *ctx)
{
    memset(conf, 0, sizeof *conf);
    for (int i = 0; i < SETTINGS; i++) {
        const struct xg_setting *setting = &settings[i];
        const char *text = lookup(ctx, setting->name);
        char message[MESSAGE_BYTES];

        if (!text || !*text || xg_setting_store(setting, text, conf))
            continue;
        snprintf(message, sizeof message,
                 "%s=%.200s is not understood (accepted: %s); the default (%s) stands",
                 setting->name, text, setting->accepts, xg_setting_default(setting));
        report(ctx, message);
    }
}

void xg_conf_fini(struct xg_conf *conf)
{
    for (int i = 0; i < SETTINGS; i++)
        xg_setting_clear(&settings[i], conf);
}

void xg_conf_print_help(FILE *out, bool common)
{
    xg_setting_print(settings, SETTINGS, common, out);
}

/* --- Configuration files ------------------------------------------------------------------- */

const char *xg_conf_environment(void *ctx, const char *name)
{
    (void)ctx;
    return secure_getenv(name);
}

void xg_conf_files_read(struct xg_conf_files *files, const char *system_path)
{
    const char *named = secure_getenv("XGEMM_CONFIG");
    files->user.count = files->system.count = 0;
    if (named) {
        snprintf(files->user.path, sizeof files->user.path, "%s", named);
        if (*named)
            xg_conf_file_read(&files->user, XG_CONF_FILE_NAMED);
        return;
    }
    if (xg_file_of_user(files->user.path, sizeof files->user.path, "XDG_CONFIG_HOME", "/.config",
                        "xgemm/xgemm.conf"))
        xg_conf_file_read(&files->user, XG_CONF_FILE_FOUND);
    snprintf(files->system.path, sizeof files->system.path, "%s", system_path);
    /* A program with another user's rights reads only a file that this user or root controls. */
    if (!getauxval(AT_SECURE) || xg_file_is_ours(system_path))
        xg_conf_file_read(&files->system, XG_CONF_FILE_INSTALLED);
}

/* True if the line gives a setting a value; an empty value is the default. */
static bool is_usable(const struct xg_conf_line *line)
{
    const struct xg_setting *setting =
        line->name ? xg_setting_find(settings, SETTINGS, line->name) : NULL;
    return setting && setting->kind != XG_SETTING_ELSEWHERE &&
           (!*line->value || xg_setting_takes(setting, line->value));
}

static const struct xg_conf_line *find_line(const struct xg_conf_file *file, const char *name)
{
    for (int i = file->count - 1; i >= 0; i--)
        if (is_usable(&file->lines[i]) && !strcmp(file->lines[i].name, name))
            return &file->lines[i];
    return NULL;
}

/* Finds the line that gives the setting its value, and its file; NULL: no line does. */
static const struct xg_conf_line *find_given(const struct xg_conf_files *files, const char *name,
                                             const struct xg_conf_file **file)
{
    *file = &files->user;
    const struct xg_conf_line *line = find_line(*file, name);
    if (line)
        return line;
    *file = &files->system;
    return find_line(*file, name);
}

/* A variable that is set overrides the files, whatever its value. */
static const char *lookup_all(void *ctx, const char *name)
{
    const char *value = xg_conf_environment(NULL, name);
    const struct xg_conf_file *file;
    const struct xg_conf_line *line = value ? NULL : find_given(ctx, name, &file);
    return line ? line->value : value;
}

void xg_conf_files_visit(const struct xg_conf_files *files, xg_conf_given *given, void *ctx)
{
    for (int i = 0; i < SETTINGS; i++) {
        const struct xg_conf_file *file;
        const struct xg_conf_line *line = find_given(files, settings[i].name, &file);
        if (line && !secure_getenv(settings[i].name))
            given(ctx, settings[i].name, line->value, file->path, line->number);
    }
}

/* --- What is wrong with a configuration ---------------------------------------------------- */

/* Writes "NAME is not a setting" and the setting that may be meant. */
static void describe_unknown(char *text, size_t size, const char *name)
{
    const struct xg_setting *nearest = xg_setting_nearest(settings, SETTINGS, name);
    snprintf(text, size, "%.64s is not a setting%s%s%s", name, nearest ? "; did you mean " : "",
             nearest ? nearest->name : "", nearest ? "?" : "");
}

static void describe_line(char text[MESSAGE_BYTES], const struct xg_conf_line *line)
{
    const struct xg_setting *setting =
        line->name ? xg_setting_find(settings, SETTINGS, line->name) : NULL;
    if (line->fault)
        snprintf(text, MESSAGE_BYTES, "%s; the line is ignored", line->fault);
    else if (!setting)
        describe_unknown(text, MESSAGE_BYTES, line->name);
    else if (setting->kind == XG_SETTING_ELSEWHERE)
        snprintf(text, MESSAGE_BYTES, "%s is read from the environment alone", line->name);
    else
        snprintf(text, MESSAGE_BYTES,
                 "%s=%.200s is not understood (accepted: %s); the line is ignored", line->name,
                 line->value, setting->accepts);
}

static void report_file(const struct xg_conf_file *file, xg_conf_report *report, void *ctx)
{
    static char text[PATH_MAX + MESSAGE_BYTES + 16];
    char what[MESSAGE_BYTES];
    for (int i = 0; i < file->count; i++) {
        const struct xg_conf_line *line = &file->lines[i];
        if (is_usable(line))
            continue;
        describe_line(what, line);
        if (line->number)
            snprintf(text, sizeof text, "%s:%d: %s", file->path, line->number, what);
        else
            snprintf(text, sizeof text, "%s %s", file->path, line->fault);
        report(ctx, text);
    }
}

static bool is_known(const char *name)
{
    static const char tests[] = "XGEMM_TEST_";
    return !strncmp(name, tests, sizeof tests - 1) || xg_setting_find(settings, SETTINGS, name);
}

void xg_conf_files_report(const struct xg_conf_files *files, xg_conf_report *report, void *ctx)
{
    report_file(&files->user, report, ctx);
    report_file(&files->system, report, ctx);
}

void xg_conf_environment_report(xg_conf_report *report, void *ctx)
{
    static const char prefix[] = "XGEMM_";
    for (char **entry = getauxval(AT_SECURE) ? NULL : environ; entry && *entry; entry++) {
        char name[XG_SETTING_NAME_BYTES + 1], text[MESSAGE_BYTES];
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        if (is_known(name))
            continue;
        describe_unknown(text, sizeof text, name);
        report(ctx, text);
    }
}

/* --- This process -------------------------------------------------------------------------- */

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
static struct xg_conf_files process_files; /* empty: not read */
static pthread_once_t process_conf_once = PTHREAD_ONCE_INIT;
static _Atomic bool process_conf_is_read, account_is_wanted;

/* Parses twice: bad values go to XGEMM_LOG, which must be read first. A closed process may open no
 * file. */
static void process_conf_init(void)
{
    struct xg_conf again;
    int error = errno;

    if (!xg_sandbox_closed())
        xg_conf_files_read(&process_files, XG_CONF_SYSTEM_FILE);
    xg_conf_parse(&process_conf, lookup_all, report_nothing, &process_files);
    process_conf.kept = atomic_load(&account_is_wanted);
    xg_log_setup(process_conf.verbose, process_conf.log);
    xg_conf_parse(&again, lookup_all, report_warning, &process_files);
    xg_conf_fini(&again);
    if (process_conf.verbose > 0) {
        xg_conf_files_report(&process_files, report_warning, NULL);
        xg_conf_environment_report(report_warning, NULL);
    }
    atomic_store(&process_conf_is_read, true);
    errno = error;
}

void xg_conf_keep_account(void)
{
    atomic_store(&account_is_wanted, true);
}

bool xg_conf_keeps_account(void)
{
    return atomic_load(&process_conf_is_read) ? xg_conf_counts(&process_conf)
                                              : atomic_load(&account_is_wanted);
}

bool xg_conf_account_is_wanted(void)
{
    return atomic_load(&account_is_wanted);
}

const struct xg_conf *xg_conf_get(void)
{
    pthread_once(&process_conf_once, process_conf_init);
    return &process_conf;
}
