/* SPDX-License-Identifier: MIT */
/* Filters of system calls (seccomp) for tests: a rule that loads the number, and one that allows a
 * number. */
#ifndef TESTS_FILTER_H
#define TESTS_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define FILTER_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define FILTER_ALLOW(number)                                                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#endif
