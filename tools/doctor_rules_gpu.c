/* SPDX-License-Identifier: MIT */
/* Diagnoses of driver, devices, kernels and link. */
#include "doctor.h"

/* A slower link is far below PCIe 3.0 with 16 lanes. */
static const double LINK_SLOW_BYTES_PER_S = 6e9;
static const uint64_t MEMORY_LEAST_BYTES = 512u << 20;

enum { SM_LEAST = 75, MODE_PROHIBITED = 2, MODE_EXCLUSIVE = 3 };

static bool is_hidden(const struct doctor_facts *facts)
{
    const char *visible = facts->system.visible_devices;
    return visible &&
           (facts->gpu.driver == DOCTOR_DRIVER_EMPTY ||
            (facts->gpu.driver != DOCTOR_DRIVER_OPEN && (*visible == '\0' || *visible == '-')));
}

DOCTOR_FIND(find_hidden, is_hidden(facts), "%s",
            *facts->system.visible_devices ? facts->system.visible_devices : "(empty)")

/* If libcuda.so.1 is missing, other facts give the reason. */
enum absence { IN_WSL, IN_CONTAINER, WITHOUT_LIBRARY, WITHOUT_DRIVER, WITHOUT_GPU };

static enum absence absence_of(const struct doctor_system *system)
{
    return system->wsl                ? IN_WSL
           : system->container        ? IN_CONTAINER
           : system->kernel_module[0] ? WITHOUT_LIBRARY
           : system->pci_gpus > 0     ? WITHOUT_DRIVER
                                      : WITHOUT_GPU;
}

DOCTOR_FIND(find_absent,
            facts->gpu.driver == DOCTOR_DRIVER_ABSENT && (int)absence_of(&facts->system) == detail,
            "%s", detail == WITHOUT_LIBRARY ? facts->system.kernel_module : facts->gpu.failure)

/* A driver whose device files may not be opened fails or finds no device. */
static bool is_closed(const struct doctor_facts *facts)
{
    return (facts->gpu.driver == DOCTOR_DRIVER_FAILED ||
            (facts->gpu.driver == DOCTOR_DRIVER_EMPTY && !is_hidden(facts))) &&
           facts->system.nodes_closed;
}

DOCTOR_FIND(find_driver,
            (int)facts->gpu.driver == detail && !is_closed(facts) &&
                !(detail == DOCTOR_DRIVER_EMPTY && is_hidden(facts)),
            "%s", facts->gpu.failure)

DOCTOR_FIND(find_closed, is_closed(facts), "%s", facts->gpu.failure)

/* The device that is used or would be used; NULL: there is none. */
static const struct doctor_device *used_device(const struct doctor_facts *facts)
{
    const struct doctor_gpu *gpu = &facts->gpu;
    int which = gpu->chosen > 0 ? gpu->chosen : 0;
    if (gpu->driver != DOCTOR_DRIVER_OPEN || which >= gpu->device_count || which >= DOCTOR_DEVICES)
        return NULL;
    return &gpu->devices[which];
}

static bool is_open(const struct doctor_facts *facts)
{
    return used_device(facts) && facts->gpu.context == XG_OK;
}

DOCTOR_FIND(find_ordinal, used_device(facts) && facts->gpu.context == XG_ERR_NOTFOUND, "%d",
            facts->gpu.device_count)

DOCTOR_RULE(find_context)
{
    const struct doctor_device *device = used_device(facts);
    if (device && facts->gpu.context != XG_OK && facts->gpu.context != XG_ERR_NOTFOUND &&
        device->compute_mode == 0)
        doctor_texts_add(subjects, "%s (%s)", device->name, xg_status_name(facts->gpu.context));
}

DOCTOR_FIND(find_mode, used_device(facts) && used_device(facts)->compute_mode == detail, "%s",
            used_device(facts)->name)

/* In exclusive mode another process has the device, so this process could not open it. */
DOCTOR_RULE(find_taken)
{
    if (facts->gpu.context != XG_OK && facts->gpu.context != XG_ERR_NOTFOUND)
        find_mode(facts, MODE_EXCLUSIVE, subjects);
}

DOCTOR_FIND(find_memory, is_open(facts) && facts->gpu.free_bytes < MEMORY_LEAST_BYTES, "%.2f GB",
            1e-9 * (double)facts->gpu.free_bytes)

DOCTOR_FIND(find_no_images, is_open(facts) && !facts->gpu.images, "%s", "")

DOCTOR_RULE(find_no_kernels)
{
    const struct doctor_device *device = used_device(facts);
    if (is_open(facts) && facts->gpu.images && facts->gpu.kernels == 0 && device->sm >= SM_LEAST)
        doctor_texts_add(subjects, "%d.%d", device->sm / 10, device->sm % 10);
}

