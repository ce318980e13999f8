/* SPDX-License-Identifier: MIT */
/* Fixtures made of traces (tests/support/replay.h): whatever a file holds, what is read of it is
 * sound. */
#include <math.h>

#include "fuzz.h"
#include "tests/support/replay.h"

long fuzz_reached;

enum { TEXT_BYTES = 8192 };

/* Lines made of what a fixture has, with any numbers; kind 0: any bytes. */
static void take_text(struct fuzz_bytes *bytes, char text[TEXT_BYTES])
{
    static const char *const lines[] = {
        "# program: p %s\n",     "# cores: %s\n",           "# cpu_threads: %s\n",
        "# spin_s: %s\n",        "# cpu_threads_set: %s\n", "# repeat: %s 100\n",
        "# repeat: 2 %s\n",      "%s,0,64,64,64,9,8,7\n",   "10,%s,64,64,64,9,8,7\n",
        "20,1,%s,64,64,9,8,7\n", "30,1,64,64,64,%s,8,7\n",  "# %s\n"};
    static const char *const numbers[] = {"0",   "1",   "2",    "3",  "16",  "-1",  "nan",
                                          "inf", "1e9", "1e-9", "99", "0.5", "1,1", ""};
    size_t at = (size_t)snprintf(text, TEXT_BYTES, "# cores: 4\n# cpu_threads: 4\n# spin_s: 0.1\n");
    while (bytes->left && at + 256 < TEXT_BYTES) {
        uint8_t line = fuzz_byte(bytes), number = fuzz_byte(bytes);
        char any[64];
        const char *value = number < 200 ? numbers[number % (sizeof(numbers) / sizeof(numbers[0]))]
                                         : fuzz_string(bytes, any, sizeof(any));
        at += (size_t)snprintf(text + at, TEXT_BYTES - at,
                               lines[line % (sizeof(lines) / sizeof(lines[0]))], value);
    }
}

static void check(const struct replay_fixture *fixture)
{
    FUZZ_CHECK(fixture->count > 0 && fixture->cores > 0 && fixture->cpu_threads > 0, "no products");
    FUZZ_CHECK(fixture->threads > 0 && fixture->threads <= REPLAY_THREADS_MAX, "%d threads",
               fixture->threads);
    for (size_t i = 0; i < fixture->count; i++) {
        const struct replay_product *p = &fixture->products[i];
        FUZZ_CHECK(p->after < (ptrdiff_t)i && p->after >= -1, "product %zu follows %td", i,
                   p->after);
        FUZZ_CHECK(p->gap_s >= 0 && isfinite(p->gap_s), "product %zu waits %g s", i, p->gap_s);
        FUZZ_CHECK(p->cpu_s > 0 && p->gpu_s > 0 && p->gpu_busy_s > 0 && p->m >= 0 && p->n >= 0 &&
                       p->k >= 0,
                   "product %zu", i);
        FUZZ_CHECK(i == 0 || p[-1].start_s <= p->start_s, "product %zu is out of order", i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[TEXT_BYTES];
    struct fuzz_bytes bytes = {data, size};
    char error[REPLAY_NAME_BYTES];
    struct replay_fixture fixture;
    if (fuzz_byte(&bytes) < 32)
        fuzz_string(&bytes, text, sizeof(text));
    else
        take_text(&bytes, text);
    FILE *file = text[0] ? fmemopen(text, strlen(text), "r") : NULL;
    if (!file)
        return 0;
    if (replay_read(file, &fixture, error)) {
        fuzz_reached++;
        check(&fixture);
        replay_free(&fixture);
    } else {
        FUZZ_CHECK(error[0], "refused without a word");
    }
    fclose(file);
    return 0;
}
