/* SPDX-License-Identifier: MIT */
/* The fake driver's memory: device addresses that fault on the host; page-locked host memory. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/one_thread.h"

enum { GUARD_BYTES = 256, ALIGN_BYTES = 512 };
#define GUARD_BYTE 0x5c
#define POISON 0x7fc5a5a5u /* a NaN: memory that was never written shows in the result */
/* The most device memory, and the most page-locked memory, that an allocation fills with POISON,
 * for the tests' time. */
#define POISON_MAX_BYTES ((size_t)256 << 20)
#define POISON_PINNED_BYTES ((size_t)64 << 10)
#define FIRST_ADDRESS 0x7f00000000000000u /* not canonical: an access by the host faults */

struct block {
    struct block *next;
    CUcontext context;
    bool pinned;
    CUdeviceptr address; /* device memory */
    char *data;          /* between two guards */
    size_t bytes;
    long copies; /* to and from page-locked memory */
};

static struct block *blocks;
static CUdeviceptr next_address = FIRST_ADDRESS;

/* Fills memory that no other thread has yet. */
XT_ONE_THREAD static void poison(char *data, size_t bytes)
{
    for (size_t i = 0; i + 4 <= bytes; i += 4)
        memcpy(data + i, &(uint32_t){POISON}, 4);
}