/* A program may bring a cuBLAS that only it sees. */
static bool has_cublas(const struct doctor_facts *facts)
{
    return facts->gpu.cublas_file[0] != '\0' || facts->run.cublas_file[0] != '\0';
}

/* detail: whether cuBLAS exists. */
DOCTOR_RULE(find_old_device)
{
    const struct doctor_device *device = used_device(facts);
    if (is_open(facts) && device->sm < SM_LEAST && has_cublas(facts) == (detail != 0))
        doctor_texts_add(subjects, "%d.%d", device->sm / 10, device->sm % 10);
}

DOCTOR_FIND(find_no_cublas, is_open(facts) && facts->system.wants_cublas && !has_cublas(facts),
            "%s", "")

static bool has_cusolver(const struct doctor_facts *facts)
{
    return facts->gpu.cusolver_file[0] != '\0' || facts->run.cusolver_file[0] != '\0';
}

DOCTOR_FIND(find_no_cusolver,
            facts->program.lapack && facts->system.lapack && is_open(facts) && !has_cusolver(facts),
            "%s", "")

DOCTOR_FIND(find_lapack_off, facts->program.lapack && !facts->system.lapack, "%s", "")

DOCTOR_RULE(find_slow_link)
{
    double up = facts->gpu.up_bytes_per_s, down = facts->gpu.down_bytes_per_s;
    if (is_open(facts) && up > 0 && down > 0 &&
        (up < LINK_SLOW_BYTES_PER_S || down < LINK_SLOW_BYTES_PER_S))
        doctor_texts_add(subjects, "%.1f GB/s up and %.1f GB/s down", 1e-9 * up, 1e-9 * down);
}

DOCTOR_FIND(find_no_link,
            is_open(facts) && !(facts->gpu.up_bytes_per_s > 0 && facts->gpu.down_bytes_per_s > 0),
            "%s", "")

DOCTOR_FIND(find_few_cores, facts->system.cores == 1, "%s", "")

