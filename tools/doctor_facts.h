/* SPDX-License-Identifier: MIT */
/* The facts that xgemm-doctor judges: plain data, which a test can also write down. */
#ifndef DOCTOR_FACTS_H
#define DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor_names.h"
#include "shim/pools.h"
#include "src/base/xg.h"
#include "src/report/account.h"

enum {
    DOCTOR_DEVICES = 16,
    DOCTOR_OBJECTS = 128,
    DOCTOR_BLAS = 16,
    DOCTOR_CHILDREN = 64,
    DOCTOR_TEXTS = 16,
    DOCTOR_GIVEN = 32,
    DOCTOR_PATH_BYTES = 512,
    DOCTOR_TEXT_BYTES = 400
};

/* A few lines of text; further lines are dropped. */
struct doctor_texts {
    char text[DOCTOR_TEXTS][DOCTOR_TEXT_BYTES];
    int count;
    double cost_s; /* for subjects of a rule: seconds of the run that they concern; 0: unknown */
};

/* --- One ELF file ---------------------------------------------------------------------------- */

enum doctor_vendor {
    DOCTOR_VENDOR_NONE, /* no BLAS */
    DOCTOR_VENDOR_OPENBLAS,
    DOCTOR_VENDOR_MKL,
    DOCTOR_VENDOR_BLIS,
    DOCTOR_VENDOR_ATLAS,
    DOCTOR_VENDOR_FLEXIBLAS,
    DOCTOR_VENDOR_TRAMPOLINE, /* libblastrampoline */
    DOCTOR_VENDOR_NVBLAS,
    DOCTOR_VENDOR_GSL,
    DOCTOR_VENDOR_OTHER, /* has the names, but no sign of the vendor */
};

struct doctor_elf {
    bool elf;     /* an ELF file at all; if not, nothing else is set */
    bool native;  /* of this machine's class, byte order and processor */
    bool program; /* can be started: fixed address, interpreter, or static position-independent */
    bool dynamic; /* the dynamic linker loads it */
    char interpreter[256]; /* empty: none */
    char soname[256];      /* empty: none */
    bool symbolic;         /* linked with -Bsymbolic: binds to itself first */
    struct doctor_names imports;
    struct doctor_names defines;    /* names that it exports */
    struct doctor_names protects;   /* of `defines`: protected, so its own calls cannot be taken */
    struct doctor_names interposes; /* of `defines`: its own calls still go through the dynamic
                                     * linker */
    struct doctor_names inside;     /* names inside it that the dynamic linker does not see */
    struct doctor_names unseen;     /* Fortran names that it imports in MKL's other spellings */
    bool spells;                    /* exports Fortran names in those spellings */
    bool kit;        /* exports other names of BLAS or LAPACK too, as their libraries do */
    bool mkl_inside; /* contains MKL but is not a library of MKL */
    bool nameless;   /* contains a BLAS or LAPACK although it has none of our names: stripped */
    enum doctor_vendor vendor;
    char **needed; /* the libraries that it needs by name */
    int needed_count;
};

/* --- The GPU ------------------------------------------------------------------------------- */

enum doctor_driver {
    DOCTOR_DRIVER_UNBUILT, /* this build has no driver */
    DOCTOR_DRIVER_ABSENT,  /* libcuda.so.1 cannot be loaded; failure says why */
    DOCTOR_DRIVER_LACKS,   /* lacks a function, named in failure */
    DOCTOR_DRIVER_FAILED,  /* cuInit failed; failure says why */
    DOCTOR_DRIVER_EMPTY,   /* works, but finds no device */
    DOCTOR_DRIVER_CRASHED, /* the driver ended the process that asked it */
    DOCTOR_DRIVER_HUNG,    /* did not answer */
    DOCTOR_DRIVER_OPEN,
};

struct doctor_device {
    char name[96];
    int sm, sm_count;
    int compute_mode; /* 0 shared, 2 prohibited, 3 one process at a time */
    uint64_t memory_bytes;
};

