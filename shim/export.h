/* SPDX-License-Identifier: MIT */
/* How a name is exported: SHIM_EXPORT(name) beside a function SHIM_FUNCTION(name). */
#ifndef SHIM_EXPORT_H
#define SHIM_EXPORT_H

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

#endif
