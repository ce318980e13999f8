/* SPDX-License-Identifier: MIT */
/* Writes the report for people. */
#include "doctor.h"

#include <math.h>
#include <string.h>

#include "terminal.h"

enum { TEXT_BYTES = 2048 };

int doctor_findings_to_mend(const struct doctor_finding *findings, int count)
{
    int mend = 0;
    for (int i = 0; i < count; i++)
        mend += findings[i].diagnosis->level == DOCTOR_MEND;
    return mend;
}

const char *doctor_pool_text(enum shim_pool pool)
{
    static const char *const texts[] = {
        [SHIM_POOL_UNKNOWN] = "unknown",        [SHIM_POOL_NONE] = "none",
        [SHIM_POOL_OPENBLAS] = "OpenBLAS",      [SHIM_POOL_GOMP] = "libgomp",
        [SHIM_POOL_KMP] = "libiomp5 or libomp", [SHIM_POOL_MKL] = "MKL",
    };
    return texts[pool];
}

static void write_row(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  %-12s ", name);
    terminal_wrap(out, text, 15, 15);
}

/* --- The GPU ------------------------------------------------------------------------------- */

static void write_driver(FILE *out, const struct doctor_facts *facts)
{
    const struct doctor_gpu *gpu = &facts->gpu;
    char text[TEXT_BYTES];
    if (gpu->driver_file[0])
        doctor_text_set(text, sizeof text, "%s, CUDA %d.%d%s%s", gpu->driver_file,
                        gpu->driver_version / 1000, gpu->driver_version % 1000 / 10,
                        facts->system.kernel_module[0] ? ", kernel module " : "",
                        facts->system.kernel_module);
    else
        doctor_text_set(text, sizeof text, "%s",
                        gpu->driver == DOCTOR_DRIVER_UNBUILT  ? "not supported by this build"
                        : gpu->driver == DOCTOR_DRIVER_ABSENT ? "none"
                                                              : "no reply");
    write_row(out, "driver", text);
}

static const char *mode_text(int mode)
{
    return mode == 0   ? "shared"
           : mode == 2 ? "closed to all processes (prohibited)"
           : mode == 3 ? "one process at a time (exclusive)"
                       : "unknown compute mode";
}

static void write_devices(FILE *out, const struct doctor_gpu *gpu)
{
    char text[TEXT_BYTES], name[32];
    for (int i = 0; i < gpu->device_count && i < DOCTOR_DEVICES; i++) {
        const struct doctor_device *device = &gpu->devices[i];
        doctor_text_set(name, sizeof name, "device %d", i);
        doctor_text_set(text, sizeof text,
                        "%s, compute capability %d.%d, %d multiprocessors, %.1f GB, %s%s",
                        device->name, device->sm / 10, device->sm % 10, device->sm_count,
                        1e-9 * (double)device->memory_bytes, mode_text(device->compute_mode),
                        i == gpu->chosen ? ": used" : "");
        write_row(out, name, text);
    }
    if (gpu->device_count == 0)
        write_row(out, "devices", "none");
    if (gpu->device_count == 0 || gpu->context != XG_OK)
        return;
    doctor_text_set(text, sizeof text, "%.1f GB free", 1e-9 * (double)gpu->free_bytes);
    write_row(out, "memory", text);
    doctor_text_set(text, sizeof text, "%d of %d kernels of this build run on it%s%s", gpu->kernels,
                    gpu->kernels_all, gpu->kernel[0] ? "; 4096 x 4096 x 4096: " : "", gpu->kernel);
    write_row(out, "kernels", text);
}

static void write_toolkit(FILE *out, const char *name, const char *file, int version)
{
    char text[TEXT_BYTES];
    doctor_text_set(text, sizeof text, "%s", file[0] ? file : "none");
    if (version > 0)
        doctor_text_set(text, sizeof text, "%s, version %d.%d.%d", file, version / 10000,
                        version / 100 % 100, version % 100);
    write_row(out, name, text);
}

