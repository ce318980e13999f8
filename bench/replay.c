/* SPDX-License-Identifier: MIT */
/* Replays traced programs with the policy; tests/traces contains some. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "tests/support/replay.h"

/* How the programs are run, beside what their files say. */
struct options {
    bool products; /* the decision about each */
    double spin_s; /* of a library whose threads spin; 0: as the file says */
    int times;     /* in a row */
};

static int replay(const char *path, const struct options *options)
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
    if (options->spin_s > 0 && fixture.spin_s > 0)
        fixture.spin_s = options->spin_s;
    bool done = replay_repeat(&fixture, options->times) &&
                replay_run(&fixture, &result, options->products ? stdout : NULL);
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
    struct options options = {.times = 1};
    const struct option_row rows[] = {{"products", OPTION_FLAG, &options.products},
                                      {"spin", OPTION_REAL, &options.spin_s},
                                      {"times", OPTION_INT, &options.times},
                                      {0}};
    int status = 0, first = options_read(argc, argv, rows);
    if (!first || first == argc || options.times <= 0) {
        fprintf(stderr, "usage: replay [--products] [--spin SECONDS] [--times N] FIXTURE...\n");
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
        status |= replay(argv[i], &options);
    return status;
}
