/* SPDX-License-Identifier: MIT */
/*
 * A plug-in whose function ends in a jump to another one, which therefore
 * returns to the wrapper's caller. Compiled by the preload tests, with
 *   WRAP_TARGET  the name that it jumps to
 *   WRAP_NAME    its own name
 *   WRAP_GOT     it jumps without a procedure linkage table, as with -fno-plt
 *   WRAP_BODY    it does something before the jump
 *   WRAP_MIXED   that overwrites the registers that pass no argument
 *   WRAP_C       the compiler makes the jump from a call with sgemm_'s arguments
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

void WRAP_NAME(WRAP_PARAMETERS)
{
    WRAP_TARGET(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, transa_length,
                transb_length);
}
#else
void WRAP_NAME(void);

#define WRAP_LABEL WRAP_TEXT(WRAP_NAME)
#ifdef WRAP_BODY
#define WRAP_FIRST "testq %rdi, %rdi; je 1f;"
#elif defined(WRAP_MIXED)
#define WRAP_FIRST "xorl %eax, %eax; leaq 64(%rsp), %r10; movq %rdi, %r11;"
#else
#define WRAP_FIRST
#endif
#ifdef WRAP_GOT
#define WRAP_JUMP "jmp *" WRAP_TEXT(WRAP_TARGET) "@GOTPCREL(%rip);"
#else
#define WRAP_JUMP "jmp " WRAP_TEXT(WRAP_TARGET) "@plt;"
#endif

__asm__(".globl " WRAP_LABEL "\n.type " WRAP_LABEL ", @function\n" WRAP_LABEL
        ":\n" WRAP_FIRST WRAP_JUMP "\n1: ret\n.size " WRAP_LABEL ", . - " WRAP_LABEL "\n");
#endif

void *caller_function_get(void)
{
    return (void *)WRAP_NAME;
}
