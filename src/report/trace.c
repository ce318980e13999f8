/* SPDX-License-Identifier: MIT */
/* The trace of products: events formatted on the stack, collected, appended with one write(2). */
/*
 * As in log.c, the file is opened and closed for each write. The program could close a descriptor
 * that we keep open, and the number would then name one of the program's own files.
 *
 * Only regular files are written, because others can block. The file never exceeds the limit of
 * file sizes, because that would end the process (SIGXFSZ).
 */
#include "report/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sandbox.h"
#include "decide/route.h"
#include "host/fork.h"

enum { BUFFER_BYTES = 1 << 18, EVENT_BYTES = 1024, NUMBER_BYTES = 32, LOCK_WAIT_S = 1 };

/* A name from outside as JSON, in which a character may take six bytes. Longer names are cut. */
enum { NAME_BYTES = 128, ESCAPE_BYTES = 6 };

/* Events of this many seconds may be lost if the process is killed: the file is written no more
 * often. */
#define PAUSE_S 0.1

static char buffer[BUFFER_BYTES];

static struct {
    pthread_mutex_t lock;
    char directory[PATH_MAX]; /* of a relative name; empty: none */
    size_t size;              /* bytes of the buffer in use */
    double written_s;         /* end of the last event that is in the file; 0: none */
    bool forked;              /* this is a child of the process that opened the trace */
    bool over;                /* a write failed */
    bool unbuffered;          /* exit handlers are running: nothing writes the rest later */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What this process's trace holds about the machine. */
enum { TOLD_NOTHING, TOLD_MODEL, TOLD_DEVICE };
static _Atomic int told;

static pthread_once_t trace_once = PTHREAD_ONCE_INIT;

/* --- The file ------------------------------------------------------------------------------ */

/* Appends `size` bytes of text to path[at] and returns the new end, which stays below PATH_MAX. */
static size_t append(char path[PATH_MAX], size_t at, const char *text, size_t size)
{
    if (size >= PATH_MAX - at)
        return PATH_MAX - 1;
    memcpy(path + at, text, size);
    return at + size;
}

/* False if the name is too long. */
static bool name_file(char path[PATH_MAX])
{
    const char *name = xg_conf_get()->trace;
    char pid[NUMBER_BYTES];
    size_t digits = (size_t)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    bool named = false;
    size_t at = append(path, 0, trace.directory, strlen(trace.directory));
    while (*name) {
        bool here = !strncmp(name, "%p", 2);
        at = append(path, at, here ? pid : name, here ? digits : 1);
        name += here ? 2 : 1;
        named = named || here;
    }
    if (trace.forked && !named) {
        at = append(path, at, ".", 1);
        at = append(path, at, pid, digits);
    }
    path[at] = '\0';
    return at < PATH_MAX - 1;
}

/* Whether fd may grow by `size` bytes; if not, sets errno. */
static bool may_grow(int fd, size_t size, bool *empty)
{
    struct stat file;
    struct rlimit limit;
    if (fstat(fd, &file) || getrlimit(RLIMIT_FSIZE, &limit))
        return false;
    *empty = file.st_size == 0;
    if (!S_ISREG(file.st_mode))
        errno = EINVAL;
    else if (limit.rlim_cur != RLIM_INFINITY && (rlim_t)file.st_size + size > limit.rlim_cur)
        errno = EFBIG;
    else
        return true;
    return false;
}

/*
 * The opening bracket is written at offset 0 before the descriptor is switched to appending.
 * Several processes that find the file empty all write the same byte there.
 */
static bool append_to_file(const char *path, const char *text, size_t size)
{
    static const char opening[] = "[\n";
    const size_t opening_bytes = sizeof opening - 1;
    int flags = O_NONBLOCK;
    int fd = xg_file_open(path, O_WRONLY | O_CREAT | flags, 0666);
    if (fd < 0)
        return false;
    bool empty = false;
    bool done = may_grow(fd, size + opening_bytes, &empty) &&
                (!empty || pwrite(fd, opening, opening_bytes, 0) == (ssize_t)opening_bytes) &&
                fcntl(fd, F_SETFL, flags | O_APPEND) == 0 && xg_file_write(fd, text, size);
    int error = errno;
    close(fd);
    errno = error;
    return done;
}

static void write_locked(void)
{
    static char path[PATH_MAX]; /* under the lock */
    errno = ENAMETOOLONG;
    if (trace.size == 0)
        return;
    if (!name_file(path) || !append_to_file(path, buffer, trace.size)) {
        xg_log(XG_LOG_WARN, "cannot append to XGEMM_TRACE=%s (errno %d): the trace ends here",
               xg_conf_get()->trace, errno);
        trace.over = true;
    }
    trace.size = 0;
}

/* --- The process --------------------------------------------------------------------------- */

/* A signal handler that calls exit may have interrupted the thread that holds the lock. */
static void write_at_exit(void)
{
    int error = errno;
    struct timespec until;
    if (xg_sandbox_closed() || xg_fork_unannounced())
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_WAIT_S;
    if (pthread_mutex_timedlock(&trace.lock, &until) == 0) {
        write_locked();
        trace.unbuffered = true;
        pthread_mutex_unlock(&trace.lock);
    }
    errno = error;
}

/* The buffer's content belongs to the parent. */
static void empty_in_child(void)
{
    trace.size = 0;
    trace.written_s = 0;
    trace.forked = true;
    atomic_store(&told, TOLD_NOTHING);
}

/* A relative name starts from the working directory of the program's first product. */
static void trace_init(void)
{
    bool relative = *xg_conf_get()->trace != '/';
    if (relative && getcwd(trace.directory, sizeof trace.directory - 1))
        strcat(trace.directory, "/");
    else
        trace.directory[0] = '\0';
    xg_fork_register(&(struct xg_fork_watch){.lock = &trace.lock, .in_child = empty_in_child});
    atexit(write_at_exit);
}

/* --- One event ----------------------------------------------------------------------------- */

/* Microseconds with three decimals. %f would use the program's locale, which may write 1,5. */
static const char *microseconds(char text[NUMBER_BYTES], double seconds)
{
    if (!(fabs(seconds) < 1e9))
        return "null";
    long long ns = llround(1e9 * fabs(seconds));
    snprintf(text, NUMBER_BYTES, "%s%lld.%03lld", seconds < 0 ? "-" : "", ns / 1000, ns % 1000);
    return text;
}

/* Replaces the locale's decimal separator by the point that JSON wants. */
static const char *number(char text[NUMBER_BYTES], double value)
{
    if (!isfinite(value))
        return "null";
    snprintf(text, NUMBER_BYTES, "%.9g", value);
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool kept = (*from >= '0' && *from <= '9') || strchr("+-e", *from);
        if (kept || to[-1] != '.')
            *to++ = kept ? *from : '.';
    }
    *to = '\0';
    return text;
}

