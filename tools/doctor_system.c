/* SPDX-License-Identifier: MIT */
/* Reads /sys, /dev and the environment. */
#include "doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/table.h"
#include "shim/pools.h"
#include "src/base/conf.h"
#include "src/decide/select.h"
#include "src/device/absence.h"
#include "src/host/cores.h"
#include "wake.h"

static void read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    line[0] = '\0';
    if (file && fgets(line, (int)size, file))
        line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
}

/* Whether the device is NVIDIA's and a display or 3D controller. */
static bool is_gpu(const char *device)
{
    char path[DOCTOR_PATH_BYTES], vendor[32], class[32];
    doctor_text_set(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", device);
    read_line(path, vendor, sizeof vendor);
    doctor_text_set(path, sizeof path, "/sys/bus/pci/devices/%s/class", device);
    read_line(path, class, sizeof class);
    return !strcmp(vendor, "0x10de") && !strncmp(class, "0x03", 4);
}

static int count_gpus(void)
{
    int count = 0;
    DIR *devices = opendir("/sys/bus/pci/devices");
    for (struct dirent *entry; devices && (entry = readdir(devices));)
        count += entry->d_name[0] != '.' && is_gpu(entry->d_name);
    if (devices)
        closedir(devices);
    return count;
}

/* Checks the files that Docker and Podman create and the variable that other tools set. */
static bool is_container(void)
{
    const char *named = getenv("container");
    return (named && *named) || access("/.dockerenv", F_OK) == 0 ||
           access("/run/.containerenv", F_OK) == 0;
}

void doctor_system_read(struct doctor_system *system)
{
    const struct xg_conf *conf = xg_conf_get();
    struct xg_wake wake;
    const struct xg_kernel *row = conf->kernel ? xg_select_find(conf->kernel) : NULL;
    *system = (struct doctor_system){
        .pci_gpus = count_gpus(),
        .container = is_container(),
        .wsl = access("/dev/dxg", F_OK) == 0,
        .visible_devices = getenv("CUDA_VISIBLE_DEVICES"),
        .cores = xg_cores_count(),
        .lapack = conf->lapack == XG_LAPACK_ON,
        .wants_cublas = conf->math == XG_MATH_TF32 || (row && (row->flags & XG_KERNEL_CUBLAS) != 0),
    };
    if (shim_pools_have_device() && wake_find(&wake)) {
        system->wake_s = 1e-9 * (double)wake.wake_ns;
        system->wake_dear = shim_pools_power(SHIM_WISH_BY_WAKE, &wake) == 0;
    }
    system->nodes_closed = xg_absence_find(XG_ABSENCE_FILES) == XG_REASON_DENIED;
    read_line("/sys/module/nvidia/version", system->kernel_module, sizeof system->kernel_module);
}
