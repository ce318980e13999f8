/* SPDX-License-Identifier: MIT */
/* The exported names. Each packs its arguments as passed and calls shim_intercept. cblas_sgemm is
 * SHIM_ENTRY_CBLAS of gemm and S; shim_gemm_terms_read (terms.h) reads its arguments. */
#include "intercept.h"

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

#define SHIM_ROUTINE_ENTRY(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list,  \
                           words)                                                                  \
    SHIM_ROUTINE_ENTRY_OF(prefix##letter##name##suffix, words)
#define SHIM_ROUTINE_ENTRY_OF(name, count)                                                         \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_WORD_PARAMETER));                              \
    SHIM_EXPORT(name);                                                                             \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_WORD_PARAMETER))                               \
    {                                                                                              \
        struct shim_call call = {.words = {SHIM_WORDS_##count(SHIM_WORD_PASSED)}};                 \
        return shim_intercept(&shim_symbols[SHIM_ID_##name], __builtin_return_address(0), &call);  \
    }
#define SHIM_WORD_PASSED(i) w##i
SHIM_ROUTINE_NAMES(SHIM_ROUTINE_ENTRY)
