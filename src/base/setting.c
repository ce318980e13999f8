/* SPDX-License-Identifier: MIT */
/* Parses values of settings strictly; finds the setting that a misspelt name means. */
#include "base/setting.h"

#include <stdlib.h>
#include <string.h>

#include "base/problem.h"

/* --- Values -------------------------------------------------------------------------------- */

static bool parse_choice(const struct xg_setting *setting, const char *text, int *out)
{
    for (int i = 0; i < XG_SETTING_CHOICES && setting->choices[i]; i++) {
        if (!strcmp(text, setting->choices[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* Parses digits, without sign, blank or overflow; *end is the first character after them. */
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

static bool parse_number(const struct xg_setting *setting, const char *text, bool suffix,
                         int64_t *out)
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

/* Parses digits with or without a point, in any locale. */
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

static bool check_ordinals(const struct xg_setting *setting, const char *text)
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

/* Sets one bit per name; "all" sets every bit. */
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

union value {
    int word;
    int64_t number;
    double fraction;
    uint64_t kinds;
    char *copy;
};

/* Parses into *value, whose first `bytes` bytes are the field's; a string is not copied. */
static bool parse(const struct xg_setting *setting, const char *text, union value *value,
                  size_t *bytes)
{
    int64_t number;
    switch (setting->kind) {
    case XG_SETTING_ELSEWHERE:
        *bytes = 0;
        return true;
    case XG_SETTING_CHOICE:
        *bytes = sizeof value->word;
        return parse_choice(setting, text, &value->word);
    case XG_SETTING_INT:
        *bytes = sizeof value->word;
        if (!parse_number(setting, text, false, &number))
            return false;
        value->word = (int)number;
        return true;
    case XG_SETTING_FRACTION:
        *bytes = sizeof value->fraction;
        return parse_fraction(text, &value->fraction);
    case XG_SETTING_SIZE:
        *bytes = sizeof value->number;
        return parse_number(setting, text, true, &value->number);
    case XG_SETTING_OPERATIONS:
        *bytes = sizeof value->kinds;
        return parse_operations(text, &value->kinds);
    case XG_SETTING_ORDINALS:
        *bytes = sizeof value->copy;
        return check_ordinals(setting, text);
    case XG_SETTING_STRING:
        *bytes = sizeof value->copy;
        return true;
    }
    return false;
}

static bool is_string(const struct xg_setting *setting)
{
    return setting->kind == XG_SETTING_STRING || setting->kind == XG_SETTING_ORDINALS;
}

bool xg_setting_takes(const struct xg_setting *setting, const char *text)
{
    union value value;
    size_t bytes;
    return parse(setting, text, &value, &bytes);
}

bool xg_setting_store(const struct xg_setting *setting, const char *text, void *fields)
{
    union value value;
    size_t bytes;
    if (!parse(setting, text, &value, &bytes))
        return false;
    if (is_string(setting) && !(value.copy = strdup(text)))
        return false;
    memcpy((char *)fields + setting->offset, &value, bytes);
    return true;
}

void xg_setting_clear(const struct xg_setting *setting, void *fields)
{
    char *copy, *field = (char *)fields + setting->offset;
    if (!is_string(setting))
        return;
    memcpy(&copy, field, sizeof copy);
    free(copy);
    copy = NULL;
    memcpy(field, &copy, sizeof copy);
}

const char *xg_setting_default(const struct xg_setting *setting)
{
    static const char *const texts[] = {
        [XG_SETTING_ELSEWHERE] = "unset", [XG_SETTING_INT] = "0",  [XG_SETTING_FRACTION] = "0",
        [XG_SETTING_OPERATIONS] = "all",  [XG_SETTING_SIZE] = "0", [XG_SETTING_STRING] = "unset",
        [XG_SETTING_ORDINALS] = "unset",
    };
    return setting->kind == XG_SETTING_CHOICE ? setting->choices[0] : texts[setting->kind];
}

/* --- Names --------------------------------------------------------------------------------- */

const struct xg_setting *xg_setting_find(const struct xg_setting *table, int count,
                                         const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

static const char PREFIX[] = "XGEMM_";

/* Reads the name in capitals, without the prefix; returns its length, 0 if it is too long. */
static int read_name(const char *name, char letters[XG_SETTING_NAME_BYTES])
{
    int length = 0;
    for (; *name; name++) {
        if (length == XG_SETTING_NAME_BYTES)
            return 0;
        letters[length++] = (char)(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
    }
    const int skipped = (int)sizeof PREFIX - 1;
    if (length < skipped || memcmp(letters, PREFIX, (size_t)skipped) != 0)
        return length;
    memmove(letters, letters + skipped, (size_t)(length - skipped));
    return length - skipped;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Counts the edits between two texts: letters changed, added, removed, or swapped with a neighbour
 * (optimal string alignment). row[i % 3][j] is the count for the first i and j letters. */
static int count_edits(const char *a, int a_length, const char *b, int b_length)
{
    int row[3][XG_SETTING_NAME_BYTES + 1];
    for (int j = 0; j <= b_length; j++)
        row[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= b_length; j++) {
            now[j] =
                least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

const struct xg_setting *xg_setting_nearest(const struct xg_setting *table, int count,
                                            const char *name)
{
    char letters[XG_SETTING_NAME_BYTES], wanted[XG_SETTING_NAME_BYTES];
    const struct xg_setting *nearest = NULL;
    int length = read_name(name, letters), best = (length + 2) / 3 + 1;
    for (int i = 0; i < count && length > 0; i++) {
        if (!table[i].help)
            continue;
        int edits = count_edits(letters, length, wanted, read_name(table[i].name, wanted));
        if (edits < best) {
            best = edits;
            nearest = &table[i];
        }
    }
    return nearest;
}

/* --- Help ---------------------------------------------------------------------------------- */

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

void xg_setting_print(const struct xg_setting *table, int count, bool common, FILE *out)
{
    for (int i = 0; i < count; i++) {
        if (!table[i].help || (common && !table[i].common))
            continue;
        fprintf(out, "  %s=%s (default: %s)\n", table[i].name, table[i].accepts,
                xg_setting_default(&table[i]));
        print_wrapped(out, table[i].help, 6, 80);
    }
}
