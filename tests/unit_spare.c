/* SPDX-License-Identifier: MIT */
/* spare: one product at a time computes with a thread less, and what the program set stays. */
#include "src/spare.h"
#include "xt.h"

static int count = 16;

static int get_threads(void *ctx)
{
    (void)ctx;
    return count;
}

static void set_threads(void *ctx, int threads)
{
    (void)ctx;
    count = threads;
}

int main(void)
{
    const struct xg_cpu cpu = {.threads = get_threads, .set_threads = set_threads};
    const struct xg_cpu fixed = {.threads = get_threads}, unknown = {.set_threads = set_threads};

    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    XT_CHECK(!xg_spare_begin(&cpu, 15, 15) && count == 15, "a second one at once: %d", count);
    xg_spare_end(&cpu, 16);
    XT_CHECK(count == 16, "%d", count);

    XT_CHECK(xg_spare_begin(&cpu, 16, 8) && count == 15, "more threads than cores: %d", count);
    count = 4; /* the program, from another thread */
    xg_spare_end(&cpu, 16);
    XT_CHECK(count == 4, "the program's count is lost: %d", count);

    XT_CHECK(!xg_spare_begin(&cpu, 16, 16) && count == 4, "changed since it was read: %d", count);
    count = 16;
    XT_CHECK(xg_spare_begin(&cpu, 16, 16) && count == 15, "%d", count);
    xg_spare_end(&cpu, 16);
    count = 4;

    XT_CHECK(!xg_spare_begin(&cpu, 15, 16), "a core is free");
    XT_CHECK(!xg_spare_begin(&cpu, 2, 2), "half of two");
    XT_CHECK(!xg_spare_begin(&fixed, 16, 16) && !xg_spare_begin(&unknown, 16, 16), "no way to");
    XT_CHECK(count == 4, "%d", count);
    return xt_done();
}