static void write_gpu(FILE *out, const struct doctor_facts *facts)
{
    const struct doctor_gpu *gpu = &facts->gpu;
    char text[TEXT_BYTES];
    fputs("GPU\n", out);
    write_driver(out, facts);
    write_devices(out, gpu);
    if (gpu->up_bytes_per_s > 0 && gpu->down_bytes_per_s > 0)
        doctor_text_set(text, sizeof text, "%.1f GB/s up, %.1f GB/s down, from page-locked memory",
                        1e-9 * gpu->up_bytes_per_s, 1e-9 * gpu->down_bytes_per_s);
    else
        doctor_text_set(text, sizeof text, "not measured: no GPU could be used");
    write_row(out, "link", text);
    write_toolkit(out, "cuBLAS", gpu->cublas_file, gpu->cublas_version);
    write_toolkit(out, "cuSOLVER", gpu->cusolver_file, gpu->cusolver_version);
}

/* --- CPU library and program --------------------------------------------------------------- */

static const char *calibration_text(enum doctor_calibration_state state)
{
    static const char *const texts[] = {
        [DOCTOR_CALIBRATION_NONE] = "none",
        [DOCTOR_CALIBRATION_OTHER] = "none for this machine",
        [DOCTOR_CALIBRATION_DAMAGED] = "damaged",
        [DOCTOR_CALIBRATION_FITS] = "measured on this machine",
    };
    return texts[state];
}

static void write_cpu(FILE *out, const struct doctor_facts *facts)
{
    char text[TEXT_BYTES];
    fputs("CPU\n", out);
    doctor_text_set(text, sizeof text, "%d usable", facts->system.cores);
    if (facts->system.wake_s > 0) {
        const size_t at = strlen(text);
        doctor_text_set(text + at, sizeof text - at, "; waking a thread on each takes %.3g ms",
                        1e3 * facts->system.wake_s);
    }
    write_row(out, "cores", text);
    for (int i = 0; i < facts->blas_count; i++) {
        const struct doctor_blas *blas = &facts->blas[i];
        doctor_text_set(text, sizeof text, "%s: %s%s%s%s", blas->path,
                        doctor_vendor_text(blas->vendor), blas->version[0] ? " (" : "",
                        blas->version, blas->version[0] ? ")" : "");
        write_row(out, "BLAS", text);
        if (!blas->loads) {
            write_row(out, "", "unknown: it does not load outside the program");
            continue;
        }
        char threads[16] = "unknown";
        if (blas->threads > 0)
            snprintf(threads, sizeof threads, "%d", blas->threads);
        doctor_text_set(text, sizeof text, "%d-bit integers; threads: %s, of %s, ",
                        8 * blas->int_bytes, threads, doctor_pool_text(blas->pool));
        size_t at = strlen(text);
        if (isfinite(blas->spin_s))
            doctor_text_set(text + at, sizeof text - at, "which spin for %.3g ms after a product",
                            1e3 * blas->spin_s);
        else
            doctor_text_set(text + at, sizeof text - at, "which spin without end after a product");
        write_row(out, "", text);
    }
    doctor_text_set(text, sizeof text, "CPU: %s; GPU: %s",
                    calibration_text(facts->calibration.cpu.state),
                    calibration_text(facts->calibration.gpu.state));
    write_row(out, "calibration", text);
}

static void write_settings(FILE *out, const struct doctor_settings *settings)
{
    char text[TEXT_BYTES];
    if (settings->given_count > 0)
        fputs("Settings\n", out);
    for (int i = 0; i < settings->given_count; i++) {
        const struct doctor_given *given = &settings->given[i];
        doctor_text_set(text, sizeof text, "%s=%s, line %d of %s", given->name, given->value,
                        given->line, given->file);
        write_row(out, "file", text);
    }
}

static void write_object(FILE *out, const struct doctor_facts *facts,
                         const struct doctor_object *object)
{
    char text[TEXT_BYTES], names[256];
    struct doctor_names shown = object->elf.imports;
    doctor_names_join(&shown, &object->elf.unseen);
    bool imports = doctor_names_any(&shown);
    if (!imports) {
        shown = object->elf.defines;
        doctor_names_join(&shown, &object->elf.inside);
    }
    doctor_names_text(&shown, names, sizeof names);
    doctor_text_set(text, sizeof text, "%s %s%s", object->path,
                    imports                    ? "calls "
                    : doctor_names_any(&shown) ? "has "
                    : object->elf.nameless     ? "has a BLAS or LAPACK without names"
                                               : "exports no function that this library intercepts",
                    names);
    size_t at = strlen(text);
    if (doctor_object_is_lost(facts, object))
        doctor_text_set(text + at, sizeof text - at, ": NOT SEEN, see above");
    else if (doctor_names_any(&object->taken))
        doctor_text_set(text + at, sizeof text - at, ": goes through this library");
    else if (imports)
        doctor_text_set(text + at, sizeof text - at, ": can go through this library");
    write_row(out, "module", text);
}

