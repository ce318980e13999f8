/* SPDX-License-Identifier: MIT */
/* Reads a configuration file whole and parses it in place. */
#include "base/conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* --- Lines --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Removes blanks at both ends and terminates the text at its new *end. */
static char *trim(char *text, char *end)
{
    while (end > text && is_blank(end[-1]))
        end--;
    *end = '\0';
    return text + strspn(text, " \t");
}

/* True if a line has a control character, which could steer a message, a terminal or a shell. */
static bool has_control(const char *text, const char *end)
{
    for (; text < end; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return true;
    return false;
}

static char *find_comment(char *text, char *end)
{
    for (char *at = text; at < end; at++)
        if (*at == '#' && (at == text || is_blank(at[-1])))
            return at;
    return end;
}

/* False: the line is empty or a comment. */
static bool parse_line(struct xg_conf_line *line, char *text, char *end)
{
    end = find_comment(text, end);
    if (has_control(text, end)) {
        line->fault = "a control character";
        return true;
    }
    text = trim(text, end);
    if (!*text)
        return false;
    char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        line->fault = "no NAME = value";
        return true;
    }
    line->value = trim(equals + 1, equals + strlen(equals));
    line->name = trim(text, equals);
    if (strpbrk(line->name, " \t") || strchr(line->value, '\t'))
        *line = (struct xg_conf_line){.number = line->number, .fault = "no NAME = value"};
    return true;
}

static void set_fault(struct xg_conf_file *file, const char *fault)
{
    file->lines[0] = (struct xg_conf_line){.fault = fault};
    file->count = 1;
}

void xg_conf_file_parse(struct xg_conf_file *file, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    char *at = file->text, *end = at + bytes;
    if (bytes >= sizeof mark - 1 && !memcmp(at, mark, sizeof mark - 1))
        at += sizeof mark - 1;
    file->count = 0;
    for (int number = 1; at < end; number++) {
        char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        char *next = feed ? feed + 1 : end;
        struct xg_conf_line line = {.number = number};
        if (feed && stop > at && stop[-1] == '\r')
            stop--;
        if (parse_line(&line, at, stop)) {
            file->lines[file->count++] = line;
            if (file->count == XG_CONF_FILE_LINES) {
                file->lines[file->count - 1] =
                    (struct xg_conf_line){.number = number, .fault = "more lines than are read"};
                return;
            }
        }
        at = next;
    }
}

/* --- The file ------------------------------------------------------------------------------ */

/* Reads one byte more than allowed, which shows whether the file is too large. */
static void read_opened(struct xg_conf_file *file, int fd)
{
    struct stat status;
    ssize_t bytes;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        set_fault(file, "is no regular file");
    else if ((bytes = xg_file_read(fd, file->text, sizeof file->text)) < 0)
        set_fault(file, "cannot be read");
    else if (bytes > XG_CONF_FILE_BYTES)
        set_fault(file, "is larger than 64 KiB");
    else
        xg_conf_file_parse(file, (size_t)bytes);
}

static int open_file(const char *path, enum xg_conf_file_choice choice)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    return choice == XG_CONF_FILE_FOUND ? xg_file_open(path, flags, 0) : open(path, flags);
}

void xg_conf_file_read(struct xg_conf_file *file, enum xg_conf_file_choice choice)
{
    struct stat status;
    int error = errno, fd = -1;
    file->count = 0;
    /* Checked before opening: opening a device may have effects. */
    if (stat(file->path, &status) != 0) {
        if (choice == XG_CONF_FILE_NAMED)
            set_fault(file, "is not there");
    } else if (!S_ISREG(status.st_mode)) {
        set_fault(file, "is no regular file");
    } else if ((fd = open_file(file->path, choice)) < 0) {
        set_fault(file, "cannot be opened");
    } else {
        read_opened(file, fd);
        close(fd);
    }
    errno = error;
}
