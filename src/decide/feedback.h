/* SPDX-License-Identifier: MIT */
/* What observed times say about predicted ones, by side and kind of product. Pure. */
#ifndef XG_FEEDBACK_H
#define XG_FEEDBACK_H

#include "base/xg.h"

enum xg_side { XG_SIDE_CPU, XG_SIDE_GPU, XG_SIDE_COUNT };

/* The logarithm of observed over predicted, and how many observations it stands for. */
struct xg_correction {
    float log_ratio, weight;
    int doubts; /* observations of late that took far longer than all before: may be chance */
};

/* One more observation; above: what is expected of it where nothing was observed yet. */
void xg_correction_add(struct xg_correction *correction, float above, float log_ratio);

enum {
    XG_FEEDBACK_FLOPS = 8,     /* classes of FLOPs, eightfold each */
    XG_FEEDBACK_INTENSITY = 6, /* of FLOPs a byte, fourfold each */
    XG_FEEDBACK_LEAST = 3,     /* which of m, n, k is the least */
    XG_FEEDBACK_FORMS = XG_FEEDBACK_INTENSITY * XG_FEEDBACK_LEAST,
    XG_FEEDBACK_CLASSES = XG_FEEDBACK_FLOPS * XG_FEEDBACK_FORMS,
    XG_FEEDBACK_SETS = 256,
    XG_FEEDBACK_WAYS = 4
};

/* Shapes whose dimensions agree to a quarter. A fifth one in a set displaces another. */
struct xg_feedback_shape {
    uint32_t key;       /* 0: free */
    enum xg_side last;  /* ran there */
    int turns;          /* how often it went from side to side */
    double credit_s;    /* what trying the other side may cost */
    enum xg_side tried; /* by the last trial */
    double left_s;      /* that its calls may still take; 0 or less: it is over */
    double call_s;      /* that each is expected to take */
    int granted;        /* of them, those that nobody has observed yet */
    struct xg_correction times[XG_SIDE_COUNT];
};

/*
 * For each kind of problem three levels, each correcting what the one above says: products of about
 * this size, the class, the shape. Classes vote for the first level and the median wins, so that
 * one kind of product that goes badly says nothing about the others. All zeros: nothing observed,
 * predictions stand.
 */
struct xg_feedback {
    struct xg_feedback_kind {
        float common[XG_SIDE_COUNT][XG_FEEDBACK_FLOPS];
        struct xg_correction classes[XG_SIDE_COUNT][XG_FEEDBACK_CLASSES]; /* by FLOPs first */
        bool begun[XG_SIDE_COUNT];
    } kinds[XG_KIND_COUNT];
    struct xg_feedback_shape shapes[XG_FEEDBACK_SETS][XG_FEEDBACK_WAYS];
};

/* Which problems are one, to the learner: 24 bits, never 0. kind: problem.h's. m, n, k >= 1. Two
 * kinds may share a key, of shapes that have nothing in common. */
uint32_t xg_feedback_key(int kind, int64_t m, int64_t n, int64_t k);

/* What to multiply a prediction by. call: m, n, k >= 1, here and below. */
double xg_feedback_scale(const struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call);

/*
 * *call took `seconds`, where predicted_s (not scaled) was expected. The first observation of each
 * side and kind is ignored: it pays for threads, kernels and memory. So is nonsense. Not from two
 * threads at once: the caller locks.
 */
void xg_feedback_observe(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call, double predicted_s, double seconds);

/* The shape ran on that side for so long, which earns a trial of the other one, or uses one up. Of
 * the time waking_s went to waking threads, which in a trial's first product is not counted. */
void xg_feedback_account(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_problem *call, double seconds, double waking_s);

/* Of a side on which a shape does not run. */
struct xg_trial {
    double extra_s; /* what must have been saved for it */
    double call_s;  /* what a call is expected to take */
    double all_s;   /* what its calls may take together; less than one: that one alone */
};

/*
 * True when the shape has run on the other side for long enough to risk the trial on this one,
 * which might be better than is thought; what it has saved for that is then spent. At most a
 * fiftieth of the time is meant to go there, less with every answer. Whoever asks next, while the
 * trial has time left, pays nothing.
 */
bool xg_feedback_dares(struct xg_feedback *feedback, enum xg_side side,
                       const struct xg_problem *call, const struct xg_trial *trial);

/* True when the shape itself was observed there: otherwise others of its kind speak for it. */
bool xg_feedback_knows(const struct xg_feedback *feedback, enum xg_side side,
                       const struct xg_problem *call);

/* True when the shape took far longer there, of late, than is expected: that may be chance. */
bool xg_feedback_doubts(const struct xg_feedback *feedback, enum xg_side side,
                        const struct xg_problem *call);

/* Observations of the shape, or where it is new those of its class, that count; at most 5. */
double xg_feedback_weight(const struct xg_feedback *feedback, enum xg_side side,
                          const struct xg_problem *call);

#endif
