/* SPDX-License-Identifier: MIT */
/*
 * xgemm-doctor's rules, fed with facts: a healthy machine and program give no finding, each change
 * gives the one that it should, and every diagnosis that there is has such a change. Then the
 * reader of accounts, the ELF reader on damaged files, and the JSON.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/symbols.h"
#include "tests/support/xt.h"
#include "tools/doctor_diagnosis.h"
#include "tools/doctor_questions.h"
#include "tools/doctor_report.h"
#include "tools/doctor_text.h"

static struct doctor_facts facts;
static struct doctor_finding findings[DOCTOR_FINDINGS];

enum { NAME = 1u << SHIM_ID_cblas_sgemm };

/* A GPU, a program that is linked to OpenBLAS, and products on the GPU. */
static void make_healthy(void)
{
    memset(&facts, 0, sizeof facts);
    facts.gpu = (struct doctor_gpu){.driver = DOCTOR_DRIVER_OPEN,
                                    .device_count = 1,
                                    .devices = {{.name = "GPU", .sm = 90, .sm_count = 132}},
                                    .free_bytes = UINT64_C(80) << 30,
                                    .kernels = 50,
                                    .kernels_all = 50,
                                    .images = true,
                                    .up_bytes_per_s = 50e9,
                                    .down_bytes_per_s = 50e9};
    facts.system.cores = 16;
    facts.preload.library_usable = true;
    doctor_text_set(facts.preload.library, DOCTOR_PATH_BYTES, "/lib/libxgemm_shim.so");
    facts.program.state = DOCTOR_PROGRAM_FOUND;
    doctor_text_set(facts.program.name, DOCTOR_PATH_BYTES, "./program");
    facts.objects[0].main = true;
    facts.objects[0].elf.imports = NAME;
    facts.objects[0].taken = NAME;
    facts.objects[1] = (struct doctor_object){
        .path = "/lib/libopenblas.so.0",
        .elf = {.elf = true, .defines = NAME, .kit = true, .vendor = DOCTOR_VENDOR_OPENBLAS},
        .needed = true,
        .wanted = true};
    facts.object_count = 2;
    facts.blas[0] = (struct doctor_blas){.vendor = DOCTOR_VENDOR_OPENBLAS,
                                         .has_sgemm = true,
                                         .threads = 16,
                                         .pool = XG_POOL_OPENBLAS,
                                         .spin_s = 5e-4};
    facts.blas_count = 1;
    facts.run = (struct doctor_run){
        .ran = true, .witness = true, .processes = 1, .told = true, .preloaded = true};
    facts.run.rows[0] =
        (struct doctor_row){.place = XG_PLACE_GPU, .reason = XG_REASON_MODEL, .calls = 1};
    facts.run.row_count = 1;
    facts.calibration.cpu.state = DOCTOR_CALIBRATION_FITS;
    facts.calibration.gpu.state = DOCTOR_CALIBRATION_FITS;
}

/* --- One change a diagnosis ---------------------------------------------------------------- */

#define CHANGE(name, ...)                                                                          \
    static void name(void)                                                                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void set_driver(enum doctor_driver driver)
{
    facts.gpu = (struct doctor_gpu){.driver = driver, .chosen = -1};
}

static void set_row(enum xg_reason reason)
{
    facts.run.rows[0] = (struct doctor_row){
        .symbol = "sgemm_", .place = XG_PLACE_CPU, .reason = reason, .calls = 2};
}

/* A second library, whose calls are lost. */
static struct doctor_object *add_object(void)
{
    struct doctor_object *object = &facts.objects[facts.object_count++];
    doctor_text_set(object->path, DOCTOR_PATH_BYTES, "/lib/other.so");
    return object;
}

/* A program that the run started, and that took all of its time. */
static struct doctor_child *add_child(enum doctor_reach reach)
{
    struct doctor_child *child = &facts.run.children[facts.run.child_count++];
    child->reach = reach;
    facts.run.cores_s = facts.run.untold_s = 1;
    return child;
}

