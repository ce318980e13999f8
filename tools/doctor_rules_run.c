/* SPDX-License-Identifier: MIT */
/* Diagnoses of the run: failures, and why products stayed on the CPU. */
#include <limits.h>
#include <string.h>

#include "doctor_diagnosis.h"
#include "doctor_text.h"

static void find_failed(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    (void)detail;
    if (facts->run.failed && facts->program.state == DOCTOR_PROGRAM_FOUND)
        doctor_texts_add(subjects, "%s: %s", facts->program.name, strerror(facts->run.failure));
}

/* Whether the library could have been preloaded. */
static bool is_within_reach(const struct doctor_facts *facts)
{
    return facts->run.ran && facts->preload.library_usable && !facts->preload.library_path_bad &&
           facts->program.reach == DOCTOR_REACHED;
}

static void find_unloaded(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    (void)detail;
    if (is_within_reach(facts) && facts->run.told && !facts->run.preloaded)
        doctor_texts_add(subjects, "%s", facts->program.name);
}

static void find_no_witness(const struct doctor_facts *facts, int detail,
                            struct doctor_texts *subjects)
{
    (void)detail;
    if (facts->run.ran && !facts->run.witness)
        doctor_texts_add(subjects, "xgemm-witness.so");
}

static void find_untold(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    (void)detail;
    if (!is_within_reach(facts) || facts->run.told || !facts->run.witness ||
        (doctor_children_are_lost(facts) && !facts->run.signalled))
        return;
    if (facts->run.signalled)
        doctor_texts_add(subjects, "signal %d, %s", facts->run.code, strsignal(facts->run.code));
    else
        doctor_texts_add(subjects,
                         "_exit, or ran without LD_PRELOAD, which sudo and env can take away");
}

/* No product was seen and no finding explains it. detail: whether an object could multiply. */
static void find_nothing(const struct doctor_facts *facts, int detail,
                         struct doctor_texts *subjects)
{
    bool wants = false;
    if (!is_within_reach(facts) || !facts->run.told || !facts->run.preloaded ||
        facts->run.row_count > 0 || facts->program.inside || doctor_children_are_lost(facts))
        return;
    for (int i = 0; i < facts->object_count; i++) {
        if (doctor_object_is_lost(facts, &facts->objects[i]))
            return;
        wants |= facts->objects[i].elf.imports != 0 || facts->objects[i].elf.mkl_inside;
    }
    if (wants == detail)
        doctor_texts_add(subjects, "%s", facts->program.name);
}

/* Each process repeats the messages about settings that are not understood. */
static bool is_told_already(const struct doctor_facts *facts, const char *message)
{
    for (int i = 0; i < facts->settings.refused.count; i++)
        if (!strcmp(facts->settings.refused.text[i], message))
            return true;
    return false;
}

static void find_messages(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    (void)detail;
    for (int i = 0; i < facts->run.messages.count; i++)
        if (!is_told_already(facts, facts->run.messages.text[i]))
            doctor_texts_add(subjects, "%s", facts->run.messages.text[i]);
}

/* All reasons that mean "no GPU" count as one. */
static int reason_of(const struct doctor_row *row)
{
    return xg_reason_is_absence(row->reason) ? XG_REASON_NO_GPU : (int)row->reason;
}

/* These reasons are faults, however few products they concern. */
static bool is_fault(int reason)
{
    static const int faults[] = {XG_REASON_NO_GPU, XG_REASON_FAILED, XG_REASON_WRONG,
                                 XG_REASON_MEMORY, XG_REASON_STACK,  XG_REASON_KERNEL};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (faults[i] == reason)
            return true;
    return false;
}

/* Share of the time of all products; a smaller share is not reported. */
#define SHARE_LEAST 0.01

