/* SPDX-License-Identifier: MIT */
/*
 * A program whose C library refuses this library memory, files or threads, one request after the
 * other. The products stay right (contract 9.4). Requests of other code are granted. Each attempt
 * is a process of its own. Compiled by the preload tests, with -rdynamic, and linked to a BLAS with
 * the C interface. usage: refused
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/xt.h"

/* glibc's names for its own allocator. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static uintptr_t refused_begin, refused_end; /* where this library is mapped */

/* Shared with the attempts. */
static struct refused_count {
    atomic_long asked; /* requests so far */
    long nth, until;   /* the first request that is refused, and the next that is not */
} * refused;

static int refused_find(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    if (!strstr(info->dlpi_name, "libxgemm_shim"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            refused_begin = refused_begin ? refused_begin : begin;
            refused_end = begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* Whether to refuse the request that returns to this address. */
static int refused_now(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (!refused || at < refused_begin || at >= refused_end)
        return 0;
    long asked = ++refused->asked;
    return refused->nth && asked >= refused->nth && asked < refused->until;
}

#define REFUSED refused_now(__builtin_return_address(0))

void *malloc(size_t bytes)
{
    return REFUSED ? errno = ENOMEM, NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return REFUSED ? errno = ENOMEM, NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return REFUSED ? errno = ENOMEM, NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return REFUSED ? errno = ENOMEM, NULL : __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    if (REFUSED)
        return ENOMEM;
    *out = __libc_memalign(align, bytes);
    return *out ? 0 : ENOMEM;
}

/* The function of that name that this program replaces. */
#define HIDDEN(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

char *strdup(const char *text)
{
    return REFUSED ? errno = ENOMEM, NULL : HIDDEN(strdup)(text);
}

FILE *fopen(const char *path, const char *mode)
{
    return REFUSED ? errno = EMFILE, NULL : HIDDEN(fopen)(path, mode);
}

FILE *open_memstream(char **text, size_t *size)
{
    return REFUSED ? errno = ENOMEM, NULL : HIDDEN(open_memstream)(text, size);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    return REFUSED ? EAGAIN : HIDDEN(pthread_create)(thread, attributes, run, argument);
}

int posix_fallocate(int fd, off_t at, off_t size)
{
    return REFUSED ? ENOSPC : HIDDEN(posix_fallocate)(fd, at, size);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return REFUSED              ? errno = ENOMEM,
                     MAP_FAILED : HIDDEN(mmap)(at, bytes, protection, flags, fd, offset);
}

/* Products of ones; one is larger than the device memory that the library may use. */
static int refused_products(void)
{
    static const int sizes[][3] = {{100, 90, 80}, {300, 20, 500}, {400, 500, 300}};
    int wrong = 0;
    for (int turn = 0; turn < 6; turn++) {
        int m = sizes[turn % 3][0], n = sizes[turn % 3][1], k = sizes[turn % 3][2];
        float *a = malloc((size_t)(m * k + k * n + m * n) * sizeof *a), *b = a + m * k;
        float *c = b + k * n;
        for (int i = 0; i < m * k + k * n; i++)
            a[i] = 1.0f;
        for (int i = 0; i < m * n; i++)
            c[i] = 2.0f;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, k, b, n, 0.5f, c,
                    n);
        for (int i = 0; i < m * n; i++)
            wrong += !(c[i] == (float)k + 1.0f);
        free(a);
    }
    return wrong;
}

/* The exit status of an attempt: 0 if all was right. */
static int refused_attempt(long nth, long until)
{
    int status = -1;
    refused->asked = 0;
    refused->nth = nth;
    refused->until = until;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        exit(refused_products() ? XT_FAIL : XT_PASS);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    dl_iterate_phdr(refused_find, NULL);
    refused =
        mmap(NULL, sizeof *refused, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!refused_end || refused == MAP_FAILED)
        return XT_HARD;
    int status = refused_attempt(0, 0);
    long asked = refused->asked;
    XT_CHECK(status == 0 && asked > 20, "%ld requests, status %#x", asked, status);
    for (long nth = 1; nth <= asked; nth++) {
        status = refused_attempt(nth, nth + 1);
        XT_CHECK(status == 0, "contract 9.4: request %ld refused: status %#x", nth, status);
        XT_CHECK(refused->asked >= nth || nth > asked / 2, "request %ld was not made", nth);
        if (nth % 3 == 1) {
            status = refused_attempt(nth, asked * 1000);
            XT_CHECK(status == 0, "contract 9.4: all from %ld on refused: status %#x", nth, status);
        }
    }
    printf("%ld requests\n", asked);
    return xt_done();
}