CHANGE(unbuilt, set_driver(DOCTOR_DRIVER_UNBUILT);)
CHANGE(in_container, set_driver(DOCTOR_DRIVER_ABSENT); facts.system.container = true;)
CHANGE(without_library, set_driver(DOCTOR_DRIVER_ABSENT);
       doctor_text_set(facts.system.kernel_module, 64, "580.1");)
CHANGE(without_driver, set_driver(DOCTOR_DRIVER_ABSENT); facts.system.pci_gpus = 1;)
CHANGE(without_gpu, set_driver(DOCTOR_DRIVER_ABSENT);)
CHANGE(hidden, set_driver(DOCTOR_DRIVER_EMPTY); facts.system.visible_devices = "";)
CHANGE(lacking, set_driver(DOCTOR_DRIVER_LACKS);)
CHANGE(closed, set_driver(DOCTOR_DRIVER_FAILED); facts.system.nodes_closed = true;)
CHANGE(failed, set_driver(DOCTOR_DRIVER_FAILED);)
CHANGE(crashed, set_driver(DOCTOR_DRIVER_CRASHED);)
CHANGE(hung, set_driver(DOCTOR_DRIVER_HUNG);)
CHANGE(empty, set_driver(DOCTOR_DRIVER_EMPTY);)
CHANGE(ordinal, facts.gpu.chosen = -1; facts.gpu.context = XG_ERR_NOTFOUND;)
CHANGE(prohibited, facts.gpu.devices[0].compute_mode = 2;)
CHANGE(taken, facts.gpu.devices[0].compute_mode = 3; facts.gpu.context = XG_ERR_DRIVER;)
CHANGE(exclusive, facts.gpu.devices[0].compute_mode = 3;)
CHANGE(context, facts.gpu.context = XG_ERR_NOMEM;)
CHANGE(memory, facts.gpu.free_bytes = 1 << 20;)
CHANGE(no_images, facts.gpu.images = false; facts.gpu.kernels = 0;)
CHANGE(no_kernels, facts.gpu.kernels = 0;)
CHANGE(old, facts.gpu.devices[0].sm = 70;)
CHANGE(old_cublas, facts.gpu.devices[0].sm = 70; facts.gpu.cublas_file[0] = '/';)
CHANGE(no_cublas, facts.system.wants_cublas = true;)
CHANGE(no_cusolver, facts.system.lapack = facts.program.lapack = true;)
CHANGE(lapack_off, facts.program.lapack = true; facts.run.row_count = 0;)
CHANGE(slow_link, facts.gpu.down_bytes_per_s = 3e9;)
CHANGE(no_link, facts.gpu.up_bytes_per_s = 0;)
CHANGE(one_core, facts.system.cores = 1;)

CHANGE(no_library, facts.preload.library_usable = false;)
CHANGE(bad_path, facts.preload.library_path_bad = true;)
CHANGE(preload_missing, doctor_texts_add(&facts.preload.missing, "a");)
CHANGE(rival, doctor_texts_add(&facts.preload.rivals, "a");)
CHANGE(nvblas, doctor_texts_add(&facts.preload.rivals, "/lib/libnvblas.so.13");)
CHANGE(twice, facts.preload.twice = true;)
CHANGE(refused, doctor_texts_add(&facts.settings.refused, "a");)
CHANGE(unknown, doctor_texts_add(&facts.settings.unknown, "a");)
CHANGE(ignored, doctor_texts_add(&facts.settings.ignored, "a");)
CHANGE(mode_cpu, facts.settings.mode_cpu = true;)
CHANGE(kernel, facts.settings.kernel = "a";)
CHANGE(cpu_blas, facts.settings.cpu_blas = "a";)
CHANGE(log_file, facts.settings.files[0] = "a";)
CHANGE(trace_file, facts.settings.files[1] = "a";)
CHANGE(damaged, facts.calibration.gpu.state = DOCTOR_CALIBRATION_DAMAGED;)
CHANGE(other, facts.calibration.cpu.state = DOCTOR_CALIBRATION_OTHER;)
CHANGE(uncalibrated, facts.calibration.gpu.state = DOCTOR_CALIBRATION_NONE;)
CHANGE(homeless, facts.calibration.homeless = true;)

