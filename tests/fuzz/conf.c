/* SPDX-License-Identifier: MIT */
/* The environment against a second statement of what each setting takes. */
#include <errno.h>

#include "fuzz.h"
#include "src/base/conf.h"

long fuzz_reached;

enum { NAMES = 17, VALUE_BYTES = 48 };

static const char *const names[NAMES] = {
    "XGEMM_MODE",         "XGEMM_MATH",    "XGEMM_KERNEL",        "XGEMM_DEVICES",
    "XGEMM_MEM_LIMIT",    "XGEMM_VERBOSE", "XGEMM_STAGE_THREADS", "XGEMM_CPU_BLAS",
    "XGEMM_LOG",          "XGEMM_STATS",   "XGEMM_TRACE",         "XGEMM_TIMEOUT_MS",
    "XGEMM_REPRODUCIBLE", "XGEMM_EXIT",    "XGEMM_OPERATIONS",    "XGEMM_ACCOUNT",
    "XGEMM_SPIN",
};

struct environment {
    char values[NAMES][VALUE_BYTES];
    bool set[NAMES];
    bool reported[NAMES];
    int reports;
};

static const char *lookup(void *ctx, const char *name)
{
    const struct environment *env = ctx;
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(names[i], name))
            return env->set[i] ? env->values[i] : NULL;
    return NULL; /* a setting that this target does not know */
}

static void report(void *ctx, const char *text)
{
    struct environment *env = ctx;
    env->reports++;
    for (int i = 0; i < NAMES; i++) {
        size_t length = strlen(names[i]);
        if (!strncmp(text, names[i], length) && text[length] == '=')
            env->reported[i] = true;
    }
}

/* The value of a setting that is set and not empty, or NULL. */
static const char *value_of(const struct environment *env, int which)
{
    return env->set[which] && env->values[which][0] ? env->values[which] : NULL;
}

static void check_choice(const struct environment *env, int which, const char *words, int value)
{
    const char *text = value_of(env, which), *word = words;
    int expected = 0;
    bool known = false;
    for (int i = 0; *word && text && !known; i++, word += strlen(word) + 1)
        if (!strcmp(word, text)) {
            known = true;
            expected = i;
        }
    FUZZ_CHECK(value == expected, "%s=%s is %d", names[which], text ? text : "", value);
    FUZZ_CHECK(env->reported[which] == (text && !known), "%s=%s", names[which], text ? text : "");
    fuzz_reached += known;
}

/* strtoull's reading of a number; -1 where the text is not one, or more than most. */
static int64_t number_of(const char *text, bool suffix, int64_t most)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    unsigned __int128 whole = count;
    if (errno)
        return -1;
    if (suffix && *end) {
        const char *found = strchr("kKmMgGtT", *end);
        if (!found)
            return -1;
        whole <<= 10 * ((found - "kKmMgGtT") / 2 + 1);
        end++;
    }
    return *end || whole > (unsigned __int128)most ? -1 : (int64_t)whole;
}

static void check_number(const struct environment *env, int which, bool suffix, int64_t most,
                         int64_t value)
{
    const char *text = value_of(env, which);
    int64_t expected = text ? number_of(text, suffix, most) : 0;
    FUZZ_CHECK(value == (expected < 0 ? 0 : expected), "%s=%s is %lld", names[which],
               text ? text : "", (long long)value);
    FUZZ_CHECK(env->reported[which] == (expected < 0), "%s=%s", names[which], text ? text : "");
    fuzz_reached += expected > 0;
}

static void check_string(const struct environment *env, int which, const char *value)
{
    const char *text = value_of(env, which);
    FUZZ_CHECK(!text == !value && (!text || !strcmp(text, value)), "%s", names[which]);
    FUZZ_CHECK(!env->reported[which], "%s", names[which]);
}

/* Numbers up to 1023, with commas between. */
static void check_ordinals(const struct environment *env, int which, const char *value)
{
    const char *text = value_of(env, which);
    bool good = text != NULL;
    char copy[VALUE_BYTES], *rest = copy, *item;
    snprintf(copy, sizeof(copy), "%s", text ? text : "");
    while (good && (item = strsep(&rest, ",")))
        good = number_of(item, false, 1023) >= 0;
    FUZZ_CHECK(good ? value && !strcmp(value, text) : !value, "%s=%s", names[which],
               text ? text : "");
    FUZZ_CHECK(env->reported[which] == (text && !good), "%s=%s", names[which], text ? text : "");
    fuzz_reached += good;
}

