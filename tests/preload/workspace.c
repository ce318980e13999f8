/* SPDX-License-Identifier: MIT */
/*
 * Calls every routine of LAPACK that has a workspace with the least, a middle and the best size of
 * it, and prints what the first elements of the workspaces hold afterwards. Built for the machine's
 * LAPACK.
 * usage: workspace         finds the least sizes by calls that LAPACK refuses
 *        workspace FILE    takes them from an earlier output, and requires that the calls leave the
 *                          floating-point environment alone, in which traps are enabled
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <stdbool.h>

#include "shim/routines.h"
#include "tests/support/xt.h"

#define DECLARE(context, letter, LETTER, name, ...) void letter##name##_(uintptr_t, ...);
SHIM_ROUTINES(DECLARE, )

typedef void function(uintptr_t, ...);
static const struct routine {
    const char *name;
    function *call;
    enum shim_list list;
} routines[] = {
#define ROW(context, letter, LETTER, name, ROUTINE, list, words)                                   \
    {#letter #name, letter##name##_, SHIM_LIST_##list},
    SHIM_ROUTINES(ROW, )};

static const struct {
    const char *arguments;
    int words, letters;
} lists[SHIM_LIST_COUNT] = {
#define LIST(list, words, letters, ...) [SHIM_LIST_##list] = {#__VA_ARGS__, words, letters},
    SHIM_LISTS(LIST)};

enum { WORDS = 26, LD = 200, ELEMS = LD * LD, MOST = 400000, SPACES = 3 };

/* Replaces LAPACK's, which would print and may stop the program. */
void xerbla_(void *name, void *info)
{
    (void)name, (void)info;
}

/* --- The arguments of a call ----------------------------------------------------------------- */

struct call {
    const struct routine *routine;
    uintptr_t words[WORDS];
    int32_t m, n, k, info;
    int count;          /* workspaces with a length */
    char kinds[SPACES]; /* i: of integers, r: of real numbers, w: of the type */
    int32_t lengths[SPACES];
    int length_words[SPACES];
};

static char job; /* which vectors are wanted */
static double zero[2];
static double matrices[7][2 * ELEMS], vectors[3][2 * LD];
static double works[SPACES][2 * MOST]; /* the workspaces, with and without a length */
static int32_t pivots[LD], supports[2 * LD], some_integer;

static bool is_double(const struct call *c)
{
    return c->routine->name[0] == 'd' || c->routine->name[0] == 'z';
}

static bool is_complex(const struct call *c)
{
    return c->routine->name[0] == 'c' || c->routine->name[0] == 'z';
}

/* A symmetric matrix with a dominant diagonal, which suits every routine. */
static void fill(const struct call *c, double *to)
{
    const int parts = is_complex(c) ? 2 : 1;
    memset(to, 0, 2 * ELEMS * sizeof *to);
    for (int j = 0; j < LD; j++)
        for (int i = 0; i < LD; i++) {
            const double value = i == j ? 20 + 0.01 * i : 1.0 / (1 + i + j);
            if (is_double(c))
                to[(j * LD + i) * parts] = value;
            else
                ((float *)to)[(j * LD + i) * parts] = (float)value;
        }
}

static int space_of(const char *name)
{
    return !strcmp(name, "work") ? 0 : !strcmp(name, "rwork") ? 1 : 2;
}

static void add_length(struct call *c, const char *name, int word)
{
    c->kinds[c->count] = name[1];
    c->length_words[c->count] = word;
    c->words[word] = (uintptr_t)&c->lengths[c->count++];
}

