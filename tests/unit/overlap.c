/* SPDX-License-Identifier: MIT */
/* xg_overlap_find gives the same answer as marking every element. Contract 3.3, 4.2
 * (doc/contract.md). */
#include "src/decide/overlap.h"
#include "tests/support/xt.h"

enum { SPACE = 400 };

static float space[SPACE];

/* Marks the elements of a matrix that begins `at` elements into the space. */
static void mark(unsigned char *marks, int64_t at, int64_t rows, int64_t columns, int64_t ld)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            marks[at + i * ld + j] = 1;
}

static int64_t draw(uint64_t *seed, int64_t least, int64_t most)
{
    return least + (int64_t)((xt_random(seed) + 1.0f) / 2.0f * (float)(most - least + 1));
}

struct place {
    int64_t rows, columns, ld, at;
};

/* Single products, and batches in any order, also interleaved. */
static void test_products(void)
{
    enum { MOST = 4 };
    uint64_t seed = 2;
    int found = 0, apart = 0;
    for (int turn = 0; turn < 200000; turn++) {
        const int64_t count = draw(&seed, 1, MOST), each = draw(&seed, 1, 3);
        const void *as[MOST], *bs[MOST];
        void *cs[MOST];
        struct xg_batch batch = {.count = count, .a = as, .b = bs, .c = cs};
        const bool single = count == 1 && turn & 8;
        struct xg_problem call = {.op = single ? XG_OP_GEMM : XG_OP_GEMM_BATCH,
                                  .m = count * each,
                                  .n = draw(&seed, 1, 3),
                                  .batch = single ? NULL : &batch};
        call.k = draw(&seed, 1, 3), call.alpha = call.beta = 1;
        call.transa = turn & 1, call.transb = turn >> 1 & 1;
        call.lda = (call.transa ? each : call.k) + draw(&seed, 0, 6);
        call.ldb = (call.transb ? call.k : call.n) + draw(&seed, 0, 6);
        call.ldc = call.n + draw(&seed, 0, 6);
        unsigned char in[SPACE] = {0}, out[SPACE] = {0};
        bool shared = false;
        const int64_t spread = turn % 4 ? 40 : 80; /* the last one ends before SPACE */
        for (int64_t i = 0; i < count; i++) {
            const int64_t a = draw(&seed, 0, SPACE / 2), b = draw(&seed, 0, SPACE / 2);
            const int64_t c =
                turn % 8 ? 100 + i * spread + draw(&seed, 0, 12) : draw(&seed, 100, SPACE - 30);
            unsigned char own[SPACE] = {0};
            mark(in, a, call.transa ? call.k : each, call.transa ? each : call.k, call.lda);
            mark(in, b, call.transb ? call.n : call.k, call.transb ? call.k : call.n, call.ldb);
            mark(own, c, each, call.n, call.ldc);
            for (int at = 0; at < SPACE; at++) {
                shared |= own[at] && out[at];
                out[at] |= own[at];
            }
            as[i] = space + a, bs[i] = space + b, cs[i] = space + c;
        }
        for (int at = 0; at < SPACE; at++)
            shared |= in[at] && out[at];
        call.a = as[0], call.b = bs[0], call.c = cs[0];
        if (turn & 4)
            xg_batch_settle(&batch, sizeof(float));
        const bool said = xg_overlap_find(&call);
        XT_CHECK(said == shared, "contract 4.2: turn %d: %d", turn, shared);
        found += shared;
        apart += !said;
    }
    XT_CHECK(found > 10000 && apart > 10000, "%d share, %d do not", found, apart);
}

static const int64_t far[] = {INT64_C(1) << 59,         INT64_C(1) << 60, INT64_C(1) << 61,
                              (INT64_C(1) << 61) + 100, INT64_C(1) << 62, INT64_MAX};
enum { FAR = sizeof far / sizeof far[0] };

static void set_place(struct xg_problem *call, int which, struct place place)
{
    const void **const operands[] = {&call->a, &call->b};
    int64_t *const lds[] = {&call->lda, &call->ldb, &call->ldc};
    if (which < 2)
        *operands[which] = space + place.at;
    else
        call->c = space + place.at;
    *lds[which] = place.ld;
}

