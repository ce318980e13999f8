/* SPDX-License-Identifier: MIT */
/* Makes and removes folders for accounts, and adds up the accounts in them. */
#include "accounts.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor_probe.h"
#include "src/device/absence.h"
#include "src/report/mapping.h"
#include "terminal.h"

/* Room for two thousand accounts. */
#define ROOM_BYTES (2000.0 * sizeof(struct xg_account))

static const char name[] = "xgemm-run.XXXXXX";

/* The program may need the rest of that memory. */
static bool has_room(const char *path)
{
    struct statvfs status;

    return statvfs(path, &status) == 0 &&
           (double)status.f_bavail * (double)status.f_frsize >= ROOM_BYTES;
}

bool accounts_folder_make(char path[PATH_MAX], bool in_memory)
{
    const char *given = getenv("TMPDIR"), *place = "/tmp";

    if (given && *given)
        place = given;
    else if (in_memory && has_room("/dev/shm"))
        place = "/dev/shm";
    /* An absolute path, because the program may change its folder. */
    char *root = realpath(place, NULL);
    bool fits = root && snprintf(path, PATH_MAX, "%s/%s", root, name) < PATH_MAX;
    if (root && !fits)
        errno = ENAMETOOLONG;
    bool made = fits && mkdtemp(path);
    int error = errno;
    free(root);
    if (made)
        return true;
    fprintf(stderr, "xgemm-run: cannot create a folder for accounts in %s: %s\n", place,
            strerror(error));
    errno = error;
    return false;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    remove(path);
    return 0;
}

void accounts_folder_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A library of another release wrote an account. */
static bool foreign;

static void tell_foreign(uint32_t version)
{
    if (!foreign)
        fprintf(stderr,
                "xgemm-run: ignoring an account of version %u, because xgemm-run reads version %u: "
                "the program loaded a libxgemm_shim.so of another release\n",
                (unsigned)version, (unsigned)XG_ACCOUNT_VERSION);
    foreign = true;
}

int accounts_read(const char *path, struct xg_account *sum)
{
    static struct xg_account one;
    char file[PATH_MAX];
    DIR *folder = opendir(path);
    struct dirent *entry;
    int processes = 0;

    xg_account_init(sum);
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.' ||
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name) >= PATH_MAX)
            continue;
        enum xg_status status = xg_mapping_read(file, &one);
        if (status == XG_DECLINED)
            tell_foreign(one.version);
        if (status != XG_OK)
            continue;
        xg_account_merge(sum, &one);
        processes++;
    }
    if (folder)
        closedir(folder);
    return processes;
}

static void ask_absence(void *answer, const void *nothing)
{
    (void)nothing;
    *(enum xg_reason *)answer = xg_absence_find(XG_ABSENCE_DRIVER);
}

void accounts_explain(struct xg_account *sum)
{
    static const double limit_s = 10;
    enum xg_reason reason;

    if (xg_account_absence(sum) == XG_REASON_EARNING &&
        doctor_probe(ask_absence, &reason, sizeof reason, NULL, limit_s) == DOCTOR_PROBE_ANSWERED)
        xg_account_explain(sum, reason);
}

void accounts_tell_none(void)
{
    if (!foreign)
        terminal_say(stderr, "no process left an account: no call of Level 3 BLAS or LAPACK was "
                             "intercepted, or its account could not be written; xgemm-run doctor "
                             "PROGRAM says why");
}
