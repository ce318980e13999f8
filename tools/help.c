/* SPDX-License-Identifier: MIT */
/* Prints the table of environment variables, at build time, for xgemm-run --help. */
#include "src/base/conf.h"

int main(void)
{
    xg_conf_print_help(stdout);
    return fflush(stdout) != 0;
}