/* Formats the event's line and returns its length. Texts are our own names and need no escapes. */
static size_t format(char line[EVENT_BYTES], const struct xg_call_record *record, double begin_s)
{
    const struct xg_problem *call = &record->call;
    const char *place = xg_place_text(record->place);
    const char *quote = record->gpu.kernel ? "\"" : "";
    char trans[3] = {xg_trans_letter(call->transa), xg_trans_letter(call->transb), '\0'};
    const char *form = record->routine ? record->routine : trans;
    double bytes = (double)xg_problem_elem_bytes(call);
    double up = record->routine ? record->routine_up_bytes : bytes * xg_problem_up_elems(call);
    double down =
        record->routine ? record->routine_down_bytes : bytes * xg_problem_down_elems(call);
    char ts[NUMBER_BYTES], dur[NUMBER_BYTES], beta[NUMBER_BYTES], waited[NUMBER_BYTES];
    char inside[NUMBER_BYTES];
    char cpu[NUMBER_BYTES], gpu[NUMBER_BYTES];
    char flops[NUMBER_BYTES], operands[NUMBER_BYTES], result[NUMBER_BYTES];
    int length = snprintf(
        line, EVENT_BYTES,
        "{\"name\":\"%lldx%lldx%lld %s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%s,\"dur\":%s,"
        "\"pid\":%ld,\"tid\":%ld,\"args\":{\"symbol\":\"%s\",\"operation\":\"%s\",\"m\":%lld,"
        "\"n\":%lld,\"k\":%lld,\"flops\":%s,\"operand_bytes\":%s,\"result_bytes\":%s,"
        "\"trans\":\"%s\",\"beta\":%s,\"place\":\"%s\",\"reason\":\"%s\",\"kernel\":%s%s%s,"
        "\"predicted_cpu_us\":%s,\"predicted_gpu_us\":%s,\"waited_us\":%s,\"up_bytes\":%llu,"
        "\"down_bytes\":%llu,\"held_bytes\":%llu%s%s}},\n",
        (long long)call->m, (long long)call->n, (long long)call->k, form, place,
        microseconds(ts, begin_s), microseconds(dur, record->seconds + record->inside_s),
        (long)getpid(), (long)syscall(SYS_gettid), record->symbol,
        record->routine ? record->routine : xg_kind_name(xg_problem_kind(call)), (long long)call->m,
        (long long)call->n, (long long)call->k, number(flops, xg_record_flops(record)),
        number(operands, up), number(result, down), record->routine ? "-" : trans,
        number(beta, call->beta), place, xg_reason_text(record->reason), quote,
        record->gpu.kernel ? record->gpu.kernel : "null", quote,
        microseconds(cpu, record->predicted_cpu_s), microseconds(gpu, record->predicted_gpu_s),
        microseconds(waited, record->gpu.waited_s), (unsigned long long)record->gpu.up_bytes,
        (unsigned long long)record->gpu.down_bytes, (unsigned long long)record->gpu.held_bytes,
        record->inside_s > 0 ? ",\"inside_us\":" : "",
        record->inside_s > 0 ? microseconds(inside, record->inside_s) : "");
    return length > 0 && length < EVENT_BYTES ? (size_t)length : 0;
}