/* Has no pointers, because it comes through a pipe. */
struct doctor_gpu {
    enum doctor_driver driver;
    char driver_file[DOCTOR_PATH_BYTES];
    int driver_version; /* CUDA's: 12040 for 12.4; 0: unknown */
    char failure[DOCTOR_TEXT_BYTES];
    int device_count; /* devices beyond DOCTOR_DEVICES are only counted */
    struct doctor_device devices[DOCTOR_DEVICES];
    int chosen;               /* the device that XGEMM_DEVICES selects; -1: none */
    enum xg_status context;   /* result of opening it */
    uint64_t free_bytes;      /* free device memory */
    int kernels, kernels_all; /* rows of the kernel table whose code loads there; all our rows */
    bool images;              /* this build carries device code */
    char kernel[96];          /* the kernel for 4096 x 4096 x 4096; empty: not asked */
    double up_bytes_per_s, down_bytes_per_s; /* with page-locked memory; 0: could not be measured */
    char cublas_file[DOCTOR_PATH_BYTES];     /* empty: none */
    int cublas_version;                      /* 130200 for 13.2; 0: unknown */
    char cusolver_file[DOCTOR_PATH_BYTES];   /* likewise */
    int cusolver_version;
};

struct doctor_system {
    char kernel_module[64]; /* version of NVIDIA's module; empty: not loaded */
    int pci_gpus;           /* NVIDIA GPUs on the bus */
    bool container;
    bool wsl;                    /* /dev/dxg stands for a GPU of Windows */
    bool nodes_closed;           /* device files exist, but none may be opened */
    const char *visible_devices; /* CUDA_VISIBLE_DEVICES; NULL: unset */
    int cores;                   /* that the process may use */
    double wake_s;               /* to wake the threads of a pool; 0: unknown */
    bool wake_dear;              /* so that CPU libraries' threads keep their own spins */
    bool wants_cublas;           /* XGEMM_MATH or XGEMM_KERNEL asks for it */
    bool lapack;                 /* XGEMM_LAPACK */
};

/* --- Settings ------------------------------------------------------------------------------ */

/* A setting from a configuration file. */
struct doctor_given {
    char name[64], value[256], file[DOCTOR_PATH_BYTES];
    int line;
};

struct doctor_settings {
    struct doctor_given given[DOCTOR_GIVEN];
    int given_count;
    struct doctor_texts refused; /* settings that are not understood, in the library's words */
    struct doctor_texts unknown; /* variables that nothing reads, in the library's words */
    struct doctor_texts ignored; /* ignored lines of configuration files, in the library's words */
    bool mode_cpu;
    const char *kernel; /* XGEMM_KERNEL if there is no such kernel; else NULL */
    const char
        *cpu_blas; /* XGEMM_CPU_BLAS if it cannot be loaded or has none of our names; else NULL */
    const char *files[2]; /* XGEMM_LOG, XGEMM_TRACE: those that cannot be written */
    const char *resident; /* why no operand can stay; NULL: some can, or none is to */
};

/* The entries of LD_PRELOAD and /etc/ld.so.preload, and the library itself. */
struct doctor_preload {
    char library[DOCTOR_PATH_BYTES]; /* empty: unknown */
    bool library_usable;
    bool library_path_bad; /* it contains a blank or a colon, at which the loader ends a path */
    struct doctor_texts missing; /* entries that are not files */
    struct doctor_texts rivals;  /* entries that export one of our names */
    bool twice;                  /* this library is among the entries */
};

/* --- The program --------------------------------------------------------------------------- */

enum doctor_program_state {
    DOCTOR_PROGRAM_NONE, /* no program was given */
    DOCTOR_PROGRAM_MISSING,
    DOCTOR_PROGRAM_CLOSED,         /* the user may not execute it */
    DOCTOR_PROGRAM_NO_INTERPRETER, /* the script's, or the dynamic linker it names, is missing */
    DOCTOR_PROGRAM_UNKNOWN,        /* neither ELF nor a script */
    DOCTOR_PROGRAM_FOREIGN,        /* for another kind of machine, including 32-bit ones */
    DOCTOR_PROGRAM_FOUND,
};

/* The reason why this library cannot get into a program. */
enum doctor_reach {
    DOCTOR_REACHED, /* no reason: it can */
    DOCTOR_REACH_FOREIGN,
    DOCTOR_REACH_STATIC,
    DOCTOR_REACH_MUSL,
    DOCTOR_REACH_SET_USER_ID, /* or set-group-ID, or it has file capabilities */
    DOCTOR_REACH_SANITIZER,   /* its run-time must be loaded first */
    DOCTOR_REACH_ENVIRONMENT, /* a child that is run without LD_PRELOAD */
};

