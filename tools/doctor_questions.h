/* SPDX-License-Identifier: MIT */
/* The questions of doctor: each function answers one of them in the facts (doctor_facts.h). */
#ifndef DOCTOR_QUESTIONS_H
#define DOCTOR_QUESTIONS_H

#include "doctor_facts.h"
#include "doctor_objects.h"

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

/* Reads the journal of tools/witness_exec.c, which it changes, and sets the run's children and
 * untold_s. run->cores_s must be set. */
void doctor_children_take(struct doctor_run *run, char *journal);

/*
 * Runs argv in this process's environment, with the library and the witness (witness.c) preloaded
 * and an account kept (XGEMM_ACCOUNT). The program gets the standard streams and signals. Waits for
 * its end. The library's messages go to XGEMM_LOG or, without it, to a file that is read and
 * removed. Adds the objects that the processes had loaded at their ends to *objects. Returns false,
 * with errno, if no folder for the files or no process could be made.
 */
bool doctor_run_start(struct doctor_run *run, const struct doctor_preload *preload,
                      char *const argv[], struct doctor_objects *objects);

#endif
