/* SPDX-License-Identifier: MIT */
/* Diagnoses of the program and its libraries: which calls can be seen and which cannot. */
#include <math.h>
#include <string.h>

#include "doctor.h"

/* Threads that spin this long take cores from staging for a long time, or forever. */
static const double SPIN_LONG_S = 0.01, SPIN_ENDLESS_S = 1;

/* --- The file ------------------------------------------------------------------------------ */

DOCTOR_FIND(find_state, (int)facts->program.state == detail, "%s",
            detail == DOCTOR_PROGRAM_NO_INTERPRETER ? facts->program.interpreter
            : detail == DOCTOR_PROGRAM_MISSING      ? facts->program.name
                                                    : facts->program.path)

static bool is_found(const struct doctor_facts *facts)
{
    return facts->program.state == DOCTOR_PROGRAM_FOUND;
}

DOCTOR_RULE(find_inside_program)
{
    const struct doctor_program *program = &facts->program;
    char names[DOCTOR_TEXT_BYTES / 2];
    doctor_names_text(&program->inside, names, sizeof names);
    if (is_found(facts) && (*names || program->nameless) && program->reach != DOCTOR_REACH_STATIC)
        doctor_texts_add(subjects, "%s (%s)", program->path, *names ? names : "names stripped");
}

DOCTOR_RULE(find_missing_libraries)
{
    *subjects = facts->program.missing_libraries;
}

/* --- The programs that it starts ----------------------------------------------------------- */

/*
 * Scripts start tools that are static or privileged, and their products cannot be seen from
 * outside. So children are reported if the processes that reported nothing used at least a
 * hundredth of the run's CPU time. A child without our names in its file counts as a tool if that
 * time is less than 10 ms or, when products were seen, less than half of the run's. A sanitizer
 * ends a child at once, however little CPU time the child uses.
 */
static const double SHARE_LEAST = 0.01, TOOL_S = 0.01, TOOL_SHARE = 0.5;

static bool is_tool(const struct doctor_run *run, const struct doctor_child *child)
{
    return !child->multiplies && child->reach != DOCTOR_REACH_SANITIZER &&
           (run->untold_s < TOOL_S ||
            (run->account.row_count > 0 && run->untold_s < TOOL_SHARE * run->cores_s));
}

static bool is_child_lost(const struct doctor_facts *facts, const struct doctor_child *child)
{
    return facts->preload.library_usable && !facts->preload.library_path_bad &&
           facts->run.untold_s >= SHARE_LEAST * facts->run.cores_s && !is_tool(&facts->run, child);
}

bool doctor_children_are_lost(const struct doctor_facts *facts)
{
    for (int i = 0; i < facts->run.child_count; i++)
        if (is_child_lost(facts, &facts->run.children[i]))
            return true;
    return false;
}

/* Adds one subject for all children that the same reason keeps from this library. */
static void add_children(struct doctor_texts *subjects, const struct doctor_facts *facts,
                         enum doctor_reach reach)
{
    const struct doctor_child *first = NULL;
    char others[DOCTOR_TEXT_BYTES / 2] = "";
    for (int i = 0; i < facts->run.child_count; i++) {
        const struct doctor_child *child = &facts->run.children[i];
        size_t at = strlen(others);
        if (child->reach != reach || !is_child_lost(facts, child))
            continue;
        if (first)
            doctor_text_set(others + at, sizeof others - at, "%s %s", at ? "," : "; likewise",
                            xg_file_name(child->path));
        else
            first = child;
    }
    if (!first)
        return;
    subjects->cost_s = facts->run.untold_s;
    doctor_texts_add(subjects, "%s (started by %s%s)", first->path, first->starter, others);
}

/* The reason that keeps this library from the program, or from the programs that it starts. */
DOCTOR_RULE(find_unreached)
{
    doctor_texts_add_if(subjects, (int)facts->program.reach == detail, facts->program.path);
    add_children(subjects, facts, (enum doctor_reach)detail);
}