CHANGE(missing, facts.program.state = DOCTOR_PROGRAM_MISSING;)
CHANGE(not_executable, facts.program.state = DOCTOR_PROGRAM_CLOSED;)
CHANGE(no_interpreter, facts.program.state = DOCTOR_PROGRAM_NO_INTERPRETER;)
CHANGE(unknown_file, facts.program.state = DOCTOR_PROGRAM_UNKNOWN;)
CHANGE(foreign, facts.program.state = DOCTOR_PROGRAM_FOREIGN;
       facts.program.reach = DOCTOR_REACH_FOREIGN;)
CHANGE(is_static, facts.program.reach = DOCTOR_REACH_STATIC;)
CHANGE(set_user_id, facts.program.reach = DOCTOR_REACH_SET_USER_ID;)
CHANGE(musl, facts.program.reach = DOCTOR_REACH_MUSL;)
CHANGE(environment, add_child(DOCTOR_REACH_ENVIRONMENT);)
CHANGE(library_missing, doctor_texts_add(&facts.program.missing_libraries, "a");)
CHANGE(in_program, facts.program.inside = NAME;)
CHANGE(mkl, struct doctor_object *o = add_object(); o->elf.mkl_inside = true; o->elf.inside = NAME;)
CHANGE(mkl_partly, struct doctor_object *o = add_object(); o->elf.mkl_inside = true;
       o->elf.defines = NAME; o->elf.interposes = NAME;)
CHANGE(deepbind, struct doctor_object *o = add_object(); o->elf.imports = NAME;
       o->elsewhere = NAME;)
CHANGE(apart, struct doctor_object *o = add_object(); o->elf.imports = NAME; o->apart = true;)
CHANGE(symbolic, struct doctor_object *o = add_object(); o->elf.defines = NAME;
       o->elf.symbolic = true;)
CHANGE(by_handle, struct doctor_object *o = add_object(); o->elf.defines = NAME; o->elf.kit = true;
       doctor_text_set(o->path, DOCTOR_PATH_BYTES, "/lib/libblas.so.3");)
CHANGE(inside, struct doctor_object *o = add_object(); o->elf.inside = NAME;)
CHANGE(slow, facts.blas[0].vendor = DOCTOR_VENDOR_OTHER; facts.blas[0].threads = 0;)
CHANGE(endless, facts.blas[0].spin_s = INFINITY;)
CHANGE(sanitized, facts.program.reach = DOCTOR_REACH_SANITIZER;)
CHANGE(spinning, facts.blas[0].spin_s = 0.13;)

CHANGE(not_started, facts.run = (struct doctor_run){.failed = true};)
CHANGE(not_preloaded, facts.run.preloaded = false;)
CHANGE(untold, facts.run.told = false; facts.run.signalled = true; facts.run.code = 9;)
CHANGE(no_witness, facts.run.witness = false; facts.run.told = false;)
CHANGE(no_calls, facts.run.row_count = 0;)
CHANGE(no_blas, facts.run.row_count = 0; facts.object_count = 0;)
CHANGE(message, doctor_texts_add(&facts.run.messages, "a");)
CHANGE(row_no_gpu, set_row(XG_REASON_NO_GPU);)
CHANGE(row_failed, set_row(XG_REASON_FAILED); facts.run.rows[0].place = XG_PLACE_BOTH;)
CHANGE(row_wrong, set_row(XG_REASON_WRONG);)
CHANGE(row_memory, set_row(XG_REASON_MEMORY);)
CHANGE(row_stack, set_row(XG_REASON_STACK);)
CHANGE(row_mode, set_row(XG_REASON_MODE);)
CHANGE(row_small, set_row(XG_REASON_SMALL);)
CHANGE(row_model, set_row(XG_REASON_MODEL);)
CHANGE(row_phase, set_row(XG_REASON_PHASE);)
CHANGE(row_trial, set_row(XG_REASON_TRIAL);)
CHANGE(row_earning, set_row(XG_REASON_EARNING);)
CHANGE(row_starting, set_row(XG_REASON_STARTING);)
CHANGE(row_busy, set_row(XG_REASON_BUSY);)
CHANGE(row_forked, set_row(XG_REASON_FORKED);)
CHANGE(row_overlap, set_row(XG_REASON_OVERLAP);)
CHANGE(row_in_place, set_row(XG_REASON_IN_PLACE);)
CHANGE(row_operation, set_row(XG_REASON_OPERATION);)
CHANGE(row_kernel, set_row(XG_REASON_KERNEL);)
CHANGE(row_cublas, set_row(XG_REASON_KERNEL);
       doctor_text_set(facts.run.cublas_file, sizeof facts.run.cublas_file,
                       "/lib/libcublas.so.13");)
