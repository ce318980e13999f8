/* SPDX-License-Identifier: MIT */
/* The credit on twenty programs and against adversaries: what it gains, and that its loss is
 * bounded. Contract 4.6. */
#include "src/resident/credit.h"

#include <math.h>

#include "tests/support/xt.h"

/* Sizes in MiB, times in ms. A link of 55 GB/s; per MiB of pages of 4 KiB, or of huge ones: */
static const double LINK = 1000.0 * 1048576 / 55e9;
static const struct pages {
    double write, arm, scan, disarm;
} of_pages[2] = {{256 * 0.9e-3, 0.010, 0.00033, 0.020}, {256 * 1.4e-3, 0.0002, 0.00003, 0.001}};
static const double BUDGET = 20000; /* MiB of the device for kept operands */

/* What happened to an operand since its last use; a positive number is the share of its pages that
 * was written. */
enum {
    NONE = 0,
    FULL = -1,
    SAME = -2 /* all written, with equal bytes */,
    FREED = -3,
    REPLACED = -4 /* written, then freed */
};

enum { OPERANDS = 400 };
static struct world {
    struct xg_credit credit;
    bool huge;
    struct operand {
        struct xg_credit_item item;
        double mib;
    } operands[OPERANDS];
    double net_ms, cost_ms, saved_ms, calls_ms;
    double extra; /* a call that only takes an operand to the device loses so many of its gains */
    long hits, drops;
    bool unseen; /* what is written in part leaves the fingerprint as it was */
    bool on_cpu; /* the call stays there, so that nothing is armed but scouts */
} world;

static uint64_t seed;

static double draw(void)
{
    return 0.5 * ((double)xt_random(&seed) + 1.0);
}

static double up(double mib, double share)
{
    return share * mib * LINK;
}

static void begin(bool huge)
{
    memset(&world, 0, sizeof world);
    world.huge = huge;
    xg_credit_init(&world.credit);
    seed = 1;
}

static double kept_mib(void)
{
    double mib = 0;
    for (int i = 0; i < OPERANDS; i++)
        mib += world.operands[i].item.state == XG_CREDIT_ARMED ? world.operands[i].mib : 0.0;
    return mib;
}

static void pay(double ms)
{
    world.net_ms -= ms;
    world.cost_ms += ms;
}

/* Displaces what is worth least. False: the operand is not worth it. */
static bool make_room(const struct operand *operand, double gain_ms)
{
    while (kept_mib() + operand->mib > BUDGET) {
        struct operand *least = NULL;
        double worth = INFINITY;
        for (int i = 0; i < OPERANDS; i++) {
            struct operand *other = &world.operands[i];
            double its = other->item.state == XG_CREDIT_ARMED
                             ? xg_credit_worth(&world.credit, &other->item, other->mib)
                             : INFINITY;
            if (its < worth) {
                worth = its;
                least = other;
            }
        }
        if (!least || !xg_credit_displaces(1e-3 * gain_ms, operand->mib, worth))
            return false;
        pay(least->mib * of_pages[world.huge].disarm);
        xg_credit_dropped(&world.credit, &least->item);
    }
    return true;
}

/* The share of armed pages that was written since the last use. */
static double written_share(double event)
{
    return event > 0 ? event : event == FULL || event == SAME ? 1.0 : 0.0;
}

static double armed_share(const struct xg_credit_item *item)
{
    return (const double[]){0.0, XG_CREDIT_SHARE, 1.0}[item->state];
}

/* What a use cost and saved, whatever the credit says of it. */
static void count(const struct operand *operand, const struct xg_credit_item *before, double share,
                  double gain_ms, enum xg_credit_advice advice)
{
    const struct pages *pages = &of_pages[world.huge];
    pay(armed_share(before) * share * operand->mib * pages->write);
    if (before->state == XG_CREDIT_ARMED)
        world.net_ms -= operand->mib * pages->scan;
    if (advice == XG_CREDIT_HIT) {
        world.hits++;
        world.saved_ms += (1 - share) * gain_ms;
        world.net_ms += (1 - share) * gain_ms;
    } else if (advice == XG_CREDIT_DROP) {
        world.drops++;
        pay(operand->mib * pages->disarm);
    } else if (before->state == XG_CREDIT_SCOUTED && operand->item.state == XG_CREDIT_SEEN) {
        pay(XG_CREDIT_SHARE * operand->mib * pages->disarm);
    }
}