/* --- Its libraries ------------------------------------------------------------------------- */

/* The reason why no call, or only some calls, of an object can be seen; the first that holds. */
enum loss {
    SEEN,
    APART,
    MKL_INSIDE,
    MKL_PARTLY,
    DEEPBIND,
    SYMBOLIC,
    BY_TRAMPOLINE,
    BY_HANDLE,
    BY_HANDLE_BESIDE, /* BY_HANDLE in a program of which other calls were seen */
    INSIDE
};

/* Whether the object is a BLAS for other objects, and not an object that was linked with a BLAS. */
static bool is_library(const struct doctor_object *object)
{
    static const char *const parts[] = {"blas", "blis", "mkl", "atlas", "armpl", "lapack", "flame"};
    const char *name = xg_file_name(object->path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (object->elf.kit && !object->main && strstr(name, parts[i]))
            return true;
    return false;
}

/* Whether the object may be the library that this library loads if a program brings none. */
static bool is_fallback(const struct doctor_facts *facts, const struct doctor_object *object)
{
    return facts->run.account.row_count > 0 &&
           !strcmp(object->elf.soname[0] ? object->elf.soname : xg_file_name(object->path),
                   XG_DEFAULT_CPU_BLAS);
}

/* Whether the object is a library that one in front of it has opened: the library behind
 * libblastrampoline, FlexiBLAS's backend, or a part of MKL behind libmkl_rt. Their calls come
 * through the library in front. */
static bool is_behind(const struct doctor_facts *facts, const struct doctor_object *object)
{
    for (int i = 0; i < facts->object_count; i++) {
        const struct doctor_object *front = &facts->objects[i];
        enum doctor_vendor vendor = front->elf.vendor;
        bool opens = vendor == DOCTOR_VENDOR_FLEXIBLAS ||
                     (vendor == DOCTOR_VENDOR_MKL && object->elf.vendor == DOCTOR_VENDOR_MKL);
        if (front != object &&
            (vendor == DOCTOR_VENDOR_TRAMPOLINE || (opens && (front->needed || front->wanted))))
            return true;
    }
    return false;
}

static enum loss loss_of(const struct doctor_facts *facts, const struct doctor_object *object)
{
    const struct doctor_elf *elf = &object->elf;
    bool defines = doctor_names_any(&elf->defines), taken = doctor_names_any(&object->taken);
    bool offers = defines && !object->wanted;
    struct doctor_names past = object->elsewhere, hidden = elf->inside;
    doctor_names_remove(&past, &object->self);
    doctor_names_remove_kinds(&hidden, &elf->imports);
    doctor_names_remove_kinds(&hidden, &elf->defines);
    if (object->apart)
        return defines || doctor_names_any(&elf->imports) ? APART : SEEN;
    if (elf->mkl_inside)
        return taken || doctor_names_any(&elf->interposes) ? MKL_PARTLY : MKL_INSIDE;
    /* Julia takes its functions by their handle, whatever else imports them. */
    if (elf->vendor == DOCTOR_VENDOR_TRAMPOLINE)
        return !object->leads && (facts->program.julia || !object->wanted) ? BY_TRAMPOLINE : SEEN;
    /* The bindings of a library's own calls say nothing about calls by other objects. */
    if (offers && is_library(object) && !object->needed && !is_fallback(facts, object) &&
        !is_behind(facts, object))
        return facts->run.account.row_count > 0 ? BY_HANDLE_BESIDE : BY_HANDLE;
    if (taken)
        return SEEN;
    if (doctor_names_any(&past))
        return DEEPBIND;
    if (offers && !is_library(object) && !object->main &&
        (doctor_names_any(&object->self) || elf->symbolic || doctor_names_any(&elf->protects)))
        return SYMBOLIC;
    if ((doctor_names_any(&hidden) || elf->nameless) && !object->main)
        return INSIDE;
    return SEEN;
}

/* Whether the object calls names that are not intercepted, of a BLAS that has them. */
static bool is_unseen(const struct doctor_facts *facts, const struct doctor_object *object)
{
    if (object->elf.vendor || !doctor_names_any(&object->elf.unseen))
        return false;
    for (int i = 0; i < facts->object_count; i++)
        if (facts->objects[i].elf.vendor && facts->objects[i].elf.spells)
            return true;
    return false;
}

bool doctor_object_is_lost(const struct doctor_facts *facts, const struct doctor_object *object)
{
    enum loss loss = loss_of(facts, object);
    return (loss != SEEN && loss != MKL_PARTLY && loss != BY_HANDLE_BESIDE) ||
           (is_unseen(facts, object) && !doctor_names_any(&object->elf.imports));
}

DOCTOR_RULE(find_unseen)
{
    for (int i = 0; i < facts->object_count; i++) {
        char names[DOCTOR_TEXT_BYTES / 4];
        doctor_names_text(&facts->objects[i].elf.unseen, names, sizeof names);
        if (is_unseen(facts, &facts->objects[i]))
            doctor_texts_add(subjects, "%s calls %s", facts->objects[i].path, names);
    }
}

DOCTOR_RULE(find_loss)
{
    for (int i = 0; i < facts->object_count; i++) {
        const struct doctor_object *object = &facts->objects[i];
        if ((int)loss_of(facts, object) != detail)
            continue;
        char names[DOCTOR_TEXT_BYTES / 4];
        doctor_names_text(&object->elsewhere, names, sizeof names);
        if (detail == DEEPBIND)
            doctor_texts_add(subjects, "%s calls %s of %s", object->path, names, object->target);
        else
            doctor_texts_add(subjects, "%s", object->path);
    }
}

/* A GSL or unnamed BLAS without a known thread count: the reference BLAS, or one like it. */
DOCTOR_RULE(find_slow)
{
    for (int i = 0; i < facts->blas_count; i++) {
        const struct doctor_blas *blas = &facts->blas[i];
        doctor_texts_add_if(
            subjects,
            blas->has_names && blas->threads == 0 &&
                (blas->vendor == DOCTOR_VENDOR_OTHER || blas->vendor == DOCTOR_VENDOR_GSL),
            blas->path);
    }
}

enum spin_cause { BY_SETTING, BY_SETTING_ENDLESSLY, BY_DEFAULT };

/* What makes the threads of a library spin long, of what the user can change: xgemm-run shortens
 * the default spin of OpenBLAS and libgomp. */
static bool is_cause(const struct doctor_blas *blas, int cause)
{
    if (!(blas->spin_s >= SPIN_LONG_S))
        return false;
    if (!blas->spin_setting[0])
        return cause == BY_DEFAULT && (blas->pool == SHIM_POOL_KMP || blas->pool == SHIM_POOL_MKL);
    return cause == (blas->spin_s >= SPIN_ENDLESS_S ? BY_SETTING_ENDLESSLY : BY_SETTING);
}

/* The library whose threads spin longest for this cause. */
DOCTOR_RULE(find_spin)
{
    const struct doctor_blas *longest = NULL;
    for (int i = 0; i < facts->blas_count && doctor_gpu_usable(facts); i++)
        if (is_cause(&facts->blas[i], detail) &&
            (!longest || facts->blas[i].spin_s > longest->spin_s))
            longest = &facts->blas[i];
    if (!longest)
        return;
    char time[32] = "without end";
    const char *setting = longest->spin_setting;
    if (isfinite(longest->spin_s))
        doctor_text_set(time, sizeof time, "for %.3g s", longest->spin_s);
    doctor_texts_add(subjects, "%s spin %s%s%s", xg_file_name(longest->path), time,
                     *setting ? " because of " : "", setting);
}

DOCTOR_FIND(find_dear_wakes, facts->system.wake_dear, "%.3g ms", 1e3 * facts->system.wake_s)

const struct doctor_diagnosis doctor_program_diagnoses[] = {
    {"program.missing", DOCTOR_MEND, find_state, DOCTOR_PROGRAM_MISSING,
     "The program %s does not exist.", "Give its path, or a name in a folder of PATH."},
    {"program.closed", DOCTOR_MEND, find_state, DOCTOR_PROGRAM_CLOSED, "%s may not be executed.",
     "Run chmod +x, or name its interpreter before it."},
    {"program.interpreter", DOCTOR_MEND, find_state, DOCTOR_PROGRAM_NO_INTERPRETER,
     "The program's interpreter or dynamic linker, %s, does not exist.",
     "Install it, or correct the first line of the script."},
    {"program.unknown", DOCTOR_MEND, find_state, DOCTOR_PROGRAM_UNKNOWN,
     "%s is neither a program nor a script that begins with #!.",
     "Name its interpreter before it."},
    {"program.foreign", DOCTOR_MEND, find_unreached, DOCTOR_REACH_FOREIGN,
     "%s is a 32-bit program or for another processor: this library cannot be loaded into it.",
     "Use a 64-bit build for this machine."},
    {"program.static", DOCTOR_MEND, find_unreached, DOCTOR_REACH_STATIC,
     "%s is linked statically: no dynamic linker runs, so nothing can be preloaded.",
     "Link it dynamically, at least to the BLAS and the C library (without -static)."},
    {"program.set-user-id", DOCTOR_MEND, find_unreached, DOCTOR_REACH_SET_USER_ID,
     "%s runs with additional rights (set-user-ID, set-group-ID or capabilities): the dynamic "
     "linker then ignores LD_PRELOAD.",
     "Use a copy without these rights."},
    {"program.sanitizer", DOCTOR_MEND, find_unreached, DOCTOR_REACH_SANITIZER,
     "%s is built with AddressSanitizer or HWAddressSanitizer, whose run-time must be loaded "
     "first: with this library before it the program ends at once.",
     "Preload both, the run-time first, without xgemm-run: LD_PRELOAD=$(gcc "
     "-print-file-name=libasan.so):libxgemm_shim.so (likewise libhwasan.so)."},
    {"program.musl", DOCTOR_MEND, find_unreached, DOCTOR_REACH_MUSL,
     "%s uses the C library musl, and this library uses glibc: it cannot be loaded into the "
     "program.",
     "Use a build for glibc (Debian, Ubuntu, Fedora; not Alpine)."},
    {"program.environment", DOCTOR_MEND, find_unreached, DOCTOR_REACH_ENVIRONMENT,
     "%s runs without LD_PRELOAD, which for example env -i or subprocess.run(env=...) removes: "
     "this library is not loaded into it.",
     "Pass LD_PRELOAD on, or start the program with xgemm-run."},
    {"program.library-missing", DOCTOR_MEND, find_missing_libraries, 0,
     "The program needs %s, which the dynamic linker does not find.",
     "Install it, or add its folder to LD_LIBRARY_PATH."},
    {"blas.in-program", DOCTOR_MEND, find_inside_program, 0,
     "BLAS or LAPACK is linked statically into %s: calls of these functions are bound in the file, "
     "and the library sees none of them.",
     "Link it again with the shared library (-lopenblas, and neither -static nor libopenblas.a), "
     "or "
     "with -lxgemm_shim in front of libopenblas.a."},
    {"blas.mkl-inside", DOCTOR_MEND, find_loss, MKL_INSIDE,
     "%s contains MKL, whose calls are bound inside the file: the library does not see its "
     "products.",
     "Use a build that is linked to a shared BLAS (from conda-forge or the distribution)."},
    {"blas.mkl-partly", DOCTOR_NOTE, find_loss, MKL_PARTLY,
     "%s contains MKL, as PyTorch's packages from PyPI do: the library sees its calls of BLAS and "
     "LAPACK (torch.mm, torch.nn.Linear, torch.bmm, torch.linalg), but not what oneDNN computes "
     "(convolutions and LSTM of float32, products of bfloat16).",
     "PyTorch can use the GPU itself, without this library."},
    {"blas.deepbind", DOCTOR_MEND, find_loss, DEEPBIND,
     "%s and bypasses this library: it was opened with RTLD_DEEPBIND, or its own libraries come "
     "first for another reason.",
     "Open it without RTLD_DEEPBIND."},
    {"blas.dlmopen", DOCTOR_MEND, find_loss, APART,
     "%s was loaded into a separate namespace (dlmopen), in which nothing is preloaded.",
     "Load it with dlopen."},
    {"blas.symbolic", DOCTOR_MEND, find_loss, SYMBOLIC,
     "%s exports functions of BLAS or LAPACK to which its own calls are bound (-Bsymbolic, or "
     "protected visibility): the library does not see them.",
     "Link it without -Bsymbolic, and with default visibility."},
    {"blas.dlsym", DOCTOR_MEND, find_loss, BY_HANDLE,
     "%s is loaded, but no loaded object imports its functions: the program takes them from that "
     "library's handle (dlsym, Python's ctypes), and this library does not see such calls.",
     "Link to that library, or look the name up with RTLD_DEFAULT."},
    {"blas.dlsym-beside", DOCTOR_NOTE, find_loss, BY_HANDLE_BESIDE,
     "%s is loaded, but no loaded object imports its functions. If the program also takes "
     "functions "
     "from that library's handle (dlsym, Python's ctypes), this library does not see those calls.",
     "No action is needed if all products of the program are listed below."},
    {"blas.spelling", DOCTOR_MEND, find_unseen, 0,
     "%s in capitals or without the last underscore, as MKL's headers declare them: this library "
     "does not intercept these spellings, so it does not see such calls.",
     "Call the names with the underscore: compile C with -Ddgemm=dgemm_ and so on, and Intel's "
     "Fortran without -assume nounderscore."},
    {"blas.trampoline", DOCTOR_MEND, find_loss, BY_TRAMPOLINE,
     "%s passes calls on through addresses that it keeps, as in Julia: this library does not see "
     "them.",
     "Run julia -e 'using Pkg; Pkg.develop(path = \"julia/XGEMM.jl\")' once, in this library's "
     "source, and begin the program with: using XGEMM."},
    {"blas.inside", DOCTOR_MEND, find_loss, INSIDE,
     "%s contains functions of BLAS or LAPACK of its own, which no other library can replace.",
     "Link it to a shared BLAS and LAPACK."},
    {"blas.slow", DOCTOR_NOTE, find_slow, 0,
     "%s computes with one thread and is of unknown origin: products that stay on the CPU are "
     "slow.",
     "Use OpenBLAS or BLIS (Debian: update-alternatives --config libblas.so.3-x86_64-linux-gnu)."},
    {"spin.endless", DOCTOR_MEND, find_spin, BY_SETTING_ENDLESSLY,
     "After a product the threads of %s, on cores that are needed to copy operands to the GPU.",
     "Unset that variable."},
    {"spin.long", DOCTOR_NOTE, find_spin, BY_SETTING,
     "After a product the threads of %s, on cores that are needed to copy operands to the GPU.",
     "Unset that variable, so that xgemm-run can set a shorter spin; KMP_BLOCKTIME=1 is short."},
    {"spin.openmp", DOCTOR_NOTE, find_spin, BY_DEFAULT,
     "After a product the threads of %s, on cores that are needed to copy operands to the GPU.",
     "Set KMP_BLOCKTIME=1, which Intel's and LLVM's OpenMP read."},
    {"spin.dear", DOCTOR_NOTE, find_dear_wakes, 0,
     "Waking a sleeping thread on each core takes %s on this machine, so CPU libraries' threads "
     "keep their own long spins, on cores that are needed to copy operands to the GPU.",
     "Give the virtual machine cores of its own. If the machine was busy when it was measured, "
     "xgemm-run calibrate measures again. XGEMM_SPIN=short shortens the spins all the same; "
     "compare with xgemm-run ab."},
    {0},
};
