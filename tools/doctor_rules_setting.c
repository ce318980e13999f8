/* SPDX-License-Identifier: MIT */
/* Diagnoses of XGEMM_* settings, preloaded libraries, and calibration. */
#include <string.h>

#include "doctor_diagnosis.h"
#include "doctor_text.h"

static void add_all(struct doctor_texts *subjects, const struct doctor_texts *from)
{
    for (int i = 0; i < from->count; i++)
        doctor_texts_add(subjects, "%s", from->text[i]);
}

static void add_set(struct doctor_texts *subjects, const char *value)
{
    if (value)
        doctor_texts_add(subjects, "%s", value);
}

static void find_refused(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    (void)detail;
    add_all(subjects, &facts->settings.refused);
}

static void find_unknown(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    (void)detail;
    add_all(subjects, &facts->settings.unknown);
}

static void find_ignored(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    (void)detail;
    add_all(subjects, &facts->settings.ignored);
}

static void find_mode_cpu(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->settings.mode_cpu ? "" : NULL);
}

static void find_kernel(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->settings.kernel);
}

static void find_cpu_blas(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->settings.cpu_blas);
}

static void find_file(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    add_set(subjects, facts->settings.files[detail]);
}

static void find_library(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    (void)detail;
    if (!facts->preload.library_usable)
        add_set(subjects, facts->preload.library[0] ? facts->preload.library : "libxgemm_shim.so");
}

static void find_path(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->preload.library_path_bad ? facts->preload.library : NULL);
}

static void find_missing(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    (void)detail;
    add_all(subjects, &facts->preload.missing);
}

/* detail: whether to find NVBLAS, which takes products to the GPU itself. */
static void find_rivals(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    const struct doctor_texts *rivals = &facts->preload.rivals;
    for (int i = 0; i < rivals->count; i++)
        if ((strncmp(doctor_text_basename(rivals->text[i]), "libnvblas", 9) == 0) == detail)
            doctor_texts_add(subjects, "%s", rivals->text[i]);
}

static void find_twice(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->preload.twice ? "" : NULL);
}

/* Reports both sides in one finding if both have this state; the GPU's only if there is a GPU. */
static void find_calibration(const struct doctor_facts *facts, int detail,
                             struct doctor_texts *subjects)
{
    const struct doctor_calibration *calibration = &facts->calibration;
    bool device = facts->gpu.driver == DOCTOR_DRIVER_OPEN && facts->gpu.context == XG_OK;
    bool cpu = (int)calibration->cpu.state == detail;
    bool gpu = (int)calibration->gpu.state == detail && device;
    if (calibration->homeless || (!cpu && !gpu))
        return;
    if (detail == DOCTOR_CALIBRATION_DAMAGED) {
        add_set(subjects, cpu ? calibration->cpu.path : NULL);
        add_set(subjects, gpu ? calibration->gpu.path : NULL);
    } else {
        add_set(subjects, cpu && gpu ? "CPU and GPU" : cpu ? "CPU" : "GPU");
    }
}

static void find_homeless(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    (void)detail;
    add_set(subjects, facts->calibration.homeless ? "" : NULL);
}

const struct doctor_diagnosis doctor_setting_diagnoses[] = {
    {"preload.library", DOCTOR_MEND, find_library, 0,
     "The library itself cannot be preloaded: %s does not exist, or is for another machine.",
     "Build or install the library, or set XGEMM_SHIM_LIB to its path."},
    {"preload.path", DOCTOR_MEND, find_path, 0,
     "The path of the library contains a blank or a colon, which separates names in LD_PRELOAD: "
     "%s.",
     "Move it to a path without blanks and colons."},
    {"preload.missing", DOCTOR_MEND, find_missing, 0,
     "LD_PRELOAD names %s, which does not exist: the dynamic linker prints an error at every "
     "start.",
     "Remove it from LD_PRELOAD (or /etc/ld.so.preload)."},
    {"preload.nvblas", DOCTOR_MEND, find_rivals, 1,
     "%s is preloaded too: NVBLAS runs products on the GPU that this library leaves to the CPU, "
     "and, if it precedes this library in LD_PRELOAD, all products.",
     "Remove it from LD_PRELOAD."},
    {"preload.rival", DOCTOR_NOTE, find_rivals, 0,
     "%s is preloaded too and has its own SGEMM: products that stay on the CPU go to it instead of "
     "the program's own BLAS. If it precedes this library in LD_PRELOAD, it gets every call.",
     "No action is needed if this is intended and xgemm-run starts the program; otherwise remove "
     "it from LD_PRELOAD."},
    {"preload.twice", DOCTOR_NOTE, find_twice, 0, "LD_PRELOAD already names this library.",
     "No action is needed: only one of the two intercepts calls. xgemm-run needs no LD_PRELOAD."},
    {"setting.refused", DOCTOR_MEND, find_refused, 0, "%s.",
     "Set it to a value that man libxgemm_shim lists, or unset it."},
    {"setting.unknown", DOCTOR_MEND, find_unknown, 0, "%s.",
     "Look up the name in man libxgemm_shim, or unset it."},
    {"setting.file", DOCTOR_MEND, find_ignored, 0, "%s.",
     "Correct the file: its lines are NAME = value, with names and values from man libxgemm_shim."},
    {"setting.mode-cpu", DOCTOR_MEND, find_mode_cpu, 0,
     "XGEMM_MODE=cpu keeps every product on the CPU.",
     "Unset XGEMM_MODE, or set it to auto if a configuration file sets it."},
    {"setting.kernel", DOCTOR_MEND, find_kernel, 0,
     "XGEMM_KERNEL=%s names no kernel, so every product runs on the CPU.",
     "Unset XGEMM_KERNEL, or set it to the empty value if a configuration file sets it."},
    {"setting.cpu-blas", DOCTOR_MEND, find_cpu_blas, 0,
     "XGEMM_CPU_BLAS=%s cannot be loaded or has no SGEMM.",
     "Set it to the path of a BLAS library, or unset it: the program's own BLAS then computes."},
    {"setting.log", DOCTOR_MEND, find_file, 0, "XGEMM_LOG=%s cannot be written.",
     "Set it to a file in a writable folder."},
    {"setting.trace", DOCTOR_MEND, find_file, 1, "XGEMM_TRACE=%s cannot be written.",
     "Set it to a file in a writable folder."},
    {"calibration.damaged", DOCTOR_MEND, find_calibration, DOCTOR_CALIBRATION_DAMAGED,
     "The calibration in %s is damaged and is ignored.", "Measure again: xgemm-run calibrate."},
    {"calibration.other", DOCTOR_NOTE, find_calibration, DOCTOR_CALIBRATION_OTHER,
     "The stored calibrations (%s) were made with other processors, drivers, libraries or numbers "
     "of threads: the library starts with estimates.",
     "Measure this machine: xgemm-run calibrate, with XGEMM_CPU_BLAS set to the program's "
     "library."},
    {"calibration.none", DOCTOR_NOTE, find_calibration, DOCTOR_CALIBRATION_NONE,
     "This machine is not calibrated (%s): the library starts with estimates and corrects them.",
     "Measure it once, in about 20 s: xgemm-run calibrate."},
    {"calibration.homeless", DOCTOR_NOTE, find_homeless, 0,
     "No calibration can be stored: neither XDG_CACHE_HOME nor HOME is an absolute path.",
     "Set HOME."},
    {0},
};
