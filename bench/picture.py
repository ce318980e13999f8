#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a picture of the first parts of a page of xgemm-run report.

usage: picture.py PAGE.html PICTURE.png

This developer's tool needs Chromium, and Pillow to make the file small.
"""
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "tool"))
import report_browser  # noqa: E402

SECTIONS = ("When products ran", "Where the time went")
WIDTH, SCALE, COLOURS = 900, 0.8, 32
LEAVE = """document.querySelectorAll("section").forEach(function (section) {
    if (!%r.includes(section.querySelector("h2").textContent)) section.remove();
})""" % (list(SECTIONS),)


def main():
    page, path = sys.argv[1:]
    with report_browser.Browser() as browser:
        browser.open(page, WIDTH)
        browser.value(LEAVE)
        png = browser.screenshot(SCALE)
    try:
        from PIL import Image
    except ImportError:
        pass
    else:
        small = io.BytesIO()
        Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
        png = small.getvalue()
    with open(path, "wb") as file:
        file.write(png)


main()
