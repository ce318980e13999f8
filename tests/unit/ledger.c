/* SPDX-License-Identifier: MIT */
/* ledger: when a start begins, which calls wait for it, and the most that a program loses by it. */
#include <math.h>

#include "src/decide/ledger.h"
#include "tests/support/xt.h"

enum { GPU = 1 << XG_RESOURCE_GPU, CUBLAS = 1 << XG_RESOURCE_CUBLAS };
enum { CUSOLVER = 1 << XG_RESOURCE_CUSOLVER };

static struct xg_ledger ledger;
static struct xg_start starts[XG_RESOURCE_COUNT];
static double now_s;

static void begin(void)
{
    static const double takes_s[XG_RESOURCE_COUNT] = {0.4, 0.07, 0.2};
    ledger = (struct xg_ledger){0};
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        starts[i] = (struct xg_start){.takes_s = takes_s[i], .price_s = takes_s[i]};
    starts[XG_RESOURCE_CUBLAS].price_s = 0.014;
    now_s = 1;
}

static struct xg_ledger_answer ask(unsigned needs, double cpu_s, double gpu_s)
{
    const struct xg_ledger_call call = {
        .needs = needs, .cpu_s = cpu_s, .gpu_s = gpu_s, .now_s = now_s};
    return xg_ledger_ask(&ledger, starts, &call);
}

/* Nothing begins beside a call by that call's own saving. */
static void test_passed_time(void)
{
    begin();
    for (int i = 0; i < 100; i++)
        XT_CHECK(ask(GPU | CUSOLVER, 0.8, 0.1).earning, "no call has ended");
    struct xg_ledger_answer one = ask(GPU | CUSOLVER, 1.1, 0.1);
    XT_CHECK(one.start && one.wait, "this call alone pays for both");
    xg_ledger_miss(&ledger, GPU | CUSOLVER, false, 0.53);
    XT_CHECK(ask(GPU | CUSOLVER, 0.1, 0.01).earning, "0.53 s of 0.6, less 0.07 for this call");
    xg_ledger_miss(&ledger, GPU | CUSOLVER, false, 0.02);
    one = ask(GPU | CUSOLVER, 0.1, 0.01);
    XT_CHECK(one.start && !one.wait && !one.earning, "begins beside a short call");
    XT_CHECK(ask(GPU | CUSOLVER, 0.5, 0.01).wait, "a call that it would slow down by more waits");
    XT_CHECK(isfinite(ask(GPU, 0.1, NAN).most_s) && !ask(GPU, 0.1, NAN).wait, "NaN");
}

/* What calls missed that pay in full, others do not spend; they spend what others missed. */
static void test_in_full(void)
{
    struct xg_ledger_call full = {
        .needs = GPU, .cpu_s = 0.002, .gpu_s = 0.0002, .now_s = 2, .in_full = true};
    begin();
    starts[XG_RESOURCE_GPU].price_s = 0.1;
    xg_ledger_miss(&ledger, GPU, true, 0.3);
    XT_CHECK(ask(GPU, 0.1, 0.01).earning, "theirs is not spent");
    xg_ledger_miss(&ledger, GPU, false, 0.11);
    starts[XG_RESOURCE_GPU].price_s = 0.4;
    XT_CHECK(xg_ledger_ask(&ledger, starts, &full).start, "0.41 s of 0.4");
    starts[XG_RESOURCE_GPU].price_s = 0.1;
    XT_CHECK(ask(GPU, 0.1, 0.01).start, "0.11 s of 0.1");
}

