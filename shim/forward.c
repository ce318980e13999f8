/* SPDX-License-Identifier: MIT */
/* Passes a call on, argument for argument: one function for each signature of each operation. */
#include "args.h"

#define SHIM_CBLAS_TYPE(op, LETTER) shim_##op##_cblas_##LETTER##_function
#define SHIM_FORTRAN_TYPE(op) shim_##op##_fortran_function

#define SHIM_FUNCTION_TYPE(letter, LETTER, op, OP, context)                                        \
    typedef void SHIM_CBLAS_TYPE(op, LETTER)(SHIM_CBLAS_PARAMETERS(OP, LETTER));
#define SHIM_FUNCTION_TYPES(op, OP, context)                                                       \
    SHIM_##OP##_TYPES(SHIM_FUNCTION_TYPE, op,                                                      \
                      OP, ) typedef void SHIM_FORTRAN_TYPE(op)(SHIM_FORTRAN_PARAMETERS(OP));
SHIM_OPERATIONS(SHIM_FUNCTION_TYPES, )

/* The arguments after the first one, from *c of the C interface or *f of Fortran's. */
#define SHIM_CBLAS_VALUES(OP, LETTER) SHIM_EACH(OP, SHIM_VALUE_##LETTER)
#define SHIM_VALUE_S(role, name) , c->name SHIM_SCALAR_##role(.s, .s)
#define SHIM_VALUE_D(role, name) , c->name SHIM_SCALAR_##role(.d, .d)
#define SHIM_VALUE_C(role, name) , c->name SHIM_SCALAR_##role(.c, .s)
#define SHIM_VALUE_Z(role, name) , c->name SHIM_SCALAR_##role(.z, .d)

#define SHIM_FORTRAN_VALUES(OP)                                                                    \
    SHIM_##OP##_ARGUMENTS(SHIM_VALUE_FIRST, SHIM_VALUE_NEXT) SHIM_EACH(OP, SHIM_VALUE_LENGTH)
#define SHIM_VALUE_FIRST(role, name) f->name
#define SHIM_VALUE_NEXT(role, name) , f->name
#define SHIM_VALUE_LENGTH(role, name) SHIM_LENGTH_##role(SHIM_LENGTH_VALUE(name))
#define SHIM_LENGTH_VALUE(name) , f->name##_length

#define SHIM_FORWARD_CBLAS(letter, LETTER, op, OP, context)                                        \
    static void op##_##LETTER(void (*function)(void), const struct shim_call *call)                \
    {                                                                                              \
        const struct shim_##op##_cblas *c = &call->op##_cblas;                                     \
        ((SHIM_CBLAS_TYPE(op, LETTER) *)function)(c->order SHIM_CBLAS_VALUES(OP, LETTER));         \
    }

#define SHIM_FORWARD(op, OP, context)                                                              \
    SHIM_##OP##_TYPES(SHIM_FORWARD_CBLAS, op, OP, ) static void op##_fortran(                      \
        void (*function)(void), const struct shim_call *call)                                      \
    {                                                                                              \
        const struct shim_##op##_fortran *f = &call->op##_fortran;                                 \
        ((SHIM_FORTRAN_TYPE(op) *)function)(SHIM_FORTRAN_VALUES(OP));                              \
    }
SHIM_OPERATIONS(SHIM_FORWARD, )

shim_forward_function *const shim_forward[XG_OP_COUNT][XG_TYPE_COUNT + 1] = {
#define SHIM_WAY(letter, LETTER, op, OP, context) [XG_TYPE_##LETTER] = op##_##LETTER,
#define SHIM_ROW(op, OP, context)                                                                  \
    [XG_OP_##OP] = {SHIM_##OP##_TYPES(SHIM_WAY, op, OP, )[XG_TYPE_COUNT] = op##_fortran},
    SHIM_OPERATIONS(SHIM_ROW, )
#undef SHIM_ROW
#undef SHIM_WAY
};
