/* SPDX-License-Identifier: MIT */
/* What xgemm-doctor knows before it judges: plain data, which a test can write down as well. */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor_elf.h"
#include "src/base/xg.h"

enum {
    DOCTOR_DEVICES = 16,
    DOCTOR_OBJECTS = 128,
    DOCTOR_BLAS = 16,
    DOCTOR_CHILDREN = 64,
    DOCTOR_TEXTS = 16,
    DOCTOR_GIVEN = 32,
    DOCTOR_ROWS = 256,
    DOCTOR_PATH_BYTES = 512,
    DOCTOR_TEXT_BYTES = 400
};

/* A few lines of text; those beyond the last are dropped. */
struct doctor_texts {
    char text[DOCTOR_TEXTS][DOCTOR_TEXT_BYTES];
    int count;
    double cost_s; /* of subjects of a rule: seconds of the run that they concern; 0: not known */
};

/* --- The GPU ------------------------------------------------------------------------------- */

enum doctor_driver {
    DOCTOR_DRIVER_UNBUILT, /* this build knows no driver */
    DOCTOR_DRIVER_ABSENT,  /* libcuda.so.1 cannot be loaded; failure says why */
    DOCTOR_DRIVER_LACKS,   /* a function that failure names */
    DOCTOR_DRIVER_FAILED,  /* cuInit, with what failure says */
    DOCTOR_DRIVER_EMPTY,   /* works, and finds no device */
    DOCTOR_DRIVER_CRASHED, /* ended the process that asked it */
    DOCTOR_DRIVER_HUNG,    /* did not answer */
    DOCTOR_DRIVER_OPEN,
};

struct doctor_device {
    char name[96];
    int sm, sm_count;
    int compute_mode; /* 0 shared, 2 prohibited, 3 one process at a time */
    uint64_t memory_bytes;
};

/* Without pointers: it comes through a pipe. */
struct doctor_gpu {
    enum doctor_driver driver;
    char driver_file[DOCTOR_PATH_BYTES];
    int driver_version; /* of CUDA: 12040 for 12.4; 0: unknown */
    char failure[DOCTOR_TEXT_BYTES];
    int device_count; /* those beyond DOCTOR_DEVICES are counted only */
    struct doctor_device devices[DOCTOR_DEVICES];
    int chosen;               /* the device that XGEMM_DEVICES lets be used; -1: none of those */
    enum xg_status context;   /* of opening it */
    uint64_t free_bytes;      /* of its memory */
    int kernels, kernels_all; /* rows of the table whose code loads there; and all of ours */
    bool images;              /* this build carries device code */
    char kernel[64];          /* the row for 1024 x 1024 x 1024; empty: none */
    double up_bytes_per_s, down_bytes_per_s; /* page-locked; 0: could not be measured */
    char cublas_file[DOCTOR_PATH_BYTES];     /* empty: none */
    int cublas_version;                      /* 130200 for 13.2; 0: unknown */
};

struct doctor_system {
    char kernel_module[64]; /* version of NVIDIA's; empty: not loaded */
    int pci_gpus;           /* NVIDIA's on the bus */
    bool container;
    bool nodes;                  /* /dev/nvidiactl is there */
    bool nodes_closed;           /* device files are there, none of which may be opened */
    const char *visible_devices; /* CUDA_VISIBLE_DEVICES; NULL: unset */
    int cores;                   /* that the process may use */
    bool wants_cublas;           /* XGEMM_MATH or XGEMM_KERNEL ask for it */
};

/* --- Settings ------------------------------------------------------------------------------ */

/* A setting that a configuration file gives. */
struct doctor_given {
    char name[64], value[256], file[DOCTOR_PATH_BYTES];
    int line;
};

struct doctor_settings {
    struct doctor_given given[DOCTOR_GIVEN];
    int given_count;
    struct doctor_texts refused; /* what is not understood, as the library says it */
    struct doctor_texts unknown; /* variables that nobody reads, as the library says it */
    struct doctor_texts ignored; /* lines of configuration files, as the library says it */
    bool mode_cpu;
    const char *kernel;   /* XGEMM_KERNEL where there is no such kernel; else NULL */
    const char *cpu_blas; /* XGEMM_CPU_BLAS where it cannot be loaded or has no SGEMM; else NULL */
    const char *files[2]; /* XGEMM_LOG, XGEMM_TRACE: those that cannot be written */
};

/* What LD_PRELOAD and /etc/ld.so.preload name, and the library itself. */
struct doctor_preload {
    char library[DOCTOR_PATH_BYTES]; /* empty: not known */
    bool library_usable;
    bool library_path_bad; /* a blank or a colon is in it, which the loader takes for an end */
    struct doctor_texts missing; /* entries that are no files */
    struct doctor_texts rivals;  /* entries that offer an SGEMM of their own */
    bool twice;                  /* this library is among the entries */
};

/* --- The program --------------------------------------------------------------------------- */

enum doctor_program_state {
    DOCTOR_PROGRAM_NONE, /* none was given */
    DOCTOR_PROGRAM_MISSING,
    DOCTOR_PROGRAM_CLOSED,         /* may not be executed */
    DOCTOR_PROGRAM_NO_INTERPRETER, /* of a script, or the dynamic linker that it names */
    DOCTOR_PROGRAM_UNKNOWN,        /* neither ELF nor a script */
    DOCTOR_PROGRAM_FOREIGN,        /* of another kind of machine, 32 bits among them */
    DOCTOR_PROGRAM_FOUND,
};