/* The program frees its memory, and before that may write all of it: the credit sees no writes. */
static void lose(struct operand *operand, bool written)
{
    if (written)
        pay(armed_share(&operand->item) * operand->mib * of_pages[world.huge].write);
    world.drops += operand->item.state == XG_CREDIT_ARMED;
    xg_credit_dropped(&world.credit, &operand->item);
}

static void use(int name, double mib, double event, double gain_ms)
{
    const struct pages *pages = &of_pages[world.huge];
    struct operand *operand = &world.operands[name];
    const double share = written_share(event);
    struct xg_credit_sight sight = {.gain_s = 1e-3 * gain_ms, .written = share};
    operand->mib = mib;
    if (event == FREED || event == REPLACED)
        lose(operand, event == REPLACED);
    xg_credit_set_costs(&world.credit, &operand->item, 1e-3 * mib * pages->arm,
                        1e-3 * mib * pages->disarm, 1e-3 * mib * pages->write);
    /* 64 words of the fingerprint may miss a small change. */
    sight.changed = event == FULL || event == FREED || event == REPLACED ||
                    (event > 0 && !world.unseen && draw() < 1 - pow(1 - event, 64));
    const struct xg_credit_item before = operand->item;
    const double extra_ms = world.extra * gain_ms;
    const bool leaves =
        extra_ms > 0 && 1e-3 * extra_ms <= xg_credit_spare_s(&world.credit, &operand->item, &sight);
    enum xg_credit_advice advice = xg_credit_use(&world.credit, &operand->item, &sight);
    count(operand, &before, share, gain_ms, advice);
    if (advice == XG_CREDIT_SCOUT) {
        pay(XG_CREDIT_SHARE * mib * pages->arm);
        xg_credit_armed(&world.credit, &operand->item, XG_CREDIT_SCOUTED);
    } else if (advice == XG_CREDIT_ARM && !world.on_cpu && make_room(operand, gain_ms)) {
        pay(mib * pages->arm);
        xg_credit_armed(&world.credit, &operand->item, XG_CREDIT_ARMED);
    } else if (advice == XG_CREDIT_ARM && !world.on_cpu) {
        xg_credit_postpone(&operand->item);
    }
    if (leaves) {
        pay(extra_ms);
        xg_credit_call(&world.credit, 0.0, 0.0, 1e-3 * extra_ms);
    }
}

static void call(double ms)
{
    world.calls_ms += ms;
    xg_credit_call(&world.credit, 1e-3 * ms, 0.0, 0.0);
}

/* --- Programs ----------------------------------------------------------------------------------
 */

/* C (229 MiB) comes down and bounds the call. */
static void fixed_index(void)
{
    for (int i = 0; i < 300; i++) {
        call(6);
        use(0, 110, NONE, up(110, 0.35));
        use(1, 0.07, FULL, 0);
    }
}

/* Each weight in two products, then all of it is written; activations likewise. */
static void training(void)
{
    static const double mib[2][2] = {{3, 12}, {4, 16}};
    for (int i = 0; i < 2000; i++)
        for (int w = 0; w < 2; w++)
            for (int product = 0; product < 2; product++) {
                call(0.6);
                for (int x = 0; x < 2; x++)
                    use(2 * w + x, mib[w][x], product ? NONE : FULL, up(mib[w][x], 0.8));
            }
}

/* A transformer of 48 layers: weights for ever, activations new. */
static void inference(void)
{
    static const double mib[4] = {6.75, 2.25, 9, 9};
    for (int i = 0; i < 40; i++)
        for (int w = 0; w < 4 * 48; w++) {
            call(0.45);
            use(w, mib[w % 4], NONE, up(mib[w % 4], 0.8));
            use(4 * 48, 3, FULL, up(3, 0.8));
        }
}

static void least_squares(void)
{
    for (int i = 0; i < 60; i++) {
        call(7.5);
        use(0, 312, NONE, up(312, 0.9));
        use(1 + i % 2, i % 2 ? 5 : 1, FULL, 0);
    }
}

