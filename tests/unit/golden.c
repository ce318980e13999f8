/* SPDX-License-Identifier: MIT */
/* The decisions about 60,000 random products and 20,000 random routines, compared with a table. */
/*
 * Each line of tests/unit/golden.txt is for a device, an operation and a state of the engine: the
 * number of decisions, their digest, and how often each side and reason occurs. A change that is to
 * change no decision leaves the table as it is. If it changes an interface of src/decide, it adapts
 * decide_product or decide_routine.
 *
 *   golden            compares, and prints the lines that differ
 *   golden --list     prints each decision in a line; `diff` of two builds' lists shows the changes
 *   golden --write    rewrites the table, after a change that is meant to change decisions
 *
 * Each call meets a new process. All builds agree: draws are integers, and no time is recorded.
 */
#include "src/decide/decide.h"
#include "src/decide/route.h"
#include "tests/support/xt.h"
#include "tools/gpus.h"

/* Devices of most files of src/generation. */
static const struct gpu devices[] = {
    {"GeForce_980", 52, 16, 96, 32, 1.216, 15.75},  {"V100", 70, 80, 96, 2, 1.53, 15.75},
    {"GeForce_2080", 75, 68, 64, 32, 1.545, 15.75}, {"T4", 75, 40, 64, 32, 1.59, 15.75},
    {"GeForce_3090", 86, 82, 99, 64, 1.695, 31.5},  {"A100", 80, 108, 163, 2, 1.41, 31.5},
    {"GeForce_4090", 89, 128, 99, 64, 2.52, 31.5},  {"A40", 86, 84, 99, 64, 1.74, 31.5},
    {"GeForce_5090", 120, 170, 99, 64, 2.407, 63},  {"L40S", 89, 142, 99, 64, 2.52, 31.5},
    {"RTX_PRO_6000", 120, 188, 99, 64, 2.617, 63},  {"H100", 90, 132, 227, 2, 1.98, 63},
    {"B200", 100, 148, 227, 2, 1.965, 63}};

/* Half of the calls have the default settings, those of row 0. */
static const struct xg_conf settings[] = {
    {.mode = XG_MODE_AUTO},    {.exit = XG_EXIT_WAIT},   {.mode = XG_MODE_GPU},
    {.mode = XG_MODE_COMPARE}, {.math = XG_MATH_STRICT}, {.math = XG_MATH_TF32},
    {.reproducible = 1},       {.operations = 1},        {.kernel = "fp16x3_mma"},
    {.kernel = "ozaki2"},      {.kernel = "cublas"},     {.kernel = "single_block"}};

enum { PRODUCTS = 60000, ROUTINES = 20000, STATES = XG_ENGINE_READY + 1 };
enum { GEMM, LEVEL3, BATCH, ROUTINE, FAMILIES, DEVICES = sizeof devices / sizeof devices[0] };
static const char *const families[FAMILIES] = {"gemm", "level3", "batch", "routine"};
static const char *const states[STATES] = {"cold", "starting", "ready"};

/* No expression has two draws in an order that C leaves open. */
static uint64_t seed;

/* From 0 to count - 1; a splitmix64 step. */
static int64_t draw(int64_t count)
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (int64_t)((z >> 32) * (uint64_t)count >> 32);
}

/* An element of an array. */
#define PICK(...) (__VA_ARGS__)[draw(sizeof(__VA_ARGS__) / sizeof(__VA_ARGS__)[0])]

/* From 2^least to 2^most, each octave as often as each other; half of them are multiples of 32. */
static int64_t extent(int least, int most)
{
    int64_t octave = (int64_t)1 << (least + draw(most - least));
    int64_t x = octave + draw(octave);
    return draw(2) ? x : xg_round_up(x, 32);
}

/* All that a decision depends on, beside the call. */
struct machine {
    int device;
    const struct xg_conf *conf;
    struct xg_situation now;
    double missed_s;             /* by products, without a GPU */
    struct xg_model_device open; /* the device as the engine describes it */
    struct xg_model model;
};

static void draw_device(struct machine *machine)
{
    const double known = machine->conf->reproducible ? 0 : 1;
    struct xg_device_facts *facts = &machine->open.facts;
    machine->open = gpu_describe(&devices[machine->device]);
    facts->cublas = draw(2);
    facts->pieces = xg_select_emulated(facts, XG_KERNEL_PIECES, machine->conf->kernel);
    facts->residues = xg_select_emulated(facts, XG_KERNEL_RESIDUES, machine->conf->kernel);
    facts->clock_hz = known * machine->open.clock_hz;
    facts->link_bytes_per_s = known * machine->open.link_bytes_per_s;
}

