# SPDX-License-Identifier: BSD-3-Clause
"""Runs the example programs, and other people's clients against them. Whatever a test starts is gone when it ends."""
import concurrent.futures
import contextlib
import http.client
import http.server
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
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


def peak_kib(pid):
    """The most memory that process has had."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1])


def wait_until(happened, what="what was waited for"):
    """There is nothing to wait on: looks again and again. What it saw at last."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (seen := happened()):
        assert time.monotonic() < give_up, f"never: {what}"
        os.sched_yield()
    return seen


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

    def type(self, data):
        """As somebody at its keyboard would."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self):
        """The next line it prints, without its end; fails when none comes."""
        return self._lines.next()

    def has_output(self):
        return bool(self._lines.rest) or bool(select.select([self.process.stdout], [], [], 0)[0])

    def address(self):
        """Of its "listening on" line: host and port."""
        return parted(self.line().removeprefix("listening on "))

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


def parted(place):
    """Host and port of HOST:PORT."""
    host, _, port = place.rpartition(":")
    return host, int(port)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def connect(address):
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def read_all(peer):
    """What comes until the end."""
    chunks = []
    while chunk := peer.recv(65536):
        chunks.append(chunk)
    return b"".join(chunks)


def reset(peer):
    """Ends at once, by RST."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


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


def answered(client, method, path, body=None, fields={}, **more):
    """A client's next answer, and its body."""
    client.request(method, path, body, fields, **more)
    answer = client.getresponse()
    return answer, answer.read()


def ask(address, method, path, *words, **more):
    """The same on a connection of its own, in the clear."""
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)) as client:
        return answered(client, method, path, *words, **more)


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

    def answer(self, status, body=b"", most=None, **fields):
        """Of the body, `most` bytes; then the end, too soon."""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:most])
        self.close_connection |= most is not None


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
def one_client(play):
    """The address of a server that accepts one client and gives it to `play`, whose failure is the test's. Without a
    client in time the address is closed: a client that comes later is refused, and does not wait for ever."""
    def serve():
        try:
            peer, _ = listener.accept()
        except TimeoutError:
            listener.close()
            raise
        with peer:
            peer.settimeout(PATIENCE_SECONDS)
            play(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener, concurrent.futures.ThreadPoolExecutor(1) as pool:
        listener.settimeout(PATIENCE_SECONDS)
        played = pool.submit(serve)
        yield listener.getsockname()
        played.result(PATIENCE_SECONDS)


def echo_once():
    """The address of a plain server that hears one client out before it answers all of it."""
    return one_client(lambda peer: peer.sendall(read_all(peer)))
