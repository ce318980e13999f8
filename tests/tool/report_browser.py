# SPDX-License-Identifier: MIT
"""A headless Chromium that opens a page and answers about it, over the DevTools pipe."""
import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def found():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class NoBrowser(Exception):
    """There is no browser, or it does not start."""


class Browser:
    """One browser with one page. Raises TimeoutError if an answer takes too long."""

    def __init__(self, patience_s=60.0):
        program = found()
        if not program:
            raise NoBrowser("no browser here")
        self.patience_s = patience_s
        self.folder = tempfile.mkdtemp()
        self.waiting, self.events, self.last = b"", [], 0
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                   "--disable-background-networking", "--remote-debugging-pipe",
                   f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}', program, *options],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.folder))
        os.close(to_read)
        os.close(from_write)
        self.session = None
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.ask("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
            self.ask("Page.enable")
        except (OSError, RuntimeError) as error:
            self.__exit__()
            raise NoBrowser(f"{program} does not start: {error}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, until):
        while b"\0" not in self.waiting:
            if not select.select([self.back], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.back, 1 << 16)
            if not got:
                raise TimeoutError("the browser has ended")
            self.waiting += got
        text, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + self.patience_s
        while True:
            answer = self.message(until)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer.get("method"))

    def open(self, path, width, height=900, dark=False):
        """Loads the file in a window of this width; a narrow one is a phone's."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        until = time.monotonic() + self.patience_s
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.message(until).get("method"))

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, scale=1.0):
        """A PNG of the whole page, scaled."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return base64.b64decode(self.ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                  "scale": scale})["data"])

    def printed(self):
        """A PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])


def pixels(png):
    """Rows of pixels, each a bytes object, of a PNG with 8 bits a channel; and bytes a pixel."""
    at, packed = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            packed += body
        at += 12 + size
    step = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, stride = zlib.decompress(packed), width * step
    rows, above = [], bytearray(stride)
    for begin in range(0, len(raw), stride + 1):
        how, row = raw[begin], bytearray(raw[begin + 1:begin + 1 + stride])
        for i in range(stride) if how else ():
            left = row[i - step] if i >= step else 0
            up, corner = above[i], above[i - step] if i >= step else 0
            if how == 1:
                guess = left
            elif how == 2:
                guess = up
            elif how == 3:
                guess = (left + up) // 2
            else:
                guess = min((left, up, corner), key=lambda x: abs(left + up - corner - x))
            row[i] = (row[i] + guess) & 255
        rows.append(bytes(row))
        above = row
    return rows, step
