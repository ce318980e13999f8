/* SPDX-License-Identifier: MIT */
/* What xgemm-run calibrate measured on this machine: a file a side in the user's cache folder. */
#ifndef XG_CALIBRATION_H
#define XG_CALIBRATION_H

#include <stddef.h>

#include "decide/feedback.h"
#include "decide/model.h"

enum { XG_CALIBRATION_NAME_BYTES = 128, XG_CALIBRATION_TEXT_BYTES = 2048 };

/*
 * What a measurement holds for. Read from the system without opening a driver: /proc/cpuinfo,
 * /proc/driver/nvidia, /sys/module/nvidia; "unknown" where those say nothing. The CPU side holds
 * for cpu, cores, threads and blas, the GPU side for cpu, cores, gpu and driver.
 */
struct xg_calibration_key {
    char cpu[XG_CALIBRATION_NAME_BYTES];
    int cores;   /* affinity and quota */
    int threads; /* that the CPU library starts: its variables, or all cores of the affinity mask */
    char gpu[XG_CALIBRATION_NAME_BYTES]; /* the first that the system lists */
    char driver[XG_CALIBRATION_NAME_BYTES];
    char blas[XG_CALIBRATION_NAME_BYTES]; /* real file name, in which a version shows, and size */
};

/* blas_file: what the loader calls the CPU library, or NULL. */
void xg_calibration_key_init(struct xg_calibration_key *key, int cores, const char *blas_file);

/*
 * The text of one side: a line name=value each, the key first; values are decimal integers, which
 * no locale writes differently. Returns its length; figures out of bounds are brought within.
 */
size_t xg_calibration_print(char text[XG_CALIBRATION_TEXT_BYTES],
                            const struct xg_calibration_key *key, enum xg_side side,
                            const struct xg_model *model);

/*
 * Reads the text back into the side's figures of *machine. False, with *machine untouched, unless
 * the text is of this version, side and key, and all figures are there, in order, within bounds.
 */
bool xg_calibration_parse(const char *text, const struct xg_calibration_key *key, enum xg_side side,
                          struct xg_model *model);

/*
 * The file of one side: ${XDG_CACHE_HOME:-$HOME/.cache}/xgemm/<side>-<hash of the key>. False where
 * neither names an absolute folder, the path is too long, or the program runs set-user-ID.
 */
bool xg_calibration_path(char *path, size_t path_bytes, const struct xg_calibration_key *key,
                         enum xg_side side);

/*
 * Takes what is known of this machine without measuring into *machine, then what is on file. A file
 * that is not there says nothing; one that cannot be used leaves the figures as they are and is
 * reported once.
 */
void xg_calibration_load(struct xg_model *model, int cores, const char *blas_file);

/* Makes the folders of a path. XG_OK: a file can be made there; XG_ERR_SYSTEM, with errno. */
enum xg_status xg_calibration_prepare(const char *path);

/* Writes the file of one side whole or not at all. XG_OK; XG_ERR_SYSTEM, with errno. path: one that
 * has been prepared. */
enum xg_status xg_calibration_store(const char *path, const struct xg_calibration_key *key,
                                    enum xg_side side, const struct xg_model *model);

/* The figures of a side, for who fits them: a pointer into *machine, and bounds. NULL behind the
 * last. Figures that are read off the device are not among them. */
double *xg_calibration_figure(struct xg_model *model, enum xg_side side, int index, double *least,
                              double *most);

#endif
