/* SPDX-License-Identifier: MIT */
/* The readers of text: values of settings, lines of configuration files, calibration files. A
 * second statement of the rules gives the expected result of each. Every input goes to all three
 * readers. */
#include <errno.h>
#include <math.h>

#include "fuzz.h"
#include "src/base/conf.h"
#include "src/machine/calibration.h"

long fuzz_reached;

enum { SETTINGS, LINES, CALIBRATION, READERS };

static long reached[READERS]; /* like fuzz_reached, for each reader */

/* --- Settings ------------------------------------------------------------------------------ */

enum { SETTINGS_MAX = 32, VALUE_BYTES = 48 };

/* The environment is drawn while the parser asks for its variables. */
struct environment {
    struct fuzz_bytes bytes;
    uint64_t set; /* a bit for each variable */
    struct variable {
        const char *name;
        char value[VALUE_BYTES];
        bool reported;
    } variables[SETTINGS_MAX];
    int count, judged;
};

/* Values that are right or nearly right for some setting; a bar ends each. */
static const char values[] =
    "auto|cpu|gpu|compare|GPU|gpux| gpu|accurate|strict|tf32|fp64|leave|wait|short|keep|"
    "0|1|2|3|4|00|007|256|257|1023|1024|12345|-1| 1|+1|1 |0x1|yes|true|4294967297|2147483647|"
    "2147483648|9223372036854|9223372036854775807|9223372036854775808|99999999999999999999|"
    "1K|1k|3K|4K|512m|4G|1T|1KK|G|4GB|1.5G|1P|8388607T|8388608T|99999999999G|"
    "1.00|.5|0.01|1.01|-0.5|0,01|1%|nan|1e-2|.|1.|0.5.|"
    "0,2,3|3,0,11|0,|,0|0, 1|1,,2|all|sgemm|zsyrk|sgemm,dgemm|dgemm,dgemm|sgemm_batch|"
    "zgemm_batch_strided|sgemm,,all|csyrk,|,sgemm|sgemm, dgemm|gemm|sgem|SGEMM|sgemm_|";

/* Copies the word with this number from a list whose words end with bars. Returns its length. */
static size_t take_word(const char *list, int number, char *text)
{
    const char *word = list;
    while (number--) {
        word = strchr(word, '|') + 1;
        word = *word ? word : list;
    }
    size_t length = strcspn(word, "|");
    memcpy(text, word, length);
    text[length] = '\0';
    return length;
}

static const char *lookup(void *ctx, const char *name)
{
    struct environment *env = ctx;
    struct variable *variable = &env->variables[env->count++];
    FUZZ_CHECK(env->count <= SETTINGS_MAX, "%s", name);
    variable->name = name;
    if (!(env->set >> env->count & 1))
        return NULL;
    uint8_t kind = fuzz_byte(&env->bytes);
    if (kind < 160)
        take_word(values, kind, variable->value);
    else
        fuzz_string(&env->bytes, variable->value, VALUE_BYTES);
    return variable->value;
}

static struct variable *find(struct environment *env, const char *name)
{
    for (int i = 0; i < env->count; i++)
        if (!strcmp(env->variables[i].name, name))
            return &env->variables[i];
    FUZZ_CHECK(false, "the parser has not asked for %s", name);
    return NULL;
}

static void report(void *ctx, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    struct variable *variable = find(ctx, name);
    FUZZ_CHECK(!variable->reported && strstr(text, variable->value) && strstr(text, "accepted: "),
               "%s", text);
    variable->reported = true;
}

/* The value of a variable; NULL: it is unset or empty. */
static const char *value_of(struct environment *env, const char *name)
{
    const char *value = find(env, name)->value;
    return *value ? value : NULL;
}

/* Checks one setting. good: the variable has a value that the setting takes; any other value must
 * be reported. right: the field has the value that it must have. */
static void judge(struct environment *env, const char *name, bool good, bool right)
{
    const struct variable *variable = find(env, name);
    FUZZ_CHECK(variable->reported == (*variable->value && !good), "%s=%s", name, variable->value);
    FUZZ_CHECK(right, "%s=%s", name, variable->value);
    env->judged++;
}

static void check_choice(struct environment *env, const char *name, const char *words, int value)
{
    const char *text = value_of(env, name);
    int index = 0;
    for (; text && *words && strcmp(words, text) != 0; index++)
        words += strlen(words) + 1;
    bool good = text && *words;
    judge(env, name, good, value == (good ? index : 0));
}

/* strtoull's reading of a number; -1: the text is no number, or a number above most. */
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

