/* SPDX-License-Identifier: MIT */
/* The exported functions of LAPACK's names, and how their calls are passed on. */
#include "export.h"
#include "routine.h"

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
#define SHIM_ENTRY(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list, words)   \
    SHIM_ENTRY_OF(prefix##letter##name##suffix, list, words)
#define SHIM_ENTRY_OF(name, kind, count)                                                           \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_PARAMETER));                                   \
    SHIM_EXPORT(name);                                                                             \
    int SHIM_FUNCTION(name)(SHIM_WORDS_##count(SHIM_PARAMETER))                                    \
    {                                                                                              \
        struct shim_routine_call call = {.symbol = &shim_symbols[SHIM_ID_##name],                  \
                                         .list = SHIM_LIST_##kind,                                 \
                                         .words = {SHIM_WORDS_##count(SHIM_PASSED)}};              \
        return shim_routine_intercept(&call, __builtin_return_address(0));                         \
    }
SHIM_ROUTINE_NAMES(SHIM_ENTRY)

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