/* Each set pays for what its calls lacked. */
static void test_sets(void)
{
    begin();
    xg_ledger_miss(&ledger, GPU | CUSOLVER, false, 10);
    XT_CHECK(ask(GPU, 0.1, 0.01).earning, "routines do not pay for products");
    xg_ledger_miss(&ledger, GPU, false, 0.5);
    XT_CHECK(ask(GPU, 0.1, 0.01).start, "products do");
    begin();
    xg_ledger_miss(&ledger, GPU, false, 0.7);
    XT_CHECK(ask(GPU | CUSOLVER, 0.1, 0.01).start, "products pay for routines' driver");
    starts[XG_RESOURCE_GPU].state = XG_START_READY;
    XT_CHECK(ask(GPU | CUSOLVER, 0.1, 0.01).earning, "but not for cuSOLVER");
    XT_CHECK(ask(GPU | CUBLAS, 0.01, 0.001).earning, "nor for cuBLAS");
    xg_ledger_miss(&ledger, GPU | CUBLAS, false, 0.02);
    XT_CHECK(ask(GPU | CUBLAS, 0.01, 0.001).start, "which costs little");
    struct xg_ledger_call crowd = {.needs = GPU | CUBLAS, .cpu_s = 9, .now_s = 2};
    crowd.waits_never = true;
    XT_CHECK(!xg_ledger_ask(&ledger, starts, &crowd).wait, "a thread of many waits");
}

/* A call waits for the rest of a start if it then ends earlier, and for none that is much too late.
 */
static void test_rest(void)
{
    begin();
    starts[XG_RESOURCE_GPU].state = XG_START_UNDER_WAY;
    XT_CHECK(!ask(GPU, 0.2, 0.01).wait, "it has just begun");
    now_s += 0.35;
    XT_CHECK(ask(GPU, 0.2, 0.01).wait, "it is nearly ready");
    now_s += 0.5;
    XT_CHECK(ask(GPU, 0.2, 0.01).wait, "it is late");
    now_s += 0.5;
    XT_CHECK(!ask(GPU, 0.2, 0.01).wait && !ask(GPU, 9, 0.01).wait, "it hangs");
    starts[XG_RESOURCE_GPU].state = XG_START_READY;
    XT_CHECK(ask(GPU, 0.2, 0.01).wait, "nothing is left to wait for");
}

/* The GPU's start hangs: calls of any length wait for it once, for three times as long as expected
 * or as long as they take on the CPU. */
static void test_hang(void)
{
    static const double cpu_s[] = {0.05, 0.2, 0.45, 0.7, 1, 3.4, 20};
    for (size_t i = 0; i < sizeof cpu_s / sizeof cpu_s[0]; i++) {
        double waited_s = 0;
        begin();
        for (int call = 0; call < 100; call++) {
            const struct xg_ledger_answer answer = ask(GPU, cpu_s[i], 0.01);
            if (answer.start)
                starts[XG_RESOURCE_GPU].state = XG_START_UNDER_WAY;
            waited_s += answer.wait ? answer.most_s : 0;
            now_s += cpu_s[i] + (answer.wait ? answer.most_s + 1e-6 : 0);
            xg_ledger_miss(&ledger, GPU, false, cpu_s[i]);
        }
        XT_CHECK_LE(waited_s, fmax(3 * 0.4, cpu_s[i]) + 1e-9, "calls of %g s", cpu_s[i]);
    }
}

/* --- A program of random calls ---------------------------------------------------------------- */

static uint64_t seed;

static double draw(double most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return most * (double)(seed >> 11) / 9007199254740992.0;
}

struct machine {
    double takes_s[XG_RESOURCE_COUNT]; /* what starts really take */
    double ends_s[XG_RESOURCE_COUNT];  /* 0: not begun */
};

static double ready_s(const struct machine *machine, unsigned needs)
{
    double last = 0;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (needs & 1u << i)
            last = fmax(last, machine->ends_s[i]);
    return last;
}

static void see(struct machine *machine)
{
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        starts[i].state = machine->ends_s[i] == 0      ? XG_START_COLD
                          : machine->ends_s[i] > now_s ? XG_START_UNDER_WAY
                                                       : XG_START_READY;
}

/* One start after the other, beside the program. */
static void start(struct machine *machine, unsigned needs)
{
    double at = fmax(now_s, ready_s(machine, GPU | CUBLAS | CUSOLVER));
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        if (needs & 1u << i && machine->ends_s[i] == 0)
            machine->ends_s[i] = at += machine->takes_s[i];
}

