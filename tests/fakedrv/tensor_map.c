/* SPDX-License-Identifier: MIT */
/* Tensor maps: the caller's arguments in plain fields. */
#include <string.h>

#include "fake.h"

enum { MAP_ALIGN = 64, ADDRESS_ALIGN = 16, BOX_MAX = 256 };

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank,
                                        void *address, const cuuint64_t *extents,
                                        const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill)
{
    CUresult result = fake_enter("cuTensorMapEncodeTiled", FAKE_INIT);
    (void)promotion;
    if (result == CUDA_SUCCESS) {
        struct fake_tensor_map map = {.address = (uintptr_t)address,
                                      .rank = rank,
                                      .type = (uint64_t)type,
                                      .swizzle = (uint64_t)swizzle};
        bool legal = (uintptr_t)out % MAP_ALIGN == 0 && map.address % ADDRESS_ALIGN == 0 &&
                     (rank == 2 || rank == 3) && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                     fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
        for (cuuint32_t i = 0; legal && i < rank; i++) {
            map.extents[i] = extents[i];
            map.box[i] = box[i];
            legal = extents[i] > 0 && box[i] > 0 && box[i] <= BOX_MAX && steps[i] == 1;
            if (i + 1 < rank) {
                map.strides[i] = strides[i];
                legal = legal && strides[i] % ADDRESS_ALIGN == 0;
            }
        }
        if (legal)
            memcpy(out, &map, sizeof map);
        else
            result = CUDA_ERROR_INVALID_VALUE;
    }
    return fake_leave(result);
}

uint64_t fake_tensor_map_check(const struct xg_tensor_map *opaque,
                               const struct fake_tensor_map *wanted, const char *kernel)
{
    struct fake_tensor_map map, like = *wanted;
    memcpy(&map, opaque, sizeof map);
    like.address = map.address;
    if (memcmp(&map, &like, sizeof map))
        fake_abort("%s: a tensor map of %llu by %llu by %llu in boxes of %llu by %llu", kernel,
                   (unsigned long long)map.extents[0], (unsigned long long)map.extents[1],
                   (unsigned long long)map.extents[2], (unsigned long long)map.box[0],
                   (unsigned long long)map.box[1]);
    return map.address;
}
