/* SPDX-License-Identifier: MIT */
/* Replays traced programs with the policy; tests/traces contains some. */
#include <stdio.h>
#include <string.h>

#include "tests/support/replay.h"

static int replay(const char *path, FILE *products)
{
    struct replay_fixture fixture;
    struct replay_result result;
    char error[REPLAY_NAME_BYTES];
    FILE *file = fopen(path, "r");
    if (!file || !replay_read(file, &fixture, error)) {
        fprintf(stderr, "%s: %s\n", path, file ? error : "cannot be read");
        if (file)
            fclose(file);
        return 1;
    }
    fclose(file);
    bool done = replay_run(&fixture, &result, products);
    size_t count = fixture.count;
    replay_free(&fixture);
    if (!done) {
        fprintf(stderr, "%s: no memory\n", path);
        return 1;
    }
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    double better_s =
        result.cpu.counted_s < result.gpu.counted_s ? result.cpu.counted_s : result.gpu.counted_s;
    printf("%-28.*s %8.3f %8.3f %8.3f %8.3f | %8.3f %8.3f %7.3f | %7.3f | %7ld %7zu %6ld ",
           (int)strcspn(name, "."), name, result.cpu.products_s, result.gpu.products_s,
           result.least_s, result.policy.products_s, result.cpu.total_s, result.policy.total_s,
           result.policy.total_s / result.cpu.total_s,
           better_s > 0 ? result.policy.counted_s / better_s : 0.0, result.gpu_products, count,
           result.moves);
    if (result.first_gpu_s >= 0)
        printf("%8.3f\n", result.first_gpu_s);
    else
        printf("%8s\n", "-");
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;
    FILE *products = argc > 1 && !strcmp(argv[1], "--products") ? stdout : NULL;
    int first = products ? 2 : 1;
    if (argc <= first) {
        fprintf(stderr, "usage: replay [--products] FIXTURE...\n");
        return 2;
    }
    puts("columns: seconds in products, all on the CPU, all on the GPU (quiet), each on the faster "
         "side,\nand with the policy; total seconds on the CPU, with the policy, and their ratio; "
         "the policy's\nproducts divided by those of the better side after the engine is ready; "
         "products on the GPU,\nall products, moves, and the start of the first move\n");
    printf("%-28s %8s %8s %8s %8s | %8s %8s %7s | %7s | %7s %7s %6s %8s\n", "fixture", "CPU", "GPU",
           "least", "policy", "all CPU", "policy", "ratio", "ready", "on GPU", "of", "moves",
           "first");
    for (int i = first; i < argc; i++)
        status |= replay(argv[i], products);
    return status;
}