static void check_number(struct environment *env, const char *name, bool suffix, int64_t most,
                         int64_t value)
{
    const char *text = value_of(env, name);
    int64_t number = text ? number_of(text, suffix, most) : -1;
    judge(env, name, number >= 0, value == (number < 0 ? 0 : number));
    reached[SETTINGS] += number > 0;
}

/* Digits with at most one point, and a value of at most 1. The parser may round a value just above
 * 1. */
static void check_fraction(struct environment *env, const char *name, double value)
{
    const char *text = value_of(env, name), *point = text ? strchr(text, '.') : NULL;
    double number = text ? strtod(text, NULL) : 0;
    bool good = text && strspn(text, "0123456789.") == strlen(text) &&
                strpbrk(text, "0123456789") && !(point && strchr(point + 1, '.')) &&
                (number <= 1 || (number < 1 + 1e-12 && !find(env, name)->reported));
    judge(env, name, good, good ? fabs(value - number) < 1e-12 : value == 0);
}

static void check_string(struct environment *env, const char *name, const char *value)
{
    const char *text = value_of(env, name);
    judge(env, name, text, text ? value && !strcmp(text, value) : !value);
}

/* Each operation with its types, in the order of their bits. */
static const struct {
    const char *name, *types;
} operations[] = {{"gemm", "sdcz"},
                  {"syrk", "sdcz"},
                  {"herk", "cz"},
                  {"symm", "sdcz"},
                  {"hemm", "cz"},
                  {"syr2k", "sdcz"},
                  {"her2k", "cz"},
                  {"trmm", "sdcz"},
                  {"trsm", "sdcz"},
                  {"gemmt", "sdcz"},
                  {"gemv", "sdcz"},
                  {"gemm_batch", "sdcz"},
                  {"gemm_batch_strided", "sdcz"}};

/* The bit of a name, or every bit for all; 0: no operation has that name. */
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

static uint64_t ordinal_bits(const char *text)
{
    return number_of(text, false, 1023) >= 0;
}

/* The bits of the items of a list, with commas between them; 0: an item has none. */
static uint64_t list_bits(const char *text, uint64_t (*bits)(const char *item))
{
    uint64_t all = 0, found = text != NULL;
    char copy[VALUE_BYTES], *rest = copy, *item;
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    while (found && (item = strsep(&rest, ",")))
        all |= found = bits(item);
    return found ? all : 0;
}

static void check_ordinals(struct environment *env, const char *name, const char *value)
{
    const char *text = value_of(env, name);
    bool good = list_bits(text, ordinal_bits) != 0;
    judge(env, name, good, good ? value && !strcmp(value, text) : !value);
}

static void check_operations(struct environment *env, const char *name, uint64_t value)
{
    uint64_t expected = list_bits(value_of(env, name), operation_bits);
    judge(env, name, expected != 0, value == expected);
}

static void check_settings(struct fuzz_bytes bytes)
{
    struct environment env = {.set = fuzz_word(&bytes, 4)};
    struct xg_conf conf;
    env.bytes = bytes;
    xg_conf_parse(&conf, lookup, report, &env);
    check_choice(&env, "XGEMM_MODE", "auto\0cpu\0gpu\0compare\0", (int)conf.mode);
    check_choice(&env, "XGEMM_MATH", "accurate\0strict\0tf32\0", (int)conf.math);
    check_choice(&env, "XGEMM_LAPACK", "1\0000\0", (int)conf.lapack);
    check_choice(&env, "XGEMM_HISTORY", "on\0off\0", (int)conf.history);
    check_choice(&env, "XGEMM_RESIDENT", "auto\0off\0", (int)conf.resident);
    check_choice(&env, "XGEMM_EXIT", "leave\0wait\0", (int)conf.exit);
    check_choice(&env, "XGEMM_SPIN", "auto\0short\0keep\0", (int)conf.spin);
    check_number(&env, "XGEMM_MEM_LIMIT", true, INT64_MAX, conf.mem_limit_bytes);
    check_number(&env, "XGEMM_VERBOSE", false, 3, conf.verbose);
    check_number(&env, "XGEMM_STAGE_THREADS", false, 256, conf.stage_threads);
    check_number(&env, "XGEMM_STATS", false, 1, conf.stats);
    check_number(&env, "XGEMM_TIMEOUT_MS", false, INT32_MAX, conf.timeout_ms);
    check_number(&env, "XGEMM_REPRODUCIBLE", false, 1, conf.reproducible);
    check_fraction(&env, "XGEMM_VERIFY", conf.verify);
    check_ordinals(&env, "XGEMM_DEVICES", conf.devices);
    check_operations(&env, "XGEMM_OPERATIONS", conf.operations);
    check_string(&env, "XGEMM_KERNEL", conf.kernel);
    check_string(&env, "XGEMM_CPU_BLAS", conf.cpu_blas);
    check_string(&env, "XGEMM_LOG", conf.log);
    check_string(&env, "XGEMM_TRACE", conf.trace);
    check_string(&env, "XGEMM_ACCOUNT", conf.account);
    check_string(&env, "XGEMM_TAPE", conf.tape);
    /* Other code reads these; the parser takes any value. */
    judge(&env, "XGEMM_CONFIG", true, true);
    judge(&env, "XGEMM_SHIM_LIB", true, true);
    judge(&env, "XGEMM_DOCTOR_FOLDER", true, true);
    FUZZ_CHECK(env.judged == env.count, "%d of %d settings", env.judged, env.count);
    xg_conf_fini(&conf);
}

