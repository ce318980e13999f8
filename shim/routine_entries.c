/* SPDX-License-Identifier: MIT */
/* The exported functions of LAPACK's names, and how their calls are passed on. */
#include "export.h"
#include "routine.h"
#include "routine_call.h"

/* The words of a call as parameters and as values: SHIM_PARAMETERS_5, SHIM_VALUES_5. */
#define SHIM_PARAMETERS_1 uintptr_t w0
#define SHIM_VALUES_1(w) w(0)
#define SHIM_PARAMETERS_2 SHIM_PARAMETERS_1, uintptr_t w1
#define SHIM_VALUES_2(w) SHIM_VALUES_1(w), w(1)
#define SHIM_PARAMETERS_3 SHIM_PARAMETERS_2, uintptr_t w2
#define SHIM_VALUES_3(w) SHIM_VALUES_2(w), w(2)
#define SHIM_PARAMETERS_4 SHIM_PARAMETERS_3, uintptr_t w3
#define SHIM_VALUES_4(w) SHIM_VALUES_3(w), w(3)
#define SHIM_PARAMETERS_5 SHIM_PARAMETERS_4, uintptr_t w4
#define SHIM_VALUES_5(w) SHIM_VALUES_4(w), w(4)
#define SHIM_PARAMETERS_6 SHIM_PARAMETERS_5, uintptr_t w5
#define SHIM_VALUES_6(w) SHIM_VALUES_5(w), w(5)
#define SHIM_PARAMETERS_7 SHIM_PARAMETERS_6, uintptr_t w6
#define SHIM_VALUES_7(w) SHIM_VALUES_6(w), w(6)
#define SHIM_PARAMETERS_8 SHIM_PARAMETERS_7, uintptr_t w7
#define SHIM_VALUES_8(w) SHIM_VALUES_7(w), w(7)
#define SHIM_PARAMETERS_9 SHIM_PARAMETERS_8, uintptr_t w8
#define SHIM_VALUES_9(w) SHIM_VALUES_8(w), w(8)
#define SHIM_PARAMETERS_10 SHIM_PARAMETERS_9, uintptr_t w9
#define SHIM_VALUES_10(w) SHIM_VALUES_9(w), w(9)
#define SHIM_PARAMETERS_11 SHIM_PARAMETERS_10, uintptr_t w10
#define SHIM_VALUES_11(w) SHIM_VALUES_10(w), w(10)
#define SHIM_PARAMETERS_12 SHIM_PARAMETERS_11, uintptr_t w11
#define SHIM_VALUES_12(w) SHIM_VALUES_11(w), w(11)
#define SHIM_PARAMETERS_13 SHIM_PARAMETERS_12, uintptr_t w12
#define SHIM_VALUES_13(w) SHIM_VALUES_12(w), w(12)
#define SHIM_PARAMETERS_14 SHIM_PARAMETERS_13, uintptr_t w13
#define SHIM_VALUES_14(w) SHIM_VALUES_13(w), w(13)
#define SHIM_PARAMETERS_15 SHIM_PARAMETERS_14, uintptr_t w14
#define SHIM_VALUES_15(w) SHIM_VALUES_14(w), w(14)
#define SHIM_PARAMETERS_16 SHIM_PARAMETERS_15, uintptr_t w15
#define SHIM_VALUES_16(w) SHIM_VALUES_15(w), w(15)
#define SHIM_PARAMETERS_17 SHIM_PARAMETERS_16, uintptr_t w16
#define SHIM_VALUES_17(w) SHIM_VALUES_16(w), w(16)
#define SHIM_PARAMETERS_18 SHIM_PARAMETERS_17, uintptr_t w17
#define SHIM_VALUES_18(w) SHIM_VALUES_17(w), w(17)
#define SHIM_PARAMETERS_19 SHIM_PARAMETERS_18, uintptr_t w18
#define SHIM_VALUES_19(w) SHIM_VALUES_18(w), w(18)
#define SHIM_PARAMETERS_20 SHIM_PARAMETERS_19, uintptr_t w19
#define SHIM_VALUES_20(w) SHIM_VALUES_19(w), w(19)
#define SHIM_PARAMETERS_21 SHIM_PARAMETERS_20, uintptr_t w20
#define SHIM_VALUES_21(w) SHIM_VALUES_20(w), w(20)
#define SHIM_PARAMETERS_22 SHIM_PARAMETERS_21, uintptr_t w21
#define SHIM_VALUES_22(w) SHIM_VALUES_21(w), w(21)
#define SHIM_PARAMETERS_23 SHIM_PARAMETERS_22, uintptr_t w22
#define SHIM_VALUES_23(w) SHIM_VALUES_22(w), w(22)
#define SHIM_PARAMETERS_24 SHIM_PARAMETERS_23, uintptr_t w23
#define SHIM_VALUES_24(w) SHIM_VALUES_23(w), w(23)
#define SHIM_PARAMETERS_25 SHIM_PARAMETERS_24, uintptr_t w24
#define SHIM_VALUES_25(w) SHIM_VALUES_24(w), w(24)
#define SHIM_PARAMETERS_26 SHIM_PARAMETERS_25, uintptr_t w25
#define SHIM_VALUES_26(w) SHIM_VALUES_25(w), w(25)

#define SHIM_PASSED(i) w##i
#define SHIM_ENTRY(prefix, suffix, int_bytes, plain, letter, LETTER, name, ROUTINE, list, words)   \
    SHIM_ENTRY_OF(prefix##letter##name##suffix, list, words)
#define SHIM_ENTRY_OF(name, kind, count)                                                           \
    int SHIM_FUNCTION(name)(SHIM_PARAMETERS_##count);                                              \
    SHIM_EXPORT(name);                                                                             \
    int SHIM_FUNCTION(name)(SHIM_PARAMETERS_##count)                                               \
    {                                                                                              \
        struct shim_routine_call call = {.symbol = &shim_symbols[SHIM_ID_##name],                  \
                                         .list = SHIM_LIST_##kind,                                 \
                                         .words = {SHIM_VALUES_##count(SHIM_PASSED)}};             \
        return shim_routine_intercept(&call, __builtin_return_address(0));                         \
    }
SHIM_ROUTINE_NAMES(SHIM_ENTRY)

#define SHIM_KEPT(i) call->words[i]
#define SHIM_FORWARD(list, count)                                                                  \
    static int forward_##list(void (*function)(void), const struct shim_routine_call *call)        \
    {                                                                                              \
        return ((int (*)(SHIM_PARAMETERS_##count))function)(SHIM_VALUES_##count(SHIM_KEPT));       \
    }                                                                                              \
    _Static_assert(sizeof(struct shim_##list) == (count) * sizeof(uintptr_t), "words of the "      \
                                                                              "list");
SHIM_LISTS(SHIM_FORWARD)

int shim_routine_forward(void (*function)(void), const struct shim_routine_call *call)
{
    static int (*const forwards[SHIM_LIST_COUNT])(void (*)(void),
                                                  const struct shim_routine_call *) = {
#define SHIM_ROW(list, count) [SHIM_LIST_##list] = forward_##list,
        SHIM_LISTS(SHIM_ROW)
#undef SHIM_ROW
    };
    return forwards[call->list](function, call);
}
