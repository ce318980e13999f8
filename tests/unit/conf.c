/* SPDX-License-Identifier: MIT */
/* Settings: defaults, long values, the help text, those of the process, and configuration files:
 * limits, order, reports, misspelt names, paths. tests/fuzz/text.c tests the values of each setting
 * and how a line is read. Contract 10.8 (doc/contract.md). */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/base/problem.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

static char told[4096];

static void tell(void *ctx, const char *text)
{
    (void)ctx;
    size_t at = strlen(told);
    snprintf(told + at, sizeof told - at, "%s\n", text);
}

static void check_told(const char *what, const char *expected)
{
    XT_CHECK(!strcmp(told, expected), "%s:\n%s", what, told);
    told[0] = '\0';
}

/* --- Values ---------------------------------------------------------------------------------- */

/* The one variable that is set: its name and its value. */
static const char *lookup(void *variable, const char *name)
{
    const char *const *set = variable;
    return set[0] && !strcmp(name, set[0]) ? set[1] : NULL;
}

/* Parses with one variable set; the caller frees the result. */
static struct xg_conf parse_one(const char *name, const char *value)
{
    const char *variable[] = {name, value};
    struct xg_conf conf;
    memset(&conf, 0xff, sizeof conf);
    told[0] = '\0';
    xg_conf_parse(&conf, lookup, tell, variable);
    return conf;
}

static void test_defaults(void)
{
    struct xg_conf conf = parse_one(NULL, NULL), zero;
    memset(&zero, 0, sizeof zero);
    XT_CHECK(!memcmp(&conf, &zero, sizeof conf), "nothing set");
    XT_CHECK(conf.mode == XG_MODE_AUTO && conf.math == XG_MATH_ACCURATE, "choices");
    check_told("nothing set", "");
}

static void test_strings(void)
{
    char value[] = "tiled";
    struct xg_conf kept = parse_one("XGEMM_KERNEL", value);
    XT_CHECK(kept.kernel && kept.kernel != value && !strcmp(kept.kernel, "tiled"), "copied");
    xg_conf_fini(&kept);
    XT_CHECK(kept.kernel == NULL, "freed");
}

static void test_operations(void)
{
    struct xg_conf standard = {0}, conf = parse_one("XGEMM_OPERATIONS", "dgemm");
    for (int kind = 0; kind < XG_KIND_COUNT; kind++) {
        XT_CHECK(xg_conf_operates(&standard, kind), "the default: %s", xg_kind_name(kind));
        XT_CHECK(xg_conf_operates(&conf, kind) == (kind == xg_kind(XG_OP_GEMM, XG_TYPE_D)), "%s",
                 xg_kind_name(kind));
    }
}

static void test_long_value(void)
{
    static char value[100000];
    memset(value, 'x', sizeof value - 1);
    struct xg_conf conf = parse_one("XGEMM_MODE", value);
    XT_CHECK(strlen(told) < 512 && strchr(told, '\n') == told + strlen(told) - 1, "%s", told);
    xg_conf_fini(&conf);
    conf = parse_one("XGEMM_KERNEL", value);
    XT_CHECK(!*told && strlen(conf.kernel) == sizeof value - 1, "kept whole");
    xg_conf_fini(&conf);
}

static void test_help(void)
{
    static const char *const names[] = {
        "XGEMM_MODE=auto|cpu|gpu|compare (default: auto)",
        "XGEMM_MATH=accurate|strict|tf32 (default: accurate)",
        "XGEMM_KERNEL=",
        "XGEMM_DEVICES=",
        "XGEMM_MEM_LIMIT=",
        "XGEMM_STAGE_THREADS=0..256 (default: 0)",
        "XGEMM_CPU_BLAS=",
        "XGEMM_OPERATIONS=name[,name...] (default: all)",
        "XGEMM_VERBOSE=0..3 (default: 0)",
        "XGEMM_LOG=",
        "XGEMM_STATS=0|1 (default: 0)",
        "XGEMM_TRACE=",
        "XGEMM_VERIFY=0..1 (default: 0)",
        "XGEMM_REPRODUCIBLE=0|1 (default: 0)",
    };
    char *text = NULL;
    size_t size = 0, width = 0;
    FILE *out = open_memstream(&text, &size);

    xg_conf_print_help(out, false);
    fclose(out);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        XT_CHECK(strstr(text, names[i]), "%s", names[i]);
    for (const char *line = text; *line; line += width + 1) {
        width = strcspn(line, "\n");
        XT_CHECK(width > 0 && width <= 80, "%.*s", (int)width, line);
    }
    free(text);

    int common = 0;
    out = open_memstream(&text, &size);
    xg_conf_print_help(out, true);
    fclose(out);
    for (const char *at = text; (at = strstr(at, "  XGEMM_")); at++)
        common++;
    XT_CHECK(common == 8 && strstr(text, "XGEMM_MODE="), "%d settings for users", common);
    free(text);
}

/* The process reads its environment once, and reports a bad value once, to the file of XGEMM_LOG.
 */
