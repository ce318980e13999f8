/* SPDX-License-Identifier: MIT */
/* Corrects predicted times by observed ones, by side and kind of call. Pure. */
#ifndef XG_FEEDBACK_H
#define XG_FEEDBACK_H

#include "base/call.h"
#include "base/xg.h"

enum xg_side { XG_SIDE_CPU, XG_SIDE_GPU, XG_SIDE_COUNT };

/* The logarithm of observed over predicted time, and the number of observations behind it. */
struct xg_correction {
    float log_ratio, weight;
    short doubts; /* recent observations far above all earlier ones: perhaps outliers */
    bool begun;
};

/*
 * Adds an observation. above: the correction that holds without any observation. The first
 * observation is at most a doubt, because it includes the start of threads and the loading of
 * kernels and memory.
 */
void xg_correction_add(struct xg_correction *correction, float above, float log_ratio);

enum {
    XG_FEEDBACK_FLOPS = 8,     /* classes of FLOPs, eightfold each */
    XG_FEEDBACK_INTENSITY = 6, /* of a problem's FLOPs a byte, fourfold each */
    XG_FEEDBACK_LEAST = 3,     /* which of a problem's m, n, k is the least */
    XG_FEEDBACK_FORMS = XG_FEEDBACK_INTENSITY * XG_FEEDBACK_LEAST,
    /* Kinds of routines: by type, and whether they rotate or compute all vectors. */
    XG_FEEDBACK_ROUTINES = XG_ROUTINE_COUNT * XG_TYPE_COUNT * 4,
    XG_FEEDBACK_KINDS = XG_KIND_COUNT + XG_FEEDBACK_ROUTINES,
    XG_FEEDBACK_CLASSES =
        (XG_KIND_COUNT * XG_FEEDBACK_FORMS + XG_FEEDBACK_ROUTINES) * XG_FEEDBACK_FLOPS,
    XG_FEEDBACK_SETS = 256,
    XG_FEEDBACK_WAYS = 4
};

/* Shapes whose dimensions agree to a quarter. The fifth shape of a set replaces another one. */
struct xg_feedback_shape {
    uint32_t key;              /* 0: free */
    int failed[XG_SIDE_COUNT]; /* failed trials of the other side since the last one that gained */
    double credit_s[XG_SIDE_COUNT]; /* earned by the time on this side, for such trials */
    struct xg_correction times[XG_SIDE_COUNT];
};

/*
 * Each kind of call has three levels, and each level corrects the one above: calls of about this
 * size, the class, the shape. The first level is the median over the classes of this size, the next
 * smaller and the next larger one, so that one slow class of a problem does not affect the others.
 * All zeros: no observations, predictions stand.
 */
struct xg_feedback {
    float common[XG_SIDE_COUNT][XG_FEEDBACK_KINDS][XG_FEEDBACK_FLOPS];
    /* Of the kinds, by FLOPs first; problems have XG_FEEDBACK_FORMS for each, routines one. */
    struct xg_correction classes[XG_SIDE_COUNT][XG_FEEDBACK_CLASSES];
    struct xg_feedback_shape shapes[XG_FEEDBACK_SETS][XG_FEEDBACK_WAYS];
};

/* The learner's key of a shape: 24 bits, never 0. kind: as in problem.h. m, n, k >= 1. Unrelated
 * shapes of two kinds may share a key. */
uint32_t xg_feedback_key(int kind, int64_t m, int64_t n, int64_t k);

/* Where a call is in the tables. */
struct xg_feedback_place {
    int kind, first, forms; /* its kind's first class, and classes of a size */
    int prior;              /* votes of the smaller size or, of a routine, of the model */
    int size, class;
    uint32_t key; /* of the shape */
};

/* A problem's m, n, k >= 1. */
struct xg_feedback_place xg_feedback_place(const struct xg_call *call);

/* The factor for a prediction. */
double xg_feedback_scale(const struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_feedback_place *at);

/* Learns that a call took `seconds`; predicted_s is the prediction without the factor. Times that
 * are not positive and finite are ignored. The caller locks. */
void xg_feedback_observe(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_feedback_place *at, double predicted_s, double seconds);

/* Notes that the shape ran on that side for `seconds`, which earns trials of the other side. */
void xg_feedback_account(struct xg_feedback *feedback, enum xg_side side,
                         const struct xg_feedback_place *at, double seconds);

/*
 * True if the shape's time on this side has earned a trial of the other side that is expected to
 * cost extra_s; the credit is then spent. Trials take at most a fiftieth of the time, and less
 * after failures: after n failed trials in a row the time earns 1 / (n + 1)^2 of that.
 */
bool xg_feedback_tries(struct xg_feedback *feedback, enum xg_side side,
                       const struct xg_feedback_place *at, double extra_s);

/* Notes the end of a trial. If the other side was better than this one, the credit comes back. */
void xg_feedback_end_trial(struct xg_feedback *feedback, enum xg_side side,
                           const struct xg_feedback_place *at, double extra_s, bool better);

/* The weight of the observations of the shape, or of its class if the shape is new; at most 5. */
double xg_feedback_weight(const struct xg_feedback *feedback, enum xg_side side,
                          const struct xg_feedback_place *at);

#endif
