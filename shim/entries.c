/* SPDX-License-Identifier: MIT */
/* The exported names. Each packs its arguments as passed and calls shim_intercept, or those of
 * LAPACK shim_routine_intercept. cblas_sgemm is SHIM_ENTRY_CBLAS of gemm and S;
 * shim_gemm_terms_read (terms.h) reads its arguments. */
#include "intercept.h"
#include "routine.h"

/* --- Exports: SHIM_EXPORT(name) beside a function SHIM_FUNCTION(name) ------------------------- */

/*
 * On x86-64 the exported name records the registers (whose.h) before it jumps to the function that
 * the compiler makes. It may use the memory below the stack pointer, %rax and %r11, which hold no
 * arguments.
 */
#ifdef __x86_64__
#define SHIM_FUNCTION(name) shim_entry_##name
#define SHIM_EXPORT(name)                                                                          \
    __asm__(".pushsection .text\n"                                                                 \
            ".p2align 4\n"                                                                         \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", @function\n" #name ":\n"                                             \
            ".cfi_startproc\n"                                                                     \
            "endbr64\n"                                                                            \
            "movq %r11, -8(%rsp)\n"                                                                \
            "movq shim_entered@gottpoff(%rip), %r11\n"                                             \
            "movq %rax, %fs:0*8(%r11)\n"                                                           \
            "movq %rbx, %fs:3*8(%r11)\n"                                                           \
            "movq -16(%rsp), %rax\n"                                                               \
            "movq %rax, %fs:1*8(%r11)\n"                                                           \
            "leaq 8(%rsp), %rax\n" /* as before the call */                                        \
            "movq %rax, %fs:4*8(%r11)\n"                                                           \
            "movq %rbp, %fs:5*8(%r11)\n"                                                           \
            "movq %r10, %fs:10*8(%r11)\n"                                                          \
            "movq -8(%rsp), %rax\n"                                                                \
            "movq %rax, %fs:11*8(%r11)\n"                                                          \
            "movq %r12, %fs:12*8(%r11)\n"                                                          \
            "movq %r13, %fs:13*8(%r11)\n"                                                          \
            "movq %r14, %fs:14*8(%r11)\n"                                                          \
            "movq %r15, %fs:15*8(%r11)\n"                                                          \
            "jmp shim_entry_" #name "\n"                                                           \
            ".cfi_endproc\n"                                                                       \
            ".size " #name ", . - " #name "\n"                                                     \
            ".popsection")
#else
#define SHIM_FUNCTION(name) name
#define SHIM_EXPORT(name) __attribute__((visibility("default"))) extern __typeof__(name) name
#endif

/* --- BLAS ------------------------------------------------------------------------------------ */

