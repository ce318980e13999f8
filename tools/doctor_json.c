/* SPDX-License-Identifier: MIT */
/* Writes the report as one JSON object. */
#include <math.h>
#include <string.h>

#include "doctor.h"

/* Writes a value after its name, or in an array without one; a comma precedes all but the first. */
struct json {
    FILE *out;
    bool first;
};

/* The length in bytes of the UTF-8 character at the start of text; 0: it is not valid by RFC 3629,
 * which allows no overlong form, no surrogate, and nothing beyond U+10FFFF. */
static int utf8_bytes(const unsigned char *text)
{
    int bytes = text[0] < 0x80   ? 1
                : text[0] < 0xc2 ? 0
                : text[0] < 0xe0 ? 2
                : text[0] < 0xf0 ? 3
                : text[0] < 0xf5 ? 4
                                 : 0;
    for (int i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool refused = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
                   (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f);
    return refused ? 0 : bytes;
}

/* A byte that belongs to no character becomes U+FFFD. */
static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        unsigned char c = (unsigned char)*text;
        int bytes = utf8_bytes((const unsigned char *)text);
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || !bytes)
            fprintf(out, "\\u%04x", bytes ? c : 0xfffdu);
        else
            fwrite(text, 1, (size_t)bytes, out);
        text += bytes ? bytes : 1;
    }
    fputc('"', out);
}

static void begin_value(struct json *json, const char *name)
{
    if (!json->first)
        fputc(',', json->out);
    json->first = false;
    if (name) {
        write_string(json->out, name);
        fputc(':', json->out);
    }
}

static void open_value(struct json *json, const char *name, char bracket)
{
    begin_value(json, name);
    fputc(bracket, json->out);
    json->first = true;
}

static void close_value(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->first = false;
}

static void put_text(struct json *json, const char *name, const char *text)
{
    begin_value(json, name);
    if (text)
        write_string(json->out, text);
    else
        fputs("null", json->out);
}

static void put_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    fputs(value ? "true" : "false", json->out);
}

/* Only whole numbers, which are the same in all locales. */
static void put_int(struct json *json, const char *name, long long value)
{
    begin_value(json, name);
    fprintf(json->out, "%lld", value);
}

/* Writes a count of units; null if it is NaN, infinite or too large for a long long. */
static void put_units(struct json *json, const char *name, double value, double unit)
{
    if (fabs(value / unit) < 9e18) {
        put_int(json, name, llround(value / unit));
    } else {
        begin_value(json, name);
        fputs("null", json->out);
    }
}

static void put_names(struct json *json, const char *name, const struct doctor_names *names)
{
    open_value(json, name, '[');
    for (int id = doctor_names_next(names, 0); id < SHIM_ID_COUNT;
         id = doctor_names_next(names, id + 1))
        put_text(json, NULL, shim_symbols[id].name);
    close_value(json, ']');
}

