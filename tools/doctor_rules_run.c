/* SPDX-License-Identifier: MIT */
/* Diagnoses of the run: failures, and why products stayed on the CPU. */
#include <limits.h>
#include <string.h>

#include "doctor.h"

DOCTOR_FIND(find_failed, facts->run.failed && facts->program.state == DOCTOR_PROGRAM_FOUND,
            "%s: %s", facts->program.name, strerror(facts->run.failure))

/* Whether the library could have been preloaded. */
static bool is_within_reach(const struct doctor_facts *facts)
{
    return facts->run.ran && facts->preload.library_usable && !facts->preload.library_path_bad &&
           facts->program.reach == DOCTOR_REACHED;
}

DOCTOR_FIND(find_unloaded, is_within_reach(facts) && facts->run.told && !facts->run.preloaded, "%s",
            facts->program.name)

DOCTOR_FIND(find_no_witness, facts->run.ran && !facts->run.witness, "xgemm-witness.so")

DOCTOR_RULE(find_untold)
{
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
DOCTOR_RULE(find_nothing)
{
    bool wants = false;
    if (!is_within_reach(facts) || !facts->run.told || !facts->run.preloaded ||
        facts->run.account.row_count > 0 || facts->run.unaccounted ||
        doctor_names_any(&facts->program.inside) || facts->program.nameless ||
        doctor_children_are_lost(facts) ||
        (facts->program.lapack && !facts->system.lapack)) /* lapack.off explains it */
        return;
    for (int i = 0; i < facts->object_count; i++) {
        if (doctor_object_is_lost(facts, &facts->objects[i]))
            return;
        wants |=
            doctor_names_any(&facts->objects[i].elf.imports) || facts->objects[i].elf.mkl_inside;
    }
    doctor_texts_add_if(subjects, wants == detail, facts->program.name);
}

/* Each process repeats the messages about settings that are not understood. */
static bool is_told_already(const struct doctor_facts *facts, const char *message)
{
    for (int i = 0; i < facts->settings.refused.count; i++)
        if (!strcmp(facts->settings.refused.text[i], message))
            return true;
    return false;
}

DOCTOR_RULE(find_messages)
{
    for (int i = 0; i < facts->run.messages.count; i++)
        doctor_texts_add_if(subjects, !is_told_already(facts, facts->run.messages.text[i]),
                            facts->run.messages.text[i]);
}

/* All reasons that mean "no GPU" count as one. */
static int reason_of(const struct xg_account_row *row)
{
    return xg_reason_is_absence((enum xg_reason)row->reason) ? XG_REASON_NO_GPU : (int)row->reason;
}

/* These reasons are faults, however few products they concern. */
static bool is_fault(int reason)
{
    static const int faults[] = {XG_REASON_NO_GPU, XG_REASON_FAILED, XG_REASON_WRONG,
                                 XG_REASON_MEMORY, XG_REASON_STACK,  XG_REASON_KERNEL,
                                 XG_REASON_SOLVER};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (faults[i] == reason)
            return true;
    return false;
}

/* Share of the time of all products; a smaller share is not reported. */
#define SHARE_LEAST 0.01

/* A routine of LAPACK: a name without an operation of BLAS in it. */
static bool is_routine(const struct xg_account_row *row)
{
    for (int kind = 0; kind < XG_KIND_COUNT; kind++)
        if (strstr(row->symbol, xg_kind_name(kind)))
            return false;
    return true;
}

enum { ALL, ROUTINES };

/* Finds calls of some sort that did not run on the GPU alone, for the reason `detail`. */
static void find_calls(const struct doctor_facts *facts, int detail, int sort,
                       struct doctor_texts *subjects)
{
    long calls = 0;
    double gflop = 0, seconds = 0, all_s = 0;
    if (detail == XG_REASON_EARNING && !doctor_gpu_usable(facts))
        return; /* the library had not looked for a GPU yet, so no start could be earned */
    for (int i = 0; i < facts->run.account.row_count; i++) {
        const struct xg_account_row *row = &facts->run.account.rows[i];
        all_s += row->seconds;
        if (row->place == XG_PLACE_GPU || reason_of(row) != detail ||
            (sort == ROUTINES && !is_routine(row)))
            continue;
        if (__builtin_add_overflow(calls, row->calls, &calls))
            calls = LONG_MAX;
        gflop += 1e-9 * row->flops;
        seconds += row->seconds;
    }
    if (calls == 0 || (seconds < SHARE_LEAST * all_s && !is_fault(detail)))
        return;
    subjects->cost_s = seconds;
    doctor_texts_add(subjects, "%ld %s%s (%.3g GFLOP, %.3g s)", calls,
                     sort == ROUTINES ? "LAPACK routine" : "product", calls == 1 ? "" : "s", gflop,
                     seconds);
}

DOCTOR_RULE(find_reason)
{
    find_calls(facts, detail, ALL, subjects);
}

DOCTOR_RULE(find_routines)
{
    find_calls(facts, detail, ROUTINES, subjects);
}

/* Finds products, or routines, that nothing on the GPU computes. detail: whether a cuBLAS, or a
 * cuSOLVER, was loaded. */
DOCTOR_RULE(find_unserved)
{
    if ((facts->run.cublas_file[0] != '\0') == detail)
        find_calls(facts, XG_REASON_KERNEL, ALL, subjects);
}

DOCTOR_RULE(find_unsolved)
{
    if ((facts->run.cusolver_file[0] != '\0') == detail)
        find_calls(facts, XG_REASON_SOLVER, ROUTINES, subjects);
}

const struct doctor_diagnosis doctor_run_diagnoses[] = {
    {"run.failed", DOCTOR_MEND, find_failed, 0, "The program could not be started: %s.",
     "Start it by hand first."},
    {"run.not-preloaded", DOCTOR_MEND, find_unloaded, 0,
     "The dynamic linker did not load this library into %s.",
     "Read its message on standard error, and check whether a shell, sudo or a batch system "
     "removes LD_PRELOAD."},
    {"run.no-witness", DOCTOR_MEND, find_no_witness, 0,
     "%s, which records what a program loads, is not beside xgemm-doctor, or its path contains a "
     "blank or a colon: doctor does not know what the program loaded while it ran.",
     "Install the whole package, in a path without blanks and colons."},
    {"run.untold", DOCTOR_NOTE, find_untold, 0,
     "The program ended by %s: it did not report what it had loaded.",
     "Let the program end by exit() or return from main, with less work if necessary, and give "
     "doctor the program itself if another one starts it."},
    {"run.no-calls", DOCTOR_NOTE, find_nothing, 1,
     "%s loaded modules that import functions of BLAS or LAPACK, but none of its processes called "
     "one that this library intercepts.",
     "Run it with work that multiplies matrices."},
    {"run.no-blas", DOCTOR_NOTE, find_nothing, 0,
     "%s called no function of BLAS or LAPACK that this library intercepts, and loaded no object "
     "that could call one.",
     "No action is possible: the program has no products for this library."},
    {"run.message", DOCTOR_NOTE, find_messages, 0, "The library reported: %s.",
     "man libxgemm_shim explains the terms."},
    {"run.no-gpu", DOCTOR_MEND, find_reason, XG_REASON_NO_GPU,
     "No GPU is usable here: %s ran on the CPU.", "See the findings about driver and device."},
    {"run.failures", DOCTOR_MEND, find_reason, XG_REASON_FAILED,
     "After a failure on the GPU the CPU completed %s.",
     "XGEMM_VERBOSE=2 names the call that failed; also read nvidia-smi and dmesg."},
    {"run.wrong", DOCTOR_MEND, find_reason, XG_REASON_WRONG,
     "The GPU computed %s wrongly, and the CPU recomputed the results.",
     "The device may be defective: test it (dcgmi diag) before you use it again."},
    {"run.memory", DOCTOR_MEND, find_reason, XG_REASON_MEMORY,
     "%s did not fit into the GPU memory that the library may use.",
     "Raise or unset XGEMM_MEM_LIMIT, or end other processes that hold the GPU's memory "
     "(nvidia-smi)."},
    {"run.stack", DOCTOR_MEND, find_reason, XG_REASON_STACK,
     "%s came from threads with less than 256 KiB of stack left, too little for the driver.",
     "Give those threads larger stacks (OMP_STACKSIZE, pthread_attr_setstacksize)."},
    {"run.mode", DOCTOR_NOTE, find_reason, XG_REASON_MODE,
     "%s ran on the CPU, or on both sides, because of XGEMM_MODE.", "Unset XGEMM_MODE."},
    {"run.small", DOCTOR_NOTE, find_reason, XG_REASON_SMALL,
     "%s stayed on the CPU: too small to gain from the GPU.",
     "If the program permits, use larger batches."},
    {"run.model", DOCTOR_NOTE, find_reason, XG_REASON_MODEL,
     "%s stayed on the CPU, which the cost model expected to finish first: the copies to the GPU "
     "take longer than the arithmetic.",
     "Larger products gain. xgemm-run calibrate makes the predictions more exact; XGEMM_MODE=gpu "
     "tests the GPU."},
    {"run.phase", DOCTOR_NOTE, find_reason, XG_REASON_PHASE,
     "%s stayed on the CPU because the CPU library's threads spin between products, although the "
     "GPU alone would have been faster.",
     "Shorten the spin: start the program with xgemm-run."},
    {"run.trial", DOCTOR_NOTE, find_reason, XG_REASON_TRIAL,
     "%s ran on the CPU to measure the CPU's time.",
     "No action is needed: trials take at most 2 % of the time."},
    {"run.earning", DOCTOR_NOTE, find_reason, XG_REASON_EARNING,
     "%s stayed on the CPU: the GPU would have been faster, but the total gain was still less than "
     "the cost of its start.",
     "Longer runs gain; XGEMM_MODE=gpu starts the GPU at once."},
    {"run.starting", DOCTOR_NOTE, find_reason, XG_REASON_STARTING,
     "%s ran on the CPU while the GPU was starting.", "Longer runs gain."},
    {"run.busy", DOCTOR_NOTE, find_reason, XG_REASON_BUSY,
     "%s ran on the CPU because products of other threads used the GPU.",
     "Multiply in fewer threads at once, or multiply larger matrices."},
    {"run.forked", DOCTOR_NOTE, find_reason, XG_REASON_FORKED,
     "%s ran in children that a process forked after it had used the GPU; these cannot use the "
     "GPU.",
     "Fork before the first product, or start new processes (Python: the method spawn)."},
    {"run.overlap", DOCTOR_NOTE, find_reason, XG_REASON_OVERLAP,
     "%s stayed on the CPU: the result shares memory with an operand, and only the program's own "
     "BLAS determines its values.",
     "Store the result in separate memory."},
    {"run.in-place", DOCTOR_NOTE, find_reason, XG_REASON_IN_PLACE,
     "%s stayed on the CPU: XGEMM_MODE=compare computes a product twice, and TRMM and TRSM "
     "overwrite an operand.",
     "XGEMM_MODE=gpu runs them on the GPU, and xgemm-run ab compares whole programs."},
    {"run.operation", DOCTOR_NOTE, find_reason, XG_REASON_OPERATION,
     "%s stayed on the CPU: XGEMM_OPERATIONS does not name the operation.",
     "Add it there, or use all, which is the default."},
    {"run.kernel", DOCTOR_MEND, find_unserved, false,
     "%s stayed on the CPU: no kernel for this GPU computes the operation.",
     "Install cuBLAS of CUDA 11 or newer, which computes it (pip install nvidia-cublas, or "
     "nvidia-cublas-cu12 for drivers older than 580)."},
    {"run.cublas", DOCTOR_MEND, find_unserved, true,
     "%s stayed on the CPU: only cuBLAS computes the operation, and the cuBLAS that the program "
     "had loaded could not be opened.",
     "XGEMM_VERBOSE=2 prints what cublasCreate returned. cuBLAS may need a newer driver: drivers "
     "older than 580 need cuBLAS of CUDA 12 (pip install nvidia-cublas-cu12)."},
    {"run.cusolver", DOCTOR_MEND, find_unsolved, false,
     "%s stayed on the CPU: cuSOLVER was not found.",
     "Install cuSOLVER (pip install nvidia-cusolver, or nvidia-cusolver-cu12 for drivers older "
     "than 580)."},
    {"run.cusolver-closed", DOCTOR_MEND, find_unsolved, true,
     "%s stayed on the CPU: the cuSOLVER that the program had loaded could not be opened.",
     "XGEMM_VERBOSE=2 prints what cusolverDnCreate returned. cuSOLVER may need a newer driver: "
     "drivers older than 580 need cuSOLVER of CUDA 12 (pip install nvidia-cusolver-cu12)."},
    {"run.declined", DOCTOR_NOTE, find_routines, XG_REASON_ROUTINE,
     "%s stayed on the CPU: a matrix holds a NaN or an infinity or does not fit the GPU's memory, "
     "LAPACK's info is not 0, or cuSOLVER is not as exact as LAPACK on it.",
     "No action is needed."},
    {"run.degenerate", DOCTOR_NOTE, find_reason, XG_REASON_DEGENERATE,
     "%s had nothing to multiply: a dimension or alpha was 0.", "No action is needed."},
    {0},
};
