/* SPDX-License-Identifier: MIT */
/* Finds the program's file and follows scripts to their interpreters. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 4 }; /* scripts that interpret each other; the kernel allows as many */

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Searches as execvp does: a name with a slash is a path, others are searched in PATH. */
static bool find_file(const char *name, char path[DOCTOR_PATH_BYTES])
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        doctor_text_set(path, DOCTOR_PATH_BYTES, "%s", name);
        return is_file(path);
    }
    char *list = strdup(folders ? folders : "/bin:/usr/bin"), *rest = list;
    bool found = false;
    for (char *folder; !found && (folder = strsep(&rest, ":"));) {
        doctor_text_set(path, DOCTOR_PATH_BYTES, "%s/%s", *folder ? folder : ".", name);
        found = is_file(path) && access(path, X_OK) == 0;
    }
    free(list);
    return found;
}

/* The interpreter that the first line of a script names: the word after #! or, after `env`, the
 * first word that is neither an option nor a variable. False: the file is not a script. */
static bool read_script(const char *path, char interpreter[DOCTOR_PATH_BYTES])
{
    char line[DOCTOR_PATH_BYTES], *rest = line + 2, *word;
    FILE *file = fopen(path, "re");
    bool script = file && fgets(line, sizeof line, file) && !strncmp(line, "#!", 2);
    if (file)
        fclose(file);
    if (!script)
        return false;
    interpreter[0] = '\0';
    while ((word = strsep(&rest, " \t\r\n"))) {
        bool env = !strcmp(doctor_text_basename(interpreter), "env");
        if (!*word || (env && (*word == '-' || strchr(word, '='))))
            continue;
        if (interpreter[0] && !env)
            break;
        doctor_text_set(interpreter, DOCTOR_PATH_BYTES, "%s", word);
    }
    return true;
}

/* Whether the program runs with more rights than its caller: the dynamic linker then preloads
 * nothing. */
static bool is_privileged(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)))
        return true;
    return getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Whether the program uses run-times that end it unless they are loaded first. */
static bool is_sanitized(const struct doctor_elf *elf)
{
    static const char *const libraries[] = {"libasan.so", "libhwasan.so", "libclang_rt.asan"};
    for (int i = 0; i < elf->needed_count; i++)
        for (size_t j = 0; j < sizeof libraries / sizeof libraries[0]; j++)
            if (!strncmp(elf->needed[i], libraries[j], strlen(libraries[j])))
                return true;
    return false;
}

static enum doctor_reach find_reach(const struct doctor_program *program,
                                    const struct doctor_elf *elf)
{
    return !elf->dynamic                         ? DOCTOR_REACH_STATIC
           : strstr(elf->interpreter, "ld-musl") ? DOCTOR_REACH_MUSL
           : is_privileged(program->path)        ? DOCTOR_REACH_SET_USER_ID
           : is_sanitized(elf)                   ? DOCTOR_REACH_SANITIZER
                                                 : DOCTOR_REACHED;
}

static void read_elf(struct doctor_program *program, const struct doctor_elf *elf)
{
    const char *name = doctor_text_basename(program->path);
    program->inside = elf->inside;
    doctor_names_join(&program->inside, &elf->defines);
    doctor_names_remove_kinds(&program->inside, &elf->imports);
    program->nameless = elf->nameless;
    program->multiplies = doctor_elf_has_names(elf);
    program->python = !strncmp(name, "python", 6) || !strncmp(name, "pypy", 4);
    doctor_text_set(program->interpreter, sizeof program->interpreter, "%s", elf->interpreter);
    if (elf->interpreter[0] && access(elf->interpreter, X_OK) != 0)
        program->state = DOCTOR_PROGRAM_NO_INTERPRETER;
    else
        program->reach = find_reach(program, elf);
}

/* Follows scripts; true: path is now a file that is not a script. */
static bool follow_scripts(struct doctor_program *program)
{
    char interpreter[DOCTOR_PATH_BYTES];
    for (int i = 0; i < SCRIPTS_MAX && read_script(program->path, interpreter); i++) {
        if (!program->script[0])
            doctor_text_set(program->script, sizeof program->script, "%s", program->path);
        if (!find_file(interpreter, program->path) || access(program->path, X_OK) != 0) {
            doctor_text_set(program->interpreter, sizeof program->interpreter, "%s", interpreter);
            program->state = DOCTOR_PROGRAM_NO_INTERPRETER;
            return false;
        }
    }
    return true;
}

void doctor_program_read(struct doctor_program *program, const char *name)
{
    struct doctor_elf elf;
    *program = (struct doctor_program){0};
    if (!name)
        return;
    doctor_text_set(program->name, sizeof program->name, "%s", name);
    program->state = DOCTOR_PROGRAM_MISSING;
    if (!find_file(name, program->path))
        return;
    program->state = DOCTOR_PROGRAM_CLOSED;
    if (access(program->path, X_OK) != 0)
        return;
    program->state = DOCTOR_PROGRAM_FOUND;
    if (!follow_scripts(program))
        return;
    (void)doctor_elf_read(&elf, program->path);
    if (!elf.elf || (elf.native && !elf.program))
        program->state = DOCTOR_PROGRAM_UNKNOWN;
    else if (elf.native)
        read_elf(program, &elf);
    else {
        program->state = DOCTOR_PROGRAM_FOREIGN;
        program->reach = DOCTOR_REACH_FOREIGN;
    }
    doctor_elf_fini(&elf);
}
