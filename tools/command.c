/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool find(const char *name, char path[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_file(path);
    for (at = at ? at : "/bin:/usr/bin";; at++) {
        const int length = (int)strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        at += length;
        if (is_file(path) && access(path, X_OK) == 0)
            return true;
        if (!*at)
            return false;
    }
}

/* Reads the words of a script's first line, of which the first names the interpreter; returns their
 * number. 0: it is not a script. */
static int read_script(const char *path, char line[COMMAND_LINE_BYTES],
                       const char *words[COMMAND_WORDS / 2])
{
    static const char blanks[] = " \t\r\n";
    int count = 0;
    char *rest;
    FILE *file = fopen(path, "re");
    bool script = file && fgets(line, COMMAND_LINE_BYTES, file) && !strncmp(line, "#!", 2);
    if (file)
        fclose(file);
    for (char *word = script ? strtok_r(line + 2, blanks, &rest) : NULL;
         word && count < COMMAND_WORDS / 2; word = strtok_r(NULL, blanks, &rest)) {
        bool env = count == 1 && !strcmp(xg_file_name(words[0]), "env");
        if (env && (*word == '-' || strchr(word, '=')))
            continue;
        count -= env;
        words[count++] = word;
    }
    return count;
}

bool command_follow(struct command *command)
{
    const char *front[COMMAND_WORDS / 2];
    const int index = command->script_count;
    int added = command->state == COMMAND_FOUND && index < COMMAND_SCRIPTS
                    ? read_script(command->path, command->lines[index], front)
                    : 0;
    if (!added)
        return false;
    int kept = command->argc - 1, room = COMMAND_WORDS - added - 1;
    kept = kept < room ? kept : room;
    memmove(command->argv + added + 1, command->argv + 1, (size_t)kept * sizeof *front);
    memcpy(command->argv, front, (size_t)added * sizeof *front);
    command->argv[added] = strcpy(command->scripts[index], command->path);
    command->argc = added + 1 + kept;
    command->script_count++;
    if (!find(front[0], command->path) || access(command->path, X_OK) != 0)
        command->state = COMMAND_NO_INTERPRETER;
    return true;
}

void command_find(struct command *command, int count, const char *const *words)
{
    command->script_count = 0;
    command->argc = count < COMMAND_WORDS ? count : COMMAND_WORDS;
    memcpy(command->argv, words, (size_t)command->argc * sizeof *words);
    command->state = !find(words[0], command->path)     ? COMMAND_MISSING
                     : access(command->path, X_OK) != 0 ? COMMAND_CLOSED
                                                        : COMMAND_FOUND;
}
