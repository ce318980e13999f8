/* SPDX-License-Identifier: MIT */
/* Reads the program's file. */
#include "doctor.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command.h"

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
    const char *name = xg_file_name(program->path);
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

void doctor_program_read(struct doctor_program *program, const char *name)
{
    static const enum doctor_program_state states[] = {
        [COMMAND_MISSING] = DOCTOR_PROGRAM_MISSING,
        [COMMAND_CLOSED] = DOCTOR_PROGRAM_CLOSED,
        [COMMAND_NO_INTERPRETER] = DOCTOR_PROGRAM_NO_INTERPRETER,
        [COMMAND_FOUND] = DOCTOR_PROGRAM_FOUND,
    };
    static struct command command;
    struct doctor_elf elf;
    *program = (struct doctor_program){0};
    if (!name)
        return;
    command_find(&command, 1, &name);
    while (command_follow(&command))
        ;
    program->state = states[command.state];
    doctor_text_set(program->name, sizeof program->name, "%s", name);
    doctor_text_set(program->path, sizeof program->path, "%s", command.path);
    if (command.script_count)
        doctor_text_set(program->script, sizeof program->script, "%s", command.scripts[0]);
    if (command.state == COMMAND_NO_INTERPRETER)
        doctor_text_set(program->interpreter, sizeof program->interpreter, "%s", command.argv[0]);
    if (command.state != COMMAND_FOUND)
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