/* end_s: when the event ended; 0: the line may wait for the next line with a time. */
static void add_locked(const char *line, size_t size, double end_s)
{
    if (trace.size + size > BUFFER_BYTES)
        write_locked();
    if (trace.over)
        return;
    memcpy(buffer + trace.size, line, size);
    trace.size += size;
    if (trace.unbuffered || end_s > trace.written_s + PAUSE_S) {
        write_locked();
        trace.written_s = end_s;
    }
}

void xg_trace_add(const struct xg_call_record *record, double begin_s)
{
    char line[EVENT_BYTES];
    if (!xg_conf_get()->trace)
        return;
    pthread_once(&trace_once, trace_init);
    size_t size = format(line, record, begin_s);
    pthread_mutex_lock(&trace.lock);
    add_locked(line, size, begin_s + record->seconds + record->inside_s);
    pthread_mutex_unlock(&trace.lock);
}

/* --- The machine --------------------------------------------------------------------------- */

/* FLOP/s of the kernels on a product that fills the device; 0: no kernel computes it. */
static double kernel_flops_per_s(const struct xg_model *model, enum xg_math math)
{
    const int64_t n = 8192;
    const struct xg_shape shape = {.m = n, .n = n, .k = n, .type = XG_TYPE_S};
    struct xg_choice choice = xg_route_resident(&model->device, math, NULL, &shape);
    return choice.row
               ? 2.0 * (double)n * (double)n * (double)n * model->gpu_clock_hz / choice.cycles
               : 0.0;
}

/* A name from outside as a JSON string, with "?" for characters that are not ASCII; null for
 * NULL. */
static const char *quoted(char text[NAME_BYTES], const char *name)
{
    static const char hex[] = "0123456789abcdef";
    char *to = text;
    if (!name)
        return "null";
    *to++ = '"';
    for (; *name && to - text + ESCAPE_BYTES + 2 <= NAME_BYTES; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < 0x20 || c == '"' || c == '\\') {
            memcpy(to, "\\u00", 4);
            to[4] = hex[c >> 4];
            to[5] = hex[c & 15];
            to += ESCAPE_BYTES;
        } else {
            *to++ = c < 0x7f ? (char)c : '?';
        }
    }
    *to++ = '"';
    *to = '\0';
    return text;
}

