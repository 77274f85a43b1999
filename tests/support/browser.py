"""Chromium with one page open, spoken to over its own pipe: no port, no driver."""

import json
import os
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")


class Page:
    """One tab of the browser.

    Args:
        window: it has a window of its own; False to be a tab of the one that is there.
    """

    def __init__(self, sending: IO[bytes], receiving: IO[bytes], *, window: bool = False) -> None:
        self._sending, self._receiving = sending, receiving
        self._number = 0
        self._session = ""
        self._events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank", newWindow=window)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def beside(self, *, window: bool) -> "Page":
        """Another page of the same browser: in a window beside this one, or a tab that covers it."""
        return Page(self._sending, self._receiving, window=window)

    def show(self) -> None:
        """Bring the tab to the front."""
        self._call("Page.bringToFront")

    def run_first(self, script: str) -> None:
        """Have a script run in every page that is opened from now on, before the page's own."""
        self._call("Page.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url: str, *, script: bool = True) -> None:
        """Load a page to its end.

        Args:
            url: of it.
            script: whether its scripts run.
        """
        self._call("Page.enable")
        self._call("Page.setLifecycleEventsEnabled", enabled=True)
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        self._events.clear()
        # The event of the page before can come late: only the one of this load counts.
        loader = self._call("Page.navigate", url=url)["loaderId"]
        while not any(_has_loaded(event, loader) for event in self._events):
            self._events.append(self._receive())

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; the page's own policy does not concern it."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, width: int, theme: str) -> None:
        """Make the window as wide as a device, in a theme that its owner prefers.

        Args:
            width: in CSS pixels.
            theme: ``dark`` or ``light``.
        """
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def slow_down(self, times: float) -> None:
        """Give the page so many times less of the processor, as a phone has."""
        self._call("Emulation.setCPUThrottlingRate", rate=times)

    def picture(self, target: Path, *, whole: bool = True) -> None:
        """Draw the page as a PNG file.

        Args:
            whole: the page, not only what the window shows.
        """
        found = self._call("Page.captureScreenshot", captureBeyondViewport=whole)
        target.write_bytes(b64decode(found["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._sending.write(json.dumps(message).encode() + b"\0")
        self._sending.flush()
        while (answer := self._receive()).get("id") != self._number:
            self._events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        found = bytearray()
        while (byte := self._receiving.read(1)) != b"\0":
            assert byte, "the browser ended"
            found += byte
        message: dict[str, Any] = json.loads(found)
        return message


def _has_loaded(event: dict[str, Any], loader: str) -> bool:
    parameters = event.get("params", {})
    return (event.get("method"), parameters.get("name"), parameters.get("loaderId")) == (
        "Page.lifecycleEvent",
        "load",
        loader,
    )


@contextmanager
def browser_page(profile: Path) -> Iterator[Page]:
    """A page of a new browser.

    Args:
        profile: folder for what the browser keeps.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    # The browser reads from descriptor 3 and writes to descriptor 4.
    shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
    command = ["bash", "-c", shell, "bash", "chromium", *options, f"--user-data-dir={profile}"]
    with (
        os.fdopen(ours_out, "wb") as sending,
        os.fdopen(ours_in, "rb") as receiving,
        subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process,
    ):
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(sending, receiving)
        finally:
            process.kill()