static void put_gpu(struct json *json, const struct doctor_facts *facts)
{
    static const char *const states[] = {
        [DOCTOR_DRIVER_UNBUILT] = "not-built", [DOCTOR_DRIVER_ABSENT] = "absent",
        [DOCTOR_DRIVER_LACKS] = "lacks",       [DOCTOR_DRIVER_FAILED] = "failed",
        [DOCTOR_DRIVER_EMPTY] = "no-device",   [DOCTOR_DRIVER_CRASHED] = "crashed",
        [DOCTOR_DRIVER_HUNG] = "hung",         [DOCTOR_DRIVER_OPEN] = "open",
    };
    const struct doctor_gpu *gpu = &facts->gpu;
    open_value(json, "gpu", '{');
    put_text(json, "driver", states[gpu->driver]);
    put_text(json, "driver_file", gpu->driver_file);
    put_int(json, "driver_cuda_version", gpu->driver_version);
    put_text(json, "kernel_module", facts->system.kernel_module);
    put_text(json, "failure", gpu->failure);
    put_bool(json, "container", facts->system.container);
    put_bool(json, "wsl", facts->system.wsl);
    put_text(json, "cuda_visible_devices", facts->system.visible_devices);
    open_value(json, "devices", '[');
    for (int i = 0; i < gpu->device_count && i < DOCTOR_DEVICES; i++) {
        const struct doctor_device *device = &gpu->devices[i];
        open_value(json, NULL, '{');
        put_text(json, "name", device->name);
        put_int(json, "compute_capability", device->sm);
        put_int(json, "multiprocessors", device->sm_count);
        put_int(json, "memory_bytes", (long long)device->memory_bytes);
        put_int(json, "compute_mode", device->compute_mode);
        put_bool(json, "used", i == gpu->chosen);
        close_value(json, '}');
    }
    close_value(json, ']');
    put_text(json, "context",
             gpu->driver == DOCTOR_DRIVER_OPEN ? xg_status_name(gpu->context) : NULL);
    put_int(json, "free_bytes", (long long)gpu->free_bytes);
    put_int(json, "kernels", gpu->kernels);
    put_int(json, "kernels_all", gpu->kernels_all);
    put_text(json, "kernel_1024", gpu->kernel);
    put_units(json, "up_mb_per_s", gpu->up_bytes_per_s, 1e6);
    put_units(json, "down_mb_per_s", gpu->down_bytes_per_s, 1e6);
    put_text(json, "cublas_file", gpu->cublas_file);
    put_int(json, "cublas_version", gpu->cublas_version);
    put_text(json, "cusolver_file", gpu->cusolver_file);
    put_int(json, "cusolver_version", gpu->cusolver_version);
    close_value(json, '}');
}

static void put_cpu(struct json *json, const struct doctor_facts *facts)
{
    static const char *const states[] = {
        [DOCTOR_CALIBRATION_NONE] = "none",
        [DOCTOR_CALIBRATION_OTHER] = "other",
        [DOCTOR_CALIBRATION_DAMAGED] = "damaged",
        [DOCTOR_CALIBRATION_FITS] = "fits",
    };
    put_int(json, "cores", facts->system.cores);
    put_units(json, "wake_us", facts->system.wake_s, 1e-6);
    open_value(json, "blas", '[');
    for (int i = 0; i < facts->blas_count; i++) {
        const struct doctor_blas *blas = &facts->blas[i];
        open_value(json, NULL, '{');
        put_text(json, "file", blas->path);
        put_text(json, "vendor", doctor_vendor_text(blas->vendor));
        put_text(json, "version", blas->version);
        put_bool(json, "loads", blas->loads);
        put_int(json, "integer_bits", 8 * blas->int_bytes);
        put_int(json, "threads", blas->threads);
        put_text(json, "pool", doctor_pool_text(blas->pool));
        put_units(json, "spin_us", blas->spin_s, 1e-6);
        close_value(json, '}');
    }
    close_value(json, ']');
    open_value(json, "calibration", '{');
    put_text(json, "cpu", states[facts->calibration.cpu.state]);
    put_text(json, "cpu_file", facts->calibration.cpu.path);
    put_text(json, "gpu", states[facts->calibration.gpu.state]);
    put_text(json, "gpu_file", facts->calibration.gpu.path);
    close_value(json, '}');
}

static void put_settings(struct json *json, const struct doctor_settings *settings)
{
    open_value(json, "settings_of_files", '[');
    for (int i = 0; i < settings->given_count; i++) {
        const struct doctor_given *given = &settings->given[i];
        open_value(json, NULL, '{');
        put_text(json, "name", given->name);
        put_text(json, "value", given->value);
        put_text(json, "file", given->file);
        put_int(json, "line", given->line);
        close_value(json, '}');
    }
    close_value(json, ']');
}

