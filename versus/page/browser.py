# SPDX-License-Identifier: BSD-3-Clause
"""Runs headless Chromium over a pipe: opens a page as a reader would, and reports what went wrong.

It uses the browser's debugging protocol over two file descriptors, not a port. A Page belongs to one thread. When the
block ends, the browser, its processes and its profile are gone.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ANSWER_LIMIT_S = 30.0
CLOSE_LIMIT_S = 5.0
# The browser reports this if it gave up a load because a network interface appeared or disappeared meanwhile.
NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
MOST_VISITS = 5
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--mute-audio",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--window-size=1200,1600")


class BrowserFailed(RuntimeError):
    """The browser did not do what it was asked. The text is one sentence that says why."""


def program() -> str | None:
    return shutil.which("chromium")


class Page:
    """One tab. `complaints` has console errors, exceptions and failed loads; `requests` has every address that it
    requested."""

    def __init__(self, read_fd: int, write_fd: int):
        self._read, self._write = read_fd, write_fd
        self._seen = b""
        self._last = 0
        self._session = None
        self._loaded = False
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.group = 0  # the process group of the browser
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def _next_message(self, deadline: float) -> dict:
        while b"\0" not in self._seen:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self._read, 1 << 16) if ready else b""
            if not piece:
                raise BrowserFailed("The browser ended." if ready else "The browser did not answer in time.")
            self._seen += piece
        message, _, self._seen = self._seen.partition(b"\0")
        return json.loads(message)

    def _note(self, message: dict) -> None:
        """Stores what an event reports."""
        method, told = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"].get("text", "an exception"))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(value.get("value")) for value in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Network.loadingFailed":
            self.complaints.append(told["errorText"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    def ask(self, method: str, **values) -> dict:
        """Sends one command and returns the answer. Raises BrowserFailed."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while True:
            answer = self._next_message(deadline)
            if answer.get("id") != self._last:
                self._note(answer)
            elif "error" in answer:
                raise BrowserFailed(f"{method}: {answer['error']['message']}.")
            else:
                return answer["result"]

    def close(self) -> None:
        """Ends the whole browser."""
        self._session = None
        self.ask("Browser.close")

    def open(self, path: Path) -> None:
        """Loads a file and waits until it is complete."""
        self.visit(path.resolve().as_uri())

    def visit(self, url: str) -> None:
        """Loads an address and waits until it is complete. Tries again if the machine's network interfaces change
        meanwhile."""
        for _ in range(MOST_VISITS):
            self._loaded = False
            complaints = len(self.complaints)
            failed = self.ask("Page.navigate", url=url).get("errorText")
            if failed != NETWORK_CHANGED:
                break
            del self.complaints[complaints:]
        if failed:
            raise BrowserFailed(f"{url}: {failed}.")
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while not self._loaded:
            self._note(self._next_message(deadline))

    def theme(self, name: str) -> None:
        """Shows the page as a reader sees it whose system has the theme `name` ("light", "dark")."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def value(self, script: str):
        """Returns the value of a piece of JavaScript."""
        return self._evaluated(script)

    def until(self, script: str):
        """Waits until a piece of JavaScript is true, and returns its value."""
        wait = f"new Promise(done => {{ const look = () => {{ const value = {script}; " \
               "if (value) done(value); else setTimeout(look, 10); }; look(); })"
        return self._evaluated(wait, awaitPromise=True)

    def _evaluated(self, script: str, **more):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, **more)
        if "exceptionDetails" in answer:
            raise BrowserFailed(f"{script}: {answer['exceptionDetails']['text']}.")
        return answer["result"].get("value")

    def screenshot(self, path: Path, whole: bool = False) -> bytes:
        """Writes a PNG of the window, or of the whole page, to `path`. Returns its bytes."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        image = base64.b64decode(shot["data"])
        path.write_bytes(image)
        return image


def alive(group: int) -> list[int]:
    """Returns the running processes of a group. Ended processes that nobody has waited for do not count."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _parent, its_group = (folder / "stat").read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue  # it has ended meanwhile
        if int(its_group) == group and state not in "ZX":
            found.append(int(folder.name))
    return found


def _end(child: subprocess.Popen) -> None:
    """Ends the browser and all that it started: they are a process group of their own."""
    try:
        child.wait(CLOSE_LIMIT_S)
    except subprocess.TimeoutExpired:
        pass
    deadline = time.monotonic() + CLOSE_LIMIT_S
    while alive(child.pid) and time.monotonic() < deadline:
        os.killpg(child.pid, signal.SIGKILL)
        time.sleep(0.01)
    child.wait()


@contextmanager
def opened(*more_flags: str) -> Iterator[Page]:
    """Opens a page in a browser that runs as long as the block."""
    found = program()
    if found is None:
        raise BrowserFailed("chromium is not installed: run scripts/setup.")
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="versus-browser-", ignore_cleanup_errors=True) as profile:
        words = [found, *FLAGS, *more_flags, f"--user-data-dir={profile}", "about:blank"]
        script = f'exec "$@" 3<&{their_read} 4>&{their_write}'
        child = subprocess.Popen(["bash", "-c", script, "browser", *words], pass_fds=(their_read, their_write),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=os.environ | {"HOME": profile}, start_new_session=True)
        os.close(their_read)
        os.close(their_write)
        try:
            page = Page(our_read, our_write)
            page.group = child.pid
            yield page
            page.close()
        finally:
            os.close(our_write)
            _end(child)
            os.close(our_read)
