# SPDX-License-Identifier: BSD-3-Clause
"""Runs the example programs, and other people's clients. Everything that a test starts is ended with the test."""
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
    """Returns the names of the files that a process has open (proc(5)), including files without a name.

    An fd that is closed meanwhile is left out.
    """
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return names


def peak_kib(pid):
    """Returns the peak of the process's memory."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)[1])


def wait_until(happened, what="the condition is true"):
    """Calls `happened` again and again until it returns something true, and returns that.

    It is for conditions that nothing reports.
    """
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (seen := happened()):
        assert time.monotonic() < give_up, f"timed out waiting until {what}"
        os.sched_yield()
    return seen


class Lines:
    """Reads lines from a pipe."""

    def __init__(self, pipe):
        self._pipe = pipe
        self.rest = b""
        self.seen = []

    def next(self):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self._pipe], [], [], max(give_up - time.monotonic(), 0))
            data = os.read(self._pipe.fileno(), 65536) if ready else b""
            assert data, f"no further line, only {self.rest!r}; before it came {self.seen}"
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        self.seen.append(line.decode())
        return self.seen[-1]

    def until(self, part):
        while part not in (line := self.next()):
            pass
        return line


class Program:
    """Runs an example. Its standard streams are pipes."""

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
        """Types as a user at a keyboard would."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self):
        """Returns the next line that the program prints, without its end. Fails if none comes."""
        return self._lines.next()

    def has_output(self):
        return bool(self._lines.rest) or bool(select.select([self.process.stdout], [], [], 0)[0])

    def address(self):
        """Reads the line "listening on HOST:PORT". Returns host and port."""
        return parted(self.line().removeprefix("listening on "))

    def end(self):
        """Sends SIGINT, as Ctrl-C would. Returns the exit code, the remaining output, and stderr."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self):
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, (self._lines.rest + out).decode(), err.decode()


def run_program(name, *arguments, **options):
    """Runs an example that ends by itself. Returns its exit code, its stdout and its stderr."""
    with Program(name, *arguments, **options) as program:
        return program.wait()


def joined(address):
    return f"{address[0]}:{address[1]}"


def parted(place):
    """Splits HOST:PORT into host and port."""
    host, _, port = place.rpartition(":")
    return host, int(port)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def connect(address):
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def read_all(peer):
    """Returns all bytes up to the end of the connection."""
    chunks = []
    while chunk := peer.recv(65536):
        chunks.append(chunk)
    return b"".join(chunks)


def reset(peer):
    """Ends the connection at once, by RST."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def read_exactly(peer, size):
    data = b""
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        assert chunk, f"the connection ended after {len(data)} of {size} bytes"
        data += chunk
    return data


def read_head(peer):
    """Reads an HTTP head, and no byte after it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = peer.recv(1)
        assert byte, head
        head += byte
    return head


def answered(client, method, path, body=None, fields={}, **more):
    """Sends a request. Returns the answer and its body."""
    client.request(method, path, body, fields, **more)
    answer = client.getresponse()
    return answer, answer.read()


def ask(address, method, path, *words, **more):
    """Sends a request on a connection of its own, without TLS. Returns the answer and its body."""
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)) as client:
        return answered(client, method, path, *words, **more)


def tool(name):
    """Returns the path of a program of the system. If it is not installed, the test is skipped."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run_tool(name, *arguments, send=b""):
    """Runs a program of the system, which must succeed. Returns its output."""
    return subprocess.run([tool(name), *map(str, arguments)], input=send, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS, check=True).stdout


def curl(*arguments, send=b""):
    """Runs curl without a proxy. Returns its output."""
    return run_tool("curl", "-sS", "--noproxy", "*", *arguments, send=send)


def status_by_curl(*arguments, send=b""):
    return int(curl("-o", os.devnull, "-w", "%{http_code}", *arguments, send=send))


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 and logs nothing."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", most=None, **fields):
        """Answers. If `most` is given, sends only so many bytes of the body and then ends the connection too early."""
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
    """Runs a web server written in Python."""
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
    """Runs a server that accepts one client and calls `play` with it. Yields the address.

    An exception in `play` fails the test. If no client comes in time, the server closes its socket, so that a later
    client is refused and does not wait for ever.
    """
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
    """Runs a plain server for one client. It reads to the client's end, then sends everything back."""
    return one_client(lambda peer: peer.sendall(read_all(peer)))
