# SPDX-License-Identifier: MIT
"""python -m xgemm_shim ARGUMENT... becomes xgemm-run ARGUMENT..., which nothing is left beside."""
import os
import signal
import sys

import xgemm_shim

# What Python itself has changed since its start, and a program would inherit.
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
environment = dict(os.environb)
with open("/proc/self/environ", "rb") as file:
    if b"\0LC_CTYPE=" not in b"\0" + file.read():
        environment.pop(b"LC_CTYPE", None)

launcher = xgemm_shim.launcher()
try:
    os.execve(launcher, [launcher] + sys.argv[1:], environment)
except OSError as error:
    print("xgemm_shim:", error, file=sys.stderr)
    sys.exit(125)
