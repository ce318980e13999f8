/* SPDX-License-Identifier: MIT */
/* Diagnoses of XGEMM_* settings, preloaded libraries, and calibration. */
#include <string.h>

#include "doctor.h"

/* Rules for a field of the facts; detail: where it is. */
#define FIELD(field) offsetof(struct doctor_facts, field)

static const void *field_at(const struct doctor_facts *facts, int detail)
{
    return (const char *)facts + detail;
}

DOCTOR_RULE(find_texts)
{
    *subjects = *(const struct doctor_texts *)field_at(facts, detail);
}

DOCTOR_FIND(find_text, *(const char *const *)field_at(facts, detail), "%s",
            *(const char *const *)field_at(facts, detail))

DOCTOR_FIND(find_flag, *(const bool *)field_at(facts, detail), "%s", "")

DOCTOR_FIND(find_library, !facts->preload.library_usable, "%s",
            facts->preload.library[0] ? facts->preload.library : "libxgemm_shim.so")

DOCTOR_FIND(find_path, facts->preload.library_path_bad, "%s", facts->preload.library)

/* detail: whether to find NVBLAS, which takes products to the GPU itself. */
DOCTOR_RULE(find_rivals)
{
    const struct doctor_texts *rivals = &facts->preload.rivals;
    for (int i = 0; i < rivals->count; i++)
        doctor_texts_add_if(subjects,
                            (strncmp(xg_file_name(rivals->text[i]), "libnvblas", 9) == 0) == detail,
                            rivals->text[i]);
}

/* Reports both sides in one finding if both have this state; the GPU's only if there is a GPU. */
DOCTOR_RULE(find_calibration)
{
    const struct doctor_calibration *calibration = &facts->calibration;
    bool named = detail == DOCTOR_CALIBRATION_DAMAGED, known = !calibration->homeless;
    bool cpu = known && (int)calibration->cpu.state == detail;
    bool gpu = known && (int)calibration->gpu.state == detail && doctor_gpu_usable(facts);
    doctor_texts_add_if(subjects, cpu && named, calibration->cpu.path);
    doctor_texts_add_if(subjects, gpu && named, calibration->gpu.path);
    doctor_texts_add_if(subjects, (cpu || gpu) && !named,
                        cpu && gpu ? "CPU and GPU"
                        : cpu      ? "CPU"
                                   : "GPU");
}

const struct doctor_diagnosis doctor_setting_diagnoses[] = {
    {"preload.library", DOCTOR_MEND, find_library, 0,
     "The library itself cannot be preloaded: %s does not exist, or is for another machine.",
     "Build or install the library, or set XGEMM_SHIM_LIB to its path."},
    {"preload.path", DOCTOR_MEND, find_path, 0,
     "The path of the library contains a blank or a colon, which separates names in LD_PRELOAD: "
     "%s.",
     "Move it to a path without blanks and colons."},
    {"preload.missing", DOCTOR_MEND, find_texts, FIELD(preload.missing),
     "LD_PRELOAD names %s, which does not exist: the dynamic linker prints an error at every "
     "start.",
     "Remove it from LD_PRELOAD (or /etc/ld.so.preload)."},
    {"preload.nvblas", DOCTOR_MEND, find_rivals, 1,
     "%s is preloaded too: NVBLAS runs products on the GPU that this library leaves to the CPU, "
     "and, if it precedes this library in LD_PRELOAD, all products.",
     "Remove it from LD_PRELOAD."},
    {"preload.rival", DOCTOR_NOTE, find_rivals, 0,
     "%s is preloaded too and exports functions of BLAS or LAPACK: calls of them that stay on the "
     "CPU go to it instead of the program's own library. If it precedes this library in "
     "LD_PRELOAD, it gets every call.",
     "No action is needed if this is intended and xgemm-run starts the program; otherwise remove "
     "it from LD_PRELOAD."},
    {"preload.twice", DOCTOR_NOTE, find_flag, FIELD(preload.twice),
     "LD_PRELOAD already names this library.",
     "No action is needed: only one of the two intercepts calls. xgemm-run needs no LD_PRELOAD."},
    {"setting.refused", DOCTOR_MEND, find_texts, FIELD(settings.refused), "%s.",
     "Set it to a value that man libxgemm_shim lists, or unset it."},
    {"setting.unknown", DOCTOR_MEND, find_texts, FIELD(settings.unknown), "%s.",
     "Look up the name in man libxgemm_shim, or unset it."},
    {"setting.file", DOCTOR_MEND, find_texts, FIELD(settings.ignored), "%s.",
     "Correct the file: its lines are NAME = value, with names and values from man libxgemm_shim."},
    {"setting.mode-cpu", DOCTOR_MEND, find_flag, FIELD(settings.mode_cpu),
     "XGEMM_MODE=cpu keeps every product on the CPU.",
     "Unset XGEMM_MODE, or set it to auto if a configuration file sets it."},
    {"setting.kernel", DOCTOR_MEND, find_text, FIELD(settings.kernel),
     "XGEMM_KERNEL=%s names no kernel, so every product runs on the CPU.",
     "Unset XGEMM_KERNEL, or set it to the empty value if a configuration file sets it."},
    {"setting.cpu-blas", DOCTOR_MEND, find_text, FIELD(settings.cpu_blas),
     "XGEMM_CPU_BLAS=%s cannot be loaded or exports no function of BLAS that this library "
     "intercepts.",
     "Set it to the path of a BLAS library, or unset it: the program's own BLAS then computes."},
    {"setting.log", DOCTOR_MEND, find_text, FIELD(settings.files[0]),
     "XGEMM_LOG=%s cannot be written.", "Set it to a file in a writable folder."},
    {"setting.trace", DOCTOR_MEND, find_text, FIELD(settings.files[1]),
     "XGEMM_TRACE=%s cannot be written.", "Set it to a file in a writable folder."},
    {"setting.resident", DOCTOR_NOTE, find_text, FIELD(settings.resident),
     "No operand can stay on the GPU: %s.",
     "No action is needed: every product sends its operands. To keep them takes Linux 6.7 or newer "
     "and a process without a filter of system calls (Docker: --security-opt seccomp=unconfined)."},
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
    {"calibration.homeless", DOCTOR_NOTE, find_flag, FIELD(calibration.homeless),
     "No calibration can be stored: neither XDG_CACHE_HOME nor HOME is an absolute path.",
     "Set HOME."},
    {0},
};
