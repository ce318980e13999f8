/* SPDX-License-Identifier: MIT */
/* Reads and writes the arguments of a call by its operation; the scalars are the same for all. */
#include "args.h"

static const struct shim_operation *const operations[XG_OP_COUNT] = {
#define SHIM_ROW(op, OP, context) [XG_OP_##OP] = &shim_##op,
    SHIM_OPERATIONS(SHIM_ROW, )
#undef SHIM_ROW
};

void shim_args_size(const struct shim_call *call, int int_bytes, int64_t *m, int64_t *n, int64_t *k)
{
    operations[call->symbol->op]->size(call, int_bytes, m, n, k);
}

void shim_args_read(const struct shim_call *call, int int_bytes, struct shim_args *args)
{
    args->extension = false;
    operations[call->symbol->op]->read(call, int_bytes, args);
    if (!args->illegal)
        xg_problem_settle(&args->problem);
}

bool shim_args_optional(enum xg_op op)
{
    return operations[op]->optional;
}

bool shim_args_writable(enum xg_op op)
{
    return operations[op]->write != NULL;
}

static void write_number(enum xg_type type, double re, double im, union shim_number *out)
{
    if (xg_type_is_double(type))
        out->z[0] = re, out->z[1] = im;
    else
        out->c[0] = (float)re, out->c[1] = (float)im;
}

void shim_args_write(const struct xg_problem *problem, const struct shim_symbol *symbol,
                     struct shim_numbers *numbers, struct shim_call *call)
{
    write_number(problem->type, problem->alpha, problem->alpha_im, &numbers->alpha);
    write_number(problem->type, problem->beta, problem->beta_im, &numbers->beta);
    call->symbol = symbol;
    operations[problem->op]->write(problem, numbers, call);
}
