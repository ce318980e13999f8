/* SPDX-License-Identifier: MIT */
/* The benchmarks' lists of products: every form of a line, and the lists of the tree. */
#include "bench/shapes.h"

#include <unistd.h>

#include "tests/support/xt.h"

/* Reads the text from a file. A line without transposes means nn. */
static bool read_text(const char *text, struct shapes *shapes)
{
    char path[] = "/tmp/xg_shapes.XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(XT_HARD);
    *shapes = (struct shapes){0};
    bool right = shapes_read(shapes, path, 1u);
    unlink(path);
    return right;
}

static bool same(const struct shape *x, const struct shape *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->trans == y->trans &&
           x->pad == y->pad && !(x->beta < y->beta) && !(x->beta > y->beta);
}

static void test_lines(void)
{
    static const struct {
        const char *text;
        int count; /* -1: refused */
        struct shape last;
    } cases[] = {
        {"", 0, {0}},
        {"# a comment\n\n   \n", 0, {0}},
        {"1 2 3", 1, {1, 2, 3, 0, 0, 0}},
        {"1,2,3\r\n4 5 6 # trailing\n", 2, {4, 5, 6, 0, 0, 0}},
        {"1 2 3 NT\n", 1, {1, 2, 3, 1, 0, 0}},
        {"1 2 3 tn 5\n", 1, {1, 2, 3, 2, 5, 0}},
        {"1 2 3 TT 0 -0.5\n", 1, {1, 2, 3, 3, 0, -0.5f}},
        {"100000 64 64 all 3 1\n", 4, {100000, 64, 64, 3, 3, 1}},
        {"1 2 3\nm n k\n", -1, {0}},
        {"1 2\n", -1, {0}},
        {"1 2 0\n", -1, {0}},
        {"1 2 3 ns\n", -1, {0}},
        {"1 2 3 nn -1\n", -1, {0}},
        {"1 2 3 nn 0 0 0\n", -1, {0}},
        {"1 2 3x\n", -1, {0}},
        {"1 2 3 nn 0 x\n", -1, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shapes shapes;
        bool right = read_text(cases[i].text, &shapes);
        XT_CHECK(right == (cases[i].count >= 0), "\"%s\"", cases[i].text);
        XT_CHECK(!right || shapes.count == cases[i].count, "\"%s\": %d", cases[i].text,
                 shapes.count);
        XT_CHECK(!right || !shapes.count || same(&shapes.at[shapes.count - 1], &cases[i].last),
                 "\"%s\"", cases[i].text);
        shapes_free(&shapes);
    }
    struct shapes none = {0};
    XT_CHECK(!shapes_read(&none, "/nowhere/at all", 1u), "a file that is not there");
}

/* The lists of the tree have the expected number of products. */
static void test_files(void)
{
    static const struct {
        const char *name;
        int products;
    } files[] = {{"kernels.txt", 138}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *tree = getenv("srcdir");
        char path[4096];
        struct shapes shapes = {0};
        snprintf(path, sizeof path, "%s/bench/shapes/%s", tree ? tree : ".", files[i].name);
        XT_CHECK(shapes_read(&shapes, path, 1u), "%s", path);
        XT_CHECK(shapes.count == files[i].products, "%s: %d products", path, shapes.count);
        shapes_free(&shapes);
    }
}

int main(void)
{
    test_lines();
    test_files();
    return xt_done();
}