/* Each operation with its types, in the order of their bits. */
static const struct {
    const char *name, *types;
} operations[] = {{"gemm", "sdcz"},  {"syrk", "sdcz"},       {"herk", "cz"},
                  {"symm", "sdcz"},  {"hemm", "cz"},         {"syr2k", "sdcz"},
                  {"her2k", "cz"},   {"trmm", "sdcz"},       {"trsm", "sdcz"},
                  {"gemmt", "sdcz"}, {"gemm_batch", "sdcz"}, {"gemm_batch_strided", "sdcz"}};

/* The bit of a name, or all of them; 0: it is none. */
static uint64_t operation_bits(const char *name)
{
    int bit = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        for (const char *type = operations[i].types; *type; type++, bit++)
            if (name[0] == *type && !strcmp(name + 1, operations[i].name))
                found = (uint64_t)1 << bit;
    return strcmp(name, "all") ? found : ((uint64_t)1 << bit) - 1;
}

/* Names with commas between. */
static void check_operations(const struct environment *env, int which, uint64_t value)
{
    const char *text = value_of(env, which);
    bool good = text != NULL;
    uint64_t expected = 0;
    char copy[VALUE_BYTES], *rest = copy, *item;
    snprintf(copy, sizeof(copy), "%s", text ? text : "");
    while (good && (item = strsep(&rest, ","))) {
        good = operation_bits(item) != 0;
        expected |= operation_bits(item);
    }
    FUZZ_CHECK(value == (good ? expected : 0), "%s=%s is %llx", names[which], text ? text : "",
               (unsigned long long)value);
    FUZZ_CHECK(env->reported[which] == (text && !good), "%s=%s", names[which], text ? text : "");
    fuzz_reached += good;
}

/* Near what a setting takes, right and wrong; a bar ends each. */
static const char near[] =
    "auto|cpu|gpu|compare|GPU|gpux| gpu|accurate|strict|tf32|fp64|leave|wait|short|keep|"
    "0|1|2|3|4|00|007|256|257|1023|1024|12345|-1| 1|+1|1 |0x1|yes|true|4294967297|2147483647|"
    "2147483648|9223372036854|9223372036854775807|9223372036854775808|99999999999999999999|"
    "1K|1k|3K|4K|512m|4G|1T|1KK|G|4GB|1.5G|1P|8388607T|8388608T|99999999999G|"
    "0,2,3|3,0,11|0,|,0|0, 1|1,,2|all|sgemm|zsyrk|sgemm,dgemm|dgemm,dgemm|sgemm_batch|"
    "zgemm_batch_strided|sgemm,,all|csyrk,|,sgemm|sgemm, dgemm|gemm|sgem|SGEMM|sgemm_|";

/* One of those, or any bytes. */
static void take_value(struct fuzz_bytes *bytes, char *value)
{
    uint8_t kind = fuzz_byte(bytes);
    const char *word = near;
    if (kind >= 160) {
        fuzz_string(bytes, value, VALUE_BYTES);
        return;
    }
    while (kind--) {
        word = strchr(word, '|') + 1;
        word = *word ? word : near;
    }
    snprintf(value, VALUE_BYTES, "%.*s", (int)strcspn(word, "|"), word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct environment env = {.reports = 0};
    struct xg_conf conf;
    uint64_t set = fuzz_word(&bytes, 3);
    for (int i = 0; i < NAMES; i++) {
        env.set[i] = set >> i & 1;
        if (env.set[i])
            take_value(&bytes, env.values[i]);
    }
    xg_conf_parse(&conf, lookup, report, &env);
    check_choice(&env, 0, "auto\0cpu\0gpu\0compare\0", (int)conf.mode);
    check_choice(&env, 1, "accurate\0strict\0tf32\0", (int)conf.math);
    check_string(&env, 2, conf.kernel);
    check_ordinals(&env, 3, conf.devices);
    check_number(&env, 4, true, INT64_MAX, conf.mem_limit_bytes);
    check_number(&env, 5, false, 3, conf.verbose);
    check_number(&env, 6, false, 256, conf.stage_threads);
    check_string(&env, 7, conf.cpu_blas);
    check_string(&env, 8, conf.log);
    check_number(&env, 9, false, 1, conf.stats);
    check_string(&env, 10, conf.trace);
    check_number(&env, 11, false, INT32_MAX, conf.timeout_ms);
    check_number(&env, 12, false, 1, conf.reproducible);
    check_choice(&env, 13, "leave\0wait\0", (int)conf.exit);
    check_operations(&env, 14, conf.operations);
    check_string(&env, 15, conf.account);
    check_choice(&env, 16, "auto\0short\0keep\0", (int)conf.spin);
    int reported = 0;
    for (int i = 0; i < NAMES; i++)
        reported += env.reported[i];
    FUZZ_CHECK(reported == env.reports, "%d reports of %d settings", env.reports, reported);
    xg_conf_fini(&conf);
    return 0;
}
