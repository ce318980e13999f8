/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target without a fuzzer: on a fixed sequence of random inputs, or on the files in its
 * arguments (for example one that a fuzzer kept). */
#include "fuzz.h"

enum { INPUTS = 200000, INPUT_BYTES = 192 };

static uint64_t driver_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int driver_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file)
        return 99;
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    uint8_t data[INPUT_BYTES];
    uint64_t state = 1;
    for (int i = 1; i < argc; i++)
        if (driver_file(argv[i]))
            return 99;
    for (long i = 0; argc < 2 && i < INPUTS; i++) {
        size_t size = driver_random(&state) % (INPUT_BYTES + 1);
        uint64_t kind = driver_random(&state) % 4;
        for (size_t j = 0; j < size; j++) {
            uint64_t random = driver_random(&state);
            /* Small numbers, digits or any bytes. */
            data[j] = (uint8_t)random;
            if (kind == 0)
                data[j] = (uint8_t)(random % 8);
            else if (kind == 1)
                data[j] = (uint8_t) "0123456789,KMGTx"[random % 17];
        }
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%ld inputs, %ld reached\n", argc < 2 ? (long)INPUTS : argc - 1L, fuzz_reached);
    return argc < 2 && fuzz_reached < INPUTS / 1000;
}
