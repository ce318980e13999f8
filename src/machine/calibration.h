/* SPDX-License-Identifier: MIT */
/* The figures that xgemm-run calibrate measured on this machine: one file for each side in the
 * user's cache folder. */
#ifndef XG_CALIBRATION_H
#define XG_CALIBRATION_H

#include <stddef.h>

#include "decide/feedback.h"
#include "decide/model.h"

enum { XG_CALIBRATION_NAME_BYTES = 128, XG_CALIBRATION_TEXT_BYTES = 2048 };

/*
 * The machine for which a measurement is valid, read from the system without opening a driver:
 * /proc/cpuinfo, /proc/driver/nvidia, /sys/module/nvidia; "unknown" if those lack it. The CPU side
 * depends on cpu, cores, threads and blas, and the GPU side on cpu, cores, gpu and driver.
 */
struct xg_calibration_key {
    char cpu[XG_CALIBRATION_NAME_BYTES];
    int cores;   /* affinity and quota */
    int threads; /* of the CPU library: from its variables, or all cores of the affinity mask */
    char gpu[XG_CALIBRATION_NAME_BYTES]; /* the first that the system lists */
    char driver[XG_CALIBRATION_NAME_BYTES];
    char blas[XG_CALIBRATION_NAME_BYTES]; /* real file name, which contains a version, and size;
                                           * of FlexiBLAS also $FLEXIBLAS */
};

/* The same names of the GPU and of its driver alone. */
void xg_calibration_device(char gpu[XG_CALIBRATION_NAME_BYTES],
                           char driver[XG_CALIBRATION_NAME_BYTES]);

/* blas_file: the dynamic linker's name of the CPU library, or NULL. */
void xg_calibration_key_init(struct xg_calibration_key *key, int cores, const char *blas_file);

/*
 * Prints the text of one side: lines name=value, the key first; values are decimal integers, which
 * do not depend on the locale. Returns its length; figures are clamped to their bounds.
 */
size_t xg_calibration_print(char text[XG_CALIBRATION_TEXT_BYTES],
                            const struct xg_calibration_key *key, enum xg_side side,
                            const struct xg_model *model);

/*
 * Reads the text into the side's figures of *model. Returns false, with *model unchanged, unless
 * the text has this version, side and key, and all figures in order and within bounds.
 */
bool xg_calibration_parse(const char *text, const struct xg_calibration_key *key, enum xg_side side,
                          struct xg_model *model);

/*
 * The file of one side: ${XDG_CACHE_HOME:-$HOME/.cache}/xgemm/<side>-<hash of the key>. Returns
 * false if neither names an absolute folder, the path is too long, or the program is set-user-ID.
 */
bool xg_calibration_path(char *path, size_t path_bytes, const struct xg_calibration_key *key,
                         enum xg_side side);

/*
 * Sets *model to the facts that are known without measuring, then reads the files. A missing file
 * changes nothing; an invalid file changes nothing and is reported once.
 */
void xg_calibration_load(struct xg_model *model, int cores, const char *blas_file);

/* Writes the file of one side, whose folders exist (xg_file_make_folders). Returns false with
 * errno.
 */
bool xg_calibration_store(const char *path, const struct xg_calibration_key *key, enum xg_side side,
                          const struct xg_model *model);

/* The fitted figures of a side: returns a pointer into *model, and sets the bounds; NULL after the
 * last figure. Figures that are read from the device are not included. */
double *xg_calibration_figure(struct xg_model *model, enum xg_side side, int index, double *least,
                              double *most);

#endif
