/* SPDX-License-Identifier: MIT */
/* xgemm-doctor's rules on facts: a healthy machine and program give no finding, each change gives
 * its finding, and every diagnosis has a change. Also the ELF reader on damaged files, and the
 * reports. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/symbols.h"
#include "tests/support/xt.h"
#include "tools/doctor.h"

static struct doctor_facts facts;
static struct doctor_finding findings[DOCTOR_FINDINGS];

/* A set of one name. */
#define NAME ((struct doctor_names){.words = {1}})
_Static_assert(SHIM_ID_cblas_sgemm == 0, "the first bit");

/* A GPU, a program linked to OpenBLAS, and products on the GPU. */
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
                                         .has_names = true,
                                         .threads = 16,
                                         .pool = SHIM_POOL_OPENBLAS,
                                         .spin_s = 5e-4};
    facts.blas_count = 1;
    facts.run = (struct doctor_run){
        .ran = true, .witness = true, .processes = 1, .told = true, .preloaded = true};
    facts.run.account.rows[0] =
        (struct xg_account_row){.place = XG_PLACE_GPU, .reason = XG_REASON_MODEL, .calls = 1};
    facts.run.account.row_count = 1;
    facts.calibration.cpu.state = DOCTOR_CALIBRATION_FITS;
    facts.calibration.gpu.state = DOCTOR_CALIBRATION_FITS;
}

/* --- One change a diagnosis ---------------------------------------------------------------- */

static void set_driver(enum doctor_driver driver)
{
    facts.gpu = (struct doctor_gpu){.driver = driver, .chosen = -1};
}

static void set_row(enum xg_reason reason)
{
    facts.run.account.rows[0] = (struct xg_account_row){
        .symbol = "sgemm_", .place = XG_PLACE_CPU, .reason = reason, .calls = 2};
}

static void set_symbol(const char *name)
{
    doctor_text_set(facts.run.account.rows[0].symbol, sizeof facts.run.account.rows[0].symbol, "%s",
                    name);
}

/* A second library, whose calls the shim does not get. */
static struct doctor_object *const other = &facts.objects[2];

static void add_object(void)
{
    facts.object_count = 3;
    doctor_text_set(other->path, DOCTOR_PATH_BYTES, "/lib/other.so");
}

static void add_handle(void)
{
    add_object();
    other->elf.defines = NAME;
    other->elf.kit = true;
    doctor_text_set(other->path, DOCTOR_PATH_BYTES, "/lib/libblas.so.3");
}

static void set_spin(const char *setting)
{
    doctor_text_set(facts.blas[0].spin_setting, sizeof facts.blas[0].spin_setting, "%s", setting);
}

/* A library that FlexiBLAS, or a front of MKL, opened by a handle. */
static void add_behind(enum doctor_vendor front, enum doctor_vendor vendor)
{
    add_handle();
    other->elf.vendor = vendor;
    facts.objects[1].elf.vendor = front;
}

/* A program that the run started, and that took all its time. */
static struct doctor_child *add_child(enum doctor_reach reach)
{
    struct doctor_child *child = &facts.run.children[facts.run.child_count++];
    child->reach = reach;
    facts.run.cores_s = facts.run.untold_s = 1;
    return child;
}

static const char *provoked[DOCTOR_FINDINGS]; /* ids of the diagnoses so far */
static int provoked_count;

/* Both diagnoses say that a device is in exclusive mode; device.taken also says that it cannot be
 * used. */
static bool goes_along(const char *id, const char *with)
{
    return !strcmp(with, "device.taken") && !strcmp(id, "device.exclusive");
}

static void check_found(const char *id, enum doctor_level level)
{
    bool found = false;
    int count = doctor_diagnose(&facts, findings);
    for (int i = 0; i < count; i++) {
        bool this_one = !strcmp(findings[i].diagnosis->id, id);
        found |= this_one && findings[i].diagnosis->level == level;
        XT_CHECK(this_one || goes_along(findings[i].diagnosis->id, id), "%s: finds %s too", id,
                 findings[i].diagnosis->id);
    }
    XT_CHECK(found, "%s is not found", id);
    provoked[provoked_count++] = id;
}

