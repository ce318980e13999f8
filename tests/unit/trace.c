/* SPDX-License-Identifier: MIT */
/* Traces: the text of events, the file in every case, and no file that harms the program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/report/trace.h"
#include "tests/support/files.h"
#include "tests/support/threads.h"
#include "tests/support/xt.h"

enum { THREADS = 4, EVENTS = 500, PROCESSES = 6 };

static char err_text[1 << 16], file_text[1 << 23];
static char dir[PATH_MAX]; /* absolute */
static pid_t child;        /* of the last run */

static const char *in_dir(const char *name)
{
    return xt_path(dir, name);
}

/* Renames the file of a child of the traced process. */
static void take_childs(pid_t pid, const char *name)
{
    char own[64], to[PATH_MAX + 64];
    snprintf(own, sizeof own, "trace.%ld", (long)pid);
    snprintf(to, sizeof to, "%s", in_dir(name));
    XT_CHECK(rename(in_dir(own), to) == 0, "%s", own);
}

/* Runs the body in a new process whose XGEMM_TRACE is the name, absolute or in the test's folder.
 * Reads its standard error into err_text, and the file "trace" into file_text. */
static void run(const char *name, void (*body)(void))
{
    int status = -1;

    unlink(in_dir("trace"));
    child = fork();
    if (child == 0) {
        dup2(open(in_dir("err"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), STDERR_FILENO);
        setenv("XGEMM_LOG", in_dir("err"), 1); /* the log does not write to a replaced descriptor */
        setenv("XGEMM_TRACE", name[0] == '/' ? name : in_dir(name), 1);
        if (name[0] == '.')
            setenv("XGEMM_TRACE", name + 2, 1);
        xt_failures = 0;
        alarm(60); /* a lock that is never released is a failure */
        body();
        exit(xt_failures ? 1 : 0);
    }
    XT_CHECK(waitpid(child, &status, 0) == child && status == 0, "status %d", status);
    xt_read(in_dir("err"), err_text, sizeof err_text);
    xt_read(in_dir("trace"), file_text, sizeof file_text);
    XT_CHECK(status == 0, "%s", err_text);
}

static struct xg_call_record record(void)
{
    return (struct xg_call_record){
        .symbol = "cblas_sgemm",
        .call = {.transb = true, .m = 512, .n = 1024, .k = 96, .alpha = 1.0f, .beta = 0.5f},
        .place = XG_PLACE_GPU,
        .reason = XG_REASON_MODEL,
        .gpu.kernel = "vectorized",
        .seconds = 0.001234567,
        .predicted_cpu_s = 0.0025,
        .predicted_gpu_s = 1e-6,
        .gpu.waited_s = 0.00002,
        .gpu.up_bytes = 600000000000,
        .gpu.down_bytes = 2097152,
    };
}

static void add(double begin_s)
{
    struct xg_call_record r = record();

    xg_trace_add(&r, begin_s);
}

static void two(void)
{
    struct xg_call_record r = record();

    errno = 0;
    xg_trace_add(&r, 17.000000001);
    r.call.transa = true;
    r.place = XG_PLACE_CPU;
    r.gpu.kernel = NULL;
    r.call.beta = -INFINITY;
    r.predicted_cpu_s = NAN;
    r.predicted_gpu_s = -0.5;
    xg_trace_add(&r, 17.5);
    r.call.transa = XG_CONJ_TRANS;
    xg_trace_add(&r, 18);
    r.symbol = "zherk_";
    r.call = (struct xg_problem){
        .op = XG_OP_HERK, .type = XG_TYPE_Z, .uplo = XG_LOWER, .m = 3, .n = 3, .k = 5};
    xg_trace_add(&r, 19);
    r.symbol = "dgesv_";
    r.routine = "dgesv";
    r.routine_flops = 700;
    r.routine_up_bytes = 900;
    r.routine_down_bytes = 500;
    r.call = (struct xg_problem){.type = XG_TYPE_D, .m = 30, .n = 30, .k = 2};
    xg_trace_add(&r, 20);
}

/* How the text of an event of record() begins and ends; times and threads are between. */
static const char begins[] = "{\"name\":\"512x1024x96 NT\",\"cat\":\"GPU\",\"ph\":\"X\",\"ts\":";
static const char ends[] =
    ",\"args\":{\"symbol\":\"cblas_sgemm\",\"operation\":\"sgemm\",\"m\":512,\"n\":1024,\"k\":96,"
    "\"flops\":100663296,\"operand_bytes\":589824,\"result_bytes\":2097152,\"trans\":\"NT\","
    "\"beta\":0.5,\"place\":\"GPU\",\"reason\":\"cost model\",\"kernel\":\"vectorized\","
    "\"predicted_cpu_us\":2500.000,\"predicted_gpu_us\":1.000,\"waited_us\":20.000,"
    "\"up_bytes\":600000000000,\"down_bytes\":2097152,\"held_bytes\":0}},\n";

static void test_event(void)
{
    char expected[2048];

    run("trace", two);
    snprintf(expected, sizeof expected,
             "[\n%s17000000.001,\"dur\":1234.567,\"pid\":%ld,\"tid\":%ld%s", begins, (long)child,
             (long)child, ends);
    XT_CHECK(!strncmp(file_text, expected, strlen(expected)), "%s", file_text);
    static const char *const parts[] = {
        "\"name\":\"512x1024x96 TT\",\"cat\":\"CPU\"",
        "\"name\":\"512x1024x96 CT\"",
        "\"trans\":\"CT\",",
        "\"operation\":\"zherk\",\"m\":3,\"n\":3,\"k\":5,\"flops\":240,\"operand_bytes\":240,"
        "\"result_bytes\":96,",
        "{\"name\":\"30x30x2 dgesv\",",
        "\"operation\":\"dgesv\",\"m\":30,\"n\":30,\"k\":2,\"flops\":700,\"operand_bytes\":900,"
        "\"result_bytes\":500,\"trans\":\"-\",",
        "\"beta\":null,",
        "\"kernel\":null,",
        "\"predicted_cpu_us\":null,\"predicted_gpu_us\":-500000.000,",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        XT_CHECK(strstr(file_text, parts[i]), "no %s in %s", parts[i], file_text);
    XT_CHECK(!err_text[0], "%s", err_text);
}

/* Counts the lines of file_text that are whole events. Negative if the text has anything else. */
static int events(void)
{
    int lines = 0;

    if (strncmp(file_text, "[\n", 2))
        return -1;
    for (const char *line = file_text + 2; *line; lines++) {
        size_t size = strcspn(line, "\n") + 1;

        if (size < sizeof ends || strncmp(line, begins, sizeof begins - 1) ||
            strncmp(line + size - (sizeof ends - 1), ends, sizeof ends - 1))
            return -2;
        line += size;
    }
    return lines;
}

static void many(void)
{
    for (int i = 0; i < THREADS * EVENTS; i++)
        add(17 + 1e-6 * i);
}

static void *many_of_thread(void *arg)
{
    for (int i = 0; i < EVENTS; i++)
        add(17);
    return arg;
}

static void threads(void)
{
    xt_threads_run(THREADS, many_of_thread, NULL, 0);
}

static void killed(void)
{
    many();
    _exit(0);
}

/* A process with rare products loses no event; a process with a burst loses those after the first.
 */
static void killed_early(void)
{
    add(17);
    add(17.2);
    _exit(0);
}

static void killed_once(void)
{
    add(17);
    _exit(0);
}

static void killed_in_child(void)
{
    add(17);
    if (fork() == 0) {
        add(17.01);
        rename(in_dir("trace"), in_dir("gone"));
        take_childs(getpid(), "trace");
        _exit(0);
    }
    wait(NULL);
}

static void add_at_exit(void)
{
    add(17);
}

/* Registered before the trace's exit handler, therefore runs after it. */
static void late(void)
{
    atexit(add_at_exit);
    add(17);
}

static void elsewhere(void)
{
    add(17);
    if (chdir("/"))
        exit(2);
}

static void local_comma(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"};

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !setlocale(LC_ALL, names[i]); i++)
        ;
    add(17);
}

static void test_file(void)
{
    static const struct {
        const char *name;
        void (*body)(void);
        int events;
    } cases[] = {{"trace", many, THREADS * EVENTS}, {"trace", threads, THREADS * EVENTS},
                 {"trace", killed_early, 2},        {"trace", killed_once, 1},
                 {"trace", killed_in_child, 1},     {"trace", late, 2},
                 {"./trace", elsewhere, 1},         {"trace", local_comma, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run(cases[i].name, cases[i].body);
        XT_CHECK(events() == cases[i].events, "case %zu: %d events: %s", i, events(), file_text);
    }
    run("trace", killed);
    XT_CHECK(events() > 0 && events() < THREADS * EVENTS, "%d events", events());
}

/* --- The machine --------------------------------------------------------------------------- */

static struct xg_model model;

static struct xg_trace_machine machine(void)
{
    xg_model_init(&model, 16);
    return (struct xg_trace_machine){
        .model = &model, .library = "/usr/lib/libblas.so.3", .cores = 16, .spin_s = 0.134};
}

/* The machine is written once without a device and once with one, however often it is added. */
static void machines(void)
{
    struct xg_trace_machine m = machine();
    for (int i = 0; i < 3; i++) {
        xg_trace_add_machine(&m);
        XT_CHECK(!xg_trace_lacks_machine(false) && xg_trace_lacks_machine(true), "told %d", i);
    }
    m.device = "A\\ \"device\"\n\xc3\xa9";
    m.cpu_threads = 8;
    m.spin_s = INFINITY;
    for (int i = 0; i < 3; i++)
        xg_trace_add_machine(&m);
    XT_CHECK(!xg_trace_lacks_machine(true), "not told");
    m.device = NULL;
    xg_trace_add_machine(&m);
}

/* Names that are very long and full of control characters. */
static void machine_named_badly(void)
{
    static char name[4096];
    struct xg_trace_machine m = machine();
    memset(name, 1, sizeof name - 1);
    program_invocation_short_name = name;
    m.library = m.device = name;
    xg_trace_add_machine(&m);
}

static void machine_of_child(void)
{
    struct xg_trace_machine m = machine();
    xg_trace_add_machine(&m);
    pid_t forked = fork();
    if (forked == 0) {
        XT_CHECK(xg_trace_lacks_machine(false), "the parent's is not the child's");
        xg_trace_add_machine(&m);
        exit(xt_failures ? 1 : 0);
    }
    xt_child_wait(forked, "the child");
    take_childs(forked, "child");
}

/* Counts how often the text is in file_text. */
static int count(const char *text)
{
    int found = 0;
    for (const char *at = file_text; (at = strstr(at, text)); at++)
        found++;
    return found;
}

static void test_machine(void)
{
    char expected[256];

    run("trace", machines);
    snprintf(
        expected, sizeof expected,
        "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,\"args\":{\"name\":"
        "\"%s\"}},\n{\"name\":\"xgemm_machine\",\"ph\":\"M\",",
        (long)child, (long)child, program_invocation_short_name);
    XT_CHECK(!strncmp(file_text, expected, strlen(expected)), "%s", file_text);
    XT_CHECK(count("process_name") == 1 && count("xgemm_machine") == 2, "%s", file_text);
    XT_CHECK(count("\"mode\":\"auto\",\"math\":\"accurate\",\"cores\":16,\"cpu_library\":"
                   "\"libblas.so.3\",\"cpu_threads\":0,\"spin_us\":134000.000,") == 1,
             "%s", file_text);
    XT_CHECK(count("\"device\":null,\"sm\":90,") == 1, "%s", file_text);
    XT_CHECK(count("\"device\":\"A\\u005c \\u0022device\\u0022\\u000a??\",\"sm\":90,") == 1, "%s",
             file_text);
    XT_CHECK(count("\"cpu_threads\":8,\"spin_us\":null,") == 1, "%s", file_text);

    /* The rates are the model's: the reference device reaches about 50 TFLOP/s in FP32, and more
     * with pieces. */
    const char *rates = strstr(file_text, "\"gpu_flops_per_s\":");
    double flops = 0, fp32 = 0, up = 0, down = 0;
    XT_CHECK(rates && sscanf(rates,
                             "\"gpu_flops_per_s\":%lf,\"gpu_fp32_flops_per_s\":%lf,"
                             "\"up_bytes_per_s\":%lf,\"down_bytes_per_s\":%lf",
                             &flops, &fp32, &up, &down) == 4,
             "%s", file_text);
    machine();
    XT_CHECK(up == model.up_bytes_per_s && down == model.down_bytes_per_s, "%g, %g", up, down);
    XT_CHECK(fp32 > 30e12 && fp32 < 70e12 && flops >= fp32, "%g, %g", fp32, flops);

    run("trace", machine_named_badly);
    XT_CHECK(count("process_name") == 1 && count("xgemm_machine") == 1, "%s", file_text);
    XT_CHECK(count("\n") == 3 && !strchr(file_text, 1), "%s", file_text);

    run("trace", machine_of_child);
    XT_CHECK(count("xgemm_machine") == 1, "the parent's: %s", file_text);
    xt_read(in_dir("child"), file_text, sizeof file_text);
    XT_CHECK(count("xgemm_machine") == 1, "the child's: %s", file_text);
}

/* --- Several processes --------------------------------------------------------------------- */

/* A parent and its child both add events. */
static void fork_between(void)
{

    add(17);
    pid_t forked = fork();
    if (forked == 0) {
        add(17);
        add(17);
        exit(0);
    }
    xt_child_wait(forked, "the child");
    add(17);
    rename(in_dir("trace"), in_dir("gone"));
    take_childs(forked, "child");
}

static void many_at_once(void)
{
    pid_t forked[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        forked[i] = fork();
        if (forked[i] == 0) {
            many();
            exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        waitpid(forked[i], NULL, 0);
}

static void test_processes(void)
{
    char name[64];

    run("trace", fork_between);
    XT_CHECK(events() == 2, "the parent's: %s", file_text);
    xt_read(in_dir("child"), file_text, sizeof file_text);
    XT_CHECK(events() == 2, "the child's: %s", file_text);

    run("%p.%p", two);
    snprintf(name, sizeof name, "%ld.%ld", (long)child, (long)child);
    xt_read(in_dir(name), file_text, sizeof file_text);
    XT_CHECK(!strncmp(file_text, "[\n", 2), "%s: %s", name, file_text);
    unlink(in_dir(name));

    /* Children that traced nothing before the fork share one file. */
    for (int turn = 0; turn < 5; turn++) {
        run("trace", many_at_once);
        XT_CHECK(events() == PROCESSES * THREADS * EVENTS, "%d events", events());
    }
}

/* --- Files that cannot be written ----------------------------------------------------------- */

static void limited(void)
{
    struct rlimit limit = {100000, 100000};

    if (setrlimit(RLIMIT_FSIZE, &limit))
        exit(2);
    many();
    many();
}

static void run_refused(const char *name)
{
    run(name, many);
    XT_CHECK(strstr(err_text, "XGEMM_TRACE="), "%s", err_text);
}

static void test_refused(void)
{
    static char name[3 * PATH_MAX];

    run("none/trace", many);
    XT_CHECK(strstr(err_text, "xgemm: cannot append to XGEMM_TRACE=") == err_text, "%s", err_text);
    XT_CHECK(strchr(err_text, '\n') == strrchr(err_text, '\n'), "said once: %s", err_text);
    run_refused(""); /* the test's folder */
    memset(name, 'x', sizeof name - 1);
    name[0] = '/';
    run_refused(name);
    memset(name, '%', sizeof name - 1);
    run_refused(name);
    run_refused("/dev/full");

    /* A FIFO blocks the open without a reader, and the write when it is full. */
    if (mkfifo(in_dir("fifo"), 0600))
        exit(XT_HARD);
    run_refused("fifo");
    int reader = open(in_dir("fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    run_refused("fifo");
    XT_CHECK(read(reader, name, 1) == 0, "nothing is written to it");
    close(reader);

    run("trace", limited);
    XT_CHECK(strstr(err_text, "XGEMM_TRACE=") != NULL, "%s", err_text);
    XT_CHECK(events() > 0 && strlen(file_text) <= 100000, "%d events, %zu bytes", events(),
             strlen(file_text));
}

static void machines_refused(void)
{
    struct xg_trace_machine m = machine();
    xg_trace_add_machine(&m);
    XT_CHECK(xg_trace_lacks_machine(false), "told without a trace");
}

/* Without XGEMM_TRACE there is no trace. */
static void not_wanted(void)
{
    unsetenv("XGEMM_TRACE");
    many();
    machines_refused();
}

int main(void)
{
    char template[] = "xg_trace_XXXXXX";

    unsetenv("XGEMM_LOG");
    unsetenv("XGEMM_VERBOSE");
    if (!mkdtemp(template) || !realpath(template, dir) || chdir(dir))
        return XT_HARD;
    test_event();
    test_file();
    test_machine();
    test_processes();
    test_refused();
    run("trace", not_wanted);
    XT_CHECK(access(in_dir("trace"), F_OK) && !err_text[0], "%s", err_text);

    static const char *const left[] = {"trace", "err", "gone", "child", "fifo"};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        unlink(in_dir(left[i]));
    XT_CHECK(rmdir(dir) == 0, "a file is left in %s", dir);
    return xt_done();
}