static void write_program(FILE *out, const struct doctor_facts *facts)
{
    const struct doctor_program *program = &facts->program;
    char text[TEXT_BYTES];
    if (program->state == DOCTOR_PROGRAM_NONE)
        return;
    fputs("Program\n", out);
    doctor_text_set(
        text, sizeof text, "%s%s%s", program->script[0] ? program->script : program->path,
        program->script[0] ? ", interpreted by " : "", program->script[0] ? program->path : "");
    write_row(out, "file", text);
    for (int i = 0; i < facts->object_count; i++)
        write_object(out, facts, &facts->objects[i]);
}

/* --- The run ------------------------------------------------------------------------------- */

static void write_run(FILE *out, const struct doctor_facts *facts)
{
    const struct doctor_run *run = &facts->run;
    char text[TEXT_BYTES];
    if (!run->ran)
        return;
    fputs("Run\n", out);
    if (run->signalled)
        doctor_text_set(text, sizeof text, "ended by signal %d, %s", run->code,
                        strsignal(run->code));
    else
        doctor_text_set(text, sizeof text, "ended with exit status %d", run->code);
    write_row(out, "program", text);
    doctor_text_set(text, sizeof text, "%s; %d process%s reported what was loaded",
                    run->preloaded ? "was in the program"
                    : run->told    ? "was not in the program"
                                   : "not known to have been in the program",
                    run->processes, run->processes == 1 ? "" : "es");
    write_row(out, "library", text);
    if (run->cublas_file[0])
        write_row(out, "cuBLAS", run->cublas_file);
    if (run->cusolver_file[0])
        write_row(out, "cuSOLVER", run->cusolver_file);
    if (run->account.row_count == 0)
        write_row(out, "products",
                  run->unaccounted ? "unknown: no account could be written" : "none seen");
    for (int i = 0; i < run->account.row_count; i++) {
        const struct xg_account_row *row = &run->account.rows[i];
        const enum xg_place place = (enum xg_place)row->place;
        doctor_text_set(
            text, sizeof text, "%ld of %s on the %s (%s): %.3g GFLOP in %.3g s", (long)row->calls,
            row->symbol, place == XG_PLACE_BOTH ? "GPU and CPU" : xg_place_text(place),
            xg_reason_text((enum xg_reason)row->reason), 1e-9 * row->flops, row->seconds);
        write_row(out, i == 0 ? "products" : "", text);
    }
}

static void write_finding(FILE *out, const struct doctor_finding *finding)
{
    char text[TEXT_BYTES];
    bool mend = finding->diagnosis->level == DOCTOR_MEND;
    fprintf(out, "  %s%s%s ", mend ? terminal_colour(out, TERMINAL_RED) : "",
            mend ? "[mend]" : "[note]", mend ? terminal_colour(out, TERMINAL_PLAIN) : "");
    doctor_finding_text(finding, finding->diagnosis->words, text, sizeof text);
    terminal_wrap(out, text, 9, 9);
    fputs("         ", out);
    doctor_finding_text(finding, finding->diagnosis->remedy, text, sizeof text);
    char remedy[TEXT_BYTES + 64];
    doctor_text_set(remedy, sizeof remedy, "Remedy: %s (%s)", text, finding->diagnosis->id);
    terminal_wrap(out, remedy, 9, 9);
}

void doctor_report_write(FILE *out, const struct doctor_facts *facts,
                         const struct doctor_finding *findings, int count)
{
    int mend = doctor_findings_to_mend(findings, count);
    fprintf(out, "xgemm-doctor %s, library %s\n", PACKAGE_VERSION, facts->preload.library);
    fprintf(out, "%sFindings%s\n", terminal_colour(out, TERMINAL_BOLD),
            terminal_colour(out, TERMINAL_PLAIN));
    for (int i = 0; i < count; i++)
        write_finding(out, &findings[i]);
    if (mend == 0)
        fputs("  No fault found.\n", out);
    else
        fprintf(out, "  %d to mend.\n", mend);
    write_run(out, facts);
    write_program(out, facts);
    write_settings(out, &facts->settings);
    write_cpu(out, facts);
    write_gpu(out, facts);
}