/* Makes a change to a healthy machine that gives this diagnosis and no other. */
#define PROVOKE(id, level, ...)                                                                    \
    do {                                                                                           \
        make_healthy();                                                                            \
        __VA_ARGS__;                                                                               \
        check_found(id, DOCTOR_##level);                                                           \
    } while (0)

static void provoke_gpu(void)
{
    PROVOKE("build.no-cuda", MEND, set_driver(DOCTOR_DRIVER_UNBUILT));
    PROVOKE("driver.wsl", MEND, set_driver(DOCTOR_DRIVER_ABSENT); facts.system.wsl = true);
    PROVOKE("driver.container", MEND, set_driver(DOCTOR_DRIVER_ABSENT);
            facts.system.container = true);
    PROVOKE("driver.no-library", MEND, set_driver(DOCTOR_DRIVER_ABSENT);
            doctor_text_set(facts.system.kernel_module, 64, "580.1"));
    PROVOKE("driver.not-installed", MEND, set_driver(DOCTOR_DRIVER_ABSENT);
            facts.system.pci_gpus = 1);
    PROVOKE("driver.no-hardware", MEND, set_driver(DOCTOR_DRIVER_ABSENT));
    PROVOKE("device.hidden", MEND, set_driver(DOCTOR_DRIVER_EMPTY);
            facts.system.visible_devices = "");
    PROVOKE("driver.lacks", MEND, set_driver(DOCTOR_DRIVER_LACKS));
    PROVOKE("driver.closed", MEND, set_driver(DOCTOR_DRIVER_FAILED);
            facts.system.nodes_closed = true);
    PROVOKE("driver.failed", MEND, set_driver(DOCTOR_DRIVER_FAILED));
    PROVOKE("driver.crashed", MEND, set_driver(DOCTOR_DRIVER_CRASHED));
    PROVOKE("driver.hung", MEND, set_driver(DOCTOR_DRIVER_HUNG));
    PROVOKE("device.none", MEND, set_driver(DOCTOR_DRIVER_EMPTY));
    PROVOKE("device.ordinal", MEND, facts.gpu.chosen = -1; facts.gpu.context = XG_ERR_NOTFOUND);
    PROVOKE("device.prohibited", MEND, facts.gpu.devices[0].compute_mode = 2);
    PROVOKE("device.taken", MEND, facts.gpu.devices[0].compute_mode = 3;
            facts.gpu.context = XG_ERR_DRIVER);
    PROVOKE("device.exclusive", NOTE, facts.gpu.devices[0].compute_mode = 3);
    PROVOKE("device.context", MEND, facts.gpu.context = XG_ERR_NOMEM);
    PROVOKE("device.memory", MEND, facts.gpu.free_bytes = 1 << 20);
    PROVOKE("kernels.not-built", MEND, facts.gpu.images = false; facts.gpu.kernels = 0);
    PROVOKE("kernels.architecture", MEND, facts.gpu.kernels = 0);
    PROVOKE("device.old", MEND, facts.gpu.devices[0].sm = 70);
    PROVOKE("device.cublas-only", NOTE, facts.gpu.devices[0].sm = 70;
            facts.gpu.cublas_file[0] = '/');
    PROVOKE("cublas.missing", MEND, facts.system.wants_cublas = true);
    PROVOKE("cusolver.missing", NOTE, facts.system.lapack = facts.program.lapack = true);
    PROVOKE("lapack.off", NOTE, facts.program.lapack = true; facts.run.account.row_count = 0);
    PROVOKE("link.slow", NOTE, facts.gpu.down_bytes_per_s = 3e9);
    PROVOKE("link.unmeasured", NOTE, facts.gpu.up_bytes_per_s = 0);
    PROVOKE("cores.one", NOTE, facts.system.cores = 1);
}

static void provoke_setting(void)
{
    PROVOKE("preload.library", MEND, facts.preload.library_usable = false);
    PROVOKE("preload.path", MEND, facts.preload.library_path_bad = true);
    PROVOKE("preload.missing", MEND, doctor_texts_add(&facts.preload.missing, "a"));
    PROVOKE("preload.nvblas", MEND,
            doctor_texts_add(&facts.preload.rivals, "/lib/libnvblas.so.13"));
    PROVOKE("preload.rival", NOTE, doctor_texts_add(&facts.preload.rivals, "a"));
    PROVOKE("preload.twice", NOTE, facts.preload.twice = true);
    PROVOKE("setting.refused", MEND, doctor_texts_add(&facts.settings.refused, "a"));
    PROVOKE("setting.unknown", MEND, doctor_texts_add(&facts.settings.unknown, "a"));
    PROVOKE("setting.file", MEND, doctor_texts_add(&facts.settings.ignored, "a"));
    PROVOKE("setting.mode-cpu", MEND, facts.settings.mode_cpu = true);
    PROVOKE("setting.kernel", MEND, facts.settings.kernel = "a");
    PROVOKE("setting.cpu-blas", MEND, facts.settings.cpu_blas = "a");
    PROVOKE("setting.log", MEND, facts.settings.files[0] = "a");
    PROVOKE("setting.trace", MEND, facts.settings.files[1] = "a");
    PROVOKE("calibration.damaged", MEND, facts.calibration.gpu.state = DOCTOR_CALIBRATION_DAMAGED);
    PROVOKE("calibration.other", NOTE, facts.calibration.cpu.state = DOCTOR_CALIBRATION_OTHER);
    PROVOKE("calibration.none", NOTE, facts.calibration.gpu.state = DOCTOR_CALIBRATION_NONE);
    PROVOKE("calibration.homeless", NOTE, facts.calibration.homeless = true);
}

static void provoke_program(void)
{
    PROVOKE("program.missing", MEND, facts.program.state = DOCTOR_PROGRAM_MISSING);
    PROVOKE("program.closed", MEND, facts.program.state = DOCTOR_PROGRAM_CLOSED);
    PROVOKE("program.interpreter", MEND, facts.program.state = DOCTOR_PROGRAM_NO_INTERPRETER);
    PROVOKE("program.unknown", MEND, facts.program.state = DOCTOR_PROGRAM_UNKNOWN);
    PROVOKE("program.foreign", MEND, facts.program.state = DOCTOR_PROGRAM_FOREIGN;
            facts.program.reach = DOCTOR_REACH_FOREIGN);
    PROVOKE("program.static", MEND, facts.program.reach = DOCTOR_REACH_STATIC);
    PROVOKE("program.set-user-id", MEND, facts.program.reach = DOCTOR_REACH_SET_USER_ID);
    PROVOKE("program.sanitizer", MEND, facts.program.reach = DOCTOR_REACH_SANITIZER);
    PROVOKE("program.musl", MEND, facts.program.reach = DOCTOR_REACH_MUSL);
    PROVOKE("program.environment", MEND, add_child(DOCTOR_REACH_ENVIRONMENT));
    PROVOKE("program.library-missing", MEND,
            doctor_texts_add(&facts.program.missing_libraries, "a"));
    PROVOKE("setting.resident", NOTE, facts.settings.resident = "a reason");
    PROVOKE("blas.in-program", MEND, facts.program.inside = NAME);
    PROVOKE("blas.mkl-inside", MEND, add_object(); other->elf.mkl_inside = true;
            other->elf.inside = NAME);
    PROVOKE("blas.mkl-partly", NOTE, add_object(); other->elf.mkl_inside = true;
            other->elf.defines = NAME; other->elf.interposes = NAME);
    PROVOKE("blas.deepbind", MEND, add_object(); other->elf.imports = NAME;
            other->elsewhere = NAME);
    PROVOKE("blas.dlmopen", MEND, add_object(); other->elf.imports = NAME; other->apart = true);
    PROVOKE("blas.symbolic", MEND, add_object(); other->elf.defines = NAME;
            other->elf.symbolic = true);
    PROVOKE("blas.dlsym", MEND, add_handle(); facts.run.account.row_count = 0);
    PROVOKE("blas.spelling", MEND, add_object(); other->elf.unseen = NAME;
            facts.objects[1].elf.spells = true);
    PROVOKE("blas.trampoline", MEND, add_handle(); other->elf.vendor = DOCTOR_VENDOR_TRAMPOLINE);
    PROVOKE("blas.inside", MEND, add_object(); other->elf.inside = NAME);
    PROVOKE("blas.slow", NOTE, facts.blas[0].vendor = DOCTOR_VENDOR_OTHER;
            facts.blas[0].threads = 0);
    PROVOKE("blas.dlsym-beside", NOTE, add_handle());
    PROVOKE("spin.endless", MEND, facts.blas[0].spin_s = INFINITY; set_spin("OMP_WAIT_POLICY=a"));
    PROVOKE("spin.long", NOTE, facts.blas[0].spin_s = 0.13; set_spin("XGEMM_SPIN=keep"));
    PROVOKE("spin.openmp", NOTE, facts.blas[0].spin_s = 0.2; facts.blas[0].pool = SHIM_POOL_MKL);
    PROVOKE("spin.dear", NOTE, facts.system.wake_dear = true);
}

static void provoke_run(void)
{
    PROVOKE("run.failed", MEND, facts.run = (struct doctor_run){.failed = true});
    PROVOKE("run.not-preloaded", MEND, facts.run.preloaded = false);
    PROVOKE("run.no-witness", MEND, facts.run.witness = false; facts.run.told = false);
    PROVOKE("run.untold", NOTE, facts.run.told = false; facts.run.signalled = true;
            facts.run.code = 9);
    PROVOKE("run.no-calls", NOTE, facts.run.account.row_count = 0);
    PROVOKE("run.no-blas", NOTE, facts.run.account.row_count = 0; facts.object_count = 0);
    PROVOKE("run.message", NOTE, doctor_texts_add(&facts.run.messages, "a"));
    PROVOKE("run.no-gpu", MEND, set_row(XG_REASON_NO_GPU));
    PROVOKE("run.failures", MEND, set_row(XG_REASON_FAILED);
            facts.run.account.rows[0].place = XG_PLACE_BOTH);
    PROVOKE("run.wrong", MEND, set_row(XG_REASON_WRONG));
    PROVOKE("run.memory", MEND, set_row(XG_REASON_MEMORY));
    PROVOKE("run.stack", MEND, set_row(XG_REASON_STACK));
    PROVOKE("run.mode", NOTE, set_row(XG_REASON_MODE));
    PROVOKE("run.small", NOTE, set_row(XG_REASON_SMALL));
    PROVOKE("run.model", NOTE, set_row(XG_REASON_MODEL));
    PROVOKE("run.phase", NOTE, set_row(XG_REASON_PHASE));
    PROVOKE("run.trial", NOTE, set_row(XG_REASON_TRIAL));
    PROVOKE("run.earning", NOTE, set_row(XG_REASON_EARNING));
    PROVOKE("run.starting", NOTE, set_row(XG_REASON_STARTING));
    PROVOKE("run.busy", NOTE, set_row(XG_REASON_BUSY));
    PROVOKE("run.forked", NOTE, set_row(XG_REASON_FORKED));
    PROVOKE("run.overlap", NOTE, set_row(XG_REASON_OVERLAP));
    PROVOKE("run.in-place", NOTE, set_row(XG_REASON_IN_PLACE));
    PROVOKE("run.operation", NOTE, set_row(XG_REASON_OPERATION));
    PROVOKE("run.kernel", MEND, set_row(XG_REASON_KERNEL));
    PROVOKE("run.cublas", MEND, set_row(XG_REASON_KERNEL); facts.run.cublas_file[0] = '/');
    PROVOKE("run.cusolver", MEND, set_row(XG_REASON_SOLVER); set_symbol("dgesv_"));
    PROVOKE("run.cusolver-closed", MEND, set_row(XG_REASON_SOLVER); set_symbol("dgesv_");
            facts.run.cusolver_file[0] = '/');
    PROVOKE("run.declined", NOTE, set_row(XG_REASON_ROUTINE); set_symbol("dgesv_"));
    PROVOKE("run.degenerate", NOTE, set_row(XG_REASON_DEGENERATE));
}

static void test_rules(void)
{
    make_healthy();
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 0, "healthy: %s", count ? findings[0].diagnosis->id : "");
    provoke_gpu();
    provoke_setting();
    provoke_program();
    provoke_run();
}

