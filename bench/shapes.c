/* SPDX-License-Identifier: MIT */
/* Reads lists of products. */
#include "shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const shapes_trans_names[4] = {"nn", "nt", "tn", "tt"};

unsigned shapes_trans_mask(const char *word)
{
    unsigned mask = 0;
    for (int trans = 0; trans < 4; trans++)
        if (!strcasecmp(word, "all") || !strcasecmp(word, shapes_trans_names[trans]))
            mask |= 1u << trans;
    return mask;
}

void shapes_add(struct shapes *shapes, const struct shape *shape, unsigned trans_mask)
{
    for (int trans = 0; trans < 4; trans++) {
        if (!(trans_mask & 1u << trans))
            continue;
        struct shape *more =
            realloc(shapes->at, ((size_t)shapes->count + 1) * sizeof shapes->at[0]);
        if (!more) {
            fprintf(stderr, "out of memory\n");
            exit(EXIT_FAILURE);
        }
        shapes->at = more;
        shapes->at[shapes->count] = *shape;
        shapes->at[shapes->count++].trans = trans;
    }
}

/* Parses a whole number; -1 if the word is not one. */
static int64_t whole_number(const char *word)
{
    char *end;
    int64_t number = strtoll(word, &end, 10);
    return *end ? -1 : number;
}

/* Parses one line without its comment. False if it is neither blank nor a shape. */
static bool add_line(struct shapes *shapes, char *line, unsigned trans_mask)
{
    enum { FIELDS = 6 };
    char *field[FIELDS], *rest;
    int fields = 0;
    for (char *word = strtok_r(line, " ,\t\r\n", &rest); word;
         word = strtok_r(NULL, " ,\t\r\n", &rest)) {
        if (fields == FIELDS)
            return false;
        field[fields++] = word;
    }
    if (!fields)
        return true;
    if (fields < 3)
        return false;
    struct shape shape = {
        .m = whole_number(field[0]), .n = whole_number(field[1]), .k = whole_number(field[2])};
    if (fields > 3)
        trans_mask = shapes_trans_mask(field[3]);
    if (fields > 4)
        shape.pad = whole_number(field[4]);
    if (fields > 5) {
        char *end;
        shape.beta = strtof(field[5], &end);
        if (*end)
            return false;
    }
    if (shape.m < 1 || shape.n < 1 || shape.k < 1 || shape.pad < 0 || !trans_mask)
        return false;
    shapes_add(shapes, &shape, trans_mask);
    return true;
}

bool shapes_read(struct shapes *shapes, const char *path, unsigned trans_mask)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    char line[256];
    bool right = true;
    for (int number = 1; right && fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "#")] = '\0';
        right = add_line(shapes, line, trans_mask);
        if (!right)
            fprintf(stderr, "%s:%d: not m n k [nn|nt|tn|tt|all [pad [beta]]]\n", path, number);
    }
    fclose(file);
    return right;
}

struct xg_problem shapes_problem(const struct shape *shape, enum xg_type type, int64_t ld_multiple)
{
    bool transa = shape->trans >> 1, transb = shape->trans & 1;
    return (struct xg_problem){
        .type = type,
        .transa = transa,
        .transb = transb,
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .alpha = 1,
        .lda = xg_round_up(transa ? shape->m : shape->k, ld_multiple) + shape->pad,
        .ldb = xg_round_up(transb ? shape->k : shape->n, ld_multiple) + shape->pad,
        .ldc = xg_round_up(shape->n, ld_multiple) + shape->pad,
    };
}

void shapes_free(struct shapes *shapes)
{
    free(shapes->at);
    *shapes = (struct shapes){0};
}
