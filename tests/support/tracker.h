/* SPDX-License-Identifier: MIT */
/* A struct xg_pages_system that keeps pages in arrays: any kernel's answers, on any kernel. */
#ifndef TRACKER_H
#define TRACKER_H

#include "src/resident/pages.h"

/* The first half is the test's; the self-test takes its memory from the second. */
enum { TRACKER_PAGES = 4096 };

enum tracker_call {
    TRACKER_OPEN,
    TRACKER_OURS,
    TRACKER_FIND,
    TRACKER_TRACK,
    TRACKER_PROTECT,
    TRACKER_SCAN,
    TRACKER_PINNED,
    TRACKER_MAP,
    TRACKER_CHANGE,
    TRACKER_CALLS
};

struct tracker {
    /* What this kernel does. */
    bool holes_unreported; /* a page that does not exist is not written (before July 2026) */
    bool gaps;             /* nor is it returned at all */
    bool armed_forgets;    /* writes to armed pages are not noted: no kernel, and the test's last
                              resort */
    bool closed;           /* the program closed the descriptors */
    int64_t pinned_kib;
    enum tracker_call fails; /* the call fails_in calls from now fails; 0: none */
    long fails_in;
    /* Before each call, if not NULL. */
    void (*before)(struct tracker *tracker, enum tracker_call call);
    long calls[TRACKER_CALLS];
    bool open;

    char *memory; /* real; a page's contents are there */
    size_t page_bytes;
    struct tracker_page {
        int mapping; /* 0: none */
        bool plain, tracked, exists, armed, file, huge;
    } pages[TRACKER_PAGES];
    int mappings;
};

extern const struct xg_pages_system tracker_system;

void tracker_init(struct tracker *tracker);

/* The program's changes, by page number. New pages do not exist and read as 0. */
void tracker_map(struct tracker *tracker, int first, int count, bool plain);
void tracker_unmap(struct tracker *tracker, int first, int count);
void tracker_free(struct tracker *tracker, int first, int count);
void tracker_write(struct tracker *tracker, int page, size_t offset, char value);

struct xg_pages_range tracker_range(const struct tracker *tracker, int first, int count);

#endif