/* The tests above provoke each row once, and its sentences end with full stops. */
static void check_row(const struct doctor_diagnosis *row, void *rows)
{
    int times = 0;
    for (int i = 0; i < provoked_count; i++)
        times += !strcmp(provoked[i], row->id);
    XT_CHECK(times == 1, "%s: provoked %d times", row->id, times);
    XT_CHECK(row->words[strlen(row->words) - 1] == '.', "%s: no full stop", row->id);
    XT_CHECK(row->remedy[strlen(row->remedy) - 1] == '.', "%s: no full stop", row->id);
    ++*(int *)rows;
}

static void test_tables(void)
{
    int rows = 0;
    doctor_diagnosis_visit(check_row, &rows);
    XT_CHECK(rows == provoked_count, "%d rows, %d provoked", rows, provoked_count);
}

/* Findings to mend come first, then those that cost most. Findings about less than 1 % are left
 * out. */
static void test_order(void)
{
    static const struct xg_account_row rows[] = {
        {"sgemm_", XG_PLACE_CPU, XG_REASON_SMALL, 9000, 1e8, .seconds = 0.008},
        {"sgemm_", XG_PLACE_CPU, XG_REASON_STARTING, 10, 1e9, .seconds = 0.05},
        {"sgemm_", XG_PLACE_CPU, XG_REASON_MODEL, 10, 1e9, .seconds = 0.4},
        {"sgemm_", XG_PLACE_CPU, XG_REASON_STACK, 1, 1e8, .seconds = 0.001},
        {"sgemm_", XG_PLACE_GPU, XG_REASON_MODEL, 10, 1e9, .seconds = 0.5},
    };
    static const char *const ids[] = {"run.stack", "run.model", "run.starting"};
    make_healthy();
    memcpy(facts.run.account.rows, rows, sizeof rows);
    facts.run.account.row_count = sizeof rows / sizeof rows[0];
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 3, "%d findings", count);
    for (int i = 0; i < 3 && i < count; i++)
        XT_CHECK(!strcmp(findings[i].diagnosis->id, ids[i]), "finding %d: %s", i,
                 findings[i].diagnosis->id);
}