CHANGE(row_cusolver, set_row(XG_REASON_KERNEL);
       doctor_text_set(facts.run.rows[0].symbol, sizeof facts.run.rows[0].symbol, "dgesv_");)
CHANGE(row_declined, set_row(XG_REASON_ROUTINE);
       doctor_text_set(facts.run.rows[0].symbol, sizeof facts.run.rows[0].symbol, "dgesv_");)
CHANGE(row_degenerate, set_row(XG_REASON_DEGENERATE);)

static const struct {
    const char *id;
    enum doctor_level level;
    void (*change)(void);
} provoked[] = {
    {"build.no-cuda", DOCTOR_MEND, unbuilt},
    {"driver.container", DOCTOR_MEND, in_container},
    {"driver.no-library", DOCTOR_MEND, without_library},
    {"driver.not-installed", DOCTOR_MEND, without_driver},
    {"driver.no-hardware", DOCTOR_MEND, without_gpu},
    {"device.hidden", DOCTOR_MEND, hidden},
    {"driver.lacks", DOCTOR_MEND, lacking},
    {"driver.closed", DOCTOR_MEND, closed},
    {"driver.failed", DOCTOR_MEND, failed},
    {"driver.crashed", DOCTOR_MEND, crashed},
    {"driver.hung", DOCTOR_MEND, hung},
    {"device.none", DOCTOR_MEND, empty},
    {"device.ordinal", DOCTOR_MEND, ordinal},
    {"device.prohibited", DOCTOR_MEND, prohibited},
    {"device.taken", DOCTOR_MEND, taken},
    {"device.exclusive", DOCTOR_NOTE, exclusive},
    {"device.context", DOCTOR_MEND, context},
    {"device.memory", DOCTOR_MEND, memory},
    {"kernels.not-built", DOCTOR_MEND, no_images},
    {"kernels.architecture", DOCTOR_MEND, no_kernels},
    {"device.old", DOCTOR_MEND, old},
    {"device.cublas-only", DOCTOR_NOTE, old_cublas},
    {"cublas.missing", DOCTOR_MEND, no_cublas},
    {"cusolver.missing", DOCTOR_NOTE, no_cusolver},
    {"lapack.off", DOCTOR_NOTE, lapack_off},
    {"link.slow", DOCTOR_NOTE, slow_link},
    {"link.unmeasured", DOCTOR_NOTE, no_link},
    {"cores.one", DOCTOR_NOTE, one_core},
    {"preload.library", DOCTOR_MEND, no_library},
    {"preload.path", DOCTOR_MEND, bad_path},
    {"preload.missing", DOCTOR_MEND, preload_missing},
    {"preload.nvblas", DOCTOR_MEND, nvblas},
    {"preload.rival", DOCTOR_NOTE, rival},
    {"preload.twice", DOCTOR_NOTE, twice},
    {"setting.refused", DOCTOR_MEND, refused},
    {"setting.unknown", DOCTOR_MEND, unknown},
    {"setting.file", DOCTOR_MEND, ignored},
    {"setting.mode-cpu", DOCTOR_MEND, mode_cpu},
    {"setting.kernel", DOCTOR_MEND, kernel},
    {"setting.cpu-blas", DOCTOR_MEND, cpu_blas},
    {"setting.log", DOCTOR_MEND, log_file},
    {"setting.trace", DOCTOR_MEND, trace_file},
    {"calibration.damaged", DOCTOR_MEND, damaged},
    {"calibration.other", DOCTOR_NOTE, other},
    {"calibration.none", DOCTOR_NOTE, uncalibrated},
    {"calibration.homeless", DOCTOR_NOTE, homeless},
    {"program.missing", DOCTOR_MEND, missing},
    {"program.closed", DOCTOR_MEND, not_executable},
    {"program.interpreter", DOCTOR_MEND, no_interpreter},
    {"program.unknown", DOCTOR_MEND, unknown_file},
    {"program.foreign", DOCTOR_MEND, foreign},
    {"program.static", DOCTOR_MEND, is_static},
    {"program.set-user-id", DOCTOR_MEND, set_user_id},
    {"program.sanitizer", DOCTOR_MEND, sanitized},
    {"program.musl", DOCTOR_MEND, musl},
    {"program.environment", DOCTOR_MEND, environment},
    {"program.library-missing", DOCTOR_MEND, library_missing},
    {"blas.in-program", DOCTOR_MEND, in_program},
    {"blas.mkl-inside", DOCTOR_MEND, mkl},
    {"blas.mkl-partly", DOCTOR_NOTE, mkl_partly},
    {"blas.deepbind", DOCTOR_MEND, deepbind},
    {"blas.dlmopen", DOCTOR_MEND, apart},
    {"blas.symbolic", DOCTOR_MEND, symbolic},
    {"blas.dlsym", DOCTOR_MEND, by_handle},
    {"blas.inside", DOCTOR_MEND, inside},
    {"blas.slow", DOCTOR_NOTE, slow},
    {"spin.endless", DOCTOR_MEND, endless},
    {"spin.long", DOCTOR_NOTE, spinning},
    {"run.failed", DOCTOR_MEND, not_started},
    {"run.not-preloaded", DOCTOR_MEND, not_preloaded},
    {"run.no-witness", DOCTOR_MEND, no_witness},
    {"run.untold", DOCTOR_NOTE, untold},
    {"run.no-calls", DOCTOR_NOTE, no_calls},
    {"run.no-blas", DOCTOR_NOTE, no_blas},
    {"run.message", DOCTOR_NOTE, message},
    {"run.no-gpu", DOCTOR_MEND, row_no_gpu},
    {"run.failures", DOCTOR_MEND, row_failed},
    {"run.wrong", DOCTOR_MEND, row_wrong},
    {"run.memory", DOCTOR_MEND, row_memory},
    {"run.stack", DOCTOR_MEND, row_stack},
    {"run.mode", DOCTOR_NOTE, row_mode},
    {"run.small", DOCTOR_NOTE, row_small},
    {"run.model", DOCTOR_NOTE, row_model},
    {"run.phase", DOCTOR_NOTE, row_phase},
    {"run.trial", DOCTOR_NOTE, row_trial},
    {"run.earning", DOCTOR_NOTE, row_earning},
    {"run.starting", DOCTOR_NOTE, row_starting},
    {"run.busy", DOCTOR_NOTE, row_busy},
    {"run.forked", DOCTOR_NOTE, row_forked},
    {"run.overlap", DOCTOR_NOTE, row_overlap},
    {"run.in-place", DOCTOR_NOTE, row_in_place},
    {"run.operation", DOCTOR_NOTE, row_operation},
    {"run.kernel", DOCTOR_MEND, row_kernel},
    {"run.cublas", DOCTOR_MEND, row_cublas},
    {"run.cusolver", DOCTOR_MEND, row_cusolver},
    {"run.declined", DOCTOR_NOTE, row_declined},
    {"run.degenerate", DOCTOR_NOTE, row_degenerate},
};