static struct block *block_create(CUcontext context, size_t bytes, bool pinned)
{
    struct block *block = calloc(1, sizeof(*block));
    size_t whole = (bytes + 2 * GUARD_BYTES + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    char *base = block ? aligned_alloc(ALIGN_BYTES / 2, whole) : NULL;
    if (!base) {
        free(block);
        return NULL;
    }
    block->context = context;
    block->pinned = pinned;
    block->data = base + GUARD_BYTES;
    block->bytes = bytes;
    memset(base, GUARD_BYTE, GUARD_BYTES);
    memset(block->data + bytes, GUARD_BYTE, GUARD_BYTES);
    size_t poison_max = pinned ? POISON_PINNED_BYTES : POISON_MAX_BYTES;
    poison(block->data, bytes < poison_max ? bytes : poison_max);
    if (!pinned) {
        block->address = next_address;
        next_address += (bytes + GUARD_BYTES + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    }
    block->next = blocks;
    blocks = block;
    return block;
}

static void block_destroy(struct block **link)
{
    struct block *block = *link;
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (block->data[i - GUARD_BYTES] != GUARD_BYTE ||
            block->data[block->bytes + i] != GUARD_BYTE)
            fake_abort("%zu bytes of %s memory were written outside their bounds", block->bytes,
                       block->pinned ? "page-locked" : "device");
    if (block->pinned) {
        fake.live.pinned--;
        fake.live.pinned_bytes -= block->bytes;
    } else {
        fake.live.dev--;
        fake.live.dev_bytes -= block->bytes;
        block->context->used_bytes -= block->bytes;
    }
    *link = block->next;
    free(block->data - GUARD_BYTES);
    free(block);
}

void *fake_mem_dev(CUdeviceptr address, size_t bytes, const char *what)
{
    for (struct block *block = blocks; block; block = block->next)
        if (!block->pinned && address >= block->address &&
            address - block->address <= block->bytes &&
            bytes <= block->bytes - (size_t)(address - block->address))
            return block->data + (address - block->address);
    fake_abort("%s: device address %#llx and %zu bytes are not all allocated", what, address,
               bytes);
}

void *fakecuda_device_memory(CUdeviceptr address, size_t bytes, const char *what)
{
    return fake_mem_dev(address, bytes, what);
}

bool fake_mem_pinned(const void *address, size_t bytes, const char *what)
{
    uintptr_t begin = (uintptr_t)address, end = begin + bytes;
    for (struct block *block = blocks; block; block = block->next) {
        uintptr_t block_begin = (uintptr_t)block->data, block_end = block_begin + block->bytes;
        if (!block->pinned || end <= block_begin || begin >= block_end)
            continue;
        if (begin < block_begin || end > block_end)
            fake_abort("%s: %zu bytes begin or end outside a page-locked allocation of %zu", what,
                       bytes, block->bytes);
        block->copies++;
        return true;
    }
    return false;
}

void fake_mem_reclaim(CUcontext context)
{
    for (struct block **link = &blocks; *link;) {
        if ((*link)->context == context) {
            fake.live.reclaimed++;
            block_destroy(link);
        } else {
            link = &(*link)->next;
        }
    }
}

CUresult CUDAAPI cuMemGetInfo(size_t *available, size_t *total)
{
    CUresult result = fake_enter("cuMemGetInfo", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        *available = fake.mem_bytes - fake_context()->used_bytes;
        *total = fake.mem_bytes;
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    CUresult result = fake_enter("cuMemAlloc", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        CUcontext context = fake_context();
        struct block *block = NULL;
        if (!bytes)
            result = CUDA_ERROR_INVALID_VALUE;
        else if (bytes > fake.mem_bytes - context->used_bytes ||
                 !(block = block_create(context, bytes, false)))
            result = CUDA_ERROR_OUT_OF_MEMORY;
        if (block) {
            context->used_bytes += bytes;
            fake.live.dev++;
            fake.live.dev_bytes += bytes;
            *address = block->address;
        }
    }
    return fake_leave(result);
}

/* Both wait for the device first, like the real functions. */
static void block_free(bool pinned, CUdeviceptr address, const char *data)
{
    struct block **link = &blocks;
    fake_stream_drain();
    while (*link && ((*link)->pinned != pinned ||
                     (pinned ? (*link)->data != data : (*link)->address != address)))
        link = &(*link)->next;
    if (!*link)
        fake_abort("%s of memory that is not allocated", pinned ? "cuMemFreeHost" : "cuMemFree");
    block_destroy(link);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    CUresult result = fake_enter("cuMemFree", FAKE_CONTEXT);
    if (fake_releases(result))
        block_free(false, address, NULL);
    return fake_leave(result);
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    CUresult result = fake_enter("cuMemHostAlloc", FAKE_CONTEXT);
    (void)flags;
    if (result == CUDA_SUCCESS) {
        struct block *block = bytes ? block_create(fake_context(), bytes, true) : NULL;
        if (!block)
            result = bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
        else {
            fake.live.pinned++;
            fake.live.pinned_bytes += bytes;
            *out = block->data;
        }
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuMemFreeHost(void *data)
{
    CUresult result = fake_enter("cuMemFreeHost", FAKE_CONTEXT);
    if (fake_releases(result))
        block_free(true, 0, data);
    return fake_leave(result);
}

static struct block *find_pinned(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (struct block *block = blocks; block; block = block->next)
        if (block->pinned && at >= (uintptr_t)block->data &&
            at - (uintptr_t)block->data < block->bytes)
            return block;
    return NULL;
}

/* For addresses that are not page-locked it succeeds and returns zeros. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute *names,
                                        void **values, CUdeviceptr address)
{
    CUresult result = fake_enter("cuPointerGetAttributes", FAKE_CONTEXT);
    const struct block *block = find_pinned((const void *)(uintptr_t)address);
    for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++)
        switch (names[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(CUmemorytype *)values[i] = block ? CU_MEMORYTYPE_HOST : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)values[i] = block ? (uintptr_t)block->data : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)values[i] = block ? block->bytes : 0;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(unsigned int *)values[i] = 0;
            break;
        default:
            result = CUDA_ERROR_INVALID_VALUE;
        }
    return fake_leave(result);
}

long fakecuda_copies(const void *address)
{
    pthread_mutex_lock(&fake.lock);
    const struct block *block = find_pinned(address);
    long copies = block ? block->copies : 0;
    pthread_mutex_unlock(&fake.lock);
    return copies;
}

/* The bytes from the first of `height` rows to the end of the last. */
static size_t span(size_t width, size_t height, size_t pitch)
{
    return height ? (height - 1) * pitch + width : 0;
}

/* Queues a copy between host and device. A pageable source is read now; a copy to a pageable target
 * is awaited. */
static CUresult copy(CUstream stream, struct fake_op *op, const char *what)
{
    size_t to_bytes = span(op->width, op->height, op->to.pitch);
    size_t from_bytes = span(op->width, op->height, op->from.pitch);
    bool wait = false;
    op->kind = FAKE_OP_COPY;
    if (!op->width || !op->height)
        return CUDA_SUCCESS;
    if (op->to.pitch < op->width || op->from.pitch < op->width)
        return CUDA_ERROR_INVALID_VALUE;
    if (!op->to.host)
        fake_mem_dev(op->to.dev, to_bytes, what);
    else if (!fake_mem_pinned(op->to.host, to_bytes, what))
        wait = true;
    if (!op->from.host) {
        fake_mem_dev(op->from.dev, from_bytes, what);
    } else if (!fake_mem_pinned(op->from.host, from_bytes, what)) {
        op->owned = malloc(from_bytes);
        if (!op->owned)
            return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(op->owned, op->from.host, from_bytes);
        op->from.host = op->owned;
    }
    fake.live.pageable += wait || op->owned;
    return fake_stream_push(stream, op, wait);
}

static CUresult copy_bytes(const char *name, struct fake_end to, struct fake_end from, size_t bytes,
                           CUstream stream)
{
    CUresult result = fake_enter(name, FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        struct fake_op op = {.to = to, .from = from, .width = bytes, .height = 1};
        op.to.pitch = op.from.pitch = bytes;
        result = copy(stream, &op, name);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyHtoDAsync", (struct fake_end){.dev = to},
                      (struct fake_end){.host = (char *)from}, bytes, stream);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyDtoHAsync", (struct fake_end){.host = to},
                      (struct fake_end){.dev = from}, bytes, stream);
}

/* The value of CU_DEVICE_ATTRIBUTE_MAX_PITCH on every device. */
enum { MAX_PITCH_BYTES = INT32_MAX };

/* A pitch of 0: the rows have no gaps. */
static size_t pitch_of(size_t pitch, size_t width)
{
    return pitch ? pitch : width;
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *p, CUstream stream)
{
    CUresult result = fake_enter("cuMemcpy2DAsync", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS) {
        struct fake_op op = {.width = p->WidthInBytes, .height = p->Height};
        op.from.pitch = pitch_of(p->srcPitch, p->WidthInBytes);
        op.to.pitch = pitch_of(p->dstPitch, p->WidthInBytes);
        if (op.from.pitch > MAX_PITCH_BYTES || op.to.pitch > MAX_PITCH_BYTES)
            return fake_leave(CUDA_ERROR_INVALID_VALUE);
        size_t from_offset = p->srcXInBytes + p->srcY * op.from.pitch;
        size_t to_offset = p->dstXInBytes + p->dstY * op.to.pitch;
        if (p->srcMemoryType == CU_MEMORYTYPE_HOST)
            op.from.host = (char *)p->srcHost + from_offset;
        else
            op.from.dev = p->srcDevice + from_offset;
        if (p->dstMemoryType == CU_MEMORYTYPE_HOST)
            op.to.host = (char *)p->dstHost + to_offset;
        else
            op.to.dev = p->dstDevice + to_offset;
        result = copy(stream, &op, "cuMemcpy2DAsync");
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
    CUresult result = fake_enter("cuMemsetD32Async", FAKE_CONTEXT);
    if (result == CUDA_SUCCESS && count) {
        struct fake_op op = {
            .kind = FAKE_OP_FILL, .to = {.dev = to}, .value = value, .width = count};
        if (to % 4)
            fake_abort("cuMemsetD32Async: %#llx is not aligned", to);
        fake_mem_dev(to, count * 4, "cuMemsetD32Async");
        result = fake_stream_push(stream, &op, false);
    }
    return fake_leave(result);
}