static void draw_machine(struct machine *machine)
{
    const int cores = PICK((int[]){1, 4, 16, 16, 64});
    struct xg_situation *now = &machine->now;
    machine->conf = draw(2) ? settings : &PICK(settings);
    draw_device(machine);
    *now = (struct xg_situation){.now_s = 1000, .cores = cores};
    now->absence = draw(32) ? XG_REASON_EARNING : XG_REASON_NO_DRIVER;
    now->unserved = !draw(64);
    now->is_counted = !draw(8);
    now->cpu_threads = PICK((int[]){0, 1, cores});
    now->spin_s = 1e-3 * (double)(draw(2) ? draw(10) : draw(400));
    now->pool_is_shared = draw(2);
    now->under_way = draw(2) ? 1 : 1 + (int)draw(cores);
    now->cores_left = PICK((int[]){INT32_MAX, INT32_MAX, cores, 1});
    machine->missed_s = draw(2) ? 0 : 1e-3 * (double)draw(200);
    now->cublas = XG_LIBRARY_READY;
    now->cusolver = draw(2) ? XG_LIBRARY_READY : draw(2) ? XG_LIBRARY_UNDER_WAY : XG_LIBRARY_COLD;
    if (!draw(64))
        now->cusolver = XG_LIBRARY_ABSENT;
    xg_model_init(&machine->model, cores);
    if (machine->conf->exit == XG_EXIT_LEAVE)
        xg_model_leave_exit(&machine->model);
    if (machine->conf->reproducible)
        machine->model.gpu_panels = false;
    else
        xg_model_set_device(&machine->model, &machine->open);
}

/* A quarter are cubes, and a third have no short extent. */
static void draw_extents(int64_t *m, int64_t *n, int64_t *k)
{
    const int least = PICK((int[]){0, 0, 9});
    *m = extent(least, 14);
    *n = extent(least, 14);
    *k = draw(4) ? extent(least, 14) : (*n = *m);
}

/* A problem as problem.h describes it, but without triangles, on which no decision depends. */
static void draw_product(int family, struct xg_problem *call, struct xg_batch *batch)
{
    static const int kinds[] = {XG_KIND_GEMM, XG_KIND_SYRK, XG_KIND_GEMM_BATCH, XG_KIND_COUNT};
    int kind;
    do
        kind = kinds[family] + (int)draw(kinds[family + 1] - kinds[family]);
    while (xg_kind_type(kind) != XG_TYPE_S && draw(3));
    *call = (struct xg_problem){.op = xg_kind_op(kind), .type = xg_kind_type(kind)};
    const bool complex = xg_type_is_complex(call->type), in_place = xg_problem_is_in_place(call);
    const enum xg_trans turned = xg_problem_is_hermitian(call) ? XG_CONJ_TRANS : XG_TRANS;
    draw_extents(&call->m, &call->n, &call->k);
    call->transa = (enum xg_trans)draw(complex ? 3 : 2);
    call->transb = (enum xg_trans)draw(complex ? 3 : 2);
    call->alpha = draw(128) ? 1 : 0;
    call->alpha_im = complex && call->op != XG_OP_HERK && !draw(8);
    if (family == BATCH) {
        batch->count = extent(0, 10);
        call->batch = batch;
        call->m *= batch->count;
    } else if (in_place || call->op == XG_OP_SYMM || call->op == XG_OP_HEMM) {
        const bool left = draw(2);
        call->structured = left ? XG_OPERAND_A : XG_OPERAND_B;
        call->k = left ? call->m : call->n;
        call->transa = in_place && left ? call->transa : XG_NO_TRANS;
        call->transb = in_place && !left ? call->transb : XG_NO_TRANS;
    } else if (family == LEVEL3) {
        if (call->op == XG_OP_GEMV)
            *(draw(2) ? &call->m : &call->n) = 1;
        else
            call->n = call->m;
        if (call->op == XG_OP_GEMMT || call->op == XG_OP_GEMV)
            return;
        call->transa = call->transa ? turned : XG_NO_TRANS;
        call->transb = call->transa ? XG_NO_TRANS : turned;
    }
}

