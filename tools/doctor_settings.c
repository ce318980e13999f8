/* SPDX-License-Identifier: MIT */
/* Checks the XGEMM_* variables and the configuration files. */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/conf.h"
#include "src/base/file.h"
#include "src/decide/select.h"
#include "src/resident/selftest.h"
#include "src/resident/uffd.h"

static struct xg_conf_files files;

static const char *look_up(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

static void add_text(void *texts, const char *text)
{
    doctor_texts_add(texts, "%s", text);
}

/* Puts the setting in the environment, for the rest of doctor and the program, as xgemm-run
 * does. */
static void take_given(void *context, const char *name, const char *value, const char *path,
                       int line)
{
    struct doctor_settings *settings = context;
    setenv(name, value, 1);
    if (settings->given_count == DOCTOR_GIVEN)
        return;
    struct doctor_given *given = &settings->given[settings->given_count++];
    doctor_text_set(given->name, sizeof given->name, "%s", name);
    doctor_text_set(given->value, sizeof given->value, "%s", value);
    doctor_text_set(given->file, sizeof given->file, "%s", path);
    given->line = line;
}

static void read_files(struct doctor_settings *settings)
{
    xg_conf_files_read(&files, XG_CONF_SYSTEM_FILE);
    xg_conf_files_report(&files, add_text, &settings->ignored);
    xg_conf_files_visit(&files, take_given, settings);
}

/* Whether the file can be appended to; it is not created. A name with %p means one file for each
 * process; then its folder is checked. */
static bool is_writable(const char *path)
{
    char folder[DOCTOR_PATH_BYTES];
    int fd = xg_file_open(path, O_WRONLY | O_APPEND | O_NONBLOCK, 0);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno != ENOENT)
        return fd >= 0 || errno == ENXIO; /* a FIFO without a reader yet */
    doctor_text_set(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    return access(slash ? folder : ".", W_OK) == 0;
}

/* Why the kernel does not let this process, and so the program, track its pages; NULL: it does. */
static const char *why_not_resident(void)
{
    struct xg_pages pages;
    struct xg_uffd uffd;
    if (!xg_selftest_open(&pages, &xg_uffd_system, &uffd))
        return pages.why;
    xg_pages_close(&pages, "tried");
    return NULL;
}

void doctor_settings_read(struct doctor_settings *settings)
{
    struct xg_conf conf;
    *settings = (struct doctor_settings){0};
    read_files(settings);
    xg_conf_environment_report(add_text, &settings->unknown);
    xg_conf_parse(&conf, look_up, add_text, &settings->refused);
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
        if (!blas.loads || !blas.has_names)
            settings->cpu_blas = getenv("XGEMM_CPU_BLAS");
    }
    if (conf.resident == XG_RESIDENT_AUTO)
        settings->resident = why_not_resident();
    xg_conf_fini(&conf);
}
