/* SPDX-License-Identifier: MIT */
/* Reports what keeps a program on this machine from the GPU; `xgemm-run doctor` runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "output.h"
#include "src/base/file.h"

enum { NOTHING_WRONG = 0, TO_MEND = 1, OWN_TROUBLE = 125 };

static struct doctor_facts facts;
static struct doctor_finding findings[DOCTOR_FINDINGS];

static struct {
    bool json;
    const char *file; /* the report's file; NULL: standard output */
    char **argv;      /* the program and its arguments; NULL: none */
} options;

static const char usage[] =
    "usage: xgemm-run doctor [--json[=FILE]] [--] [PROGRAM [ARGUMENT...]]\n"
    "\n"
    "Says what keeps products from the GPU, with a remedy for each finding: driver, devices, "
    "kernels,\nlink, CPU library, calibration, settings. With PROGRAM it reads the program's "
    "files, runs it with\nthe library preloaded, and says which of its calls the library sees and "
    "where its products ran.\nThe report follows the program's output.\n"
    "\n"
    "  --json[=FILE]  prints the report as one JSON object, or writes it to FILE\n"
    "  --list         prints all diagnoses with their remedies\n"
    "  --help         prints this text\n"
    "\n"
    "Exit status: 0 no fault was found, 1 a fault was found, 125 doctor itself failed.\n";

static void list_row(const struct doctor_diagnosis *diagnosis, void *context)
{
    struct doctor_finding finding = {.diagnosis = diagnosis, .subject = "(...)"};
    char text[2048];
    (void)context;
    printf("%s (%s)\n", diagnosis->id, diagnosis->level == DOCTOR_MEND ? "mend" : "note");
    doctor_finding_text(&finding, diagnosis->words, text, sizeof text);
    printf("  %s\n", text);
    doctor_finding_text(&finding, diagnosis->remedy, text, sizeof text);
    printf("  Remedy: %s\n", text);
}

/* Ends doctor after an option that only prints. */
static void end_print(void)
{
    exit(fflush(stdout) == 0 ? NOTHING_WRONG : OWN_TROUBLE);
}

/* False: unknown option. */
static bool read_options(char **argv)
{
    for (argv++; *argv && **argv == '-'; argv++) {
        if (!strcmp(*argv, "--")) {
            argv++;
            break;
        }
        if (!strcmp(*argv, "--json") || (!strncmp(*argv, "--json=", 7) && (*argv)[7])) {
            options.json = true;
            options.file = (*argv)[6] ? *argv + 7 : NULL;
        } else if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h")) {
            fputs(usage, stdout);
            end_print();
        } else if (!strcmp(*argv, "--list")) {
            doctor_diagnosis_visit(list_row, NULL);
            end_print();
        } else {
            fprintf(stderr, "xgemm-doctor: unknown option %s; see --help\n", *argv);
            return false;
        }
    }
    options.argv = *argv ? argv : NULL;
    return true;
}

static void read_machine(void)
{
    doctor_settings_read(&facts.settings);
    doctor_preload_read(&facts.preload);
    doctor_system_read(&facts.system);
    doctor_gpu_read(&facts.gpu);
}

static bool read_program(void)
{
    struct doctor_objects *objects = doctor_objects_create();
    if (!objects)
        return false;
    doctor_program_read(&facts.program, options.argv ? options.argv[0] : NULL);
    doctor_objects_list(objects, &facts.program);
    /* execvp would give a file that it cannot start to a shell. */
    if (facts.program.state == DOCTOR_PROGRAM_FOUND &&
        !doctor_run_start(&facts.run, &facts.preload, options.argv, objects)) {
        doctor_objects_destroy(objects);
        return false;
    }
    doctor_objects_finish(objects, &facts);
    doctor_objects_destroy(objects);
    return true;
}

/* If there is no program, or it brings no library, the library that would serve is described. */
static void read_blas(void)
{
    const char *named = getenv("XGEMM_CPU_BLAS");
    if (facts.blas_count == 0)
        doctor_blas_read(&facts.blas[facts.blas_count++],
                         named && *named && !facts.settings.cpu_blas ? named : XG_DEFAULT_CPU_BLAS);
    doctor_calibration_read(&facts.calibration, facts.blas[0].loads ? facts.blas[0].path : NULL);
}

/* Opens and empties the file of --json; a FIFO waits for its reader. tools/report/main.py opens its
 * page the same way. */
static FILE *open_report(void)
{
    struct stat status;
    int fd = xg_file_open(options.file, O_WRONLY | O_CREAT, 0666);
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    FILE *out = fd >= 0 && (!regular || ftruncate(fd, 0) == 0) ? fdopen(fd, "w") : NULL;
    if (!out && fd >= 0)
        close(fd);
    return out;
}

static bool write_report(int count)
{
    FILE *out = options.file ? open_report() : stdout;
    if (!out)
        return false;
    if (options.json)
        doctor_json_write(out, &facts, findings, count);
    else
        doctor_report_write(out, &facts, findings, count);
    bool written = !ferror(out) && fflush(out) == 0;
    return options.file ? fclose(out) == 0 && written : written;
}

/* The reason why no product can run on the GPU. */
static enum xg_reason find_absence(void)
{
    if (facts.system.nodes_closed)
        return XG_REASON_DENIED;
    return facts.gpu.driver == DOCTOR_DRIVER_ABSENT  ? XG_REASON_NO_DRIVER
           : facts.gpu.driver == DOCTOR_DRIVER_EMPTY ? XG_REASON_NO_DEVICE
                                                     : XG_REASON_NO_GPU;
}

/* The library asks no driver before a start is earned; doctor knows the answer. */
static void explain_products(void)
{
    if (!doctor_gpu_usable(&facts))
        xg_account_explain(&facts.run.account, find_absence());
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!read_options(argv))
        return OWN_TROUBLE;
    if (options.file && !output_is_writable(options.file)) {
        fprintf(stderr, "xgemm-doctor: %s: %s\n", options.file, strerror(errno));
        return OWN_TROUBLE;
    }
    read_machine();
    if (!read_program()) {
        fprintf(stderr, "xgemm-doctor: the program could not be run: %s\n", strerror(errno));
        return OWN_TROUBLE;
    }
    explain_products();
    read_blas();
    int count = doctor_diagnose(&facts, findings);
    if (!write_report(count)) {
        fprintf(stderr, "xgemm-doctor: the report could not be written: %s\n", strerror(errno));
        return OWN_TROUBLE;
    }
    return doctor_findings_to_mend(findings, count) > 0 ? TO_MEND : NOTHING_WRONG;
}