/* Gives the routine its operands, in the sizes that LAPACK's arguments have. */
static void size_operands(struct xg_routine *r, int64_t values)
{
    static double memory[1];
    const int64_t m = r->m, n = r->n, k = r->k, least = xg_min_i64(m, n);
    const bool ormqr = r->name == XG_ROUTINE_ORMQR, sygvd = r->name == XG_ROUTINE_SYGVD;
    const bool squares = r->name == XG_ROUTINE_GELSD || r->name == XG_ROUTINE_GELSS;
    const bool thin = r->vectors == XG_VECTORS_THIN, wide = r->name == XG_ROUTINE_GESDD && !thin;
    const int64_t left = wide ? m : values, right = thin ? least : n;
    const struct xg_matrix vector = {memory, values, 1, values};
    const struct xg_matrix matrices[] = {
        [XG_SLOT_A] = {memory, m, ormqr ? k : n, m},
        [XG_SLOT_B] = {memory, m, ormqr || sygvd ? n : k, m},
        [XG_SLOT_U] = {memory, squares ? n : m, squares ? n : left, m},
        [XG_SLOT_V] = {memory, squares ? m : right, squares ? k : n, m}};
    for (int slot = 0; slot < XG_SLOT_COUNT; slot++) {
        const struct xg_use *use = xg_routine_use(r->name, (enum xg_slot)slot);
        const bool vectors = !squares && (slot == XG_SLOT_U || slot == XG_SLOT_V);
        const bool imaginary = slot == XG_SLOT_WI && xg_type_is_complex(r->type);
        if ((use->in || use->out) && !imaginary && (r->vectors || !vectors))
            r->operand[slot] = slot <= XG_SLOT_V ? matrices[slot] : vector;
    }
}

static void draw_routine(struct xg_routine *r)
{
    *r = (struct xg_routine){.name = (enum xg_routine_name)draw(XG_ROUTINE_COUNT), .itype = 1};
    const bool gesdd = r->name == XG_ROUTINE_GESDD, syevd = r->name == XG_ROUTINE_SYEVD;
    const bool any = gesdd || r->name == XG_ROUTINE_GETRF || r->name == XG_ROUTINE_GEQRF;
    const bool tall = r->name == XG_ROUTINE_ORGQR || r->name == XG_ROUTINE_GELS ||
                      r->name == XG_ROUTINE_GELSD || r->name == XG_ROUTINE_GELSS;
    r->type = (enum xg_type)draw(XG_TYPE_COUNT);
    if (xg_routine_use(r->name, XG_SLOT_W)->out)
        r->vectors = gesdd ? (enum xg_vectors)draw(3) : draw(2) ? XG_VECTORS_ALL : XG_VECTORS_NONE;
    r->rotates = (gesdd || syevd) && !draw(3);
    draw_extents(&r->m, &r->n, &r->k);
    const int64_t times = (int64_t)1 << draw(10), part = 1 + draw(r->n);
    if (!any)
        r->m = tall ? r->n * times : r->n;
    if (xg_routine_use(r->name, XG_SLOT_TAU)->in)
        r->k = part;
    size_operands(r, syevd && !r->rotates && draw(2) ? part : xg_min_i64(r->m, r->n));
}

static struct group {
    long count, places[3], reasons[XG_REASON_COUNT];
    uint64_t digest; /* FNV-1a of the lines */
} groups[DEVICES * FAMILIES * STATES];

/* The line that is written, in memory. */
static FILE *out;
static char *line;
static size_t line_bytes;

/* The decision of a new process that has missed so much by products. */
static struct xg_decision decide_call(const struct machine *on, const struct xg_call *call)
{
    static struct xg_policy policy;
    struct xg_decision decision;
    memset(&policy, 0, sizeof policy);
    policy.model = on->model;
    policy.ledger.missed_s[1 << XG_RESOURCE_GPU] = call->routine ? on->missed_s : 0;
    xg_decide(&policy, on->conf, call, &on->now, &decision);
    return decision;
}

/* Writes the product, and how the open device computes it. */
static struct xg_decision decide_product(const struct machine *on, const struct xg_problem *call)
{
    const struct xg_device_facts *facts = &on->open.facts;
    const struct xg_conf *conf = on->conf;
    const struct xg_decision decision = decide_call(on, &(struct xg_call){.problem = call});
    struct xg_route route;
    xg_route_decide(&route, NULL, facts, conf->math, conf->kernel, call);
    fprintf(out, " %s %d%d %ldx%ldx%ld/%ld alpha %g,%g", xg_kind_name(xg_problem_kind(call)),
            (int)call->transa, (int)call->transb, (long)call->m, (long)call->n, (long)call->k,
            (long)xg_problem_instances(call), call->alpha, call->alpha_im);
    if (on->now.state != XG_ENGINE_READY)
        return decision;
    fprintf(out, " cuBLAS %d pieces %d", xg_select_needs_cublas(facts, call), route.pieces);
    for (int i = 1; i <= 6; i++) { /* the whole, and parts with operands on the device */
        const int64_t m = xg_ceil_div(call->m, i), n = xg_ceil_div(call->n, i);
        const struct xg_shape part = xg_shape_of(call, m, n, call->k);
        const struct xg_choice c =
            i == 1 ? route.whole : xg_route_resident(facts, conf->math, conf->kernel, &part);
        fprintf(out, " %s/%d", c.row ? c.row->name : "none", c.slices);
    }
    return decision;
}