/* A product of a matrix and a vector: saved is the CPU's time less the kept product's. */
static void vectors(double mib, double cpu_ms, int calls)
{
    for (int i = 0; i < calls; i++) {
        call(cpu_ms);
        use(0, mib, NONE, cpu_ms - (mib * 1048576 / 3.0e12 * 1e3 + 0.030));
    }
}
static void gradients(void)
{
    vectors(309, 4.0, 150);
}
static void gradients_again(void)
{
    xg_credit_trust(&world.credit);
    gradients();
}
static void gradients_later(void)
{
    call(1500);
    xg_credit_call(&world.credit, 0.0, 1.4, 0.0);
    world.calls_ms = 0;
    vectors(309, 4.0, 150);
}
static void lanczos(void)
{
    vectors(191, 2.6, 300);
}
static void logistic(void)
{
    vectors(366, 4.6, 400);
}

static void power(void)
{
    for (int i = 0; i < 30; i++) {
        call(1.6);
        use(0, 24, NONE, up(24, 0.8));
        use(1, 24, FULL, up(24, 0.8));
    }
}

/* One operand in 2000 calls of 3 ms; rewritten in every `period`th, as `event` says. */
static void used(double mib, int period, double event, double gain_ms)
{
    for (int i = 0; i < 2000; i++) {
        call(3);
        use(0, mib, i % period ? NONE : event, gain_ms);
    }
}
static void rewritten(int period, double event)
{
    used(64, period, event, up(64, 0.8));
}
static void large_equal_bytes(void)
{
    used(300, 1, SAME, 0.05);
}
static void random_half(void)
{
    for (int i = 0; i < 2000; i++) {
        call(3);
        use(0, 64, draw() < 0.5 ? FULL : NONE, up(64, 0.8));
    }
}

/* Two matrices of 0.8 of the budget. */
static void in_turn(void)
{
    for (int i = 0; i < 400; i++) {
        call(400);
        use(i % 2, 16000, NONE, up(16000, 0.8));
    }
}

/* Arrays that live for three calls, at one address of the heap. */
static void heap(void)
{
    for (int i = 0; i < 1800; i++) {
        call(1.6);
        use(0, 24, i % 3 ? NONE : FULL, up(24, 0.8));
    }
}

/* Arrays with mappings of their own, which are freed after 20 uses without a write. */
static void mapped(void)
{
    for (int i = 0; i < 600; i++) {
        call(3);
        use(0, 64, i % 20 ? NONE : FREED, up(64, 0.8));
    }
}

/* What each saves, in ms, in pages of 4 KiB and in huge pages, and its hits and drops. */
static const struct {
    const char *name;
    void (*run)(void);
    double net_ms[2], within_ms;
    long hits[2], drops[2];
    int period; /* of `rewritten`, if there is no function */
    double event;
} programs[] = {
    {"fixed index", fixed_index, {206.1, 217.0}, 0.1, {297, 297}, {0, 0}, 0, NONE},
    {"training", training, {0, 0}, 0.1, {0, 0}, {0, 0}, 0, NONE},
    {"inference", inference, {482.9, 368.3}, 0.1, {5322, 4222}, {0, 0}, 0, NONE},
    {"alternating least squares", least_squares, {175.3, 58.7}, 0.1, {34, 11}, {0, 0}, 0, NONE},
    {"conjugate gradients", gradients, {429.2, 319.7}, 0.1, {115, 83}, {0, 0}, 0, NONE},
    {"the same in a later run", gradients_again, {549.5, 566.3}, 0.1, {147, 147}, {0, 0}, 0, NONE},
    {"the same after 1.4 s were saved",
     gradients_later,
     {549.5, 566.3},
     0.1,
     {147, 147},
     {0, 0},
     0,
     NONE},
    {"Lanczos", lanczos, {720.3, 664.3}, 0.1, {296, 266}, {0, 0}, 0, NONE},
    {"logistic regression", logistic, {1534.6, 1431.2}, 0.1, {356, 323}, {0, 0}, 0, NONE},
    {"matrix power", power, {9.4, 9.9}, 0.1, {27, 27}, {0, 0}, 0, NONE},
    {"rewritten in each call", NULL, {0, 0}, 0.1, {0, 0}, {0, 0}, 1, FULL},
    {"rewritten with equal bytes", NULL, {-4.7, -6.5}, 0.1, {0, 0}, {0, 0}, 1, SAME},
    {"the same, large, for little",
     large_equal_bytes,
     {-22.0, -30.3},
     0.1,
     {0, 0},
     {0, 0},
     0,
     NONE},
    {"one row rewritten", NULL, {1896, 1930}, 3, {1997, 1997}, {0, 0}, 1, 5.0 / 16384},
    {"one percent rewritten", NULL, {1560, 1436}, 60, {1944, 1944}, {0, 0}, 1, 0.01},
    {"rewritten every 3 calls", NULL, {-0.5, -0.7}, 0.1, {0, 0}, {0, 0}, 3, FULL},
    {"every 10", NULL, {-11.5, -17.8}, 0.1, {6, 6}, {1, 1}, 10, FULL},
    {"every 100", NULL, {1002.9, 261.9}, 0.1, {1365, 435}, {18, 7}, 100, FULL},
    {"a random half", random_half, {-30, -45}, 30, {0, 0}, {1, 1}, 0, NONE},
    {"two in turn", in_turn, {0, 0}, 0.1, {0, 0}, {0, 0}, 0, NONE},
    {"heap, three uses each", heap, {-0.2, -0.3}, 0.1, {0, 0}, {0, 0}, 0, NONE},
    {"mappings of 4 uses, written", NULL, {-15.4, -23.0}, 0.1, {0, 0}, {1, 1}, 4, REPLACED},
    {"mappings of 20 uses", mapped, {438.6, 145.0}, 0.1, {480, 149}, {29, 11}, 0, NONE},
};