static void put_program(struct json *json, const struct doctor_facts *facts)
{
    static const char *const states[] = {
        [DOCTOR_PROGRAM_NONE] = "none",
        [DOCTOR_PROGRAM_MISSING] = "missing",
        [DOCTOR_PROGRAM_CLOSED] = "not-executable",
        [DOCTOR_PROGRAM_NO_INTERPRETER] = "no-interpreter",
        [DOCTOR_PROGRAM_UNKNOWN] = "unknown",
        [DOCTOR_PROGRAM_FOREIGN] = "foreign",
        [DOCTOR_PROGRAM_FOUND] = "found",
    };
    const struct doctor_program *program = &facts->program;
    open_value(json, "program", '{');
    put_text(json, "state", states[program->state]);
    put_text(json, "name", program->name);
    put_text(json, "file", program->path);
    put_text(json, "script", program->script);
    put_text(json, "interpreter", program->interpreter);
    put_bool(json, "static", program->reach == DOCTOR_REACH_STATIC);
    put_bool(json, "python", program->python);
    close_value(json, '}');
    open_value(json, "modules", '[');
    for (int i = 0; i < facts->object_count; i++) {
        const struct doctor_object *object = &facts->objects[i];
        open_value(json, NULL, '{');
        put_text(json, "file", object->path);
        put_names(json, "imports", &object->elf.imports);
        put_names(json, "defines", &object->elf.defines);
        put_names(json, "inside", &object->elf.inside);
        put_names(json, "bound_to_library", &object->taken);
        put_names(json, "bound_elsewhere", &object->elsewhere);
        put_bool(json, "lapack", doctor_names_lapack(&object->elf.imports));
        put_bool(json, "lost", doctor_object_is_lost(facts, object));
        close_value(json, '}');
    }
    close_value(json, ']');
}

static void put_run(struct json *json, const struct doctor_run *run)
{
    open_value(json, "run", '{');
    put_bool(json, "ran", run->ran);
    put_units(json, "exit_status", run->ran && !run->signalled ? run->code : NAN, 1);
    put_units(json, "signal", run->ran && run->signalled ? run->code : NAN, 1);
    put_int(json, "processes", run->processes);
    put_bool(json, "preloaded", run->preloaded);
    put_text(json, "cublas_file", run->cublas_file);
    put_text(json, "cusolver_file", run->cusolver_file);
    open_value(json, "products", '[');
    for (int i = 0; i < run->account.row_count; i++) {
        const struct xg_account_row *row = &run->account.rows[i];
        open_value(json, NULL, '{');
        put_text(json, "name", row->symbol);
        put_text(json, "where", xg_place_text((enum xg_place)row->place));
        put_text(json, "why", xg_reason_text((enum xg_reason)row->reason));
        put_int(json, "calls", row->calls);
        put_units(json, "mflop", row->flops, 1e6);
        put_units(json, "us", row->seconds, 1e-6);
        close_value(json, '}');
    }
    close_value(json, ']');
    close_value(json, '}');
}

static void put_findings(struct json *json, const struct doctor_finding *findings, int count)
{
    char text[2048];
    open_value(json, "findings", '[');
    for (int i = 0; i < count; i++) {
        const struct doctor_diagnosis *diagnosis = findings[i].diagnosis;
        open_value(json, NULL, '{');
        put_text(json, "id", diagnosis->id);
        put_text(json, "level", diagnosis->level == DOCTOR_MEND ? "mend" : "note");
        put_text(json, "subject", findings[i].subject);
        doctor_finding_text(&findings[i], diagnosis->words, text, sizeof text);
        put_text(json, "words", text);
        doctor_finding_text(&findings[i], diagnosis->remedy, text, sizeof text);
        put_text(json, "remedy", text);
        close_value(json, '}');
    }
    close_value(json, ']');
}

void doctor_json_write(FILE *out, const struct doctor_facts *facts,
                       const struct doctor_finding *findings, int count)
{
    struct json json = {.out = out, .first = true};
    open_value(&json, NULL, '{');
    put_int(&json, "xgemm_doctor", 1);
    put_text(&json, "version", PACKAGE_VERSION);
    put_text(&json, "library", facts->preload.library);
    put_int(&json, "to_mend", doctor_findings_to_mend(findings, count));
    put_gpu(&json, facts);
    put_cpu(&json, facts);
    put_settings(&json, &facts->settings);
    put_program(&json, facts);
    put_run(&json, &facts->run);
    put_findings(&json, findings, count);
    close_value(&json, '}');
    fputc('\n', out);
}
