/* SPDX-License-Identifier: MIT */
/*
 * Each function of libblastrampoline jumps to an address in a table, which its program sets: for a
 * whole library by lbt_forward, for one function by lbt_set_forward. Once the address is ours, the
 * dynamic linker cannot tell what the call would have reached without us: it knows the function
 * that led here. xgemm_lbt_forward sets the addresses and keeps those that stood there before.
 */
#define _GNU_SOURCE
#include "trampoline.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "whose.h"

#define EXPORTED __attribute__((visibility("default")))

/* The widths of integers, as libblastrampoline's functions take them. */
enum { LP64 = 32, ILP64 = 64, NAME_BYTES = 40 };

/* lbt_get_forward(name, width, f2c); lbt_set_forward(name, address, width, style, f2c, verbose). */
typedef const void *shim_lbt_get(const char *name, int32_t width, int32_t f2c);
typedef int32_t shim_lbt_set(const char *name, const void *address, int32_t width, int32_t style,
                             int32_t f2c, int32_t verbose);

static _Atomic(const struct shim_blas *) behind[SHIM_ID_COUNT];
static _Atomic uint64_t turn;

bool shim_trampoline_returns(const void *function)
{
    const void *target = shim_whose_jump(function);
    return !target || shim_module_holds(target, shim_symbols);
}

bool shim_trampoline_find(const struct shim_symbol *symbol, struct shim_blas *out)
{
    const struct shim_blas *blas =
        atomic_load_explicit(&behind[symbol - shim_symbols], memory_order_acquire);
    if (blas)
        *out = *blas;
    return blas != NULL;
}

uint64_t shim_trampoline_turn(void)
{
    return atomic_load_explicit(&turn, memory_order_acquire);
}

/* libblastrampoline's name of a function, which is the same in both widths: dgemm_ for dgemm_64_.
 * Returns the width; 0: it has no such spelling. */
static int32_t shim_lbt_name(const struct shim_symbol *symbol, char name[NAME_BYTES])
{
    const char *end = strstr(symbol->name, "64_");
    bool wide = end && strncmp(symbol->name, "scipy_", 6) != 0;
    if (!symbol->plain && !wide)
        return 0;
    size_t bytes = wide ? (size_t)(end - symbol->name) : strlen(symbol->name);
    memcpy(name, symbol->name, bytes);
    name[bytes] = '\0';
    return wide ? ILP64 : LP64;
}

/* Keeps the function that our one replaces. */
static bool shim_keep(const struct shim_symbol *symbol, const void *function)
{
    _Atomic(const struct shim_blas *) *place = &behind[symbol - shim_symbols];
    const struct shim_blas *old = atomic_load_explicit(place, memory_order_relaxed);
    struct shim_blas *blas;
    if (old && (const void *)old->function == function)
        return true;
    blas = malloc(sizeof *blas);
    if (!blas || !shim_blas_accept_as((void *)function, symbol, blas)) {
        free(blas);
        return false;
    }
    shim_blas_keep(blas);
    atomic_store_explicit(place, blas, memory_order_release);
    atomic_fetch_add(&turn, 1);
    return true;
}

/*
 * Makes libblastrampoline's functions lead to this library (on), or to those that they led to
 * before (off). Takes its lbt_get_forward and lbt_set_forward. Leaves those that lead to no
 * library: to NULL, or to a function of libblastrampoline itself, which reports an error or calls
 * another of these functions. To be called again after lbt_forward. Returns how many now lead to
 * this library, or have been given back. Like lbt_set_forward not for two threads at once; others
 * may call BLAS meanwhile.
 */
EXPORTED int xgemm_lbt_forward(shim_lbt_get *get, shim_lbt_set *set, int on);
int xgemm_lbt_forward(shim_lbt_get *get, shim_lbt_set *set, int on)
{
    void *self = dlopen(shim_module_name(shim_symbols), RTLD_LAZY | RTLD_NOLOAD);
    int count = 0;
    for (const struct shim_symbol *symbol = shim_symbols;
         self && symbol < shim_symbols + SHIM_ID_COUNT; symbol++) {
        char name[NAME_BYTES];
        struct shim_blas blas;
        const int32_t width = shim_lbt_name(symbol, name);
        const void *now = width ? get(name, width, 0) : NULL;
        const void *ours = dlsym(self, symbol->name), *next = ours;
        if (!on)
            next = now == ours && shim_trampoline_find(symbol, &blas) ? (const void *)blas.function
                                                                      : NULL;
        else if (!now || shim_module_holds(now, (const void *)set) ||
                 (now != ours && !shim_keep(symbol, now)))
            next = NULL;
        if (next && (next == now || !set(name, next, width, 0, 0, 0)))
            count++;
    }
    if (self)
        dlclose(self);
    return count;
}