static void test_programs(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        for (int huge = 0; huge < 2; huge++) {
            begin(huge);
            if (programs[i].run)
                programs[i].run();
            else
                rewritten(programs[i].period, programs[i].event);
            XT_CHECK(fabs(world.net_ms - programs[i].net_ms[huge]) <= programs[i].within_ms,
                     "%s, huge %d: %.1f ms, not %.1f", programs[i].name, huge, world.net_ms,
                     programs[i].net_ms[huge]);
            if (programs[i].within_ms < 1)
                XT_CHECK(world.hits == programs[i].hits[huge] &&
                             world.drops == programs[i].drops[huge],
                         "%s, huge %d: %ld hits, %ld drops", programs[i].name, huge, world.hits,
                         world.drops);
            XT_CHECK(world.net_ms >= -50, "%s loses %.1f ms", programs[i].name, -world.net_ms);
        }
}

/* --- Adversaries -------------------------------------------------------------------------------
 */

static double allowed_ms(void)
{
    return 1e3 * (XG_CREDIT_START_S + XG_CREDIT_LOAN_S) + XG_CREDIT_OF_TIME * world.calls_ms;
}

/* At any moment of any program. */
static void check_bound(const char *who, int trial)
{
    const double lost_ms = world.cost_ms - world.saved_ms;
    XT_CHECK(lost_ms <= allowed_ms() + 1e-6, "%s %d: %.2f ms lost of %.1f, %.2f allowed", who,
             trial, lost_ms, world.calls_ms, allowed_ms());
    XT_CHECK(world.credit.risk_s >= 0 && world.credit.lent_s <= XG_CREDIT_LOAN_S * (1 + 1e-12),
             "%s %d", who, trial);
}

static double choice(const double *values, int count)
{
    return values[(int)(draw() * count) % count];
}

/* Rewrite operands in periods of their own. */
static void run_periodic(int trial)
{
    static const double calls[] = {200, 1000, 5000}, sizes[] = {4, 24, 64, 300},
                        times[] = {0.3, 1, 3, 10}, periods[] = {2, 3, 4, 5, 8, 13, 21, 34, 55, 89},
                        counts[] = {1, 3, 20};
    begin(trial % 2);
    if (trial % 3 == 0)
        xg_credit_trust(&world.credit);
    seed = 7 + (uint64_t)trial;
    const double mib = choice(sizes, 4), ms = choice(times, 4);
    const int many = (int)choice(counts, 3), n = (int)choice(calls, 3);
    double left[20] = {0}, mine[4];
    world.extra = (int)(3 * draw());
    for (int i = 0; i < 4; i++)
        mine[i] = choice(periods, 10);
    for (int i = 0; i < n; i++) {
        double event = NONE;
        if (--left[i % many] < 0) {
            event = draw() < 0.2 ? SAME : trial % 5 ? FULL : REPLACED;
            left[i % many] = choice(mine, 4);
        }
        call(ms);
        use(i % many, mib, event, fmin(up(mib, 0.8), 0.8 * ms));
    }
    check_bound("periodic", trial);
}

