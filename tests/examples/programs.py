# SPDX-License-Identifier: BSD-3-Clause
"""Runs the example programs, and other people's clients against them. Whatever a test starts is gone when it ends."""
import contextlib
import http.server
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

PATIENCE_SECONDS = 60
EXAMPLES = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")).resolve() / "examples"


def open_files(pid):
    """What that process has open, as proc(5) names it, also files without a name. A descriptor that is closed while
    they are listed is left out."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return names


class Lines:
    """What comes out of a pipe, by line."""

    def __init__(self, pipe):
        self._pipe = pipe
        self.rest = b""
        self.seen = []

    def next(self):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self._pipe], [], [], max(give_up - time.monotonic(), 0))
            data = os.read(self._pipe.fileno(), 65536) if ready else b""
            assert data, f"no line, but {self.rest!r} after {self.seen}"
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        self.seen.append(line.decode())
        return self.seen[-1]

    def until(self, part):
        while part not in (line := self.next()):
            pass
        return line


class Program:
    """An example, its output in pipes."""

    def __init__(self, name, *arguments, **options):
        self.process = subprocess.Popen([EXAMPLES / name, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self._lines = Lines(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def line(self):
        """The next line it prints, without its end; fails when none comes."""
        return self._lines.next()

    def has_output(self):
        return bool(self._lines.rest) or bool(select.select([self.process.stdout], [], [], 0)[0])

    def address(self):
        """Of its "listening on" line: host and port."""
        words = self.line().removeprefix("listening on ").rpartition(":")
        return words[0], int(words[2])

    def end(self):
        """Asks it to end as Ctrl-C would; its exit code and what it still printed."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self):
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, (self._lines.rest + out).decode(), err.decode()


def run_program(name, *arguments, **options):
    """An example that ends by itself: its exit code, what it printed, what it said."""
    with Program(name, *arguments, **options) as program:
        return program.wait()


def joined(address):
    return f"{address[0]}:{address[1]}"


def connect(address):
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def read_all(peer):
    """What comes until the end."""
    chunks = []
    while chunk := peer.recv(65536):
        chunks.append(chunk)
    return b"".join(chunks)


def read_exactly(peer, size):
    data = b""
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        assert chunk, f"the end after {len(data)} of {size} bytes"
        data += chunk
    return data


def read_head(peer):
    """An HTTP head, and not a byte of what is behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = peer.recv(1)
        assert byte, head
        head += byte
    return head


def tool(name):
    """A program of the system's, or the test is skipped."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run_tool(name, *arguments, send=b""):
    """Its output; it must end by itself, well."""
    return subprocess.run([tool(name), *map(str, arguments)], input=send, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS, check=True).stdout


def curl(*arguments, send=b""):
    """What it brings, straight from the server."""
    return run_tool("curl", "-sS", "--noproxy", "*", *arguments, send=send)


def status_by_curl(*arguments, send=b""):
    return int(curl("-o", os.devnull, "-w", "%{http_code}", *arguments, send=send))


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """HTTP/1.1, and no log."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def http_server(handler, kind=http.server.ThreadingHTTPServer):
    """A web server of Python's."""
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def echo_once():
    """The address of a plain server that hears one client out before it answers all of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.sendall(read_all(peer))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