enum { PROVOKED = sizeof provoked / sizeof provoked[0] };

/* Both of these say that a device is in exclusive mode, and one that nobody can use it. */
static bool goes_along(const char *id, const char *with)
{
    return !strcmp(with, "device.taken") && !strcmp(id, "device.exclusive");
}

static void test_rules(void)
{
    make_healthy();
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 0, "healthy: %s", count ? findings[0].diagnosis->id : "");
    for (int i = 0; i < PROVOKED; i++) {
        bool found = false;
        make_healthy();
        provoked[i].change();
        count = doctor_diagnose(&facts, findings);
        for (int j = 0; j < count; j++) {
            bool this_one = !strcmp(findings[j].diagnosis->id, provoked[i].id);
            found |= this_one && findings[j].diagnosis->level == provoked[i].level;
            XT_CHECK(this_one || goes_along(findings[j].diagnosis->id, provoked[i].id),
                     "%s: finds %s too", provoked[i].id, findings[j].diagnosis->id);
        }
        XT_CHECK(found, "%s is not found", provoked[i].id);
    }
}

/* Every row is provoked above, once, and is written as its form asks. */
static void check_row(const struct doctor_diagnosis *row, void *rows)
{
    int times = 0;
    for (int i = 0; i < PROVOKED; i++)
        times += !strcmp(provoked[i].id, row->id);
    XT_CHECK(times == 1, "%s: provoked %d times", row->id, times);
    XT_CHECK(row->words[strlen(row->words) - 1] == '.', "%s: no full stop", row->id);
    XT_CHECK(row->remedy[strlen(row->remedy) - 1] == '.', "%s: no full stop", row->id);
    ++*(int *)rows;
}