/* A change of a healthy machine that gives so many findings. */
#define COUNT(count, why, ...)                                                                     \
    do {                                                                                           \
        make_healthy();                                                                            \
        __VA_ARGS__;                                                                               \
        XT_CHECK(doctor_diagnose(&facts, findings) == (count), "%s", why);                         \
    } while (0)

/* Facts that are similar to a diagnosis and do not give it. */
static void test_neighbours(void)
{
    COUNT(2, "no driver, and hidden", set_driver(DOCTOR_DRIVER_ABSENT);
          facts.system.visible_devices = "");
    COUNT(0, "a long spin that no setting causes", facts.blas[0].spin_s = 0.13);
    COUNT(1, "a long spin where no operand is copied", facts.blas[0].spin_s = 0.13;
          set_spin("XGEMM_SPIN=keep"); set_driver(DOCTOR_DRIVER_EMPTY));
    COUNT(0, "a named device that exists", facts.system.visible_devices = "0");
    COUNT(0, "others are bound to a symbolic BLAS", facts.objects[1].elf.symbolic = true);
    COUNT(0, "a symbolic BLAS of which no name is imported", facts.objects[1].wanted = false;
          facts.objects[1].elf.symbolic = true);
    COUNT(0, "the BLAS that this library loads itself", add_handle();
          doctor_text_set(other->elf.soname, 256, "%s", XG_DEFAULT_CPU_BLAS));
    COUNT(0, "FlexiBLAS's backend", add_behind(DOCTOR_VENDOR_FLEXIBLAS, DOCTOR_VENDOR_OPENBLAS));
    COUNT(0, "the BLAS behind libblastrampoline",
          add_behind(DOCTOR_VENDOR_TRAMPOLINE, DOCTOR_VENDOR_OPENBLAS));
    COUNT(1, "libblastrampoline in Julia",
          add_behind(DOCTOR_VENDOR_TRAMPOLINE, DOCTOR_VENDOR_OPENBLAS);
          facts.program.julia = true);
    COUNT(0, "a library's own function of such a name", add_object(); other->elf.unseen = NAME);
    COUNT(0, "a part of MKL", add_behind(DOCTOR_VENDOR_MKL, DOCTOR_VENDOR_MKL));
    COUNT(1, "another BLAS beside MKL", add_behind(DOCTOR_VENDOR_MKL, DOCTOR_VENDOR_OPENBLAS));
    COUNT(1, "a BLAS without names in a library", add_object(); other->elf.nameless = true);
    COUNT(1, "a BLAS without names in the program", facts.program.nameless = true;
          facts.run.account.row_count = 0);
    COUNT(1, "its own calls are taken, those of others not", add_handle(); other->taken = NAME);
    COUNT(0, "calls that are taken are not lost", add_object(); other->elf.defines = NAME;
          other->elf.symbolic = true; other->taken = NAME);
    COUNT(1, "nothing to earn without a device", set_row(XG_REASON_EARNING);
          set_driver(DOCTOR_DRIVER_EMPTY));
    COUNT(1, "one finding for two equal messages",
          doctor_texts_add(&facts.settings.refused, "XGEMM_MODE=x is not understood");
          doctor_texts_add(&facts.run.messages, "XGEMM_MODE=x is not understood"));
    COUNT(0, "calls of which no account could be written", facts.run.account.row_count = 0;
          facts.run.unaccounted = true);
}

