/* SPDX-License-Identifier: MIT */
/* Configuration files against a second statement of what a line says. */
#include "src/base/conf_file.h"
#include "fuzz.h"

long fuzz_reached;

enum { TEXT_BYTES = 512 };

static struct xg_conf_file file;

/* What lies between two places of a text. */
struct part {
    const char *at;
    int length;
};

static struct part strip(const char *from, const char *to)
{
    while (from < to && strchr(" \t", *from) && *from)
        from++;
    while (to > from && strchr(" \t", to[-1]) && to[-1])
        to--;
    return (struct part){from, (int)(to - from)};
}

static bool holds(struct part part, const char *letters)
{
    for (int i = 0; i < part.length; i++)
        if (part.at[i] && strchr(letters, part.at[i]))
            return true;
    return false;
}

static bool is_same(const char *text, struct part part)
{
    return text && strlen(text) == (size_t)part.length && !memcmp(text, part.at, strlen(text));
}

/* Checks the line of the parser that follows, if this one says anything; how many it took. */
static int check_line(const struct xg_conf_line *line, int left, int number, const char *from,
                      const char *to)
{
    const char *hash = from, *equals = from;
    bool control = false;
    while (hash < to && !(*hash == '#' && (hash == from || hash[-1] == ' ' || hash[-1] == '\t')))
        hash++;
    struct part all = strip(from, hash);
    for (int i = 0; i < (int)(hash - from); i++)
        control |= (unsigned char)from[i] < 32 ? from[i] != '\t' : from[i] == 127;
    if (!control && !all.length)
        return 0;
    FUZZ_CHECK(left > 0 && line->number == number, "line %d", number);
    while (equals < hash && *equals != '=')
        equals++;
    struct part name = strip(from, equals);
    struct part value = equals < hash ? strip(equals + 1, hash) : (struct part){hash, 0};
    if (control || equals == hash || !name.length || holds(name, " \t") || holds(value, "\t")) {
        FUZZ_CHECK(line->fault && !line->name && !line->value, "line %d", number);
        return 1;
    }
    FUZZ_CHECK(!line->fault && is_same(line->name, name) && is_same(line->value, value),
               "line %d: %s", number, line->fault ? line->fault : line->name);
    fuzz_reached++;
    return 1;
}

/* Mostly what lines are made of, or any bytes. */
static size_t take_text(struct fuzz_bytes *bytes, char *text)
{
    static const char letters[] = "\n\n\n\r\n====  \t#AB_x1,\0\x1b\xef";
    size_t length = 0;
    bool raw = fuzz_byte(bytes) < 32;
    while (bytes->left && length < TEXT_BYTES) {
        uint8_t byte = fuzz_byte(bytes);
        text[length++] = raw ? (char)byte : letters[byte % (sizeof letters - 1)];
    }
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
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
        const char *last = stop < end && stop > at && stop[-1] == '\r' ? stop - 1 : stop;
        taken += check_line(&file.lines[taken], file.count - taken, number, at, last);
        at = stop + 1;
    }
    FUZZ_CHECK(taken == file.count || at < end, "%d of %d", taken, file.count);
    return 0;
}