static void test_process(void)
{
    char path[] = "xg_conf_XXXXXX";
    char text[2048];
    int fd = mkstemp(path);
    const struct xg_conf *conf;

    setenv("XGEMM_MODE", "compare", 1);
    setenv("XGEMM_STATS", "maybe", 1);
    setenv("XGEMM_LOG", path, 1);
    conf = xg_conf_get();
    XT_CHECK(conf->mode == XG_MODE_COMPARE && conf->stats == 0, "read");
    setenv("XGEMM_MODE", "cpu", 1);
    XT_CHECK(xg_conf_get() == conf && conf->mode == XG_MODE_COMPARE, "read once");

    xt_read(path, text, sizeof text);
    XT_CHECK(!strncmp(text, "xgemm: XGEMM_STATS=maybe ", 25), "%s", text);
    XT_CHECK(strchr(text, '\n') == text + strlen(text) - 1, "one line: %s", text);
    close(fd);
    unlink(path);
}

/* --- Files ----------------------------------------------------------------------------------- */

static struct xg_conf_file file;
static struct xg_conf_files files;

static void parse(const char *text, size_t bytes)
{
    memcpy(file.text, text, bytes);
    xg_conf_file_parse(&file, bytes);
}

static void test_limits(void)
{
    static char many[XG_CONF_FILE_BYTES];
    memset(many, 'x', sizeof many);
    many[1] = '=';
    parse(many, sizeof many);
    XT_CHECK(file.count == 1 && strlen(file.lines[0].value) == sizeof many - 2, "a long line");
    for (int i = 0; i < XG_CONF_FILE_LINES; i++)
        memcpy(many + 4 * i, "A=b\n", 4);
    parse(many, 4 * (XG_CONF_FILE_LINES - 1));
    XT_CHECK(file.count == XG_CONF_FILE_LINES - 1, "as many lines as there may be");
    parse(many, 4 * XG_CONF_FILE_LINES);
    XT_CHECK(file.count == XG_CONF_FILE_LINES && file.lines[file.count - 1].fault &&
                 file.lines[file.count - 1].number == XG_CONF_FILE_LINES,
             "one more");
}

/* --- Which value counts, and reports -----------------------------------------------------------
 */

static void give(void *ctx, const char *name, const char *value, const char *path, int line)
{
    char text[256];
    snprintf(text, sizeof text, "%s=%s %s:%d", name, value, path, line);
    tell(ctx, text);
}

static void set_file(struct xg_conf_file *to, const char *path, const char *text)
{
    strcpy(to->path, path);
    strcpy(to->text, text);
    xg_conf_file_parse(to, strlen(text));
}

static void test_order(void)
{
    set_file(&files.user, "u", "XGEMM_MATH = tf32\nXGEMM_SPIN =\nXGEMM_VERBOSE = 9\n");
    set_file(&files.system, "s",
             "XGEMM_MATH = strict\nXGEMM_SPIN = keep\nXGEMM_VERBOSE = 1\n"
             "XGEMM_MODE = cpu\nXGEMM_MODE = gpu\nXGEMM_MODE = none\n"
             "XGEMM_STATS = 1\n");
    setenv("XGEMM_STATS", "", 1);
    xg_conf_files_visit(&files, give, NULL);
    check_told("the environment, the user's, the system's, the last line of a file",
               "XGEMM_MODE=gpu s:5\nXGEMM_MATH=tf32 u:1\nXGEMM_VERBOSE=1 s:3\nXGEMM_SPIN= u:2\n");
    xg_conf_files_report(&files, tell, NULL);
    check_told("bad values",
               "u:3: XGEMM_VERBOSE=9 is not understood (accepted: 0..3); the line is ignored\n"
               "s:6: XGEMM_MODE=none is not understood (accepted: auto|cpu|gpu|compare); the line "
               "is ignored\n");
    unsetenv("XGEMM_STATS");
}

static void test_reports(void)
{
    set_file(&files.user, "u",
             "XGEMM_MOED = gpu\nmode = gpu\nXGEMM_NOTHING_LIKE_IT = 1\n"
             "XGEMM_CONFIG = x\nXGEMM_SHIM_LIB = x\nhello\nA\x01=b\n");
    files.system.count = 0;
    xg_conf_files_visit(&files, give, NULL);
    check_told("nothing", "");
    xg_conf_files_report(&files, tell, NULL);
    check_told("wrong lines", "u:1: XGEMM_MOED is not a setting; did you mean XGEMM_MODE?\n"
                              "u:2: mode is not a setting; did you mean XGEMM_MODE?\n"
                              "u:3: XGEMM_NOTHING_LIKE_IT is not a setting\n"
                              "u:4: XGEMM_CONFIG is read from the environment alone\n"
                              "u:5: XGEMM_SHIM_LIB is read from the environment alone\n"
                              "u:6: no NAME = value; the line is ignored\n"
                              "u:7: a control character; the line is ignored\n");
}

/* Checks which setting the report on a variable of the environment suggests: "" for none, NULL if
 * there is no report. */