struct doctor_program {
    enum doctor_program_state state;
    enum doctor_reach reach; /* the first reason that holds, if the state is FOUND or FOREIGN */
    char name[DOCTOR_PATH_BYTES];        /* as it was given */
    char path[DOCTOR_PATH_BYTES];        /* the file; for a script, its last interpreter */
    char script[DOCTOR_PATH_BYTES];      /* empty: it is not a script */
    char interpreter[DOCTOR_PATH_BYTES]; /* the dynamic linker, or the missing interpreter */
    bool python;
    bool julia;      /* it loads libjulia */
    bool multiplies; /* it imports, exports or contains one of our names */
    bool lapack;     /* it, or an object that it loads, imports one of our names of LAPACK */
    struct doctor_names inside; /* our names that are linked into it, of BLAS if it imports none of
                                 * BLAS, and of LAPACK if it imports none of LAPACK */
    bool nameless;              /* as in struct doctor_elf */
    struct doctor_texts missing_libraries;
};

/* An object that uses or has one of our names: a dependency of the program, or one that it loaded.
 */
struct doctor_object {
    char path[DOCTOR_PATH_BYTES];
    struct doctor_elf elf;          /* without its list of dependencies */
    bool main;                      /* the program */
    bool needed;                    /* another object needs it by name */
    bool wanted;                    /* another object imports a name that it defines */
    bool apart;                     /* in a separate namespace: dlmopen */
    bool leads;                     /* libblastrampoline, whose functions lead to this library */
    struct doctor_names taken;      /* names bound to this library at the end of the run */
    struct doctor_names elsewhere;  /* names bound to another library, past this one */
    char target[DOCTOR_PATH_BYTES]; /* the last of those libraries */
    struct doctor_names self;       /* names bound to its own definition */
};

struct doctor_blas {
    char path[DOCTOR_PATH_BYTES];
    enum doctor_vendor vendor;
    bool loads, has_names; /* names of BLAS that this library intercepts */
    char version[160];     /* what the library reports about itself; empty: nothing */
    int int_bytes;
    int threads; /* 0: unknown */
    enum shim_pool pool;
    double spin_s;         /* time that its threads spin after a product */
    char spin_setting[64]; /* NAME=VALUE that decides it; empty: xgemm-run or a default does */
};

/* --- The run ------------------------------------------------------------------------------- */

/* A program that a process of the run started and that this library cannot get into. */
struct doctor_child {
    enum doctor_reach reach;
    char path[DOCTOR_PATH_BYTES]; /* for a script, its interpreter */
    char starter[64];             /* name of the process that started it */
    bool multiplies;              /* as in struct doctor_program */
};

struct doctor_run {
    bool ran;
    bool failed; /* could not be started; failure is its errno */
    int failure;
    bool signalled;
    int code;       /* exit status, or signal */
    bool witness;   /* the witness library, which records what was loaded, could be preloaded */
    int processes;  /* number of processes that reported at their end what they had loaded */
    bool told;      /* the program itself reported */
    bool preloaded; /* this library was loaded in it */
    char cublas_file[DOCTOR_PATH_BYTES]; /* loaded by one of its processes; empty: none */
    char cusolver_file[DOCTOR_PATH_BYTES];
    struct xg_account account; /* the sum over all processes */
    bool unaccounted;          /* a process could not write its account */
    struct doctor_child children[DOCTOR_CHILDREN];
    int child_count;
    double cores_s;               /* CPU time of all processes */
    double untold_s;              /* of cores_s: CPU time of processes that reported nothing */
    struct doctor_texts messages; /* messages of the library, except the account */
};

/* --- Calibration --------------------------------------------------------------------------- */

enum doctor_calibration_state {
    DOCTOR_CALIBRATION_NONE,
    DOCTOR_CALIBRATION_OTHER, /* no file for this machine, but files for other machines, drivers or
                               * libraries */
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

/* Whether products could run on the GPU. */
static inline bool doctor_gpu_usable(const struct doctor_facts *facts)
{
    return facts->gpu.driver == DOCTOR_DRIVER_OPEN && facts->gpu.context == XG_OK;
}

#endif
