/* SPDX-License-Identifier: MIT */
/* Settings: defaults, long values, the help text, and the settings of the process.
 * tests/fuzz/text.c tests the values of each setting. */
#include <unistd.h>

#include "src/base/conf.h"
#include "src/base/problem.h"
#include "tests/support/files.h"
#include "tests/support/xt.h"

struct environment {
    const char *name, *value; /* the one variable that is set */
    int reports;
    char text[1024]; /* of the last report */
};

static const char *lookup(void *ctx, const char *name)
{
    const struct environment *env = ctx;

    return env->name && !strcmp(name, env->name) ? env->value : NULL;
}

static void report(void *ctx, const char *text)
{
    struct environment *env = ctx;

    env->reports++;
    snprintf(env->text, sizeof env->text, "%s", text);
}

/* Parses with one variable set; the caller frees the result. */
static struct xg_conf parse(struct environment *env, const char *name, const char *value)
{
    struct xg_conf conf;

    *env = (struct environment){.name = name, .value = value};
    xg_conf_parse(&conf, lookup, report, env);
    return conf;
}

static void test_defaults(void)
{
    struct environment env = {.name = NULL};
    struct xg_conf conf, zero;

    memset(&zero, 0, sizeof zero);
    memset(&conf, 0xff, sizeof conf);
    xg_conf_parse(&conf, lookup, report, &env);
    XT_CHECK(!memcmp(&conf, &zero, sizeof conf), "nothing set");
    XT_CHECK(conf.mode == XG_MODE_AUTO && conf.math == XG_MATH_ACCURATE, "choices");
    XT_CHECK(env.reports == 0, "%s", env.text);
}

static void test_strings(void)
{
    char value[] = "tiled";
    struct environment env;
    struct xg_conf kept = parse(&env, "XGEMM_KERNEL", value);

    XT_CHECK(kept.kernel && kept.kernel != value && !strcmp(kept.kernel, "tiled"), "copied");
    xg_conf_fini(&kept);
    XT_CHECK(kept.kernel == NULL, "freed");
}

static void test_operations(void)
{
    struct environment env;
    struct xg_conf standard = {0}, conf = parse(&env, "XGEMM_OPERATIONS", "dgemm");
    for (int kind = 0; kind < XG_KIND_COUNT; kind++) {
        XT_CHECK(xg_conf_operates(&standard, kind), "the default: %s", xg_kind_name(kind));
        XT_CHECK(xg_conf_operates(&conf, kind) == (kind == xg_kind(XG_OP_GEMM, XG_TYPE_D)), "%s",
                 xg_kind_name(kind));
    }
}

static void test_long_value(void)
{
    static char value[100000];
    struct environment env;
    struct xg_conf conf;

    memset(value, 'x', sizeof value - 1);
    conf = parse(&env, "XGEMM_MODE", value);
    XT_CHECK(env.reports == 1 && strlen(env.text) < 512, "%zu", strlen(env.text));
    xg_conf_fini(&conf);
    conf = parse(&env, "XGEMM_KERNEL", value);
    XT_CHECK(env.reports == 0 && strlen(conf.kernel) == sizeof value - 1, "kept whole");
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

int main(void)
{
    test_defaults();
    test_strings();
    test_operations();
    test_long_value();
    test_help();
    test_process();
    return xt_done();
}