/* Finds products that did not run on the GPU alone, for the reason `detail`. */
static void find_reason(const struct doctor_facts *facts, int detail, struct doctor_texts *subjects)
{
    long calls = 0;
    double gflop = 0, seconds = 0, all_s = 0;
    if (detail == XG_REASON_EARNING && !doctor_gpu_usable(facts))
        return; /* the library had not looked for a GPU yet, so no start could be earned */
    for (int i = 0; i < facts->run.row_count; i++) {
        const struct doctor_row *row = &facts->run.rows[i];
        all_s += row->seconds;
        if (row->place == XG_PLACE_GPU || reason_of(row) != detail)
            continue;
        if (__builtin_add_overflow(calls, row->calls, &calls))
            calls = LONG_MAX;
        gflop += row->gflop;
        seconds += row->seconds;
    }
    if (calls == 0 || (seconds < SHARE_LEAST * all_s && !is_fault(detail)))
        return;
    subjects->cost_s = seconds;
    doctor_texts_add(subjects, "%ld product%s (%.3g GFLOP, %.3g s)", calls, calls == 1 ? "" : "s",
                     gflop, seconds);
}

/* Finds products that nothing on the GPU computes. detail: whether a cuBLAS was loaded. */
static void find_unserved(const struct doctor_facts *facts, int detail,
                          struct doctor_texts *subjects)
{
    if ((facts->run.cublas_file[0] != '\0') == detail)
        find_reason(facts, XG_REASON_KERNEL, subjects);
}