static size_t format_process(char line[EVENT_BYTES])
{
    char name[NAME_BYTES];
    int length = snprintf(line, EVENT_BYTES,
                          "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,"
                          "\"args\":{\"name\":%s}},\n",
                          (long)getpid(), (long)syscall(SYS_gettid),
                          quoted(name, program_invocation_short_name));
    return length > 0 && length < EVENT_BYTES ? (size_t)length : 0;
}

static size_t format_machine(char line[EVENT_BYTES], const struct xg_trace_machine *machine)
{
    static const char *const modes[] = {[XG_MODE_AUTO] = "auto",
                                        [XG_MODE_CPU] = "cpu",
                                        [XG_MODE_GPU] = "gpu",
                                        [XG_MODE_COMPARE] = "compare"};
    static const char *const maths[] = {
        [XG_MATH_ACCURATE] = "accurate", [XG_MATH_STRICT] = "strict", [XG_MATH_TF32] = "tf32"};
    const struct xg_conf *conf = xg_conf_get();
    const struct xg_model *model = machine->model;
    char library[NAME_BYTES], device[NAME_BYTES], spin[NUMBER_BYTES], start[NUMBER_BYTES];
    char rates[6][NUMBER_BYTES];
    int length = snprintf(
        line, EVENT_BYTES,
        "{\"name\":\"xgemm_machine\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,\"args\":{"
        "\"mode\":\"%s\",\"math\":\"%s\",\"cores\":%d,\"cpu_library\":%s,"
        "\"cpu_threads\":%d,\"spin_us\":%s,"
        "\"cpu_flops_per_s\":%s,\"cpu_bytes_per_s\":%s,\"device\":%s,\"sm\":%d,\"sm_count\":%d,"
        "\"gpu_flops_per_s\":%s,\"gpu_fp32_flops_per_s\":%s,\"up_bytes_per_s\":%s,"
        "\"down_bytes_per_s\":%s,\"gpu_start_us\":%s,\"calibrated\":%s}},\n",
        (long)getpid(), (long)syscall(SYS_gettid), modes[conf->mode], maths[conf->math],
        machine->cores, quoted(library, machine->library ? xg_file_name(machine->library) : NULL),
        machine->cpu_threads, microseconds(spin, machine->spin_s),
        number(rates[0], model->cpu_flops), number(rates[1], model->cpu_bytes_per_s),
        quoted(device, machine->device), model->device.sm, model->device.sm_count,
        number(rates[2], kernel_flops_per_s(model, conf->math)),
        number(rates[3], kernel_flops_per_s(model, XG_MATH_STRICT)),
        number(rates[4], model->up_bytes_per_s), number(rates[5], model->down_bytes_per_s),
        microseconds(start, model->starts_s[XG_RESOURCE_GPU]),
        model->gpu_measured ? "true" : "false");
    return length > 0 && length < EVENT_BYTES ? (size_t)length : 0;
}

bool xg_trace_lacks_machine(bool device)
{
    return atomic_load_explicit(&told, memory_order_relaxed) < (device ? TOLD_DEVICE : TOLD_MODEL);
}

void xg_trace_add_machine(const struct xg_trace_machine *machine)
{
    static char line[EVENT_BYTES]; /* used under the lock: stacks may be small */
    if (!xg_conf_get()->trace)
        return;
    pthread_once(&trace_once, trace_init);
    pthread_mutex_lock(&trace.lock);
    if (xg_trace_lacks_machine(machine->device)) {
        if (atomic_load(&told) == TOLD_NOTHING)
            add_locked(line, format_process(line), 0);
        add_locked(line, format_machine(line, machine), 0);
        atomic_store(&told, machine->device ? TOLD_DEVICE : TOLD_MODEL);
    }
    pthread_mutex_unlock(&trace.lock);
}
