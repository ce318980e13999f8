/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* --- Arguments -------------------------------------------------------------------------------- */

/* An interpreter: names of its executable begin with this. */
struct interpreter {
    const char *prefix;
    const char *text;                    /* letters of options that give code as text */
    const char *module;                  /* letters of options that name a module */
    const char *script;                  /* letters of options that name a script */
    const char *valued;                  /* letters of other options that take an argument */
    const char *long_text, *long_script; /* the same as long options; NULL: none */
};

static const struct interpreter interpreters[] = {
    {"python", "c", "m", "", "WX", NULL, NULL}, {"pypy", "c", "m", "", "WX", NULL, NULL},
    {"R", "e", "", "f", "g", NULL, "--file="},  {"octave", "", "", "", "p", "--eval", NULL},
    {"perl", "eE", "", "", "I", NULL, NULL},    {"julia", "eE", "", "", "JtpLHC", "--eval", NULL},
};

/* Interpreters whose arguments are not understood here. */
static const char *const opaque[] = {"java",  "node",  "ruby", "dotnet", "mono", "lua", "php",
                                     "tclsh", "guile", "ld-",  "sh",     "bash", "dash"};

/* Modules that other processes start, as workers or for a notebook. */
static const char *const workers[] = {
    "joblib.externals.loky", "multiprocessing", "ipykernel", "distributed", "dask", "ray"};

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static const struct interpreter *interpreter_of(const char *name)
{
    for (size_t i = 0; i < sizeof interpreters / sizeof interpreters[0]; i++) {
        const char *prefix = interpreters[i].prefix;
        /* "R" is a whole name, "python" the front of "python3.12". */
        if (prefix[1] ? begins(name, prefix) : !strcmp(name, prefix))
            return &interpreters[i];
    }
    return NULL;
}

static enum xg_program_kind module_of(const char *name, const char **word)
{
    for (size_t i = 0; name && i < sizeof workers / sizeof workers[0]; i++)
        if (begins(name, workers[i]))
            name = NULL;
    *word = name;
    return name ? XG_PROGRAM_NAME : XG_PROGRAM_NONE;
}

/* A tool in a folder `bin` is run in many projects, a script in one. */
static enum xg_program_kind script_of(const char *path, const char **word)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    bool is_tool =
        slash && slash - path >= 4 && !strncmp(slash - 4, "/bin", 4) && !strchr(slash, '.');
    *word = path;
    return !path ? XG_PROGRAM_NONE : is_tool ? XG_PROGRAM_NAME : XG_PROGRAM_SCRIPT;
}

/* Reads the letters of one argument, as in -abc. Returns true if a letter tells the program, and
 * sets *kind and *word; else *takes says whether the last option takes the following argument. */
static bool read_letters(const struct interpreter *interpreter, const char *letters,
                         const char *following, bool *takes, enum xg_program_kind *kind,
                         const char **word)
{
    for (; *letters; letters++) {
        const char *value = letters[1] ? letters + 1 : following;
        if (strchr(interpreter->text, *letters)) {
            *kind = XG_PROGRAM_NONE;
            return true;
        }
        if (strchr(interpreter->module, *letters)) {
            *kind = module_of(value, word);
            return true;
        }
        if (strchr(interpreter->script, *letters)) {
            *kind = script_of(value, word);
            return true;
        }
        if (strchr(interpreter->valued, *letters)) {
            *takes = !letters[1];
            return false;
        }
    }
    return false;
}

enum xg_program_kind xg_program_classify(const char *executable, int argc, const char *const *argv,
                                         const char **word)
{
    const char *name = xg_file_name(executable);
    const struct interpreter *interpreter = interpreter_of(name);
    enum xg_program_kind kind;
    *word = NULL;
    for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++)
        if (begins(name, opaque[i]))
            return XG_PROGRAM_NONE;
    if (!interpreter)
        return XG_PROGRAM_ALONE;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i], *following = i + 1 < argc ? argv[i + 1] : NULL;
        bool takes = false;
        if (argument[0] != '-')
            return script_of(argument, word);
        if (!argument[1])
            return XG_PROGRAM_NONE;
        if (argument[1] != '-') {
            if (read_letters(interpreter, argument + 1, following, &takes, &kind, word))
                return kind;
        } else if (interpreter->long_text && begins(argument, interpreter->long_text)) {
            return XG_PROGRAM_NONE;
        } else if (interpreter->long_script && begins(argument, interpreter->long_script)) {
            return script_of(argument + strlen(interpreter->long_script), word);
        }
        i += takes;
    }
    return XG_PROGRAM_NONE;
}

/* --- This process ----------------------------------------------------------------------------- */

static ssize_t read_text(const char *path, char *text, size_t size)
{
    ssize_t got = xg_file_read_front(path, text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    return got;
}

/* Whether the process has executed a program since it was forked; sets its start. The name in
 * parentheses may hold any character, so the fields are counted from the last parenthesis. */
static bool has_executed(int64_t *started_ms)
{
    enum { FORKED_NOT_EXECUTED = 0x40, FLAGS = 9, START = 22 };
    char text[512];
    unsigned long flags = FORKED_NOT_EXECUTED;
    if (read_text("/proc/self/stat", text, sizeof text) <= 0)
        return false;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field <= START; field++) {
        if (field == FLAGS)
            flags = strtoul(at, NULL, 10);
        else if (field == START)
            *started_ms = strtoll(at, NULL, 10) * 1000 / sysconf(_SC_CLK_TCK);
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return !(flags & FORKED_NOT_EXECUTED);
}

static int split(char *text, ssize_t size, const char **argv, int most)
{
    int argc = 0;
    for (ssize_t at = 0; at < size && argc < most; at += (ssize_t)strlen(text + at) + 1)
        argv[argc++] = text + at;
    return argc;
}

size_t xg_program_write(struct xg_program *program, const char *executable, int argc,
                        const char *const *argv)
{
    static const char letters[] = {'-', 'a', 's', 'n'};
    char *real = program->real, *folder = program->folder;
    const char *word;
    struct stat status;
    enum xg_program_kind kind = xg_program_classify(executable, argc, argv, &word);
    *real = *folder = '\0';
    if (kind == XG_PROGRAM_NONE ||
        (kind == XG_PROGRAM_SCRIPT &&
         (!realpath(word, real) || stat(real, &status) || !S_ISREG(status.st_mode))) ||
        (kind == XG_PROGRAM_NAME && !getcwd(folder, PATH_MAX)))
        return 0;
    if (kind == XG_PROGRAM_NAME)
        snprintf(real, PATH_MAX, "%s", xg_file_name(word));
    int wrote = snprintf(program->text, sizeof program->text, "%c\n%s\n%s\n%s\n", letters[kind],
                         executable, real, folder);
    return wrote > 0 && wrote < XG_PROGRAM_TEXT_BYTES ? (size_t)wrote : 0;
}

size_t xg_program_describe(struct xg_program *program, int64_t *started_ms)
{
    char *executable = program->executable;
    int error = errno;
    size_t length = 0;
    if (!getauxval(AT_SECURE) && getuid() == geteuid() && has_executed(started_ms)) {
        ssize_t path = readlink("/proc/self/exe", executable, PATH_MAX - 1);
        ssize_t size = read_text("/proc/self/cmdline", program->line, sizeof program->line);
        int argc = split(program->line, size, program->argv, XG_PROGRAM_ARGUMENTS);
        executable[path > 0 ? path : 0] = '\0';
        if (path > 0)
            length = xg_program_write(program, executable, argc, program->argv);
    }
    errno = error;
    return length;
}
