/* SPDX-License-Identifier: MIT */
/* Tests whether a file can be written. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_is_writable(const char *path)
{
    struct stat status;
    bool there = stat(path, &status) == 0;

    if (there && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return false;
    }
    /* Opening a FIFO would wait for its reader. */
    if (there)
        return access(path, W_OK) == 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd >= 0) {
        close(fd);
        unlink(path);
        return true;
    }
    if (errno != EEXIST)
        return false;
    /* The path is a link to a missing file: this makes that file, and removes it by its own
     * name. */
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return false;
    close(fd);
    char *made = realpath(path, NULL);
    if (made)
        unlink(made);
    free(made);
    return true;
}
