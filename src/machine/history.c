/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine/history.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "machine/calibration.h"

/* --- The hash --------------------------------------------------------------------------------- */

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1], v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t siphash(const uint64_t key[2], const unsigned char *bytes, size_t count)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                     key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    const size_t length = count;
    for (bool last = false; !last; count -= last ? 0 : 8, bytes += 8) {
        uint64_t word = 0;
        last = count < 8;
        for (size_t i = 0; i < (last ? count : 8); i++)
            word |= (uint64_t)bytes[i] << 8 * i;
        if (last)
            word |= (uint64_t)length << 56;
        v[3] ^= word;
        mix(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t xg_history_hash(const struct xg_history *history, const void *bytes, size_t count)
{
    uint64_t hash = siphash(history->key, bytes, count);
    return hash ? hash : 1;
}

uint64_t xg_history_machine(const struct xg_history *history)
{
    struct {
        char gpu[XG_CALIBRATION_NAME_BYTES], driver[XG_CALIBRATION_NAME_BYTES], version[16];
    } machine;
    memset(&machine, 0, sizeof machine);
    xg_calibration_device(machine.gpu, machine.driver);
    strncpy(machine.version, PACKAGE_VERSION, sizeof machine.version - 1);
    return xg_history_hash(history, &machine, sizeof machine);
}

static uint64_t seal_of(const struct xg_history *history, const struct xg_past *past)
{
    return xg_history_hash(history, past, offsetof(struct xg_past, seal));
}

/* --- Files ------------------------------------------------------------------------------------ */

static bool path_of(char path[XG_HISTORY_PATH_BYTES], const struct xg_history *history,
                    const char *name, const char *suffix)
{
    int length = snprintf(path, XG_HISTORY_PATH_BYTES, "%s/%s%s", history->folder, name, suffix);
    return length > 0 && length < XG_HISTORY_PATH_BYTES;
}

static bool read_whole(const char *path, void *to, size_t size)
{
    int fd = xg_file_open(path, O_RDONLY | O_NONBLOCK, 0);
    ssize_t got = fd >= 0 ? xg_file_read(fd, to, size) : -1;
    if (fd >= 0)
        close(fd);
    return got == (ssize_t)size;
}

/* Makes the file, which must not exist. A writer that was killed leaves one: it goes after a
 * minute. -1: another process writes. */
static int make_exclusively(const char *path)
{
    enum { TRIES = 5, ABANDONED_S = 60, LARGEST = 4096 };
    struct rlimit limit;
    struct stat status;
    int fd = -1;
    /* A write beyond the limit would raise a signal. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < LARGEST)
        return -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        fd = xg_file_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
        if (lstat(path, &status) == 0 && time(NULL) - status.st_mtime > ABANDONED_S)
            unlink(path);
        else
            xg_clock_nap_us(500);
    }
    return fd;
}

/* A file that is being replaced. */
struct replacement {
    char path[XG_HISTORY_PATH_BYTES], new_path[XG_HISTORY_PATH_BYTES];
    int fd;
};

static bool begin(struct replacement *file, const struct xg_history *history, const char *name)
{
    file->fd =
        path_of(file->path, history, name, "") && path_of(file->new_path, history, name, ".new")
            ? make_exclusively(file->new_path)
            : -1;
    return file->fd >= 0;
}

/* The new file takes the old one's place, or goes. A full disk may show only when the file is
 * closed. from NULL: the old one stays. */
static bool end(struct replacement *file, const void *from, size_t size)
{
    bool whole = from && xg_file_write(file->fd, from, size);
    whole &= close(file->fd) == 0;
    whole = whole && rename(file->new_path, file->path) == 0;
    if (!whole)
        unlink(file->new_path);
    return whole;
}

/* Makes the key, unless another process has made one meanwhile. */
static bool make_key(struct xg_history *history, const char *path)
{
    struct replacement file;
    if (!xg_file_make_folders(path) || !begin(&file, history, "key"))
        return false;
    const bool made = read_whole(path, history->key, sizeof history->key);
    const bool drawn =
        !made && getrandom(history->key, sizeof history->key, 0) == sizeof history->key;
    return end(&file, drawn ? history->key : NULL, sizeof history->key) || made;
}

bool xg_history_open(struct xg_history *history, bool make, xg_history_lookup *lookup)
{
    int error = errno;
    char path[XG_HISTORY_PATH_BYTES];
    const char *cache = lookup(NULL, "XDG_CACHE_HOME"), *home = lookup(NULL, "HOME");
    bool found = xg_file_below(history->folder, sizeof history->folder, cache, home, "/.cache",
                               "xgemm/history") &&
                 path_of(path, history, "key", "");
    bool has_key = found && read_whole(path, history->key, sizeof history->key);
    /* A home that does not exist is not made, and a key that cannot be read is not replaced. */
    if (found && !has_key && make && access(path, F_OK) != 0 && errno == ENOENT &&
        (cache || access(home, W_OK) == 0))
        has_key = make_key(history, path);
    errno = error;
    return has_key;
}

/* --- Records ---------------------------------------------------------------------------------- */

enum { NAME_BYTES = 24 };

/* One of the files of a kind, chosen by a hash. */
static const char *name_of(char name[NAME_BYTES], const char *kind, uint64_t hash)
{
    snprintf(name, NAME_BYTES, "%s%02u", kind, (unsigned)(hash % XG_HISTORY_FILES));
    return name;
}

/* Reads the sound records of a file. */
static int read_records(const struct xg_history *history, const char *path,
                        struct xg_past records[XG_HISTORY_RECORDS])
{
    struct xg_past all[XG_HISTORY_RECORDS];
    int count = 0;
    memset(records, 0, sizeof all);
    if (!read_whole(path, all, sizeof all))
        return 0;
    for (int i = 0; i < XG_HISTORY_RECORDS; i++)
        if (all[i].id && all[i].seal == seal_of(history, &all[i]))
            records[count++] = all[i];
    return count;
}

static int place_of(const struct xg_past *records, int count, uint64_t id)
{
    int at = 0;
    while (at < count && records[at].id != id)
        at++;
    return at;
}

/* Replaces the program's record; past NULL: removes it. */
static bool put(const struct xg_history *history, uint64_t id, struct xg_past *past)
{
    char name[NAME_BYTES];
    struct replacement file;
    struct xg_past records[XG_HISTORY_RECORDS];
    if (!begin(&file, history, name_of(name, "", id)))
        return false;
    int count = read_records(history, file.path, records), at = place_of(records, count, id);
    bool found = at < count;
    if (at == XG_HISTORY_RECORDS)
        for (int i = at = 0; i < count; i++)
            at = records[i].time_s < records[at].time_s ? i : at;
    if (past) {
        past->bars |= found ? records[at].bars : 0; /* of another run, meanwhile */
        past->seal = seal_of(history, past);
        records[at] = *past;
    } else if (found) {
        records[at] = (struct xg_past){0};
    }
    return end(&file, records, sizeof records) && (past || found);
}

bool xg_history_find(const struct xg_history *history, uint64_t id, struct xg_past *past)
{
    struct xg_past records[XG_HISTORY_RECORDS];
    int count = xg_history_read(history, (int)(id % XG_HISTORY_FILES), records);
    int at = place_of(records, count, id);
    if (at < count)
        *past = records[at];
    return at < count;
}

bool xg_history_store(const struct xg_history *history, struct xg_past *past)
{
    int error = errno;
    bool stored = put(history, past->id, past);
    errno = error;
    return stored;
}

bool xg_history_forget(const struct xg_history *history, uint64_t id)
{
    int error = errno;
    bool forgotten = put(history, id, NULL);
    errno = error;
    return forgotten;
}

int xg_history_read(const struct xg_history *history, int file,
                    struct xg_past records[XG_HISTORY_RECORDS])
{
    char name[NAME_BYTES], path[XG_HISTORY_PATH_BYTES];
    int error = errno;
    name_of(name, "", (uint64_t)file);
    int count = path_of(path, history, name, "") ? read_records(history, path, records) : 0;
    errno = error;
    return count;
}

/* --- Starts ----------------------------------------------------------------------------------- */

/* What starts took on one machine. */
struct starts {
    uint64_t machine, takes_us[XG_RESOURCE_COUNT], seal;
};

static bool read_starts(const struct xg_history *history, const char *path, uint64_t machine,
                        struct starts *starts)
{
    return read_whole(path, starts, sizeof *starts) && starts->machine == machine &&
           starts->seal == xg_history_hash(history, starts, offsetof(struct starts, seal));
}

void xg_history_starts(const struct xg_history *history, uint64_t machine,
                       double takes_s[XG_RESOURCE_COUNT])
{
    char name[NAME_BYTES], path[XG_HISTORY_PATH_BYTES];
    struct starts starts;
    int error = errno;
    if (path_of(path, history, name_of(name, "starts", machine), "") &&
        read_starts(history, path, machine, &starts))
        for (int i = 0; i < XG_RESOURCE_COUNT; i++)
            if (starts.takes_us[i])
                takes_s[i] = 1e-6 * (double)starts.takes_us[i];
    errno = error;
}

/*
 * The first start after the machine's own reads its files from the disk, once: a longer time is
 * believed by an eighth and up to twice the time so far. A shorter one is believed at once, down to
 * half; below a quarter the program itself had started or loaded what we started.
 */
static double expect(double before_s, double took_s)
{
    if (took_s < before_s / 4)
        return before_s;
    if (took_s < before_s)
        return fmax(took_s, before_s / 2);
    return before_s + (fmin(took_s, 2 * before_s) - before_s) / 8;
}

bool xg_history_start_took(const struct xg_history *history, uint64_t machine,
                           enum xg_resource resource, double expected_s, double seconds)
{
    char name[NAME_BYTES];
    struct replacement file;
    struct starts starts;
    int error = errno;
    bool kept = false;
    if (begin(&file, history, name_of(name, "starts", machine))) {
        if (!read_starts(history, file.path, machine, &starts))
            starts = (struct starts){.machine = machine};
        uint64_t *takes_us = &starts.takes_us[resource];
        const double before_s = *takes_us ? 1e-6 * (double)*takes_us : expected_s;
        *takes_us = (uint64_t)(1e6 * expect(before_s, seconds)) + 1;
        starts.seal = xg_history_hash(history, &starts, offsetof(struct starts, seal));
        kept = end(&file, &starts, sizeof starts);
    }
    errno = error;
    return kept;
}
