/* SPDX-License-Identifier: MIT */
/* A call of the fake cuSOLVER: checks the arguments as the real one does and the memory more
 * strictly, and queues the call. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver.h"

char solver_letter(const char *letters, int value)
{
    return value >= 0 && (size_t)value < strlen(letters) ? letters[value] : SOLVER_ILLEGAL;
}

enum xg_type solver_type(int cuda_type)
{
    static const enum xg_type types[] = {[0] = XG_TYPE_S,     [1] = XG_TYPE_D, [2] = XG_TYPE_COUNT,
                                         [3] = XG_TYPE_COUNT, [4] = XG_TYPE_C, [5] = XG_TYPE_Z};
    return cuda_type >= 0 && cuda_type < 6 ? types[cuda_type] : XG_TYPE_COUNT;
}

struct solver_operand solver_matrix(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                    enum xg_type type)
{
    return (struct solver_operand){.data = (void *)(uintptr_t)data,
                                   .rows = rows,
                                   .columns = columns,
                                   .ld = ld,
                                   .bytes = xg_type_bytes(type)};
}

struct solver_operand solver_input(const void *data, int64_t rows, int64_t columns, int64_t ld,
                                   enum xg_type type)
{
    struct solver_operand operand = solver_matrix(data, rows, columns, ld, type);
    operand.input = true;
    return operand;
}

struct solver_operand solver_vector(const void *data, int64_t count, enum xg_type type)
{
    return solver_matrix(data, count, 1, count > 0 ? count : 1, type);
}

/* Checks that only this routine needs. */
static bool legal_routine(const struct solver_call *call)
{
    switch (call->routine) {
    case SOLVER_ORGQR:
        return call->m >= call->n && call->n >= call->k;
    case SOLVER_ORMQR:
        return call->k <= (call->side == 'L' ? call->m : call->n) &&
               call->trans != (xg_type_is_complex(call->type) ? 'T' : 'C');
    case SOLVER_SYGVD:
        return call->itype >= 1 && call->itype <= 3;
    case SOLVER_GESVD:
        return call->m >= call->n && !(call->job == 'O' && call->job_v == 'O');
    case SOLVER_GEEV: /* it computes no left vectors */
        return call->job == 'N';
    default:
        return true;
    }
}

/* Refuses sizes of 0, although the real one may return at once: the library never passes them. */
static bool legal(const struct solver_call *call)
{
    const char letters[] = {call->side, call->uplo, call->trans,
                            call->diag, call->job,  call->job_v};
    if (!call->legal || memchr(letters, SOLVER_ILLEGAL, sizeof(letters)) || call->m < 1 ||
        call->n < 1 || call->k < 0 || call->m > INT_MAX || call->n > INT_MAX || call->k > INT_MAX)
        return false;
    for (int i = 0; i < SOLVER_OPERANDS; i++) {
        const struct solver_operand *operand = &call->operands[i];
        if (operand->bytes &&
            (operand->ld < 1 || operand->ld < operand->rows || operand->ld > INT_MAX))
            return false;
    }
    return legal_routine(call);
}

/* --- Workspaces ------------------------------------------------------------------------------ */

/* An odd number: if the caller does not align the memory after a workspace, it is misaligned. */
static size_t work_elems(const struct solver_call *call)
{
    return (size_t)(2 * (call->m + call->n + call->k) + 129);
}

static bool works(const struct solver_call *call)
{
    return call->routine != SOLVER_POTRS && call->routine != SOLVER_GETRS;
}

/* GETRF's workspace is small: a caller that reserves only this much fails. */
static size_t device_bytes(const struct solver_call *call)
{
    if (call->routine == SOLVER_GETRF)
        return xg_type_bytes(call->type) + 1;
    return works(call) ? work_elems(call) * xg_type_bytes(call->type) + !call->typed : 0;
}

static size_t host_bytes(const struct solver_call *call)
{
    return works(call) && !call->typed ? 3 * work_elems(call) : 0;
}