const struct doctor_diagnosis doctor_gpu_diagnoses[] = {
    {"build.no-cuda", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_UNBUILT,
     "This build of the library supports no GPU: it was configured without CUDA.",
     "Build it again without --without-cuda, or install a package with kernels."},
    {"device.hidden", DOCTOR_MEND, find_hidden, 0,
     "CUDA_VISIBLE_DEVICES=%s hides every GPU from programs.",
     "Unset CUDA_VISIBLE_DEVICES, or set it to a device that nvidia-smi -L lists, such as 0."},
    {"driver.wsl", DOCTOR_MEND, find_absent, IN_WSL,
     "WSL2 has a GPU (/dev/dxg), but the dynamic linker finds no libcuda.so.1 (%s).",
     "Install NVIDIA's driver in Windows, and none in Linux; then wsl --update and wsl --shutdown. "
     "If /usr/lib/wsl/lib has the file, run ldconfig. Start a container with the GPU."},
    {"driver.container", DOCTOR_MEND, find_absent, IN_CONTAINER,
     "This container has no NVIDIA driver (%s).",
     "Start the container with the GPU: docker run --gpus all, podman run --device "
     "nvidia.com/gpu=all. The host needs the NVIDIA container toolkit."},
    {"driver.no-library", DOCTOR_MEND, find_absent, WITHOUT_LIBRARY,
     "NVIDIA's kernel module %s is loaded, but the dynamic linker finds no libcuda.so.1.",
     "Install the driver's library of the same version (Debian: libcuda1, Ubuntu: "
     "libnvidia-compute), or add its folder to LD_LIBRARY_PATH."},
    {"driver.not-installed", DOCTOR_MEND, find_absent, WITHOUT_DRIVER,
     "This machine has an NVIDIA GPU but no driver for it (%s).",
     "Install NVIDIA's driver (Debian: nvidia-driver, Ubuntu: ubuntu-drivers install) and restart "
     "the machine."},
    {"driver.no-hardware", DOCTOR_MEND, find_absent, WITHOUT_GPU,
     "This machine has no NVIDIA GPU and no driver (%s): every product runs on the CPU.",
     "Use a machine with an NVIDIA GPU. If this machine has one, nvidia-smi must list it."},
    {"driver.lacks", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_LACKS,
     "The driver lacks the function %s: the driver is too old, or libcuda.so.1 is another library.",
     "Install a newer driver, and remove folders with a stub of libcuda from LD_LIBRARY_PATH."},
    {"driver.closed", DOCTOR_MEND, find_closed, 0,
     "This user or this container may not open the driver's devices (%s).",
     "Permit reading and writing of /dev/nvidia*, usually by adding the user to the group video or "
     "render. Start a container with the GPU (docker run --gpus all)."},
    {"driver.failed", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_FAILED,
     "The driver does not start: %s.",
     "Follow that message; nvidia-smi must work first. After an update of the driver, restart the "
     "machine."},
    {"driver.crashed", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_CRASHED,
     "The process that queried the driver's devices crashed in the driver.",
     "Run nvidia-smi, and read the operating system's messages (dmesg | grep -i nvrm)."},
    {"driver.hung", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_HUNG,
     "The driver did not answer for a minute.",
     "Run nvidia-smi, and read the operating system's messages (dmesg | grep -i nvrm). A restart "
     "of the machine may help."},
    {"device.none", DOCTOR_MEND, find_driver, DOCTOR_DRIVER_EMPTY,
     "The driver works but finds no device.",
     "nvidia-smi -L must list a device. Start a container with the devices."},
    {"device.ordinal", DOCTOR_MEND, find_ordinal, 0,
     "XGEMM_DEVICES names none of the %s existing devices.",
     "Unset XGEMM_DEVICES, or count from 0 as nvidia-smi -L does."},
    {"device.prohibited", DOCTOR_MEND, find_mode, MODE_PROHIBITED,
     "%s is in compute mode Prohibited: no program may use it.",
     "nvidia-smi -c DEFAULT (as root) permits use."},
    {"device.taken", DOCTOR_MEND, find_taken, 0,
     "%s is in exclusive mode, and another process uses it.",
     "End that process (nvidia-smi names it), or permit several processes with nvidia-smi -c "
     "DEFAULT (as root)."},
    {"device.exclusive", DOCTOR_NOTE, find_mode, MODE_EXCLUSIVE,
     "%s is in exclusive mode: one process at a time can use it, and the others compute on the "
     "CPU.",
     "nvidia-smi -c DEFAULT (as root) permits several processes."},
    {"device.context", DOCTOR_MEND, find_context, 0, "%s cannot be used.",
     "Check with nvidia-smi whether the device is in order, and whether other processes hold its "
     "memory."},
    {"device.memory", DOCTOR_MEND, find_memory, 0,
     "Only %s of the GPU's memory is free: few products fit.",
     "End the processes that nvidia-smi lists, or choose another device with XGEMM_DEVICES."},
    {"kernels.not-built", DOCTOR_MEND, find_no_images, 0, "This build contains no kernels.",
     "Build it again with a CUDA toolkit, or install a package with kernels."},
    {"kernels.architecture", DOCTOR_MEND, find_no_kernels, 0,
     "No kernel of this build runs on a device of compute capability %s.",
     "Build it again with --with-cuda-arch for that device, or without this option for all "
     "devices."},
    {"device.old", DOCTOR_MEND, find_old_device, 0,
     "The device's compute capability, %s, is below 7.5: only cuBLAS computes on it, and cuBLAS "
     "was not found.",
     "Install cuBLAS 11 or 12 (pip install nvidia-cublas-cu12 in the program's environment), or "
     "add its folder to LD_LIBRARY_PATH."},
    {"device.cublas-only", DOCTOR_NOTE, find_old_device, 1,
     "The device's compute capability, %s, is below 7.5: cuBLAS computes every product on it.",
     "No action is needed."},
    {"cublas.missing", DOCTOR_MEND, find_no_cublas, 0,
     "XGEMM_MATH or XGEMM_KERNEL requires cuBLAS, which was not found.",
     "Install cuBLAS (pip install nvidia-cublas, or nvidia-cublas-cu12 for drivers older than "
     "580), add its folder to LD_LIBRARY_PATH, or unset the variable."},
    {"cusolver.missing", DOCTOR_NOTE, find_no_cusolver, 0,
     "The program imports LAPACK routines. Doctor found no cuSOLVER; without it they stay on the "
     "CPU.",
     "Install cuSOLVER (pip install nvidia-cusolver, or nvidia-cusolver-cu12 for drivers older "
     "than 580; in NVIDIA's repositories libcusolver), or add its folder to LD_LIBRARY_PATH."},
    {"lapack.off", DOCTOR_NOTE, find_lapack_off, 0,
     "The program imports LAPACK routines, which stay on the CPU because XGEMM_LAPACK is 0.",
     "Unset XGEMM_LAPACK: cuSOLVER then computes those that gain (doc/reference/calls.md)."},
    {"link.slow", DOCTOR_NOTE, find_slow_link, 0,
     "The link to the GPU is slow: %s. Only products with much arithmetic per byte gain.",
     "Check with nvidia-smi -q whether the link uses all its lanes (PCIe link width), and whether "
     "the device is in a slot with 16 lanes."},
    {"link.unmeasured", DOCTOR_NOTE, find_no_link, 0,
     "The speed of the link could not be measured: a copy failed.",
     "Check with nvidia-smi whether other processes hold the memory."},
    {"cores.one", DOCTOR_NOTE, find_few_cores, 0,
     "The process may use only one core, which both computes and copies operands: transfers use "
     "little of the link's rate.",
     "Permit more cores (taskset, the container's limit, the batch system's request)."},
    {0},
};
