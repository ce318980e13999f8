/* SPDX-License-Identifier: MIT */
/* The arithmetic rates of the GPU generations, which no driver reports. Pure. */
#ifndef XG_GENERATION_H
#define XG_GENERATION_H

/* Rates are dense multiply-adds of a multiprocessor per cycle. */
struct xg_generation {
    int sm;           /* lowest compute capability, 10 * major + minor */
    const char *name; /* a part of the device's name; NULL: the generation's other devices */
    double ffma;      /* FP32 units */
    double dmma;      /* FP64 tensor cores' rate over that of the FP64 units; 1: there are none */
    double fp16;      /* FP16 tensor cores with FP32 sums, by mma.sync; 0: unknown or none */
    double int8;      /* INT8 tensor cores, by mma.sync; 0: unknown or none */
    const char *source;
};

/* The row of a device: the newest generation that is not newer than the device. Never NULL.
 * device_name: NULL if it is unknown. */
const struct xg_generation *xg_generation_find(int sm, const char *device_name);

#endif