/* What keeps this library from a program. */
enum doctor_reach {
    DOCTOR_REACHED, /* nothing does */
    DOCTOR_REACH_FOREIGN,
    DOCTOR_REACH_STATIC,
    DOCTOR_REACH_MUSL,
    DOCTOR_REACH_SET_USER_ID, /* or group, or it has capabilities of its own */
    DOCTOR_REACH_SANITIZER,   /* its run-time wants to be loaded first */
    DOCTOR_REACH_ENVIRONMENT, /* a child that is run without LD_PRELOAD */
};

struct doctor_program {
    enum doctor_program_state state;
    enum doctor_reach reach;        /* the first that holds; where the state is FOUND or FOREIGN */
    char name[DOCTOR_PATH_BYTES];   /* as it was given */
    char path[DOCTOR_PATH_BYTES];   /* the file; of a script: what interprets it, at last */
    char script[DOCTOR_PATH_BYTES]; /* empty: it is none */
    char interpreter[DOCTOR_PATH_BYTES]; /* the dynamic linker; or what is missing */
    bool python;
    bool sgemm;      /* it imports, offers or holds an SGEMM */
    unsigned inside; /* names of ours that are linked in */
    struct doctor_texts missing_libraries;
};

/* An object that has to do with SGEMM: of the program's dependencies, or of those that it loaded.
 */
struct doctor_object {
    char path[DOCTOR_PATH_BYTES];
    struct doctor_elf elf; /* without its list of what it needs */
    bool main;             /* the program */
    bool needed;           /* another one names it among what it needs */
    bool wanted;           /* another one imports one of the names that it defines */
    bool apart;            /* in a namespace of its own: dlmopen */
    unsigned taken;        /* names that were bound to this library at the end of the run */
    unsigned elsewhere;    /* names that were bound to another one's, past this library */
    char target[DOCTOR_PATH_BYTES]; /* that of the last of those */
    unsigned self;                  /* names that were bound to its own */
};

struct doctor_blas {
    char path[DOCTOR_PATH_BYTES];
    enum doctor_vendor vendor;
    bool loads, has_sgemm;
    char version[160]; /* what the library says of itself; empty: nothing */
    int int_bytes;
    int threads; /* 0: unknown */
    enum xg_pool pool;
    double spin_s;    /* for which its threads wait in a loop after a product */
    bool spin_mended; /* not under xgemm-run, which shortens that */
};

/* --- The run ------------------------------------------------------------------------------- */

/* A line of the account. */
struct doctor_row {
    enum xg_place place;
    enum xg_reason reason;
    char symbol[32];
    long calls;
    double gflop, seconds;
};

/* A program that a process of the run started, and that this library is kept from. */
struct doctor_child {
    enum doctor_reach reach;
    char path[DOCTOR_PATH_BYTES]; /* of a script: what interprets it */
    char starter[64];             /* the name of the process that started it */
    bool sgemm;                   /* as of struct doctor_program */
};

struct doctor_run {
    bool ran;
    bool failed; /* could not be started; failure is errno */
    int failure;
    bool signalled;
    int code;       /* exit status, or signal */
    bool witness;   /* what writes down what was loaded was there to be preloaded */
    int processes;  /* that told at their end what they had loaded */
    bool told;      /* the program itself did */
    bool preloaded; /* this library was in it */
    char cublas_file[DOCTOR_PATH_BYTES]; /* that one of its processes had loaded; empty: none */
    struct doctor_row rows[DOCTOR_ROWS];
    int row_count;
    struct doctor_child children[DOCTOR_CHILDREN];
    int child_count;
    double cores_s;               /* time on cores of all processes */
    double untold_s;              /* of that: of processes that left no word of theirs */
    struct doctor_texts messages; /* that the library wrote, the account apart */
};

/* --- Calibration --------------------------------------------------------------------------- */

enum doctor_calibration_state {
    DOCTOR_CALIBRATION_NONE,
    DOCTOR_CALIBRATION_OTHER, /* none, but some of other machines, drivers or libraries */
    DOCTOR_CALIBRATION_DAMAGED,
    DOCTOR_CALIBRATION_FITS,
};

struct doctor_calibration {
    bool homeless; /* neither XDG_CACHE_HOME nor HOME names a folder */
    struct {
        enum doctor_calibration_state state;
        char path[DOCTOR_PATH_BYTES];
    } cpu, gpu;
};

struct doctor_facts {
    struct doctor_gpu gpu;
    struct doctor_system system;
    struct doctor_settings settings;
    struct doctor_preload preload;
    struct doctor_program program;
    struct doctor_object objects[DOCTOR_OBJECTS];
    int object_count;
    struct doctor_blas blas[DOCTOR_BLAS];
    int blas_count;
    struct doctor_run run;
    struct doctor_calibration calibration;
};

/* Whether products could run there. */
static inline bool doctor_gpu_usable(const struct doctor_facts *facts)
{
    return facts->gpu.driver == DOCTOR_DRIVER_OPEN && facts->gpu.context == XG_OK;
}

#endif
