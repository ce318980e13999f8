/* SPDX-License-Identifier: MIT */
/* A search for a library ends in time, and in a process that is closed. */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/sandbox.h"
#include "src/host/aside.h"
#include "src/host/library.h"
#include "tests/support/xt.h"

enum { MOST_MS = 200 };

/* Every system has it, and no process has loaded it. */
static const char name[] = "libanl.so.1";

static atomic_int found_before, found_after, goes_on_after, left;

static void find_forever(struct xg_library *library, const void *unused)
{
    (void)unused;
    for (int i = 0; i < 500 && xg_library_goes_on(library); i++)
        xg_clock_nap_us(10000);
    atomic_store(&left, 1);
}

/* A search that never ends is abandoned after its time, and its thread then leaves. */
static void test_most(void)
{
    const double begin_s = xg_clock_s();
    struct xg_library *library = xg_library_find(find_forever, NULL, 0, MOST_MS);
    const double took_s = xg_clock_s() - begin_s;
    XT_CHECK(library && library->count == 0 && strstr(library->why, "200 ms"), "%s",
             library ? library->why : "no memory");
    XT_CHECK(took_s >= 0.001 * MOST_MS && took_s < 2, "%g s", took_s);
    for (int i = 0; i < 200 && !atomic_load(&left); i++)
        xg_clock_nap_us(10000);
    XT_CHECK(atomic_load(&left), "the abandoned thread goes on");
    xg_library_free(library);
}

static void find_closed(struct xg_library *library, const void *what)
{
    atomic_store(&found_before, xg_library_look(library, what));
    xg_library_drop(library);
    xg_sandbox_enter();
    atomic_store(&found_after, xg_library_look(library, what));
    atomic_store(&goes_on_after, xg_library_goes_on(library));
}

static void test_closed(void)
{
    struct xg_library *library = xg_library_find(find_closed, name, 0, 0);
    XT_CHECK(atomic_load(&found_before), "%s is not found", name);
    XT_CHECK(!atomic_load(&found_after) && !atomic_load(&goes_on_after), "the search goes on");
    XT_CHECK(library && !xg_library_open_named(library, name, 1), "the library is opened");
    xg_library_free(library);
    xg_sandbox_leave(false);
}

/* The process may end while a thread of the search reads a file. */
static void test_inside(void)
{
    xg_aside_add(-1);
    XT_CHECK(xg_aside_inside() == 0, "%d inside", xg_aside_inside());
}

int main(void)
{
    test_most();
    test_closed();
    test_inside();
    return xt_done();
}