static struct xg_decision decide_routine(const struct machine *on, const struct xg_routine *r)
{
    const struct xg_decision d = decide_call(on, &(struct xg_call){.routine = r});
    struct xg_model without = on->model;
    without.gpu_panels = false;
    fprintf(out, " %s %ldx%ldx%ld vectors %d/%ld rotates %d cuSOLVER %d missed %g rest %d ours %d",
            xg_routine_text(r->name, r->type), (long)r->m, (long)r->n, (long)r->k, (int)r->vectors,
            (long)r->operand[XG_SLOT_W].rows, r->rotates, (int)on->now.cusolver, on->missed_s,
            d.decomposes,
            xg_routine_gpu_seconds(&without, r) != xg_routine_gpu_seconds(&on->model, r));
    return d;
}

/* Draws a call, and writes and counts the decision in each state. */
static void decide(int index, bool lists)
{
    const int family = index < PRODUCTS ? index / DEVICES % ROUTINE : ROUTINE;
    struct group *group = &groups[(index % DEVICES * FAMILIES + family) * STATES];
    struct machine machine = {.device = index % DEVICES};
    struct xg_situation *now = &machine.now;
    struct xg_batch batch = {0};
    struct xg_problem call;
    struct xg_routine routine;
    seed = (uint64_t)index << 32; /* other draws for one call leave the other calls as they are */
    draw_machine(&machine);
    if (family == ROUTINE)
        draw_routine(&routine);
    else
        draw_product(family, &call, &batch);
    for (now->state = XG_ENGINE_COLD; now->state <= XG_ENGINE_READY; now->state++, group++) {
        rewind(out);
        fprintf(out, "%d %s %s setting %d cores %d left %d threads %d crowd %d spin %g shared %d%d",
                index, devices[machine.device].name, states[now->state],
                (int)(machine.conf - settings), now->cores, now->cores_left, now->cpu_threads,
                now->under_way, now->spin_s, now->pool_is_shared, now->is_counted);
        const struct xg_decision decision = family == ROUTINE ? decide_routine(&machine, &routine)
                                                              : decide_product(&machine, &call);
        fprintf(out, ": %s, %s, start %d wait %d\n", xg_place_text(decision.place),
                xg_reason_text(decision.reason), decision.start, decision.wait);
        fflush(out);
        group->count++;
        group->places[decision.place]++;
        group->reasons[decision.reason]++;
        for (size_t i = 0; i < line_bytes; i++)
            group->digest = (group->digest ^ (unsigned char)line[i]) * 0x100000001b3u;
        if (lists)
            fwrite(line, 1, line_bytes, stdout);
    }
}

int main(int argc, char **argv)
{
    const bool lists = argc > 1 && !strcmp(argv[1], "--list");
    const bool writes = argc > 1 && !strcmp(argv[1], "--write");
    const char *tree = getenv("srcdir");
    char path[4096], kept[1024] = "";
    snprintf(path, sizeof path, "%s/tests/unit/golden.txt", tree ? tree : ".");
    out = open_memstream(&line, &line_bytes);
    FILE *table = fopen(path, writes ? "w" : "r");
    if (!out || !table)
        return perror(path), XT_HARD;
    for (int i = 0; i < PRODUCTS + ROUTINES; i++)
        decide(i, lists);
    for (int i = 0; i < DEVICES * FAMILIES * STATES && !lists; i++) {
        rewind(out);
        fprintf(out, "%s %s %s %ld %016lx: CPU %ld GPU %ld both %ld",
                devices[i / FAMILIES / STATES].name, families[i / STATES % FAMILIES],
                states[i % STATES], groups[i].count, (unsigned long)groups[i].digest,
                groups[i].places[XG_PLACE_CPU], groups[i].places[XG_PLACE_GPU],
                groups[i].places[XG_PLACE_BOTH]);
        for (int r = 0; r < XG_REASON_COUNT; r++)
            if (groups[i].reasons[r])
                fprintf(out, ", %s %ld", xg_reason_text((enum xg_reason)r), groups[i].reasons[r]);
        fprintf(out, "\n%c", 0);
        fflush(out);
        bool same = writes ? fputs(line, table) >= 0
                           : fgets(kept, sizeof kept, table) && !strcmp(kept, line);
        XT_CHECK(same);
        if (!same)
            printf("was %snow %s", kept, line);
    }
    XT_CHECK(fclose(table) == 0);
    return lists ? XT_PASS : xt_done();
}