static void check_meant(const char *name, const char *meant)
{
    char expected[256] = "";
    if (meant)
        snprintf(expected, sizeof expected, "%s is not a setting%s%s%s\n", name,
                 *meant ? "; did you mean " : "", meant, *meant ? "?" : "");
    setenv(name, "1", 1);
    xg_conf_environment_report(tell, NULL);
    check_told(name, expected);
    unsetenv(name);
}

static void test_names(void)
{
    char long_name[300] = "XGEMM_";
    memset(long_name + 6, 'X', sizeof long_name - 7);
    check_meant("XGEMM_MOED", "XGEMM_MODE");
    check_meant("XGEMM_MOD", "XGEMM_MODE");
    check_meant("XGEMM_MODES", "XGEMM_MODE");
    check_meant("XGEMM_mode", "XGEMM_MODE");
    check_meant("XGEMM_MEMLIMIT", "XGEMM_MEM_LIMIT");
    check_meant("XGEMM_DEVICE", "XGEMM_DEVICES");
    check_meant("XGEMM_VERBOSITY", "XGEMM_VERBOSE");
    check_meant("XGEMM_TIMEOUT", "XGEMM_TIMEOUT_MS");
    check_meant("XGEMM_CONF", "XGEMM_CONFIG");
    check_meant("XGEMM_TRAEC", "XGEMM_TRACE");
    check_meant("XGEMM_", "");
    check_meant("XGEMM_FOO", "");
    check_meant("XGEMM_DOCTOR_FOLDE", ""); /* users do not set the similar one */
    check_meant("XGEMM_DOCTOR_FOLDER", NULL);
    check_meant("XGEMM_TEST_REQUIRE_GPU", NULL);
    check_meant("XGEMM_SHIM_LIB", NULL);
    check_meant("XGEMM_MODE", NULL);
    check_meant("XGEM_MODE", NULL); /* another program may read it */
    setenv(long_name, "1", 1);
    xg_conf_environment_report(tell, NULL);
    XT_CHECK(strstr(told, " is not a setting\n") && strlen(told) < 128, "a long name: %s", told);
    told[0] = '\0';
    unsetenv(long_name);
}

/* --- Where the files are -------------------------------------------------------------------- */

static void check_given(const char *what, const char *expected)
{
    errno = ERANGE;
    xg_conf_files_read(&files, "system.conf");
    XT_CHECK(errno == ERANGE, "%s: errno %d", what, errno);
    xg_conf_files_report(&files, tell, NULL);
    xg_conf_files_visit(&files, give, NULL);
    check_told(what, expected);
}

static void test_places(void)
{
    char folder[] = "xg_conf_file_XXXXXX", home[4096];
    static char long_path[8192];
    if (!mkdtemp(folder) || chdir(folder) != 0 || !getcwd(home, sizeof home))
        exit(XT_HARD);
    unsetenv("XGEMM_CONFIG");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", home, 1);
    check_given("no file", "");
    xt_write("system.conf", "XGEMM_MODE=gpu\n");
    check_given("the system's", "XGEMM_MODE=gpu system.conf:1\n");
    mkdir(".config", 0700);
    mkdir(".config/xgemm", 0700);
    mkdir("xgemm", 0700);
    xt_write(".config/xgemm/xgemm.conf", "XGEMM_MATH=tf32\n");
    xt_write("xgemm/xgemm.conf", "XGEMM_STATS=1\n");
    xg_conf_files_read(&files, "system.conf");
    XT_CHECK(files.user.count == 1 && !strcmp(files.user.lines[0].name, "XGEMM_MATH"), "HOME");
    setenv("XDG_CONFIG_HOME", home, 1);
    xg_conf_files_read(&files, "system.conf");
    XT_CHECK(files.user.count == 1 && !strcmp(files.user.lines[0].name, "XGEMM_STATS"), "XDG");
    setenv("XDG_CONFIG_HOME", ".", 1); /* a relative path is ignored */
    xg_conf_files_read(&files, "system.conf");
    XT_CHECK(files.user.count == 1 && !strcmp(files.user.lines[0].name, "XGEMM_MATH"), "relative");
    setenv("HOME", ".", 1);
    check_given("no home", "XGEMM_MODE=gpu system.conf:1\n");
    setenv("XGEMM_CONFIG", "", 1);
    check_given("none", "");
    setenv("XGEMM_CONFIG", "xgemm/xgemm.conf", 1);
    check_given("another", "XGEMM_STATS=1 xgemm/xgemm.conf:1\n");
    setenv("XGEMM_CONFIG", "nowhere", 1);
    check_given("nowhere", "nowhere is not there\n");
    setenv("XGEMM_CONFIG", "xgemm", 1);
    check_given("a folder", "xgemm is no regular file\n");
    memset(long_path, 'x', sizeof long_path - 1);
    setenv("XGEMM_CONFIG", long_path, 1);
    xg_conf_files_read(&files, "system.conf");
    XT_CHECK(files.user.count == 1 && files.user.lines[0].fault, "a long path");
    if (chdir("..") == 0)
        xt_remove(folder);
}

int main(void)
{
    test_defaults();
    test_strings();
    test_operations();
    test_long_value();
    test_help();
    test_limits();
    test_order();
    test_reports();
    test_names();
    test_places();
    test_process();
    return xt_done();
}