/* Counts the findings about programs that the run started. share: of the run's time, spent in
 * processes without a report. */
static int count_children(double cores_s, double share, bool multiplies, bool products)
{
    make_healthy();
    add_child(DOCTOR_REACH_STATIC)->multiplies = multiplies;
    facts.run.cores_s = cores_s;
    facts.run.untold_s = share * cores_s;
    if (!products)
        facts.run.account.row_count = 0;
    int count = doctor_diagnose(&facts, findings), found = 0;
    for (int i = 0; i < count; i++)
        found += !strcmp(findings[i].diagnosis->id, "program.static");
    XT_CHECK(products || count == 1, "not one finding: a child, or a program without products");
    return found;
}

static void test_children(void)
{
    XT_CHECK(count_children(10, 0.02, false, false) == 1, "a child, no products");
    XT_CHECK(count_children(10, 0.005, false, false) == 0, "below a hundredth of the run");
    XT_CHECK(count_children(0.1, 0.05, false, false) == 0, "below 10 ms");
    XT_CHECK(count_children(0.1, 0.05, true, false) == 1, "below 10 ms, with one of our names");
    XT_CHECK(count_children(10, 0.3, false, true) == 0, "a tool beside products");
    XT_CHECK(count_children(10, 0.6, false, true) == 1, "most of the run, beside products");
    XT_CHECK(count_children(10, 0.3, true, true) == 1, "one of our names beside products");
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

/* --- Names --- */

/* Finds each intercepted name, and checks the operations on sets of names. */
static void test_names(void)
{
    struct doctor_names set = {0}, all = {0}, blas = {0};
    char text[64];
    for (int id = 0; id < SHIM_ID_COUNT; id++) {
        XT_CHECK(doctor_names_find(shim_symbols[id].name) == id, "%s", shim_symbols[id].name);
        doctor_names_add(&all, id);
        doctor_names_add(id < SHIM_BLAS_COUNT ? &blas : &set, id);
    }
    XT_CHECK(doctor_names_find("cblas_daxpy") == -1 && doctor_names_find("") == -1, "other names");
    XT_CHECK(doctor_names_find_unseen("dgemm") == SHIM_ID_dgemm_ &&
                 doctor_names_find_unseen("DGEMM") == SHIM_ID_dgemm_ &&
                 doctor_names_find_unseen("zpotrf_64") == SHIM_ID_zpotrf_64_,
             "MKL's other spellings");
    XT_CHECK(doctor_names_find_unseen("dgemm_") == -1 && doctor_names_find_unseen("") == -1 &&
                 doctor_names_find_unseen("daxpy") == -1,
             "no other spelling");
    XT_CHECK(!doctor_names_blas(&set) && doctor_names_lapack(&set), "LAPACK alone");
    XT_CHECK(doctor_names_blas(&blas) && !doctor_names_lapack(&blas), "BLAS alone");
    XT_CHECK(!doctor_names_meet(&set, &blas) && doctor_names_meet(&set, &all), "common names");
    doctor_names_remove_kinds(&all, &NAME);
    XT_CHECK(!memcmp(&all, &set, sizeof all), "those of LAPACK stay");
    doctor_names_join(&all, &blas);
    doctor_names_remove(&all, &set);
    XT_CHECK(!memcmp(&all, &blas, sizeof all), "those of BLAS stay");
    doctor_names_text(&NAME, text, sizeof text);
    XT_CHECK(!strcmp(text, "cblas_sgemm"), "%s", text);
    set = (struct doctor_names){0};
    for (int id = SHIM_ID_dgesv_; id < SHIM_ID_dgesv_ + 4; id++)
        doctor_names_add(&set, id);
    doctor_names_text(&set, text, sizeof text);
    XT_CHECK(!strcmp(text, "dgesv_, scipy_dgesv_, dgesv_64_ and 1 other"), "%s", text);
}

/* --- Files --------------------------------------------------------------------------------- */

/* Reads this program truncated and with random bytes changed: any answer is right. */
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
            /* Mostly in the headers, after the fields that identify an ELF file of this machine. */
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

/* Whether the brackets and quotes of a JSON text match. */
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
    set_spin("OMP_WAIT_POLICY=active");
    int count = doctor_diagnose(&facts, findings);
    XT_CHECK(count == 2 && doctor_findings_to_mend(findings, count) == 2, "%d", count);
    FILE *out = open_memstream(&text, &size);
    doctor_json_write(out, &facts, findings, count);
    fclose(out);
    XT_CHECK(is_closed(text), "%s", text);
    XT_CHECK(strstr(text, "XGEMM_MODE=\\\"\\\\\\u000a\\ufffd is not"), "%s", text);
    /* UTF-8 characters stay. Each invalid byte is replaced: overlong forms, surrogates, numbers
     * above the last character, a truncated form. */
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
    test_names();
    test_damaged_files();
    test_reports();
    return xt_done();
}