/* Sees what is armed and what it has earned, and writes all of it when that hurts most: at once,
 * when it has earned its faults back, or all operands together. */
static void run_malicious(int trial)
{
    static const double sizes[] = {1, 10, 64, 300}, shares[] = {0.09, 0.11, 0.5, 0.95, 1},
                        counts[] = {1, 2, 10, 100, 300};
    begin(trial % 2);
    seed = 77 + (uint64_t)trial;
    const double mib = choice(sizes, 4), share = choice(shares, 5),
                 factor = choice((double[]){0, 0.5, 1, 1.1, 3}, 5);
    const double gain_ms = up(mib, draw());
    const int many = (int)choice(counts, 5);
    world.extra = (int)(3 * draw());
    const bool together = draw() < 0.5;
    for (int i = 0; i < 60 * many + 2000; i++) {
        const struct xg_credit_item *item = &world.operands[i % many].item;
        bool ripe = item->earned_s >= factor * item->miss_s;
        if (together)
            for (int other = 0; other < many; other++)
                ripe = ripe && world.operands[other].item.state == XG_CREDIT_ARMED &&
                       world.operands[other].item.earned_s >= factor * item->miss_s;
        if (item->state == XG_CREDIT_ARMED && ripe && together) {
            for (int other = 0; other < many; other++)
                use(other, mib, share < 1 ? share : FULL, gain_ms);
            check_bound("together", trial);
        }
        call(1.25 * gain_ms);
        use(i % many, mib,
            item->state == XG_CREDIT_ARMED && ripe ? (share < 1 ? share : FULL) : NONE, gain_ms);
        check_bound("malicious", trial);
    }
}

/* A scout that waits, for credit or for a call that runs on the GPU, is written a little at each
 * use. */
static void run_waiting(int trial)
{
    static const double sizes[] = {60, 150, 300, 400}, shares[] = {0.003, 0.01, 0.05, 0.09},
                        gains[] = {0, 0.05, 0.3, 2}, times[] = {1, 2, 4};
    begin(trial % 2);
    if (trial % 3 == 0)
        xg_credit_trust(&world.credit);
    seed = 777 + (uint64_t)trial;
    world.unseen = true;
    world.on_cpu = draw() < 0.5;
    const double mib = choice(sizes, 4), share = choice(shares, 4), gain_ms = choice(gains, 4);
    const double ms = choice(times, 3);
    for (int i = 0; i < 4000; i++) {
        call(ms);
        use(0, mib, world.operands[0].item.state == XG_CREDIT_SCOUTED ? share : NONE, gain_ms);
        check_bound("waiting", trial);
    }
}

/* At the end of any program all armed operands may be written. */
static void run_final(int trial)
{
    run_malicious(trial);
    for (int i = 0; i < OPERANDS; i++)
        if (world.operands[i].item.state == XG_CREDIT_ARMED)
            use(i, world.operands[i].mib, FULL, up(world.operands[i].mib, 0.8));
    check_bound("final", trial);
}

/* --- Single rules ------------------------------------------------------------------------------
 */

static struct xg_credit_item an_item(double miss_s)
{
    return (struct xg_credit_item){
        .arm_s = 0.05 * miss_s, .disarm_s = 0.1 * miss_s, .miss_s = miss_s};
}

