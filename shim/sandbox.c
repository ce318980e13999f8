/* SPDX-License-Identifier: MIT */
/* Replaces prctl and syscall: passes calls on to libc and records those that close the process. */
/*
 * A program sets seccomp by prctl or, as libc has no function for it, through syscall (libseccomp
 * does so). Both functions of libc take words in registers and return one, whatever the arguments
 * are. The functions here do the same under the names' own symbols; a definition with `...` could
 * not. Calls that are not examined leave by a jump, as if this library were not there.
 *
 * On x86-64 the seventh word of syscall lies on the stack. If a call passes fewer words, that place
 * is a variable of the caller, which another thread may write. A compiler would copy the word onto
 * itself before the jump, so that entry is written in assembly and writes nothing.
 */
#define _GNU_SOURCE
#include "src/base/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__) || defined(__aarch64__)

typedef unsigned long sandbox_word;
typedef int sandbox_prctl(int option, sandbox_word a, sandbox_word b, sandbox_word c,
                          sandbox_word d);
typedef long sandbox_syscall(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                             sandbox_word d, sandbox_word e, sandbox_word f);

/* The next functions of these names; NULL until the constructor has run. */
static _Atomic(sandbox_prctl *) next_prctl;
_Atomic(sandbox_syscall *) sandbox_next_syscall __attribute__((used, visibility("hidden")));

__attribute__((constructor)) static void find_next(void)
{
    void *found_prctl = dlsym(RTLD_NEXT, "prctl"), *found_syscall = dlsym(RTLD_NEXT, "syscall");
    if (!found_prctl || !found_syscall)
        (void)dlerror(); /* The program must not see this error. */
    atomic_store_explicit(&next_prctl, *(sandbox_prctl **)&found_prctl, memory_order_relaxed);
    atomic_store_explicit(&sandbox_next_syscall, *(sandbox_syscall **)&found_syscall,
                          memory_order_relaxed);
}

/* NULL until the dynamic linker has relocated this library. A call before that, by a resolver of
 * another library, finds no errno. */
static int *(*const volatile errno_location)(void) = __errno_location;

/* Serves calls that another library's constructor or resolver makes before our constructor. */
long sandbox_call_kernel(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                         sandbox_word d, sandbox_word e, sandbox_word f)
    __attribute__((used, visibility("hidden")));
long sandbox_call_kernel(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                         sandbox_word d, sandbox_word e, sandbox_word f)
{
#if defined(__x86_64__)
    long result;
    register sandbox_word in_d __asm__("r10") = d;
    register sandbox_word in_e __asm__("r8") = e;
    register sandbox_word in_f __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(in_d), "r"(in_e), "r"(in_f)
                     : "rcx", "r11", "memory");
#else
    register long in_number __asm__("x8") = number;
    register sandbox_word in_a __asm__("x0") = a, in_b __asm__("x1") = b, in_c __asm__("x2") = c;
    register sandbox_word in_d __asm__("x3") = d, in_e __asm__("x4") = e, in_f __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(in_a)
                     : "r"(in_number), "r"(in_b), "r"(in_c), "r"(in_d), "r"(in_e), "r"(in_f)
                     : "memory");
    long result = (long)in_a;
#endif
    if (result < 0 && result > -4096) {
        if (errno_location)
            *errno_location() = (int)-result;
        return -1;
    }
    return result;
}

/* --- What closes a process ------------------------------------------------------------------ */

/* Since Linux 5.11; older headers lack it. 0 switches it off. */
enum { SET_SYSCALL_USER_DISPATCH = 59 };

/* The kernel reads the lower half of an int argument; a caller may leave any bits above it. */
static bool prctl_closes(int option, sandbox_word a)
{
    return option == PR_SET_SECCOMP || (option == PR_SET_TSC && (unsigned)a == PR_TSC_SIGSEGV) ||
           (option == SET_SYSCALL_USER_DISPATCH && a != 0);
}

static bool syscall_closes(long number, sandbox_word a, sandbox_word b)
{
    if (number == SYS_prctl)
        return prctl_closes((int)a, b);
    const unsigned operation = (unsigned)a;
    return number == SYS_seccomp &&
           (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER);
}

/* A positive result of seccomp is a descriptor if the call asked for one; otherwise it is a thread
 * for which the filter could not be set. */
static bool has_closed(long result, long number, sandbox_word flags)
{
    return result == 0 ||
           (result > 0 && number == SYS_seccomp && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

static int pass_prctl(int option, sandbox_word a, sandbox_word b, sandbox_word c, sandbox_word d)
{
    sandbox_prctl *next = atomic_load_explicit(&next_prctl, memory_order_relaxed);
    return next ? next(option, a, b, c, d)
                : (int)sandbox_call_kernel(SYS_prctl, (sandbox_word)option, a, b, c, d, 0);
}

/* A separate function, so that calls that are passed on save no registers. */
__attribute__((noinline)) static int close_by_prctl(int option, sandbox_word a, sandbox_word b,
                                                    sandbox_word c, sandbox_word d)
{
    xg_sandbox_enter();
    int result = pass_prctl(option, a, b, c, d);
    xg_sandbox_leave(result == 0);
    return result;
}

int sandbox_enter_prctl(int option, sandbox_word a, sandbox_word b, sandbox_word c,
                        sandbox_word d) __asm__("prctl") __attribute__((visibility("default")));
int sandbox_enter_prctl(int option, sandbox_word a, sandbox_word b, sandbox_word c, sandbox_word d)
{
    return prctl_closes(option, a) ? close_by_prctl(option, a, b, c, d)
                                   : pass_prctl(option, a, b, c, d);
}

/* A call that may close has six words at most; a seventh one would be written to the stack. */
long sandbox_look_syscall(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                          sandbox_word d, sandbox_word e)
    __attribute__((used, visibility("hidden")));
long sandbox_look_syscall(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                          sandbox_word d, sandbox_word e)
{
    sandbox_syscall *next = atomic_load_explicit(&sandbox_next_syscall, memory_order_relaxed);
    bool closes = syscall_closes(number, a, b);
    next = next ? next : sandbox_call_kernel;
    if (closes)
        xg_sandbox_enter();
    long result = next(number, a, b, c, d, e, 0);
    if (closes)
        xg_sandbox_leave(has_closed(result, number, b));
    return result;
}

#if defined(__x86_64__)
_Static_assert(SYS_seccomp == 317 && SYS_prctl == 157, "as written below");
__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "cmpq $317, %rdi\n"
        "je 1f\n"
        "cmpq $157, %rdi\n"
        "je 1f\n"
        "movq sandbox_next_syscall(%rip), %rax\n"
        "testq %rax, %rax\n"
        "je 2f\n"
        "jmp *%rax\n"
        "1: jmp sandbox_look_syscall\n"
        "2: jmp sandbox_call_kernel\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n"
        ".popsection\n");
#else
long sandbox_enter_syscall(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                           sandbox_word d, sandbox_word e, sandbox_word f) __asm__("syscall")
    __attribute__((visibility("default")));
long sandbox_enter_syscall(long number, sandbox_word a, sandbox_word b, sandbox_word c,
                           sandbox_word d, sandbox_word e, sandbox_word f)
{
    if (number == SYS_prctl || number == SYS_seccomp)
        return sandbox_look_syscall(number, a, b, c, d, e);
    sandbox_syscall *next = atomic_load_explicit(&sandbox_next_syscall, memory_order_relaxed);
    return next ? next(number, a, b, c, d, e, f) : sandbox_call_kernel(number, a, b, c, d, e, f);
}
#endif

#endif