static void test_tables(void)
{
    int rows = 0;
    doctor_diagnosis_visit(check_row, &rows);
    XT_CHECK(rows == PROVOKED, "%d rows, %d provoked", rows, PROVOKED);
}

/* What is to be mended comes first, then what cost most; what concerns less than 1 % is left out.
 */
static void test_order(void)
{
    static const struct doctor_row rows[] = {
        {XG_PLACE_CPU, XG_REASON_SMALL, "sgemm_", 9000, 0.1, 0.008},
        {XG_PLACE_CPU, XG_REASON_STARTING, "sgemm_", 10, 1.0, 0.05},
        {XG_PLACE_CPU, XG_REASON_MODEL, "sgemm_", 10, 1.0, 0.4},
        {XG_PLACE_CPU, XG_REASON_STACK, "sgemm_", 1, 0.1, 0.001},
        {XG_PLACE_GPU, XG_REASON_MODEL, "sgemm_", 10, 1.0, 0.5},
    };
    static const char *const ids[] = {"run.stack", "run.model", "run.starting"};
    make_healthy();
    memcpy(facts.run.rows, rows, sizeof rows);
    facts.run.row_count = sizeof rows / sizeof rows[0];
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 3, "%d findings", count);
    for (int i = 0; i < 3 && i < count; i++)
        XT_CHECK(!strcmp(findings[i].diagnosis->id, ids[i]), "finding %d: %s", i,
                 findings[i].diagnosis->id);
}

/* What must not be taken for another thing. */
static void test_neighbours(void)
{
    make_healthy();
    set_driver(DOCTOR_DRIVER_ABSENT);
    facts.system.visible_devices = "";
    XT_CHECK(doctor_diagnose(&facts, findings) == 2, "no driver, and hidden");
    make_healthy();
    spinning();
    facts.blas[0].spin_mended = true;
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "threads that xgemm-run has wait for less");
    make_healthy();
    facts.system.visible_devices = "0";
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "a device that is named and there");
    make_healthy();
    facts.objects[1].elf.symbolic = true;
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "others are bound to a symbolic BLAS");
    make_healthy();
    facts.objects[1].wanted = false;
    facts.objects[1].elf.symbolic = true;
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "a symbolic BLAS of which SGEMM is not used");
    make_healthy();
    by_handle();
    doctor_text_set(facts.objects[2].elf.soname, 256, "%s", XG_DEFAULT_CPU_BLAS);
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "the one that this library loads itself");
    make_healthy();
    by_handle();
    facts.objects[2].taken = NAME;
    XT_CHECK(doctor_diagnose(&facts, findings) == 1,
             "its own calls are taken, those of others not");
    make_healthy();
    symbolic();
    facts.objects[2].taken = NAME;
    XT_CHECK(doctor_diagnose(&facts, findings) == 0, "what is taken is not lost");
    make_healthy();
    set_row(XG_REASON_EARNING);
    set_driver(DOCTOR_DRIVER_EMPTY);
    XT_CHECK(doctor_diagnose(&facts, findings) == 1, "nothing to earn without a device");
    make_healthy();
    doctor_texts_add(&facts.settings.refused, "XGEMM_MODE=x is not understood");
    doctor_texts_add(&facts.run.messages, "XGEMM_MODE=x is not understood");
    XT_CHECK(doctor_diagnose(&facts, findings) == 1, "told once");
}

