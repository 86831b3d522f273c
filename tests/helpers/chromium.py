"""A real browser, Debian's Chromium, driven by its own protocol through a pipe: nothing else is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATHS = ("chromium", "chromium-browser", "google-chrome")
#: The browser is given up after it has said nothing for so long.
_PATIENCE_S = 120
#: Becomes the browser, which reads commands from 3 and answers to 4.
_WITH_PIPES = """import os, sys
from fcntl import F_DUPFD, fcntl
ends = [fcntl(int(end), F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """Return where the browser is, if there is one."""
    return next((found for name in PATHS if (found := shutil.which(name))), None)


class Browser:
    """One browser without a window, with one page; a context manager. ``console`` and ``requests`` are what it saw."""

    def __init__(self, path: str, profile: Path) -> None:
        self._number = 0
        self._buffer = b""
        self.console: list[str] = []
        self.requests: list[str] = []
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        flags += ["--remote-debugging-pipe", "--no-first-run", "--disable-extensions", f"--user-data-dir={profile}"]
        flags += ["--disable-background-networking", "--force-color-profile=srgb", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WITH_PIPES, str(read_commands), str(write_answers), path, *flags],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)

    def __enter__(self) -> Self:
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def ask(self, method: str, **parameters: Any) -> Any:
        """Call a method of the page's protocol and return its result."""
        return self._send(method, self._session, **parameters)

    def show(self, url: str, *, width: int = 1200, height: int = 900, dark: bool = False, print_: bool = False) -> None:
        """Show a page of this width and theme, and forget what was seen before."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", media="print" if print_ else "", features=features)
        self.console.clear()
        self.requests.clear()
        self.ask("Page.navigate", url=url)
        while self.run("document.readyState") != "complete":  # a page without scripts tells of no event
            time.sleep(0.01)

    def run(self, script: str) -> Any:
        """Return what an expression comes to in the page, awaited if it is a promise."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **given)

    def picture(self, *, whole: bool = True) -> bytes:
        """Return a picture of the page as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def _send(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {} if session is None else {"sessionId": session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._saw(answer.get("method", ""), answer.get("params", {}))

    def _saw(self, event: str, report: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(report["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            self.console.append(f"{report['type']}: {[one.get('value') for one in report['args']]}")
        elif event == "Runtime.exceptionThrown":
            self.console.append(str(report["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.console.append(report["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            self._buffer += os.read(self._answers, 1 << 16)
        first, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found