/* Assigned, not initialised: an initialiser would clear the unused part of the union. */
#define SHIM_ENTRY_CBLAS(name, LETTER, op, OP)                                                     \
    void SHIM_FUNCTION(name)(SHIM_CBLAS_PARAMETERS(OP, LETTER));                                   \
    SHIM_EXPORT(name);                                                                             \
    void SHIM_FUNCTION(name)(SHIM_CBLAS_PARAMETERS(OP, LETTER))                                    \
    {                                                                                              \
        struct shim_call call;                                                                     \
        struct shim_##op##_cblas *passed = &call.op##_cblas;                                       \
        passed->order = order;                                                                     \
        SHIM_EACH(OP, SHIM_PACK_##LETTER);                                                         \
        shim_intercept(&shim_symbols[SHIM_ID_##name], __builtin_return_address(0), &call);         \
    }
#define SHIM_PACK_S(role, name) passed->name SHIM_SCALAR_##role(.s, .s) = name;
#define SHIM_PACK_D(role, name) passed->name SHIM_SCALAR_##role(.d, .d) = name;
#define SHIM_PACK_C(role, name) passed->name SHIM_SCALAR_##role(.c, .s) = name;
#define SHIM_PACK_Z(role, name) passed->name SHIM_SCALAR_##role(.z, .d) = name;

#define SHIM_ENTRY_FORTRAN(name, LETTER, op, OP)                                                   \
    void SHIM_FUNCTION(name)(SHIM_FORTRAN_PARAMETERS(OP));                                         \
    SHIM_EXPORT(name);                                                                             \
    void SHIM_FUNCTION(name)(SHIM_FORTRAN_PARAMETERS(OP))                                          \
    {                                                                                              \
        struct shim_call call;                                                                     \
        struct shim_##op##_fortran *passed = &call.op##_fortran;                                   \
        SHIM_EACH(OP, SHIM_PACK);                                                                  \
        SHIM_EACH(OP, SHIM_PACK_LENGTH);                                                           \
        shim_intercept(&shim_symbols[SHIM_ID_##name], __builtin_return_address(0), &call);         \
    }
#define SHIM_PACK(role, name) passed->name = name;
#define SHIM_PACK_LENGTH(role, name) SHIM_LENGTH_##role(passed->name##_length = name##_length;)

#define SHIM_ENTRY(prefix, suffix, interface, int_bytes, plain, letter, LETTER, name, op, OP)      \
    SHIM_ENTRY_##interface(prefix##letter##name##suffix, LETTER, op, OP)
SHIM_NAMES(SHIM_ENTRY)

/* --- LAPACK ---------------------------------------------------------------------------------- */

/* X(i) for each word of a call of so many words. */
#define SHIM_WORDS_1(X) X(0)
#define SHIM_WORDS_2(X) SHIM_WORDS_1(X), X(1)
#define SHIM_WORDS_3(X) SHIM_WORDS_2(X), X(2)
#define SHIM_WORDS_4(X) SHIM_WORDS_3(X), X(3)
#define SHIM_WORDS_5(X) SHIM_WORDS_4(X), X(4)
#define SHIM_WORDS_6(X) SHIM_WORDS_5(X), X(5)
#define SHIM_WORDS_7(X) SHIM_WORDS_6(X), X(6)
#define SHIM_WORDS_8(X) SHIM_WORDS_7(X), X(7)
#define SHIM_WORDS_9(X) SHIM_WORDS_8(X), X(8)
#define SHIM_WORDS_10(X) SHIM_WORDS_9(X), X(9)
#define SHIM_WORDS_11(X) SHIM_WORDS_10(X), X(10)
#define SHIM_WORDS_12(X) SHIM_WORDS_11(X), X(11)
#define SHIM_WORDS_13(X) SHIM_WORDS_12(X), X(12)
#define SHIM_WORDS_14(X) SHIM_WORDS_13(X), X(13)
#define SHIM_WORDS_15(X) SHIM_WORDS_14(X), X(14)
#define SHIM_WORDS_16(X) SHIM_WORDS_15(X), X(15)
#define SHIM_WORDS_17(X) SHIM_WORDS_16(X), X(16)
#define SHIM_WORDS_18(X) SHIM_WORDS_17(X), X(17)
#define SHIM_WORDS_19(X) SHIM_WORDS_18(X), X(18)
#define SHIM_WORDS_20(X) SHIM_WORDS_19(X), X(19)
#define SHIM_WORDS_21(X) SHIM_WORDS_20(X), X(20)
#define SHIM_WORDS_22(X) SHIM_WORDS_21(X), X(21)
#define SHIM_WORDS_23(X) SHIM_WORDS_22(X), X(22)
#define SHIM_WORDS_24(X) SHIM_WORDS_23(X), X(23)
#define SHIM_WORDS_25(X) SHIM_WORDS_24(X), X(24)
#define SHIM_WORDS_26(X) SHIM_WORDS_25(X), X(25)

#define SHIM_PARAMETER(i) uintptr_t w##i
#define SHIM_PASSED(i) w##i
#define SHIM_ROUTINE_ENTRY(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list,  \
                           words)                                                                  \
    SHIM_ROUTINE_ENTRY_OF(prefix##letter##name##suffix, list, words)
#define SHIM_ROUTINE_ENTRY_OF(name, kind, count)                                                   \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_PARAMETER));                                   \
    SHIM_EXPORT(name);                                                                             \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_PARAMETER))                                    \
    {                                                                                              \
        struct shim_routine_call call = {.symbol = &shim_symbols[SHIM_ID_##name],                  \
                                         .list = SHIM_LIST_##kind,                                 \
                                         .words = {SHIM_WORDS_##count(SHIM_PASSED)}};              \
        return shim_routine_intercept(&call, __builtin_return_address(0));                         \
    }
SHIM_ROUTINE_NAMES(SHIM_ROUTINE_ENTRY)

#define SHIM_KEPT(i) call->words[i]
#define SHIM_FORWARD(list, count, ...)                                                             \
    static int forward_##list(void (*function)(void), const struct shim_routine_call *call)        \
    {                                                                                              \
        return ((int (*)(SHIM_WORDS_##count(SHIM_PARAMETER)))function)(                            \
            SHIM_WORDS_##count(SHIM_KEPT));                                                        \
    }
SHIM_LISTS(SHIM_FORWARD)

int shim_routine_forward(void (*function)(void), const struct shim_routine_call *call)
{
    static int (*const forwards[SHIM_LIST_COUNT])(void (*)(void),
                                                  const struct shim_routine_call *) = {
#define SHIM_ROW(list, ...) [SHIM_LIST_##list] = forward_##list,
        SHIM_LISTS(SHIM_ROW)
#undef SHIM_ROW
    };
    return forwards[call->list](function, call);
}
