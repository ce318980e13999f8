/* SPDX-License-Identifier: MIT */
/* program, past, history: which program this is, what is remembered of it, and the files. Contract
 * 7.10. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/machine/history.h"
#include "src/machine/program.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

enum { GPU = 1 << XG_RESOURCE_GPU, CUSOLVER = GPU | 1 << XG_RESOURCE_CUSOLVER };
enum { TODAY = 1795910400, DAY = XG_PAST_DAY_S, MACHINE = 77 };

/* --- Which program ---------------------------------------------------------------------------- */

static void test_classify(void)
{
    static const struct {
        const char *line; /* executable, then the arguments after the first */
        enum xg_program_kind kind;
        const char *word;
    } table[] = {
        {"/usr/bin/python3.12 x.py -c 1", XG_PROGRAM_SCRIPT, "x.py"},
        {"/usr/bin/python3.12 -u -W ignore -Xdev /a/x.py", XG_PROGRAM_SCRIPT, "/a/x.py"},
        {"/usr/bin/python3.12 -uc 1", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/python3.12 -Im pytest -q", XG_PROGRAM_NAME, "pytest"},
        {"/usr/bin/python3.12 -mpytest", XG_PROGRAM_NAME, "pytest"},
        {"/usr/bin/python3.12 -m", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/python3.12 -", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/python3.12", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/python3.12 --multiprocessing-fork", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/python3.12 -m joblib.externals.loky.backend.popen_loky_posix", XG_PROGRAM_NONE,
         NULL},
        {"/usr/bin/python3.12 /venv/bin/pytest tests", XG_PROGRAM_NAME, "/venv/bin/pytest"},
        {"/usr/bin/python3.12 /home/me/bin/run.py", XG_PROGRAM_SCRIPT, "/home/me/bin/run.py"},
        {"/usr/lib/R/bin/exec/R --no-echo --file=x.R --args 1", XG_PROGRAM_SCRIPT, "x.R"},
        {"/usr/lib/R/bin/exec/R --slave -f x.R", XG_PROGRAM_SCRIPT, "x.R"},
        {"/usr/lib/R/bin/exec/R -e 1", XG_PROGRAM_NONE, NULL},
        {"/usr/lib/R/bin/exec/R", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/octave-cli --no-gui x.m", XG_PROGRAM_SCRIPT, "x.m"},
        {"/usr/bin/octave-cli --eval 1", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/perl -I lib x.pl", XG_PROGRAM_SCRIPT, "x.pl"},
        {"/usr/bin/java -jar x.jar", XG_PROGRAM_NONE, NULL},
        {"/usr/bin/dash x", XG_PROGRAM_NONE, NULL},
        {"/home/me/RooFit x", XG_PROGRAM_ALONE, NULL},
        {"/home/me/solve x 3", XG_PROGRAM_ALONE, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char line[256];
        const char *argv[8], *word;
        int argc = 0;
        snprintf(line, sizeof line, "%s", table[i].line);
        for (char *at = strtok(line, " "); at; at = strtok(NULL, " "))
            argv[argc++] = at;
        enum xg_program_kind kind = xg_program_classify(argv[0], argc, argv, &word);
        XT_CHECK(kind == table[i].kind && !word == !table[i].word &&
                     (!word || !strcmp(word, table[i].word)),
                 "%s: kind %d, %s", table[i].line, kind, word ? word : "no word");
    }
}

/* A link to a script is the script; a forked child is no program. */
static void test_describe(const char *folder)
{
    static struct xg_program programs[3];
    char script[PATH_MAX], link[PATH_MAX];
    int64_t started_ms = 0;
    int status;
    snprintf(script, sizeof script, "%s/x.py", folder);
    snprintf(link, sizeof link, "%s/y.py", folder);
    xt_write(script, "pass\n");
    XT_CHECK(symlink("x.py", link) == 0, "no link");
    const char *direct[] = {"python3", script, "1"}, *by_link[] = {"python", "-u", link};
    const char *gone[] = {"python", "/nowhere.py"};
    size_t length = xg_program_write(&programs[0], "/usr/bin/python3", 3, direct);
    XT_CHECK(length && length == xg_program_write(&programs[1], "/usr/bin/python3", 3, by_link) &&
                 !memcmp(programs[0].text, programs[1].text, length),
             "a link: %s, %s", programs[0].text, programs[1].text);
    XT_CHECK(xg_program_write(&programs[1], "/usr/bin/python2", 3, direct) != length ||
                 memcmp(programs[0].text, programs[1].text, length) != 0,
             "another interpreter");
    XT_CHECK(!xg_program_write(&programs[1], "/usr/bin/python3", 2, gone), "no script");
    XT_CHECK(xg_program_describe(&programs[2], &started_ms) > 0 && started_ms > 0, "this test");
    pid_t child = fork();
    if (child == 0)
        _exit(xg_program_describe(&programs[2], &started_ms) != 0);
    XT_CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a forked child");
}

/* --- What a record promises ------------------------------------------------------------------- */

static struct xg_past_run run_of(double products_s, double routines_s)
{
    struct xg_past_run run = {.takes_s = {0.25, 0.07, 0.2}, .wall_s = 2, .saved_s = 1};
    run.gain_s[GPU] = products_s;
    run.gain_s[CUSOLVER] = routines_s;
    return run;
}

static void test_promise(void)
{
    static const struct {
        double products_s, routines_s;
        unsigned needs;
    } table[] = {
        {0, 0, 0},      {0.1, 0, 0},          {0.15, 0, GPU}, {0, 0.2, 0},      {0, 0.25, CUSOLVER},
        {5, 0.05, GPU}, {0.2, 0.2, CUSOLVER}, {-3, 0.5, 0},   {0.3, -0.5, GPU},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct xg_past past = {0};
        struct xg_past_run run = run_of(table[i].products_s, table[i].routines_s);
        xg_past_learn(&past, &run, TODAY);
        XT_CHECK(xg_past_promise(&past) == table[i].needs, "%g and %g s: %u, not %u",
                 table[i].products_s, table[i].routines_s, xg_past_promise(&past), table[i].needs);
        run.bars = XG_PAST_FORKS;
        xg_past_learn(&past, &run, TODAY);
        run.bars = 0;
        xg_past_learn(&past, &run, TODAY);
        XT_CHECK(!xg_past_promise(&past), "it forked once");
    }
}

/* However much a program gained, three runs in vain end the belief; one that gains restores it. */
static void test_belief(void)
{
    struct xg_past past = {0};
    struct xg_past_run good = run_of(1000, 0), vain = run_of(0, 0);
    int taken = 0;
    vain.promised = vain.ended = true;
    xg_past_learn(&past, &good, TODAY);
    for (; xg_past_promise(&past) && taken < 100; taken++) {
        xg_past_take(&past, TODAY);
        xg_past_learn(&past, &vain, TODAY);
    }
    XT_CHECK(taken == 3, "%d runs in vain", taken);
    vain.promised = false;
    xg_past_learn(&past, &vain, TODAY);
    xg_past_learn(&past, &good, TODAY);
    XT_CHECK(xg_past_promise(&past) == GPU, "it gains again");
    for (taken = 0; taken < 64; taken++)
        xg_past_take(&past, TODAY + taken / 8);
    XT_CHECK(xg_past_promise(&past), "64 ranks that start together");
    for (taken = 1; xg_past_promise(&past) && taken < 1000; taken++)
        xg_past_take(&past, TODAY + taken * 100);
    XT_CHECK(taken == 4, "%d runs that did not tell their end", taken);
    past.time_s = TODAY;
    past.machine = MACHINE;
    XT_CHECK(xg_past_holds(&past, MACHINE, TODAY) &&
                 xg_past_holds(&past, MACHINE, TODAY + 180 * DAY) &&
                 !xg_past_holds(&past, MACHINE, TODAY - 1) &&
                 !xg_past_holds(&past, MACHINE, TODAY + 181 * DAY) &&
                 !xg_past_holds(&past, MACHINE + 1, TODAY),
             "a record of the future, of long ago, of another machine");
}

/* A start that was not promised and gained too little is remembered, until a run gains enough; a
 * run that started nothing, or has not ended, says nothing. */
static void test_vain(void)
{
    struct xg_past past = {0};
    struct xg_past_run run = run_of(0.1, 0), good = run_of(1, 0);
    xg_past_learn(&past, &run, TODAY);
    run.started = true;
    xg_past_learn(&past, &run, TODAY);
    XT_CHECK(!past.price_ms && !xg_past_is_vain(&past), "nothing was learnt");
    run.ended = true;
    xg_past_learn(&past, &run, TODAY);
    XT_CHECK(xg_past_is_vain(&past) && past.price_ms == 250 && past.gain_ms == 100 &&
                 !xg_past_promise(&past),
             "in vain: gains %u of %u ms", past.gain_ms, past.price_ms);
    xg_past_learn(&past, &good, TODAY);
    XT_CHECK(!xg_past_is_vain(&past) && xg_past_promise(&past) == GPU, "it gains");
    run.promised = true;
    for (int i = 0; i < 9; i++)
        xg_past_learn(&past, &run, TODAY);
    XT_CHECK(xg_past_promise(&past) == GPU, "less than half of a start, but it goes on to gain");
    run.gain_s[GPU] = 0.06;
    xg_past_learn(&past, &run, TODAY);
    XT_CHECK(!xg_past_is_vain(&past) && !xg_past_promise(&past) && past.gain_ms == 62,
             "half as much is believed");
    run.promised = false;
    run.gain_s[GPU] = -0.2;
    xg_past_learn(&past, &run, TODAY);
    XT_CHECK(xg_past_is_vain(&past) && past.gain_ms == 0, "a loss");
}

/* A run that was promised a GPU has no times on the CPU: it is judged by those of an earlier run.
 */
static void test_ratio(void)
{
    static const struct {
        double cpu_s, model_s, ratio;
    } table[] = {{0, 0, 1},   {2, 2, 1},      {4, 2, 2},  {1, 2, 0.5},
                 {1e3, 1, 4}, {1, 1e3, 0.25}, {5, 2, 2.5}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct xg_past past = {0};
        struct xg_past_run run = run_of(1, 0);
        run.cpu_s = table[i].cpu_s;
        run.cpu_model_s = table[i].model_s;
        xg_past_learn(&past, &run, TODAY);
        XT_CHECK(fabs(xg_past_cpu_ratio(&past) / table[i].ratio - 1) < 0.05, "%g, not %g",
                 xg_past_cpu_ratio(&past), table[i].ratio);
        run.promised = true;
        run.cpu_s = 3 * run.cpu_model_s;
        xg_past_learn(&past, &run, TODAY);
        XT_CHECK(fabs(xg_past_cpu_ratio(&past) / table[i].ratio - 1) < 0.05, "beside a start");
        run.ended = true;
        for (int runs = 0; runs < 20; runs++)
            xg_past_learn(&past, &run, TODAY);
        XT_CHECK(fabs(log2(xg_past_cpu_ratio(&past))) < 0.4, "it is not believed for ever");
    }
}

/* --- Files ------------------------------------------------------------------------------------ */

static void open_in(struct xg_history *history, const char *home, bool make)
{
    setenv("XDG_CACHE_HOME", home, 1);
    XT_CHECK(xg_history_open(history, make, xg_conf_environment), "%s: %s", home, strerror(errno));
}

static struct xg_past record(uint64_t id, int64_t time_s)
{
    return (struct xg_past){
        .id = id, .machine = MACHINE, .time_s = time_s, .gain_ms = 500, .needs = GPU};
}

/* The reference vectors of SipHash-2-4: key 00 to 0f, messages of 0 and 15 bytes. */
static void test_hash(void)
{
    const struct xg_history history = {.key = {0x0706050403020100, 0x0f0e0d0c0b0a0908}};
    const unsigned char bytes[15] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    XT_CHECK(xg_history_hash(&history, bytes, 15) == 0xa129ca6149be45e5 &&
                 xg_history_hash(&history, bytes, 0) == 0x726fdb47dd0e0e31,
             "%llx", (unsigned long long)xg_history_hash(&history, bytes, 15));
}

/* Bounded, the least recent goes, another key's and damaged records are ignored. */
static void test_records(const char *home)
{
    struct xg_history history, other;
    struct xg_past past, all[XG_HISTORY_RECORDS];
    struct stat status;
    XT_CHECK(!xg_history_open(&history, false, xg_conf_environment),
             "nothing is made for a reader");
    open_in(&history, home, true);
    for (uint64_t i = 0; i < 20; i++) {
        past = record(1 + i * XG_HISTORY_FILES, TODAY + (int64_t)(i ^ 1));
        XT_CHECK(xg_history_store(&history, &past), "%s", strerror(errno));
    }
    XT_CHECK(xg_history_read(&history, 1, all) == XG_HISTORY_RECORDS, "a full file");
    for (uint64_t i = 0; i < 20; i++)
        XT_CHECK(xg_history_find(&history, 1 + i * XG_HISTORY_FILES, &past) == (i >= 4),
                 "record %d of 20", (int)i);
    XT_CHECK(xg_history_forget(&history, past.id) && !xg_history_forget(&history, past.id) &&
                 !xg_history_find(&history, past.id, &past),
             "forgotten");
    const char *path = xt_path(history.folder, "01");
    XT_CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600 && status.st_size == 1024,
             "mode and size");
    other = history;
    other.key[0]++;
    XT_CHECK(xg_history_read(&other, 1, all) == 0, "another key");
    FILE *file = fopen(path, "r+");
    XT_CHECK(file && fseek(file, 24, SEEK_SET) == 0 && fputc(1, file) != EOF && !fclose(file),
             "damage");
    XT_CHECK(xg_history_read(&history, 1, all) == XG_HISTORY_RECORDS - 2, "one is damaged");
    XT_CHECK(truncate(path, 1000) == 0 && xg_history_read(&history, 1, all) == 0, "truncated");
    past = record(1, TODAY);
    XT_CHECK(xg_history_store(&history, &past) && xg_history_find(&history, 1, &past), "replaced");
}

/* A writer that was killed, a name that cannot be replaced, a full disk, no folder. */
static void test_faults(const char *home)
{
    struct xg_history history;
    struct xg_past past = record(5, TODAY);
    char new_path[PATH_MAX + 16];
    const struct timeval old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct rlimit before;
    open_in(&history, home, true);
    snprintf(new_path, sizeof new_path, "%s/05.new", history.folder);
    xt_write(new_path, "");
    XT_CHECK(!xg_history_store(&history, &past), "another process writes");
    XT_CHECK(utimes(new_path, old) == 0 && xg_history_store(&history, &past), "abandoned");
    XT_CHECK(mkdir(xt_path(history.folder, "06"), 0700) == 0, "no folder");
    past = record(6, TODAY);
    XT_CHECK(!xg_history_store(&history, &past) && access(xt_path(history.folder, "06.new"), F_OK),
             "the rename fails, and nothing is left behind");
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_max = before.rlim_max});
    past = record(5 + XG_HISTORY_FILES, TODAY);
    XT_CHECK(!xg_history_store(&history, &past), "a full disk");
    setrlimit(RLIMIT_FSIZE, &before);
    XT_CHECK(access(new_path, F_OK) != 0 && xg_history_find(&history, 5, &past),
             "the old file stays");
    xt_write(xt_path(home, "file"), "");
    setenv("XDG_CACHE_HOME", xt_path(home, "file"), 1);
    XT_CHECK(!xg_history_open(&history, true, xg_conf_environment),
             "a home that cannot be written");
}

/* Processes at once: each of one program, then each of a program of its own. */
static void test_crowd(const char *home)
{
    enum { CROWD = 64 };
    struct xg_history history;
    struct xg_past past;
    open_in(&history, home, true);
    for (int distinct = 0; distinct < 2; distinct++) {
        int stored = 0, status;
        for (int i = 0; i < CROWD; i++)
            if (fork() == 0) {
                past = record(distinct ? 1000 + (uint64_t)i : 900, TODAY);
                _exit(!xg_history_store(&history, &past));
            }
        for (int i = 0; i < CROWD; i++)
            stored += wait(&status) > 0 && status == 0;
        XT_CHECK(stored >= (distinct ? CROWD - 4 : 1), "%d of %d stored", stored, CROWD);
    }
    XT_CHECK(xg_history_find(&history, 900, &past), "whole");
    for (int i = 0; i < XG_HISTORY_FILES; i++) {
        char name[8];
        snprintf(name, sizeof name, "%02d.new", i);
        XT_CHECK(access(xt_path(history.folder, name), F_OK) != 0, "%s is left", name);
    }
}

/* A shorter time counts at once, a longer one a little; another machine's are not used. */
static void test_starts(const char *home)
{
    struct xg_history history;
    double takes_s[XG_RESOURCE_COUNT] = {9, 8, 7};
    open_in(&history, home, true);
    xg_history_starts(&history, MACHINE, takes_s);
    XT_CHECK(takes_s[0] == 9 && takes_s[2] == 7, "nothing measured");
    static const struct {
        double took_s, kept_s;
    } table[] = {{9, 0.45},       {0.25, 0.25},       {0.5, 0.28125},
                 {5, 0.31640625}, {0.01, 0.31640625}, {0.1, 0.158203125}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        XT_CHECK(xg_history_start_took(&history, MACHINE, XG_RESOURCE_GPU, 0.4, table[i].took_s),
                 "%s", strerror(errno));
        xg_history_starts(&history, MACHINE, takes_s);
        XT_CHECK(fabs(takes_s[0] - table[i].kept_s) < 1e-5 && takes_s[2] == 7, "%g s: %g",
                 table[i].took_s, takes_s[0]);
    }
    history.key[1]++;
    takes_s[0] = 9;
    xg_history_starts(&history, MACHINE, takes_s);
    XT_CHECK(takes_s[0] == 9, "another key");
}

int main(void)
{
    char folder[] = "/tmp/xgemm-history-XXXXXX", home[sizeof folder + 8];
    if (!mkdtemp(folder))
        return XT_HARD;
    test_classify();
    test_describe(folder);
    test_promise();
    test_belief();
    test_vain();
    test_ratio();
    test_hash();
    static void (*const tests[])(const char *) = {test_records, test_faults, test_crowd,
                                                  test_starts};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        snprintf(home, sizeof home, "%s/%d", folder, (int)i);
        setenv("XDG_CACHE_HOME", home, 1);
        XT_CHECK(mkdir(home, 0700) == 0, "%s", home);
        tests[i](home);
    }
    xt_remove(folder);
    return xt_done();
}