/* --- Memory ---------------------------------------------------------------------------------- */

static void *on_device(const struct solver_call *call, const char *what, const void *address,
                       size_t bytes, size_t alignment)
{
    char text[96];
    snprintf(text, sizeof(text), "%s, %s", call->name, what);
    if ((uintptr_t)address % alignment)
        fake_abort("%s: not aligned to %zu bytes", text, alignment);
    return fakecuda_device_memory((CUdeviceptr)(uintptr_t)address, bytes, text);
}

/* Turns the call's device addresses into host addresses; ends the test if they are not valid. */
static void resolve(void *data)
{
    static const char *const names[SOLVER_OPERANDS] = {"A", "B", "U", "V", "a vector", "pivots"};
    struct solver_call *call = data;
    for (int i = 0; i < SOLVER_OPERANDS; i++) {
        struct solver_operand *operand = &call->operands[i];
        if (operand->bytes && operand->rows > 0 && operand->columns > 0)
            operand->data = on_device(
                call, names[i], operand->data,
                (size_t)((operand->columns - 1) * operand->ld + operand->rows) * operand->bytes,
                operand->bytes);
    }
    if (works(call))
        call->work = on_device(call, "the workspace", call->work, call->work_bytes, 16);
    call->info = on_device(call, "info", call->info, sizeof(int), sizeof(int));
}

static void check_sizes(const struct solver_call *call)
{
    if (call->work_bytes < device_bytes(call))
        fake_abort("%s: a workspace of %zu bytes, not %zu", call->name, call->work_bytes,
                   device_bytes(call));
    if (call->host_bytes < host_bytes(call) || (host_bytes(call) && !call->host_work))
        fake_abort("%s: a workspace on the host of %zu bytes at %p, not %zu", call->name,
                   call->host_bytes, call->host_work, host_bytes(call));
}

/* --- Calls ----------------------------------------------------------------------------------- */

static int status_of(CUresult result)
{
    return result == CUDA_SUCCESS                 ? CUSOLVER_STATUS_SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY   ? CUSOLVER_STATUS_ALLOC_FAILED
           : result == CUDA_ERROR_INVALID_CONTEXT ? CUSOLVER_STATUS_NOT_INITIALIZED
                                                  : CUSOLVER_STATUS_EXECUTION_FAILED;
}

int solver_sizes(struct cusolverDnContext *handle, const struct solver_call *call, size_t *device,
                 size_t *host)
{
    CUresult result = fake_leave(fake_enter(call->name, FAKE_CONTEXT));
    if (result != CUDA_SUCCESS)
        return status_of(result);
    if (!handle || !legal(call))
        return CUSOLVER_STATUS_INVALID_VALUE;
    *device = device_bytes(call);
    *host = host_bytes(call);
    return CUSOLVER_STATUS_SUCCESS;
}

int solver_lwork(struct cusolverDnContext *handle, const struct solver_call *call, int *lwork)
{
    size_t device, host;
    int status = solver_sizes(handle, call, &device, &host);
    if (status == CUSOLVER_STATUS_SUCCESS)
        *lwork = (int)work_elems(call);
    return status;
}

static CUresult queue(CUstream stream, const struct solver_call *call, int *status)
{
    struct solver_call copy = *call;
    check_sizes(call);
    copy.status = status;
    return fakecuda_call(&copy, sizeof copy, resolve, solver_run, call->routine == SOLVER_GESVDP,
                         stream);
}

int solver_queue(struct cusolverDnContext *handle, const struct solver_call *call)
{
    int status = CUSOLVER_STATUS_INVALID_VALUE;
    CUresult result = fake_enter(call->name, FAKE_CONTEXT);
    if (result == CUDA_SUCCESS && handle && legal(call)) {
        status = CUSOLVER_STATUS_SUCCESS;
        result = queue(handle->stream, call, &status);
    }
    result = fake_leave(result);
    return result == CUDA_SUCCESS ? status : status_of(result);
}