/* Matrices of one row with huge leading dimensions: only their elements count. A matrix of several
 * rows cannot exist with such a leading dimension, and the answer is "overlaps". */
static void test_far(enum xg_type type)
{
    const int64_t floats = (int64_t)xg_type_bytes(type) / 4; /* an element */
    uint64_t seed = 3 + (uint64_t)type;
    int found = 0, apart = 0;
    for (int turn = 0; turn < 20000; turn++) {
        struct xg_problem call = {.type = type, .alpha = 1, .beta = 1};
        struct xg_batch batch = {.count = 1, .stride_a = far[turn % FAR], .stride_c = INT64_MAX};
        unsigned char in[SPACE] = {0}, out[SPACE] = {0};
        const bool impossible = turn % 16 == 15;
        bool expected = false;
        call.transa = turn & 1, call.transb = turn >> 1 & 1;
        call.m = turn >> 2 & 1 ? 1 : draw(&seed, 1, 3);
        call.n = turn >> 3 & 1 ? 1 : draw(&seed, 1, 3);
        call.k = draw(&seed, 1, 3);
        const struct xg_extent stored[] = {
            xg_problem_stored(&call, false), xg_problem_stored(&call, true), {call.m, call.n}};
        for (int i = 0; i < 3; i++) {
            struct place place = {stored[i].rows, stored[i].columns, 5, draw(&seed, 0, 300)};
            place.at -= turn & 1 ? place.at % floats : 0;
            mark(i < 2 ? in : out, place.at, place.rows, place.columns * floats, 5 * floats);
            if (impossible || place.rows == 1)
                place.ld = far[draw(&seed, 0, FAR - 1)];
            expected |= impossible && place.rows > 1;
            set_place(&call, i, place);
        }
        for (int i = 0; i < SPACE; i++)
            expected |= in[i] && out[i];
        call.batch = turn % 3 ? NULL : &batch;
        XT_CHECK(xg_overlap_find(&call) == expected, "contract 4.2: far, turn %d: %d", turn,
                 expected);
        xg_problem_settle(&call);
        XT_CHECK(xg_overlap_find(&call) == expected, "contract 4.2: far, settled, turn %d: %d",
                 turn, expected);
        found += expected;
        apart += !expected;
    }
    XT_CHECK(found > 1000 && apart > 1000, "%d share, %d do not", found, apart);

    /* Strides that wrap around. */
    struct xg_batch batch = {.count = 3, .stride_a = 4, .stride_b = 4, .stride_c = 4};
    struct xg_problem call = {.type = type, .m = 3, .n = 2, .k = 2, .alpha = 1, .batch = &batch};
    call.lda = call.ldb = call.ldc = 2;
    call.a = space, call.b = space + 100, call.c = space + 200;
    XT_CHECK(!xg_overlap_find(&call), "contract 4.2: three products");
    batch.stride_c = INT64_MIN / (int64_t)xg_type_bytes(type) * 2; /* all instances have the same C
                                                                    */
    XT_CHECK(xg_overlap_find(&call), "contract 4.2: strides of C that wrap around");
    batch.stride_c = 4, batch.stride_b = INT64_MAX / (int64_t)xg_type_bytes(type);
    XT_CHECK(xg_overlap_find(&call), "contract 4.2: strides of B that wrap around");
}

int main(void)
{
    /* Operands that share one byte, at an address that is not a multiple of a float's size. */
    struct xg_problem call = {.m = 1, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4};
    call.a = space, call.b = space + 100, call.c = (float *)(void *)((char *)space + 15);
    XT_CHECK(xg_overlap_find(&call), "contract 4.2: one byte is shared");
    call.c = (float *)(void *)((char *)space + 16);
    XT_CHECK(!xg_overlap_find(&call), "contract 4.2: none is");
    test_products();
    for (int type = 0; type < XG_TYPE_COUNT; type++)
        test_far((enum xg_type)type);
    return xt_done();
}
