/* SPDX-License-Identifier: MIT */
/*
 * Published rates: the peak of a data sheet divided by multiprocessors, boost clock and two.
 * GeForce devices add FP32 sums at half the rate of the professional devices of their generation.
 */
#include "decide/generation.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Ascending; a generation's named devices come before the others. */
static const struct xg_generation generations[] = {
    {0, NULL, 128, 1, 0, 0, "CUDA C++ Programming Guide, arithmetic instructions: 5.0 to 6.2"},
    {70, NULL, 64, 1, 512, 0, "NVIDIA Tesla V100 GPU Architecture: 15.7, 125 TFLOP/s of 80 SMs"},
    {75, "GeForce", 64, 1, 256, 1024,
     "NVIDIA Turing GPU Architecture: RTX 2080 Ti, 13.4, 53.8, 215 of 68"},
    {75, NULL, 64, 1, 512, 1024, "NVIDIA Turing GPU Architecture: Tesla T4, 8.1, 65, 130 of 40"},
    {80, NULL, 64, 2, 1024, 2048,
     "NVIDIA A100 Tensor Core GPU Architecture: 19.5, 312, 624 of 108"},
    {86, "GeForce", 128, 1, 256, 1024,
     "NVIDIA Ampere GA102 GPU Architecture: RTX 3090, 35.6, 71, 284 of 82"},
    {86, NULL, 128, 1, 512, 1024, "NVIDIA A40 data sheet: 37.4, 149.7, 299 of 84"},
    {89, "GeForce", 128, 1, 256, 1024,
     "NVIDIA Ada GPU Architecture: RTX 4090, 82.6, 165.2, 661 of 128"},
    {89, NULL, 128, 1, 512, 1024, "NVIDIA L40S data sheet: 91.6, 362, 733 of 142"},
    {90, NULL, 128, 2, 1380, 2760,
     "measured on an H100: mma.sync 640, 1282 of 132; wgmma 2048, 4096"},
    {100, NULL, 128, 1, 0, 0, "CUDA C++ Programming Guide, arithmetic instructions: 10.0"},
    {120, "GeForce", 128, 1, 256, 1024,
     "NVIDIA RTX Blackwell GPU Architecture: RTX 5090, 104.8, 209.5, 838 of 170"},
    {120, NULL, 128, 1, 512, 1024,
     "NVIDIA RTX PRO 6000 Blackwell data sheet: 126, 503.8, 1008 of 188"},
};

const struct xg_generation *xg_generation_find(int sm, const char *device_name)
{
    const struct xg_generation *found = &generations[0];
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        const struct xg_generation *row = &generations[i];
        bool named = row->name && device_name && strstr(device_name, row->name);
        if (row->sm > sm)
            break;
        if (row->name ? named : !(found->sm == row->sm && found->name))
            found = row;
    }
    return found;
}
