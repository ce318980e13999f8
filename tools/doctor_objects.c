/* SPDX-License-Identifier: MIT */
/* Collects the files of a program. */
#include "doctor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_probe.h"

enum { FILES_MAX = 4096 };

static const double LIST_LIMIT_S = 20;

struct file {
    char *path; /* the system's path, without symbolic links */
    char **needed;
    int needed_count;
    struct doctor_object object;
};

struct doctor_objects {
    struct file *files[FILES_MAX];
    int count;
};

struct doctor_objects *doctor_objects_create(void)
{
    return calloc(1, sizeof(struct doctor_objects));
}

void doctor_objects_destroy(struct doctor_objects *objects)
{
    for (int i = 0; objects && i < objects->count; i++) {
        struct file *file = objects->files[i];
        for (int j = 0; j < file->needed_count; j++)
            free(file->needed[j]);
        free(file->needed);
        free(file->path);
        free(file);
    }
    free(objects);
}

struct doctor_object *doctor_objects_add(struct doctor_objects *objects, const char *path)
{
    struct doctor_elf elf;
    char *real = realpath(path, NULL);
    for (int i = 0; real && i < objects->count; i++)
        if (!strcmp(objects->files[i]->path, real)) {
            free(real);
            return &objects->files[i]->object;
        }
    struct file *file = objects->count < FILES_MAX ? calloc(1, sizeof *file) : NULL;
    if (!real || !file || !doctor_elf_read(&elf, real) || !elf.native) {
        free(real);
        free(file);
        return NULL;
    }
    file->path = real;
    file->needed = elf.needed;
    file->needed_count = elf.needed_count;
    elf.needed = NULL;
    elf.needed_count = 0;
    file->object.elf = elf;
    doctor_text_set(file->object.path, sizeof file->object.path, "%s", real);
    objects->files[objects->count++] = file;
    return &file->object;
}

/* --- What the dynamic linker lists --------------------------------------------------------- */

/* Takes "\tNAME => PATH (0x...)", "\tPATH (0x...)" or "\tNAME => not found". */
static void take_line(struct doctor_objects *objects, struct doctor_program *program, char *line)
{
    char *arrow = strstr(line, " => "), *end = strrchr(line, '(');
    char *path = arrow ? arrow + 4 : line + strspn(line, " \t");
    if (arrow && !strncmp(path, "not found", 9)) {
        *arrow = '\0';
        doctor_texts_add(&program->missing_libraries, "%s", line + strspn(line, " \t"));
        return;
    }
    if (!end || *path != '/')
        return;
    while (end > path && end[-1] == ' ')
        end--;
    *end = '\0';
    (void)doctor_objects_add(objects, path);
}

/* Asks as ldd does. The newer --list gives up at the first missing library. */
static void prepare_list(void)
{
    unsetenv("LD_PRELOAD");
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
}

/* Other dynamic linkers would run the program. */
static bool is_glibc(const char *interpreter)
{
    const char *name = xg_file_name(interpreter);
    return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld64.so", 7) ||
           !strncmp(name, "ld.so", 5);
}

void doctor_objects_list(struct doctor_objects *objects, struct doctor_program *program)
{
    char *argv[] = {program->interpreter, program->path, NULL};
    if (program->state != DOCTOR_PROGRAM_FOUND)
        return;
    struct doctor_object *main = doctor_objects_add(objects, program->path);
    if (main)
        main->main = true;
    if (program->reach == DOCTOR_REACH_STATIC || !is_glibc(program->interpreter))
        return;
    char *text = doctor_probe_output(argv, prepare_list, LIST_LIMIT_S), *rest = text, *line;
    while (rest && (line = strsep(&rest, "\n")))
        take_line(objects, program, line);
    free(text);
}

/* --- What matters -------------------------------------------------------------------------- */

static bool matters(const struct doctor_object *object)
{
    const struct doctor_elf *elf = &object->elf;
    return !doctor_text_is_library(object->path) &&
           (doctor_elf_has_names(elf) || (elf->vendor && elf->kit));
}

/* Sets whether other files need the object or import from it. */
static void relate(const struct doctor_objects *objects, struct doctor_object *object)
{
    const char *name = object->elf.soname[0] ? object->elf.soname : xg_file_name(object->path);
    for (int i = 0; i < objects->count; i++) {
        const struct file *other = objects->files[i];
        if (&other->object == object)
            continue;
        object->wanted |= doctor_names_meet(&other->object.elf.imports, &object->elf.defines);
        for (int j = 0; j < other->needed_count; j++)
            object->needed |= !strcmp(xg_file_name(other->needed[j]), name);
    }
}

/* Notes the path of a library of the toolkit. */
static void note_file(char file[DOCTOR_PATH_BYTES], const char *name,
                      const struct doctor_object *object)
{
    if (!file[0] && !strncmp(xg_file_name(object->path), name, strlen(name)))
        doctor_text_set(file, DOCTOR_PATH_BYTES, "%s", object->path);
}

static void add_blas(struct doctor_facts *facts, const struct doctor_object *object)
{
    bool library = doctor_names_blas(&object->elf.defines) &&
                   (object->elf.vendor || object->wanted) && !object->main;
    if (library && facts->blas_count < DOCTOR_BLAS)
        doctor_blas_read(&facts->blas[facts->blas_count++], object->path);
}

void doctor_objects_finish(const struct doctor_objects *objects, struct doctor_facts *facts)
{
    for (int i = 0; i < objects->count; i++) {
        const struct doctor_object *object = &objects->files[i]->object;
        note_file(facts->run.cublas_file, "libcublas.so", object);
        note_file(facts->run.cusolver_file, "libcusolver.so", object);
        facts->program.julia |= !strncmp(xg_file_name(object->path), "libjulia", 8);
        facts->program.lapack |=
            doctor_names_lapack(&object->elf.imports) && !doctor_text_is_library(object->path);
    }
    for (int i = 0; i < objects->count && facts->object_count < DOCTOR_OBJECTS; i++) {
        struct doctor_object object = objects->files[i]->object;
        if (!matters(&object))
            continue;
        relate(objects, &object);
        facts->objects[facts->object_count] = object;
        facts->object_count++;
        add_blas(facts, &object);
    }
}
