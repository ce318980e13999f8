/* SPDX-License-Identifier: MIT */
/* The file that a command executes, and its arguments; scripts are followed to interpreters. */
#ifndef COMMAND_H
#define COMMAND_H

#include <limits.h>
#include <stdbool.h>

/* The kernel follows as many scripts, and reads as much of their first lines. */
enum { COMMAND_SCRIPTS = 4, COMMAND_LINE_BYTES = 256, COMMAND_WORDS = 64 };

enum command_state {
    COMMAND_MISSING,        /* path is where it was searched last */
    COMMAND_CLOSED,         /* the user may not execute it */
    COMMAND_NO_INTERPRETER, /* argv[0] is the interpreter that is not there */
    COMMAND_FOUND
};

struct command {
    enum command_state state;
    char path[PATH_MAX]; /* for a script, its last interpreter */
    int argc, script_count;
    const char *argv[COMMAND_WORDS];         /* more words are dropped */
    char scripts[COMMAND_SCRIPTS][PATH_MAX]; /* in the order in which they were followed */
    char lines[COMMAND_SCRIPTS][COMMAND_LINE_BYTES];
};

/* Finds the file of words[0] as execvp does: a name with a slash is a path, others are searched in
 * PATH. Starts nothing. */
void command_find(struct command *command, int count, const char *const *words);

/*
 * If the file is a script, replaces it by its interpreter, and puts the words of its first line
 * before its name, as execve and env do. Returns false if it is none, after COMMAND_SCRIPTS, and if
 * the state is not COMMAND_FOUND; then nothing is changed.
 */
bool command_follow(struct command *command);

#endif
