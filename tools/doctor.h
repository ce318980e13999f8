/* SPDX-License-Identifier: MIT */
/* The parts of xgemm-doctor: text, files, questions, diagnoses and reports. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stddef.h>
#include <stdio.h>

#include "doctor_facts.h"
#include "src/base/file.h"

/* --- Text in arrays of fixed size; text that does not fit is cut ----------------------------- */

/* Like snprintf, but returns nothing. */
void doctor_text_set(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a line; drops it if there is no room. */
void doctor_texts_add(struct doctor_texts *texts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the text as it is, if the condition holds. */
void doctor_texts_add_if(struct doctor_texts *texts, bool holds, const char *text);

/* Whether the path is that of this library, libxgemm_shim, of any version. */
bool doctor_text_is_library(const char *path);

/* --- One ELF file on disk -------------------------------------------------------------------- */

/* Reads a file, which may be damaged in any way. Returns false, with *elf zeroed, if the file
 * cannot be opened. doctor_elf_fini frees what *elf holds. */
bool doctor_elf_read(struct doctor_elf *elf, const char *path);
void doctor_elf_fini(struct doctor_elf *elf);

/* Whether the file uses or has one of the names. */
bool doctor_elf_has_names(const struct doctor_elf *elf);

/* "OpenBLAS"; never NULL. */
const char *doctor_vendor_text(enum doctor_vendor vendor);

/* --- The files that make up a program -------------------------------------------------------- */

/*
 * A set of files, each read once. doctor_objects_add adds them when doctor_objects_list or the
 * run's reports (doctor_run.c) name them; doctor_objects_finish then keeps those that matter. For
 * one thread.
 */
struct doctor_objects;

/* NULL: no memory. */
struct doctor_objects *doctor_objects_create(void);
void doctor_objects_destroy(struct doctor_objects *objects);

/* The entry of the file, added if it is missing; NULL: it is not an ELF file, or the set is full.
 * The entry stays in place until the set is destroyed. */
struct doctor_object *doctor_objects_add(struct doctor_objects *objects, const char *path);

/*
 * Adds the program and its dependencies, as its own dynamic linker lists them when asked as by ldd,
 * because only that linker knows its rules; only glibc's is asked. Runs nothing of the program.
 * Adds missing libraries to *program.
 */
void doctor_objects_list(struct doctor_objects *objects, struct doctor_program *program);

/* Sets facts->objects to those that import, define or contain an intercepted name or are a BLAS,
 * facts->blas to what the libraries among them report, and facts->run.cublas_file. */
void doctor_objects_finish(const struct doctor_objects *objects, struct doctor_facts *facts);

/* --- The questions: each function answers one of them in the facts --------------------------- */

/* Reads /sys, /dev, /proc and the environment; missing files leave their facts empty. */
void doctor_system_read(struct doctor_system *system);

/* Fills *gpu. Takes up to some seconds, or a minute if the driver does not answer. The environment
 * has the same effect as in a program: CUDA_VISIBLE_DEVICES, XGEMM_DEVICES, XGEMM_MATH. */
void doctor_gpu_read(struct doctor_gpu *gpu);

/* Runs in the process that doctor_gpu_read makes, in a build with CUDA. */
void doctor_gpu_ask(void *gpu, const void *nothing);

/* Finds the program as execvp does and reads it, without starting it. name NULL: none was given. */
void doctor_program_read(struct doctor_program *program, const char *name);

/*
 * Takes the library from XGEMM_SHIM_LIB, or from the build tree or the installation that this
 * program lies in, and reads LD_PRELOAD and /etc/ld.so.preload.
 */
void doctor_preload_read(struct doctor_preload *preload);

/* Reads environment and configuration files as the library does, checks that the files and
 * libraries they name exist, and puts the configuration files' settings in the environment. */
void doctor_settings_read(struct doctor_settings *settings);

/* Loads the file (a path, or a name that the dynamic linker finds) in a separate process and asks
 * it in the current environment. Sets path of *blas to the file that was loaded, if any. */
void doctor_blas_read(struct doctor_blas *blas, const char *file);

/* blas_file: the CPU library that the program computes with, or NULL. */
void doctor_calibration_read(struct doctor_calibration *calibration, const char *blas_file);

/*
 * Runs argv in this process's environment, with the library and the witness (witness.c) preloaded
 * and an account kept (XGEMM_ACCOUNT). The program gets the standard streams and signals. Waits for
 * its end. The library's messages go to XGEMM_LOG or, without it, to a file that is read and
 * removed. Adds the objects that the processes had loaded at their ends to *objects. Returns false,
 * with errno, if no folder for the files or no process could be made.
 */
bool doctor_run_start(struct doctor_run *run, const struct doctor_preload *preload,
                      char *const argv[], struct doctor_objects *objects);

/* --- The diagnoses as data, and the rules that find them in the facts ------------------------ */

enum doctor_level {
    DOCTOR_NOTE, /* for information: nothing is wrong */
    DOCTOR_MEND, /* something to mend */
};

/* One diagnosis. find adds a subject for each case that it finds; the subject replaces "%s" in
 * words and remedy ("" if they have none). detail is an argument of the rule. */
struct doctor_diagnosis {
    const char *id; /* stable: --json prints it, tests and manuals name it */
    enum doctor_level level;
    void (*find)(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects);
    int detail;
    const char *words, *remedy;
};

/* Begins the definition of a rule; not every rule has a use for its detail. */
#define DOCTOR_RULE(name)                                                                          \
    static void name(const struct doctor_facts *facts, __attribute__((unused)) int detail,         \
                     struct doctor_texts *subjects)

/* Defines a rule that finds one subject, a format and its arguments, if `holds`. */
#define DOCTOR_FIND(name, holds, ...)                                                              \
    DOCTOR_RULE(name)                                                                              \
    {                                                                                              \
        if (holds)                                                                                 \
            doctor_texts_add(subjects, __VA_ARGS__);                                               \
    }

/* Tables by topic; an entry without an id ends each. */
extern const struct doctor_diagnosis doctor_gpu_diagnoses[];
extern const struct doctor_diagnosis doctor_setting_diagnoses[];
extern const struct doctor_diagnosis doctor_program_diagnoses[];
extern const struct doctor_diagnosis doctor_run_diagnoses[];

struct doctor_finding {
    const struct doctor_diagnosis *diagnosis;
    double cost_s; /* seconds of the run's products that it affects; 0: unknown */
    char subject[DOCTOR_TEXT_BYTES];
};

enum { DOCTOR_FINDINGS = 128 };

/* Fills `findings` and returns their number: first the findings to mend; within a level the most
 * expensive first, then in the order of the tables. Pure. */
int doctor_diagnose(const struct doctor_facts *facts,
                    struct doctor_finding findings[DOCTOR_FINDINGS]);

/* Calls visit for every row of the tables, in the order of the findings. */
void doctor_diagnosis_visit(void (*visit)(const struct doctor_diagnosis *diagnosis, void *context),
                            void *context);

/* Writes words or remedy, with the subject inserted. */
void doctor_finding_text(const struct doctor_finding *finding, const char *form, char *text,
                         size_t size);

/* Whether the object makes calls and none can reach the library; rules of doctor_program_diagnoses
 * give the reason (doctor_rules_program.c). */
bool doctor_object_is_lost(const struct doctor_facts *facts, const struct doctor_object *object);

/* Whether there is a finding about a program that the run started (doctor_rules_program.c). */
bool doctor_children_are_lost(const struct doctor_facts *facts);

/* --- The reports: for people, and as JSON ---------------------------------------------------- */

/* Write facts and findings; ferror(out) tells whether that failed. */
void doctor_report_write(FILE *out, const struct doctor_facts *facts,
                         const struct doctor_finding *findings, int count);
void doctor_json_write(FILE *out, const struct doctor_facts *facts,
                       const struct doctor_finding *findings, int count);

/* The number of findings that are something to mend. */
int doctor_findings_to_mend(const struct doctor_finding *findings, int count);

/* A name for the pool, as in "libgomp's threads"; never NULL. Both reports use it. */
const char *doctor_pool_text(enum shim_pool pool);

#endif