/* The argument of that name. */
static void *argument(struct call *c, const char *name)
{
    static const char *const matrix_names[] = {"a", "b", "c", "u", "vt", "z", "vr"};
    static const char *const vector_names[] = {"w", "wi", "tau"};
    static int32_t one = 1, three = 3, ld = LD;
    for (size_t i = 0; i < sizeof matrix_names / sizeof matrix_names[0]; i++)
        if (!strcmp(name, matrix_names[i])) {
            fill(c, matrices[i]);
            return matrices[i];
        }
    for (size_t i = 0; i < sizeof vector_names / sizeof vector_names[0]; i++)
        if (!strcmp(name, vector_names[i]))
            return memset(vectors[i], 0, sizeof vectors[i]);
    if (!strcmp(name, "m") || !strcmp(name, "n") || !strcmp(name, "k"))
        return name[0] == 'm' ? &c->m : name[0] == 'n' ? &c->n : &c->k;
    if (!strncmp(name, "ld", 2))
        return &ld;
    if (!strcmp(name, "ipiv"))
        return pivots;
    if (!strcmp(name, "isuppz"))
        return supports;
    if (strstr(name, "work"))
        return works[space_of(name)];
    if (!strcmp(name, "info"))
        return &c->info;
    if (!strcmp(name, "rank"))
        return &some_integer;
    if (!strcmp(name, "nrhs"))
        return &three;
    if (!strcmp(name, "itype") || !strcmp(name, "il") || !strcmp(name, "iu"))
        return &one;
    if (!strcmp(name, "vl") || !strcmp(name, "vu") || !strcmp(name, "abstol") ||
        !strcmp(name, "rcond"))
        return zero;
    if (!strcmp(name, "jobvl") || !strcmp(name, "trans") || !strcmp(name, "diag"))
        return "N";
    if (!strncmp(name, "job", 3))
        return &job;
    if (!strcmp(name, "range"))
        return "A";
    if (!strcmp(name, "uplo") || !strcmp(name, "side"))
        return "L";
    fprintf(stderr, "workspace.c does not know the argument %s\n", name);
    exit(XT_HARD);
}

/* Sets all arguments, and fills the operands, which the last call has overwritten. */
static void prepare(struct call *c)
{
    char names[256], *rest = NULL;
    int count = 0;
    c->count = 0;
    for (int i = 0; i < LD; i++)
        pivots[i] = i + 1;
    snprintf(names, sizeof names, "%s", lists[c->routine->list].arguments);
    for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        /* syevr has a vl that is no matrix, and gelsd an s; both m of syevr are numbers. */
        const char *alias = !strcmp(name, "s") || !strcmp(name, "wr") ? "w" : name;
        if (name[0] == 'l' && strstr(name, "work"))
            add_length(c, name, count);
        else
            c->words[count] = (uintptr_t)argument(c, alias);
        count++;
    }
    for (; count < WORDS; count++)
        c->words[count] = 1; /* the lengths of letters */
}

static void run(struct call *c)
{
    const uintptr_t *w = c->words;
    c->info = -99;
    c->routine->call(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                     w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22],
                     w[23], w[24], w[25]);
}

/* Runs with every trap enabled. */
static void run_strictly(struct call *c)
{
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    run(c);
    int traps = fegetexcept(), flags = fetestexcept(FE_ALL_EXCEPT);
    fedisableexcept(FE_ALL_EXCEPT);
    XT_CHECK(traps == FE_ALL_EXCEPT, "contract 7.2: %s: traps %#x", c->routine->name,
             (unsigned)traps);
    XT_CHECK(flags == 0, "contract 7.2: %s: flags %#x", c->routine->name, (unsigned)flags);
}

/* The number in the first element of a workspace. */
static int64_t first_of(const struct call *c, int i)
{
    const void *at = works[c->kinds[i] == 'w' ? 0 : c->kinds[i] == 'r' ? 1 : 2];
    if (c->kinds[i] == 'i')
        return *(const int32_t *)at;
    return is_double(c) ? (int64_t) * (const double *)at : (int64_t) * (const float *)at;
}

/* --- Sizes ----------------------------------------------------------------------------------- */

/* Whether the machine's library may compute: the rest of GELSD and GELSS, eigenvalues of one
 * element, and GESVD for values alone with the least workspace. */