/* Which programs that the run started are told of; share: of the run, where no word was left. */
static int count_children(double cores_s, double share, bool sgemm, bool products)
{
    make_healthy();
    add_child(DOCTOR_REACH_STATIC)->sgemm = sgemm;
    facts.run.cores_s = cores_s;
    facts.run.untold_s = share * cores_s;
    if (!products)
        facts.run.row_count = 0;
    int count = doctor_diagnose(&facts, findings), found = 0;
    for (int i = 0; i < count; i++)
        found += !strcmp(findings[i].diagnosis->id, "program.static");
    XT_CHECK(products || count == 1, "a child is told of, or that nothing was multiplied");
    return found;
}

static void test_children(void)
{
    XT_CHECK(count_children(10, 0.02, false, false) == 1, "a child, no products");
    XT_CHECK(count_children(10, 0.005, false, false) == 0, "below a hundredth of the run");
    XT_CHECK(count_children(0.1, 0.05, false, false) == 0, "below 10 ms");
    XT_CHECK(count_children(0.1, 0.05, true, false) == 1, "below 10 ms, with an SGEMM");
    XT_CHECK(count_children(10, 0.3, false, true) == 0, "a tool beside products");
    XT_CHECK(count_children(10, 0.6, false, true) == 1, "most of the run, beside products");
    XT_CHECK(count_children(10, 0.3, true, true) == 1, "an SGEMM beside products");
    make_healthy();
    for (int i = 0; i < DOCTOR_CHILDREN; i++)
        doctor_text_set(add_child(DOCTOR_REACH_STATIC)->path, DOCTOR_PATH_BYTES, "/bin/tool%d", i);
    facts.run.told = false;
    XT_CHECK(doctor_diagnose(&facts, findings) == 1, "many children, one finding");
    XT_CHECK(strstr(findings[0].subject, "/bin/tool0 (") && strstr(findings[0].subject, "tool2,"),
             "many children: %s", findings[0].subject);
    facts.preload.library_usable = false;
    XT_CHECK(doctor_diagnose(&facts, findings) == 1, "the library itself comes first");
}

/* --- The account --------------------------------------------------------------------------- */

static void test_account(void)
{
    static struct xg_account account;
    static struct doctor_run run;
    struct xg_call_record record = {
        .symbol = "cblas_sgemm",
        .call = {.m = 500, .n = 500, .k = 500},
        .place = XG_PLACE_CPU,
        .reason = XG_REASON_EARNING,
        .seconds = 0.1,
    };
    xg_account_init(&account);
    xg_account_add(&account, &record);
    xg_account_add(&account, &record);
    record.symbol = "sgemm_";
    record.place = XG_PLACE_GPU;
    record.reason = XG_REASON_MODEL;
    xg_account_add(&account, &record);
    run.row_count = 7;
    doctor_account_take(&run, &account);
    XT_CHECK(run.row_count == 2, "%d rows", run.row_count);
    XT_CHECK(run.rows[0].calls == 2 && run.rows[0].reason == XG_REASON_EARNING &&
                 run.rows[0].place == XG_PLACE_CPU && !strcmp(run.rows[0].symbol, "cblas_sgemm"),
             "%ld", run.rows[0].calls);
    XT_CHECK(fabs(run.rows[0].gflop - 0.5) < 1e-9 && fabs(run.rows[0].seconds - 0.2) < 1e-9,
             "sums");
    XT_CHECK(run.rows[1].place == XG_PLACE_GPU && run.rows[1].reason == XG_REASON_MODEL, "GPU");
}

/* --- Files --------------------------------------------------------------------------------- */

