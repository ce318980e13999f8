/* SPDX-License-Identifier: MIT */
/* Looks for the calibration's files as the library does. */
#include "doctor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/host/cores.h"
#include "src/machine/calibration.h"

/* Whether the file's folder holds other files of its side. */
static bool has_others(const char *path)
{
    char folder[DOCTOR_PATH_BYTES];
    doctor_text_set(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    bool found = false;
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && !found && (entry = readdir(files));)
        found = !strncmp(entry->d_name, slash + 1, 4) && entry->d_name[4] != '\0';
    if (files)
        closedir(files);
    return found;
}

static enum doctor_calibration_state judge(const char *path, const struct xg_calibration_key *key,
                                           enum xg_side side)
{
    char text[XG_CALIBRATION_TEXT_BYTES] = "";
    struct xg_model model;
    if (access(path, F_OK) != 0)
        return has_others(path) ? DOCTOR_CALIBRATION_OTHER : DOCTOR_CALIBRATION_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    xg_model_init(&model, key->cores);
    return got > 0 && xg_calibration_parse(text, key, side, &model) ? DOCTOR_CALIBRATION_FITS
                                                                    : DOCTOR_CALIBRATION_DAMAGED;
}

void doctor_calibration_read(struct doctor_calibration *calibration, const char *blas_file)
{
    struct xg_calibration_key key;
    *calibration = (struct doctor_calibration){0};
    xg_calibration_key_init(&key, xg_cores_count(), blas_file);
    if (!xg_calibration_path(calibration->cpu.path, sizeof calibration->cpu.path, &key,
                             XG_SIDE_CPU) ||
        !xg_calibration_path(calibration->gpu.path, sizeof calibration->gpu.path, &key,
                             XG_SIDE_GPU)) {
        calibration->homeless = true;
        return;
    }
    calibration->cpu.state = judge(calibration->cpu.path, &key, XG_SIDE_CPU);
    calibration->gpu.state = judge(calibration->gpu.path, &key, XG_SIDE_GPU);
}