const struct doctor_diagnosis doctor_run_diagnoses[] = {
    {"run.failed", DOCTOR_MEND, find_failed, 0, "The program could not be started: %s.",
     "Start it by hand first."},
    {"run.not-preloaded", DOCTOR_MEND, find_unloaded, 0,
     "The dynamic linker did not load this library into %s.",
     "See what it says on standard error, and whether something between (a shell, sudo, a batch "
     "system) takes LD_PRELOAD away."},
    {"run.no-witness", DOCTOR_MEND, find_no_witness, 0,
     "%s, which writes down what a program loads, is not beside xgemm-doctor, or lies in a folder "
     "with a blank or a colon in its name: of what the program loaded while it ran nothing is "
     "known.",
     "Install the package as a whole, in a folder without them."},
    {"run.untold", DOCTOR_NOTE, find_untold, 0,
     "The program ended by %s: it left no word of what it had loaded.",
     "Let it end by exit() or return from main, on less work if need be, and name the program "
     "itself where another one starts it."},
    {"run.no-calls", DOCTOR_NOTE, find_nothing, 1,
     "%s loaded modules that import SGEMM, and none of its processes called it.",
     "Give it work that multiplies matrices."},
    {"run.no-blas", DOCTOR_NOTE, find_nothing, 0,
     "%s called nothing of Level 3 BLAS and loaded nothing that could call SGEMM.",
     "There is nothing here for this library to do."},
    {"run.message", DOCTOR_NOTE, find_messages, 0, "The library said: %s.",
     "man libxgemm_shim explains the words."},
    {"run.no-gpu", DOCTOR_MEND, find_reason, XG_REASON_NO_GPU,
     "No GPU here: %s ran on the CPU because none could be used.",
     "See the findings about driver and device."},
    {"run.failures", DOCTOR_MEND, find_reason, XG_REASON_FAILED,
     "%s ended on the CPU because something failed on the GPU.",
     "XGEMM_VERBOSE=2 says which call failed; look at nvidia-smi and dmesg."},
    {"run.wrong", DOCTOR_MEND, find_reason, XG_REASON_WRONG,
     "%s came out wrong on the GPU, and the CPU computed again.",
     "The device may be defective: do not use it until it has been tested (dcgmi diag)."},
    {"run.memory", DOCTOR_MEND, find_reason, XG_REASON_MEMORY,
     "%s did not fit the memory that may be used on the GPU.",
     "Raise or unset XGEMM_MEM_LIMIT, or end others that hold the GPU's memory (nvidia-smi)."},
    {"run.stack", DOCTOR_MEND, find_reason, XG_REASON_STACK,
     "%s came from threads with less than 256 KiB of stack left, too little for the driver.",
     "Give those threads larger stacks (OMP_STACKSIZE, pthread_attr_setstacksize)."},
    {"run.mode", DOCTOR_NOTE, find_reason, XG_REASON_MODE,
     "%s ran where XGEMM_MODE says, which is not the GPU alone.", "Unset XGEMM_MODE."},
    {"run.small", DOCTOR_NOTE, find_reason, XG_REASON_SMALL,
     "%s stayed on the CPU: too small ever to gain from the GPU.",
     "Where the program can, let it multiply in larger batches."},
    {"run.model", DOCTOR_NOTE, find_reason, XG_REASON_MODEL,
     "%s stayed on the CPU, which was expected to finish first: copies to the GPU take longer than "
     "the arithmetic.",
     "Larger products gain. xgemm-run calibrate makes the expectation exact; XGEMM_MODE=gpu "
     "tries it out."},
    {"run.phase", DOCTOR_NOTE, find_reason, XG_REASON_PHASE,
     "%s stayed on the CPU with the products around them, though the GPU would have been faster: "
     "the CPU library's threads spin between them.",
     "Quiet threads gain: xgemm-run sets that."},
    {"run.trial", DOCTOR_NOTE, find_reason, XG_REASON_TRIAL,
     "%s ran on the CPU to see what it takes there.", "Nothing: a fiftieth of the time at most."},
    {"run.earning", DOCTOR_NOTE, find_reason, XG_REASON_EARNING,
     "%s stayed on the CPU: the GPU would have been faster, but in all not yet by what its start "
     "costs.",
     "Longer runs gain; XGEMM_MODE=gpu starts it at once."},
    {"run.starting", DOCTOR_NOTE, find_reason, XG_REASON_STARTING,
     "%s ran on the CPU while the GPU was starting.", "Longer runs gain."},
    {"run.busy", DOCTOR_NOTE, find_reason, XG_REASON_BUSY,
     "%s ran on the CPU because other threads' products had the GPU.",
     "Let fewer threads multiply at once, or larger matrices."},
    {"run.forked", DOCTOR_NOTE, find_reason, XG_REASON_FORKED,
     "%s came from children that a process forked after it had used the GPU, which they cannot.",
     "Fork before the first product, or start new processes (Python: the method spawn)."},
    {"run.overlap", DOCTOR_NOTE, find_reason, XG_REASON_OVERLAP,
     "%s stayed on the CPU: the result shares memory with an operand, which only the program's own "
     "BLAS may decide about.",
     "Give the result memory of its own."},
    {"run.in-place", DOCTOR_NOTE, find_reason, XG_REASON_IN_PLACE,
     "%s stayed on the CPU: XGEMM_MODE=compare computes a product twice, which cannot be done in "
     "place (TRMM, TRSM).",
     "XGEMM_MODE=gpu runs them on the GPU, and xgemm-run ab compares whole programs."},
    {"run.operation", DOCTOR_NOTE, find_reason, XG_REASON_OPERATION,
     "%s stayed on the CPU: XGEMM_OPERATIONS does not name their operation.",
     "Name it there, or all, which is the default."},
    {"run.kernel", DOCTOR_MEND, find_unserved, false,
     "%s stayed on the CPU: nothing on this GPU computes their operation.",
     "Install cuBLAS of CUDA 11 or newer (pip install nvidia-cublas, or nvidia-cublas-cu12 for "
     "drivers older than 580), which has it."},
    {"run.cublas", DOCTOR_MEND, find_unserved, true,
     "%s stayed on the CPU: nothing but cuBLAS computes their operation, and the cuBLAS that the "
     "program had loaded could not be opened.",
     "XGEMM_VERBOSE=2 says what cublasCreate answered. It may need a newer driver: those older "
     "than "
     "580 need cuBLAS of CUDA 12 (pip install nvidia-cublas-cu12)."},
    {"run.degenerate", DOCTOR_NOTE, find_reason, XG_REASON_DEGENERATE,
     "%s had nothing to multiply: a dimension or alpha was 0.", "Nothing needs to be done."},
    {0},
};