/* This program, cut short and with bytes changed at random: any answer will do. */
static void test_damaged_files(void)
{
    enum { HEAD_BYTES = 1 << 16, ROUNDS = 300, CHANGES = 12 };
    static unsigned char head[HEAD_BYTES], changed[HEAD_BYTES];
    char path[] = "/tmp/xg_doctor.XXXXXX";
    struct doctor_elf elf;
    uint64_t seed = 1;
    int self = open("/proc/self/exe", O_RDONLY), fd = mkstemp(path);
    ssize_t size = read(self, head, sizeof head);
    close(self);
    XT_CHECK(fd >= 0 && size > 4096, "no file to damage");
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(changed, head, sizeof head);
        for (int j = 0; j < CHANGES; j++) {
            /* Mostly in the headers, behind what says that this is an ELF file of this machine. */
            int at = 20 + (int)((xt_random(&seed) + 1) / 2 * (float)(j < 8 ? 1500 : size - 32));
            changed[at] = (unsigned char)(128 * xt_random(&seed));
        }
        size_t bytes = i % 3 ? (size_t)size : (size_t)((xt_random(&seed) + 1) / 2 * (float)size);
        if (ftruncate(fd, 0) || pwrite(fd, changed, bytes, 0) != (ssize_t)bytes)
            exit(XT_HARD);
        XT_CHECK(doctor_elf_read(&elf, path), "an open file");
        doctor_elf_fini(&elf);
    }
    close(fd);
    unlink(path);
    XT_CHECK(!doctor_elf_read(&elf, path) && !elf.elf, "no file");
    XT_CHECK(doctor_elf_read(&elf, "/proc/self/exe") && elf.native && elf.dynamic && elf.program &&
                 elf.needed_count > 0 && elf.interpreter[0] == '/',
             "this program");
    doctor_elf_fini(&elf);
}

/* --- The reports --------------------------------------------------------------------------- */

/* Brackets and quotes of a JSON text close in turn. */
static bool is_closed(const char *text)
{
    char open[64];
    int depth = 0;
    bool quoted = false;
    for (; *text; text++) {
        if (quoted && *text == '\\')
            text++;
        else if (*text == '"')
            quoted = !quoted;
        else if (!quoted && (*text == '{' || *text == '['))
            open[depth++] = *text == '{' ? '}' : ']';
        else if (!quoted && (*text == '}' || *text == ']') &&
                 (depth == 0 || open[--depth] != *text))
            return false;
    }
    return depth == 0 && !quoted;
}

static void test_reports(void)
{
    char *text = NULL;
    size_t size = 0;
    make_healthy();
    doctor_texts_add(&facts.settings.refused,
                     "XGEMM_MODE=\"\\\n\xff is not understood, nor H\u00fclle "
                     "\u00a0\u20ac \U0001f600 \xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82.");
    facts.blas[0].spin_s = INFINITY;
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 2 && doctor_findings_to_mend(findings, count) == 2, "%d", count);
    FILE *out = open_memstream(&text, &size);
    doctor_json_write(out, &facts, findings, count);
    fclose(out);
    XT_CHECK(is_closed(text), "%s", text);
    XT_CHECK(strstr(text, "XGEMM_MODE=\\\"\\\\\\u000a\\ufffd is not"), "%s", text);
    /* Characters of UTF-8 stay; of bytes that are none each is marked: forms longer than needed,
     * surrogates, what is beyond the last character, one that is cut. */
    XT_CHECK(
        strstr(text,
               "nor H\u00fclle \u00a0\u20ac \U0001f600 \\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"
               "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd."),
        "%s", text);
    XT_CHECK(strstr(text, "\"spin_us\":null") && strstr(text, "\"to_mend\":2,"), "%s", text);
    free(text);
    out = open_memstream(&text, &size);
    doctor_report_write(out, &facts, findings, count);
    fclose(out);
    XT_CHECK(strstr(text, "[mend] XGEMM_MODE=") && strstr(text, "(setting.refused)"), "%s", text);
    XT_CHECK(strstr(text, "2 to mend."), "%s", text);
    free(text);
}

int main(void)
{
    test_rules();
    test_tables();
    test_order();
    test_neighbours();
    test_children();
    test_account();
    test_damaged_files();
    test_reports();
    return xt_done();
}
