/* SPDX-License-Identifier: MIT */
/*
 * A plug-in whose function ends in a jump to another one, so that the return address which that
 * finds is that of the wrapper's caller. Compiled by the preload tests, with
 *   WRAP_TARGET  the name that it jumps to
 *   WRAP_NAME    what it is called
 *   WRAP_GOT     it jumps without a procedure linkage table, as -fno-plt has it
 *   WRAP_BODY    it does something before
 *   WRAP_MIXED   that overwrites the registers in which nothing is passed
 *   WRAP_C       it is what the compiler makes of a call, of sgemm_'s kind
 */
#include <stddef.h>

#define WRAP_TEXT(name) WRAP_QUOTED(name)
#define WRAP_QUOTED(name) #name

#ifdef WRAP_C
#define WRAP_PARAMETERS                                                                            \
    const char *transa, const char *transb, const void *m, const void *n, const void *k,           \
        const void *alpha, const void *a, const void *lda, const void *b, const void *ldb,         \
        const void *beta, void *c, const void *ldc, size_t transa_length, size_t transb_length
void WRAP_TARGET(WRAP_PARAMETERS);
void WRAP_NAME(WRAP_PARAMETERS);

void WRAP_NAME(WRAP_PARAMETERS)
{
    WRAP_TARGET(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, transa_length,
                transb_length);
}
#else
void WRAP_NAME(void);

__asm__(".globl " WRAP_TEXT(
    WRAP_NAME) "\n"
               ".type " WRAP_TEXT(WRAP_NAME) ", @function\n" WRAP_TEXT(
                   WRAP_NAME) ":\n"
#ifdef WRAP_BODY
                              "testq %rdi, %rdi\n"
                              "je 1f\n"
#endif
#ifdef WRAP_MIXED
                              "xorl %eax, %eax\n"
                              "leaq 64(%rsp), %r10\n"
                              "movq %rdi, %r11\n"
#endif
#ifdef WRAP_GOT
                              "jmp *" WRAP_TEXT(
                                  WRAP_TARGET) "@GOTPCREL(%rip)\n"
#else
                              "jmp " WRAP_TEXT(
                                  WRAP_TARGET) "@plt\n"
#endif
                                               "1: ret\n"
                                               ".size " WRAP_TEXT(WRAP_NAME) ", . - " WRAP_TEXT(
                                                   WRAP_NAME) "\n");
#endif

void *caller_function_get(void);

void *caller_function_get(void)
{
    return (void *)WRAP_NAME;
}