static bool needs_library(const struct call *c)
{
    return c->n == 1 || strstr(lists[c->routine->list].arguments, "rcond") ||
           (!strcmp(c->routine->name + 1, "gesvd") && job == 'N');
}

static bool succeeds(struct call *c, const int32_t sizes[SPACES], bool strict)
{
    const int32_t m = c->m;
    prepare(c);
    memcpy(c->lengths, sizes, sizeof c->lengths);
    (strict && !needs_library(c) ? run_strictly : run)(c);
    c->m = m;
    return c->info == 0;
}

/* False: LAPACK refuses the letter or the dimensions. */
static bool ask(struct call *c, int32_t best[SPACES])
{
    const int32_t minus_one[SPACES] = {-1, -1, -1};
    if (!succeeds(c, minus_one, false))
        return false;
    for (int i = 0; i < c->count; i++)
        best[i] = (int32_t)first_of(c, i);
    return true;
}

static void find_least(struct call *c, const int32_t best[SPACES], int32_t least[SPACES])
{
    for (int i = 0; i < c->count; i++) {
        int32_t sizes[SPACES], refused = 0;
        memcpy(sizes, best, sizeof sizes);
        for (least[i] = best[i]; least[i] - refused > 1;) {
            sizes[i] = refused + (least[i] - refused) / 2;
            if (succeeds(c, sizes, false))
                least[i] = sizes[i];
            else
                refused = sizes[i];
        }
    }
}

/* --- All ------------------------------------------------------------------------------------- */

static void tell(struct call *c, const int32_t sizes[SPACES], bool strict)
{
    XT_CHECK(succeeds(c, sizes, strict), "%s: info %d", c->routine->name, c->info);
    printf(";");
    for (int i = 0; i < c->count; i++)
        printf(" %d %lld", sizes[i], (long long)first_of(c, i));
}

static void test_call(struct call *c, FILE *earlier)
{
    int32_t best[SPACES] = {0}, least[SPACES] = {0}, sizes[SPACES] = {0};
    if (!ask(c, best))
        return;
    if (!earlier)
        find_least(c, best, least);
    else if (fscanf(earlier, "%*s %*c %*d %*d %*d %d %d %d%*[^\n]", &least[0], &least[1],
                    &least[2]) != 3)
        exit(XT_HARD);
    printf("%s %c %d %d %d %d %d %d", c->routine->name, job, c->m, c->n, c->k, least[0], least[1],
           least[2]);
    tell(c, least, earlier);
    for (int i = 0; i < c->count; i++)
        sizes[i] = least[i] + (best[i] - least[i]) / 2;
    tell(c, sizes, earlier);
    tell(c, best, earlier);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const int32_t sizes[][3] = {{1, 1, 1},       {20, 20, 20},    {70, 70, 70},
                                       {100, 100, 100}, {70, 30, 30},    {140, 100, 9},
                                       {30, 70, 30},    {129, 129, 128}, {128, 128, 64}};
    FILE *earlier = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (argc > 1 && !earlier)
        return XT_HARD;
    for (size_t r = 0; r < sizeof routines / sizeof routines[0]; r++) {
        const char *arguments = lists[routines[r].list].arguments;
        if (!strstr(arguments, "lwork"))
            continue;
        const bool jobs = strstr(arguments, "job"),
                   m = arguments[0] == 'm' || strstr(arguments, " m, n,");
        for (const char *letter = jobs ? "NVSA" : "N"; *letter; letter++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                struct call call = {
                    .routine = &routines[r], .m = sizes[s][0], .n = sizes[s][1], .k = sizes[s][2]};
                job = *letter;
                const bool on_gpu = call.m >= call.n || !strstr(arguments, "nrhs");
                if ((m && on_gpu) || s < 4)
                    test_call(&call, earlier);
            }
    }
    fprintf(stderr, "%ld checks, %d failed\n", xt_checks, xt_failures);
    return xt_failures > 0;
}