static void test_rules(void)
{
    struct xg_credit credit;
    struct xg_credit_item item = an_item(1e-3);
    const struct xg_credit_sight same = {.gain_s = 1e-3}, wrote = {.gain_s = 1e-3, .written = 1.0};
    xg_credit_init(&credit);
    XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_STAY);
    XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_SCOUT);
    XT_CHECK(xg_credit_spare_s(&credit, &item, &same) == -INFINITY, "before its scout");
    xg_credit_armed(&credit, &item, XG_CREDIT_SCOUTED);
    XT_CHECK(fabs(credit.risk_s - 1.1e-3 / 32) < 1e-12 && item.state == XG_CREDIT_SCOUTED);
    XT_CHECK(xg_credit_unchanged(&item, &same) >= XG_CREDIT_NEED &&
             !xg_credit_unchanged(&item, &wrote));
    const double lent_s = XG_CREDIT_OF_FORGONE * 1e-3, cost_s = 1e-3 * 1.15 * 33 / 32;
    XT_CHECK(fabs(xg_credit_spare_s(&credit, &item, &same) -
                  (XG_CREDIT_START_S + lent_s - cost_s)) < 1e-5);
    XT_CHECK(xg_credit_spare_s(&credit, &item, &wrote) == -INFINITY, "a scout that was written");
    /* A scout that was written: equal bytes were stored, and twice as many uses are needed. */
    XT_CHECK(xg_credit_use(&credit, &item, &wrote) == XG_CREDIT_STAY &&
             item.state == XG_CREDIT_SEEN && item.need == 4);
    XT_CHECK(credit.risk_s < 1e-15);
    for (int i = 0; i < 3; i++)
        XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_STAY, "use %d", i);
    XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_SCOUT);
    xg_credit_armed(&credit, &item, XG_CREDIT_SCOUTED);
    XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_ARM);
    xg_credit_armed(&credit, &item, XG_CREDIT_ARMED);
    XT_CHECK(fabs(credit.risk_s - 1.1e-3) < 1e-12 && item.state == XG_CREDIT_ARMED);
    XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_HIT && credit.risk_s < 3e-4);
    struct xg_credit_sight part = {.gain_s = 1e-3, .written = 0.1};
    XT_CHECK(xg_credit_use(&credit, &item, &part) == XG_CREDIT_HIT);
    part.written = 0.11;
    XT_CHECK(xg_credit_use(&credit, &item, &part) == XG_CREDIT_DROP &&
             item.state == XG_CREDIT_SEEN && item.run == 0);
    XT_CHECK(item.need == 4, "it had earned more than it cost: %d", item.need);
    const int need = item.need;
    xg_credit_postpone(&item);
    XT_CHECK(item.need == 2 * need);
    const double have_s = credit.have_s;
    xg_credit_call(&credit, 1.0, 0.0, 0.25);
    XT_CHECK(fabs(credit.have_s - (have_s + XG_CREDIT_OF_TIME - 0.25)) < 1e-12);
    xg_credit_call(&credit, 0.0, 0.0, -0.25);
    /* What the credit will cover once all is lent has its scout before that. */
    struct xg_credit later;
    struct xg_credit_item large = an_item(0.1);
    const struct xg_credit_sight useful = {.gain_s = 0.04};
    xg_credit_init(&later);
    XT_CHECK(xg_credit_use(&later, &large, &useful) == XG_CREDIT_STAY);
    XT_CHECK(xg_credit_use(&later, &large, &useful) == XG_CREDIT_SCOUT);
    xg_credit_armed(&later, &large, XG_CREDIT_SCOUTED);
    const double short_s = xg_credit_spare_s(&later, &large, &useful);
    XT_CHECK(short_s < 0 && short_s + xg_credit_loan_s(&later) > 0, "%g s", short_s);
    XT_CHECK(xg_credit_use(&later, &large, &useful) == XG_CREDIT_STAY);
    xg_credit_trust(&later);
    XT_CHECK(xg_credit_loan_s(&later) == 0 &&
             xg_credit_use(&later, &large, &useful) == XG_CREDIT_ARM);
    /* What it had already cannot pay for a scout. */
    struct xg_credit spent;
    struct xg_credit_item small = an_item(1e-3);
    const struct xg_credit_sight useless = {0};
    xg_credit_init(&spent);
    spent.have_s = 0;
    for (int i = 0; i < 10; i++)
        XT_CHECK(xg_credit_use(&spent, &small, &useless) == XG_CREDIT_STAY);
    /* Without credit nothing is armed, however often an operand is used. */
    item = an_item(1.0);
    for (int i = 0; i < 1000; i++)
        XT_CHECK(xg_credit_use(&credit, &item, &same) == XG_CREDIT_STAY);
    XT_CHECK(fabs(credit.lent_s - XG_CREDIT_LOAN_S) < 1e-12);
    XT_CHECK(xg_credit_displaces(3, 1, 1) && !xg_credit_displaces(2, 1, 1) &&
             xg_credit_displaces(1, 1, 0));
}

int main(void)
{
    test_rules();
    test_programs();
    for (int trial = 0; trial < 4000; trial++)
        run_periodic(trial);
    for (int trial = 0; trial < 400; trial++)
        run_final(trial);
    for (int trial = 0; trial < 400; trial++)
        run_waiting(trial);
    return xt_done();
}