/* --- Lines of configuration files ---------------------------------------------------------- */

enum { TEXT_BYTES = 512 };

/* Compares one line of the text with the next one that the parser has found, unless the line is
 * empty or a comment. Returns how many it compared. */
static int check_line(const struct xg_conf_line *line, int left, int number, const char *from,
                      size_t length)
{
    char text[TEXT_BYTES + 1], name[TEXT_BYTES + 1];
    bool control = false;
    int at = 0;
    for (size_t i = 0; i < length; i++)
        if (from[i] == '#' && (i == 0 || from[i - 1] == ' ' || from[i - 1] == '\t'))
            length = i;
        else
            control |= (unsigned char)from[i] < 32 ? from[i] != '\t' : from[i] == 127;
    memcpy(text, from, length);
    text[length] = '\0';
    if (!control && strspn(text, " \t") == length)
        return 0;
    FUZZ_CHECK(left > 0 && line->number == number, "line %d", number);
    sscanf(text, " %512[^= \t] =%n", name, &at);
    char *value = text + at + strspn(text + at, " \t"), *end = text + length;
    while (end > value && strchr(" \t", end[-1]))
        *--end = '\0';
    if (control || !at || strchr(value, '\t')) {
        FUZZ_CHECK(line->fault && !line->name && !line->value, "line %d", number);
        return 1;
    }
    FUZZ_CHECK(!line->fault && !strcmp(line->name, name) && !strcmp(line->value, value),
               "line %d: %s", number, line->fault ? line->fault : line->name);
    reached[LINES]++;
    return 1;
}

/* Puts a known line in front of bytes that lines are made of, or takes any bytes. */
static size_t take_text(struct fuzz_bytes *bytes, char *text)
{
    static const char letters[] = "\n\n\n\r\n====  \t#AB_x1,\0\x1b\xef";
    static const char lines[] =
        "A=b|A=b\n|A=b\r\n|\t A \t=  b c\t\n|A = b # of course|A = b#c|A = b=c|A =|A = # none|"
        "A = \"b\"|\xef\xbb\xbf|A = caf\xc3\xa9|A|= b|A B = c|export A=b|A = b\tc|A = b\x1b[2J|"
        "A = b\r|A = b\rc\n|";
    uint8_t kind = fuzz_byte(bytes);
    bool raw = kind < 32;
    size_t length = kind < 128 ? 0 : take_word(lines, kind, text);
    while (bytes->left && length < TEXT_BYTES) {
        uint8_t byte = fuzz_byte(bytes);
        text[length++] = raw ? (char)byte : letters[byte % (sizeof letters - 1)];
    }
    return length;
}

static void check_lines(struct fuzz_bytes bytes)
{
    static struct xg_conf_file file;
    char text[TEXT_BYTES];
    size_t length = take_text(&bytes, text);
    memcpy(file.text, text, length);
    xg_conf_file_parse(&file, length);
    int taken = 0, number = 1;
    const char *at = text, *end = text + length;
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        at += 3;
    for (; at < end && taken < XG_CONF_FILE_LINES - 1; number++) {
        const char *stop = at;
        while (stop < end && *stop != '\n')
            stop++;
        bool carriage = stop < end && stop > at && stop[-1] == '\r';
        taken += check_line(&file.lines[taken], file.count - taken, number, at,
                            (size_t)(stop - at) - carriage);
        at = stop + 1;
    }
    FUZZ_CHECK(taken == file.count || at < end, "%d of %d", taken, file.count);
}

/* --- Calibration files --------------------------------------------------------------------- */

static const struct xg_calibration_key key = {.cpu = "A CPU (R) @ 2.00GHz",
                                              .cores = 16,
                                              .threads = 16,
                                              .gpu = "A GPU",
                                              .driver = "580.1",
                                              .blas = "libblas.so.3 1234"};