/* The CPU loses half of its speed while a start runs. */
static void compute(const struct machine *machine, double cpu_s)
{
    double beside_s = fmax(0, ready_s(machine, GPU | CUBLAS | CUSOLVER) - now_s);
    now_s += cpu_s + 0.5 * fmin(beside_s, cpu_s / 0.5);
}

static void call(struct machine *machine, unsigned needs, double cpu_s, double gpu_s)
{
    see(machine);
    bool ready = ready_s(machine, needs) <= now_s;
    for (int i = 0; i < XG_RESOURCE_COUNT; i++)
        ready &= !(needs & 1u << i) || starts[i].state == XG_START_READY;
    if (ready) {
        now_s += gpu_s;
        return;
    }
    const struct xg_ledger_answer answer = ask(needs, cpu_s, gpu_s);
    if (answer.start)
        start(machine, needs);
    double left_s = ready_s(machine, needs) - now_s;
    if (answer.wait && left_s <= answer.most_s) {
        now_s += fmax(0, left_s) + gpu_s;
        return;
    }
    now_s += answer.wait ? answer.most_s : 0;
    compute(machine, cpu_s);
    xg_ledger_miss(&ledger, needs, false, cpu_s - gpu_s);
}

/*
 * Whatever calls come, in whatever order, and though each start takes from a quarter of the
 * expected time to twice that: a program loses at most what its starts take. Many gain.
 */
static void test_bound(void)
{
    enum { PROGRAMS = 5000 };
    static const unsigned sets[] = {GPU, GPU | CUBLAS, GPU | CUSOLVER};
    int gains = 0;
    for (int program = 0; program < PROGRAMS; program++) {
        struct machine machine = {.ends_s = {0}};
        double plain_s = 0, all_s = 0, longest_s = pow(10, -draw(4)), count = 1 + draw(100);
        begin();
        for (int i = 0; i < XG_RESOURCE_COUNT; i++)
            machine.takes_s[i] = starts[i].takes_s * (0.25 + draw(1.75));
        for (int i = 0; i < (int)count; i++) {
            double cpu_s = draw(3 * longest_s), pause_s = draw(2) < 1 ? 0 : draw(longest_s);
            call(&machine, sets[(int)draw(3)], cpu_s, cpu_s * (0.02 + draw(0.8)));
            now_s += pause_s;
            plain_s += cpu_s + pause_s;
        }
        for (int i = 0; i < XG_RESOURCE_COUNT; i++)
            all_s += machine.ends_s[i] > 0 ? machine.takes_s[i] : 0;
        XT_CHECK_LE(now_s - 1 - plain_s, all_s + 1e-9, "program %d: %g s, plain %g s", program,
                    now_s - 1, plain_s);
        gains += now_s - 1 < 0.9 * plain_s;
    }
    XT_CHECK(gains > PROGRAMS / 4, "%d gain", gains);
}

/* What earlier runs paid for begins at the first call that gains; the rest is earned as ever. */
static void test_memory(void)
{
    struct xg_ledger_call call = {.needs = GPU | CUSOLVER, .cpu_s = 0.1, .gpu_s = 0.01, .now_s = 1};
    begin();
    call.promised = GPU | CUSOLVER;
    struct xg_ledger_answer answer = xg_ledger_ask(&ledger, starts, &call);
    XT_CHECK(answer.start && !answer.wait && !answer.earning, "promised, and too short to wait");
    call.cpu_s = 0.7;
    XT_CHECK(xg_ledger_ask(&ledger, starts, &call).wait, "promised, and the GPU finishes first");
    begin();
    call.cpu_s = 0.1;
    call.promised = GPU;
    XT_CHECK(xg_ledger_ask(&ledger, starts, &call).earning, "cuSOLVER is not promised");
    xg_ledger_miss(&ledger, GPU | CUSOLVER, false, 0.21);
    XT_CHECK(xg_ledger_ask(&ledger, starts, &call).start, "cuSOLVER's own price is 0.2 s");
}

int main(void)
{
    test_memory();
    test_passed_time();
    test_in_full();
    test_sets();
    test_rest();
    test_hang();
    test_bound();
    return xt_done();
}
