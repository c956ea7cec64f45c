"""Headless Chromium, driven over its DevTools protocol through a pair of pipes: no driver, no socket, no package.

`Chromium` starts the browser with every look-up of a host refused, so a page that wants anything from a network shows it as a
failed request. `Page` loads a file, evaluates expressions, presses keys and takes pictures, and keeps what the console, the
network and the security policy complained about.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
COMPLAINTS = ("Runtime.exceptionThrown", "Network.loadingFailed", "Inspector.targetCrashed")
# The protocol speaks through descriptors 3 and 4 of the browser; this puts ours there and becomes the browser.
BECOME = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
for theirs, fd in zip((3, 4), ours):
    os.dup2(fd, theirs)
os.execv(sys.argv[3], sys.argv[3:])
"""
START_SECONDS = 600.0
ANSWER_SECONDS = 600.0


def executable() -> str | None:
    """Path of the browser: PRLX_CHROMIUM, else the first of the usual names that is installed."""
    chosen = os.environ.get("PRLX_CHROMIUM")
    return chosen or next((path for name in CANDIDATES if (path := shutil.which(name))), None)


class Chromium:
    """A running browser; a context manager."""

    def __init__(self, path: str, profile: Path) -> None:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        become = (sys.executable, "-c", BECOME, str(to_browser), str(from_browser))
        self._process = subprocess.Popen(
            [*become, path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Chromium:
        try:
            self.call("Browser.getVersion", seconds=START_SECONDS)
        except BaseException:
            self._end(0)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.call("Browser.close", seconds=5)
        self._end(10)

    def _end(self, seconds: float) -> None:
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(
        self, method: str, *, session: str | None = None, seconds: float = ANSWER_SECONDS, **params: Any
    ) -> dict[str, Any]:
        """Sends one command and returns its result; events that arrive meanwhile are kept."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer.get("result", {})
            self.events.append(answer)

    def wait_for(self, method: str, *, session: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Returns the next event of that name, or one that is here already, and drops it from the list."""
        deadline = time.monotonic() + seconds
        while True:
            for index, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    return self.events.pop(index)
            self.events.append(self._receive(deadline))

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise OSError("Chromium closed its pipe")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


class Page:
    """One page in a browser: load a file, look at it, use it."""

    def __init__(self, browser: Chromium, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self._browser = browser
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Inspector"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, session=self._session, **params)

    def open(self, path: Path, fragment: str = "") -> Page:
        """Loads a file and waits until it is complete."""
        url = path.resolve().as_uri() + (f"#{fragment}" if fragment else "")
        self._call("Page.navigate", url="about:blank")
        self._browser.wait_for("Page.loadEventFired", session=self._session)
        self._call("Page.navigate", url=url)
        self._browser.wait_for("Page.loadEventFired", session=self._session)
        self.settle()
        return self

    def close(self) -> None:
        """Closes the page; complaints and requests stay."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def settle(self) -> None:
        """Waits for what the page does after an input: two frames (none come to a page behind another one)."""
        self._call("Page.bringToFront")
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited, exceptions raised here."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """Presses and releases a key."""
        code = {"Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}.get(key, ord(key[0].upper()))
        common = {"key": key, "windowsVirtualKeyCode": code}
        self._call("Input.dispatchKeyEvent", type="keyDown", text=text or (key if len(key) == 1 else ""), **common)
        self._call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def type(self, text: str) -> None:
        """Types text into whatever has the focus."""
        self._call("Input.insertText", text=text)
        self.settle()

    def click(self, selector: str) -> None:
        """Clicks the middle of the first element that matches, with the mouse."""
        find = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{find}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])({find}.getBoundingClientRect())")
        self.click_at(*box)

    def click_at(self, x: float, y: float) -> None:
        """Clicks a point of the viewport."""
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Writes a PNG of the viewport, or of the whole page."""
        picture = self._call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(picture["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {**size, "x": 0, "y": 0, "scale": 1}}

    def complaints(self) -> list[str]:
        """What went wrong on the page so far: exceptions, console errors and warnings, failed requests, broken policy."""
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            method, params = event.get("method", ""), event.get("params", {})
            bad_console = method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert")
            bad_log = method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")
            if method in COMPLAINTS or bad_console or bad_log:
                found.append(f"{method}: {json.dumps(params)[:500]}")
        return found

    def requests(self) -> list[str]:
        """URLs that the page asked for, itself included, `about:` excluded."""
        urls = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("about:")]