/* Changes, removes and inserts some bytes. Returns how many changes it drew. */
static int damage(struct fuzz_bytes *bytes, char text[XG_CALIBRATION_TEXT_BYTES])
{
    int count = 0;
    for (; bytes->left; count++) {
        size_t length = strlen(text), at = fuzz_word(bytes, 2) % (length + 1);
        uint8_t kind = fuzz_byte(bytes), byte = fuzz_byte(bytes);
        if (kind < 90) /* mostly another digit in place of a digit */
            text[at] = at == length                         ? '\0'
                       : text[at] >= '0' && text[at] <= '9' ? "0123456789"[byte % 10]
                                                            : text[at];
        else if (kind < 120)
            text[at] = at == length ? '\0' : (char)byte;
        else if (kind < 160)
            memmove(&text[at], &text[at + (at < length)], length + 1 - at - (at < length));
        else if (kind < 200 && length + 1 < XG_CALIBRATION_TEXT_BYTES) {
            memmove(&text[at + 1], &text[at], length + 1 - at);
            text[at] = (char)(byte ? byte : '0');
        }
    }
    return count;
}

/* Sets each fitted figure of the side to a number within its bounds, or to one that printing must
 * clamp. */
static void take_figures(struct fuzz_bytes *bytes, enum xg_side side, struct xg_model *model)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, -1, 0, 1e300};
    double least, most, *figure;
    for (int i = 0; (figure = xg_calibration_figure(model, side, i, &least, &most)); i++) {
        uint8_t byte = fuzz_byte(bytes);
        *figure = byte < 6 ? wild[byte] : least * pow(most / least, (byte - 6) / 249.0);
    }
}

static bool within(struct xg_model *model, enum xg_side side)
{
    double least, most, *figure;
    for (int i = 0; (figure = xg_calibration_figure(model, side, i, &least, &most)); i++)
        if (!(*figure >= least * (1 - 1e-12) && *figure <= most * (1 + 1e-12)))
            return false;
    return true;
}

/* True if the text is the printed one, except for zeros before numbers. */
static bool is_canonical(const char *text, const char *printed)
{
    for (char last = '\n'; *printed; last = *printed++, text++) {
        while (last == '=' && *text == '0')
            text++;
        if (*text != *printed)
            return false;
    }
    return !*text;
}

static void check_calibration(struct fuzz_bytes bytes)
{
    char text[XG_CALIBRATION_TEXT_BYTES], again[sizeof text], others[2][sizeof text];
    uint8_t kind = fuzz_byte(&bytes);
    enum xg_side side = kind & 1 ? XG_SIDE_GPU : XG_SIDE_CPU;
    enum xg_side other = kind & 1 ? XG_SIDE_CPU : XG_SIDE_GPU;
    struct xg_model printed, model, before;
    memset(&model, 0, sizeof(model));
    xg_model_init(&model, key.cores);
    printed = before = model;
    take_figures(&bytes, side, &printed);
    size_t length = xg_calibration_print(text, &key, side, &printed);
    FUZZ_CHECK(length == strlen(text) && length < 1000, "%zu characters", length);
    bool whole = kind >= 8 && !damage(&bytes, text);
    if (kind < 8)
        fuzz_string(&bytes, text, sizeof(text));
    bool taken = xg_calibration_parse(text, &key, side, &model);
    FUZZ_CHECK(taken || !whole, "refused, though whole:\n%s", text);
    if (!taken) {
        FUZZ_CHECK(!memcmp(&model, &before, sizeof(model)), "refused, but the model changed");
        return;
    }
    reached[CALIBRATION]++;
    FUZZ_CHECK(within(&model, side), "a figure is out of bounds:\n%s", text);
    xg_calibration_print(again, &key, side, &model);
    FUZZ_CHECK(is_canonical(text, again), "taken:\n%sprinted:\n%s", text, again);
    xg_calibration_print(others[0], &key, other, &before);
    xg_calibration_print(others[1], &key, other, &model);
    FUZZ_CHECK(!strcmp(others[0], others[1]), "the other side became\n%s", others[1]);
    before = model;
    FUZZ_CHECK(xg_calibration_parse(again, &key, side, &model), "its own text:\n%s", again);
    FUZZ_CHECK(!memcmp(&model, &before, sizeof(model)), "its own text means another machine");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    check_settings(bytes);
    check_lines(bytes);
    check_calibration(bytes);
    fuzz_reached = reached[0];
    for (int i = 1; i < READERS; i++)
        fuzz_reached = reached[i] < fuzz_reached ? reached[i] : fuzz_reached;
    return 0;
}
