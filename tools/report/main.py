# SPDX-License-Identifier: MIT
"""The command line: reads options and traces, and writes the page."""
import argparse
import datetime
import errno
import os
import stat
import sys

from . import page, run, trace, words


def parse(arguments, version):
    parser = argparse.ArgumentParser(
        prog="xgemm-report",
        description="Makes one HTML page from traces of libxgemm_shim (XGEMM_TRACE): where products "
        "ran, how much time the GPU saved, what stayed on the CPU and why, and what would help.")
    parser.add_argument("-o", "--output", metavar="OUT.html", default="xgemm-report.html",
                        help="the page (default: %(default)s; -: standard output)")
    parser.add_argument("--command", metavar="TEXT", help="the command that was run")
    parser.add_argument("--status", metavar="N", type=int, help="its exit status")
    parser.add_argument("--seconds", metavar="S", type=float, help="its run time")
    parser.add_argument("--products", metavar="N", type=int,
                        help="the number of its products, including those in no trace")
    parser.add_argument("--absence", metavar="REASON", default="", choices=("", *words.NO_GPU),
                        help="why no GPU is usable, for products for which a start was not worthwhile yet")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    parser.add_argument("traces", metavar="DIR_OR_TRACE", nargs="+",
                        help="traces, or folders with traces (*.json)")
    options = parser.parse_args(arguments)
    if options.seconds is not None:
        if not 0 < options.seconds < 1e12:
            parser.error("--seconds must be a number above 0")
        options.seconds = max(options.seconds, trace.LEAST)
    return options


def say(text):
    """Writes a message to standard error; a closed standard error is no failure, because the page counts."""
    try:
        print(f"xgemm-report: {text}", file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = None


def open_output(path):
    """Opens and empties a file that no other user can choose (src/base/file.h): in a folder to which others
    may write, it refuses their links and files."""
    trusted = (os.geteuid(), 0, os.stat("/").st_uid)
    for _ in range(16):
        folder = os.stat(os.path.dirname(path) or ".")
        shared = folder.st_uid not in trusted or folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not shared or not os.path.islink(path) or os.lstat(path).st_uid not in trusted:
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_NOFOLLOW if shared else 0), 0o666)
    status = os.fstat(descriptor)
    if shared and (status.st_uid not in trusted or status.st_nlink != 1):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    if stat.S_ISREG(status.st_mode):
        os.truncate(descriptor, 0)
    return open(descriptor, "wb")


def main(arguments, version):
    options = parse(arguments, version)
    try:
        paths = trace.paths_of(options.traces)
    except trace.Unreadable as error:
        say(f"{error}")
        return 1
    all_of_it = run.Run(options.absence)
    all_of_it.read(paths)
    for one in all_of_it.traces:
        if one.trouble:
            say(f"{one.path}: {one.trouble}")
    made = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    text = page.Page(all_of_it, options.command, options.status, options.seconds, made,
                     options.products).html()
    # A name may contain surrogates, which UTF-8 cannot encode.
    encoded = text.encode("utf-8", "replace")
    try:
        if options.output == "-":
            sys.stdout.buffer.write(encoded)
            sys.stdout.buffer.flush()
        else:
            with open_output(options.output) as file:
                file.write(encoded)
    except OSError as error:
        say(f"{options.output}: {error.strerror}")
        if options.output == "-":
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    if options.output != "-":
        headline = " ".join(words.headline(all_of_it).split())
        say(f"{options.output}: {headline}")
    return 0
