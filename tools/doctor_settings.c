/* SPDX-License-Identifier: MIT */
/* Checks the XGEMM_* variables. */
#include "doctor_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_blas.h"
#include "doctor_text.h"
#include "src/base/conf.h"
#include "src/base/file.h"
#include "src/decide/select.h"

enum { NAMES_MAX = 64 };

struct reading {
    struct doctor_settings *settings;
    const char *names[NAMES_MAX]; /* that the library asks for */
    int count;
};

/* What the library asks for is what it knows: no second list of names. */
static const char *look_up(void *context, const char *name)
{
    struct reading *reading = context;
    if (reading->count < NAMES_MAX)
        reading->names[reading->count++] = name;
    return getenv(name);
}

static void refuse(void *context, const char *text)
{
    struct reading *reading = context;
    doctor_texts_add(&reading->settings->refused, "%s", text);
}

static bool is_known(const struct reading *reading, const char *variable, size_t length)
{
    static const char *const others[] = {"XGEMM_SHIM_LIB", "XGEMM_DOCTOR_FOLDER"};
    for (int i = 0; i < reading->count; i++)
        if (strlen(reading->names[i]) == length && !strncmp(variable, reading->names[i], length))
            return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == length && !strncmp(variable, others[i], length))
            return true;
    return !strncmp(variable, "XGEMM_TEST_", strlen("XGEMM_TEST_"));
}

/* Whether something can be appended to the file; it is not made. A name with %p is one for each
 * process, of which the folder is looked at. */
static bool is_writable(const char *path)
{
    char folder[DOCTOR_PATH_BYTES];
    int fd = xg_file_open(path, O_WRONLY | O_APPEND | O_NONBLOCK, 0);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno != ENOENT)
        return fd >= 0 || errno == ENXIO; /* a FIFO that nobody reads yet */
    doctor_text_set(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return access(slash ? folder : ".", W_OK) == 0;
}

void doctor_settings_read(struct doctor_settings *settings)
{
    struct reading reading = {.settings = settings};
    struct xg_conf conf;
    *settings = (struct doctor_settings){0};
    xg_conf_parse(&conf, look_up, refuse, &reading);
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (!strncmp(*entry, "XGEMM_", strlen("XGEMM_")) && !is_known(&reading, *entry, length))
            doctor_texts_add(&settings->unknown, "%.*s", (int)length, *entry);
    }
    settings->mode_cpu = conf.mode == XG_MODE_CPU;
    if (conf.kernel && !xg_select_find(conf.kernel))
        settings->kernel = getenv("XGEMM_KERNEL");
    if (conf.log && !is_writable(conf.log))
        settings->files[0] = getenv("XGEMM_LOG");
    if (conf.trace && !is_writable(conf.trace))
        settings->files[1] = getenv("XGEMM_TRACE");
    if (conf.cpu_blas) {
        struct doctor_blas blas;
        doctor_blas_read(&blas, conf.cpu_blas);
        if (!blas.loads || !blas.has_sgemm)
            settings->cpu_blas = getenv("XGEMM_CPU_BLAS");
    }
    xg_conf_fini(&conf);
}
