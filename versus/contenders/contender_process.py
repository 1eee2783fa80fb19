# SPDX-License-Identifier: BSD-3-Clause
"""Starts a contender's program on a free port for a test, talks to it and ends it. Also has the client steps that
several tests share.

The tests use built programs: PEAL_BIN_DIR names the folder that holds contenders/. Tests of programs that are not built
are skipped.
"""
import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import contender_certificate
from versus.built_programs import built
from versus.lockstep import receive

# The folders with the clients that the tests of foreign programs use.
sys.path += [str(Path(__file__).parents[2] / "tests" / folder) for folder in ("outside", "examples")]

SERVE_HTTP = ("serve", "http", "--server-name", "bench", "--say-keep-alive")
# Contenders that have no program of their own: they are commands of peal's program (versus/roster.py). With a drain
# time of 100 ms, a client that stays connected does not delay the server's end.
OF_PEAL = {f"{kind}_peal_{name}": (*serve, "--engine", engine, "--drain", "100ms")
           for kind, serve in (("http", SERVE_HTTP), ("https", SERVE_HTTP), ("tls", ("serve", "pingpong")))
           for name, engine in (("epoll", "epoll"), ("uring", "io_uring"))}
# Contenders that speak TLS. The value is the contender whose program serves it.
OF_TLS = {"raw_tls": "raw_tls", "raw_tls_gather": "raw_tls_gather", "libevent_tls": "libevent_tls",
          "asio_tls": "asio_tls", "go_tls": "go_tls", "https_raw": "https_raw", "https_beast": "https_beast",
          "https_nginx": "http_nginx", "https_go": "http_go", "https_hyper": "http_hyper",
          **{name: "peal" for name in OF_PEAL if name.startswith(("tls_", "https_"))}}
ECHOES_OVER_TLS = [name for name in OF_TLS if not name.startswith("https_")]
PATIENCE_S = 30
# Command lines that every contender without TLS must refuse.
WRONG_WORDS = [[], ["--listen"], ["--listen", "nonsense"], ["--listen", "127.0.0.1:0", "-x", "1"],
               ["--listen", "127.0.0.1:0", "--threads", "0"]]


def program(name):
    return str(built("peal" if name in OF_PEAL else f"contenders/{OF_TLS.get(name, name)}"))


def command(name):
    return [program(name), *OF_PEAL.get(name, ()), *(contender_certificate.words() if name in OF_TLS else ())]


class Server:
    def __init__(self, name, threads=1, fd_limit=None, more=()):
        def limit_fds():
            if fd_limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (fd_limit, fd_limit))

        self.is_over_tls = name in OF_TLS
        words = [*command(name), "--listen", "127.0.0.1:0", "--threads", str(threads), *more]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=limit_fds)
        line = self.process.stdout.readline()
        if not line.startswith("listening on 127.0.0.1:"):
            self.end()
            pytest.fail(f"{name} did not start: {line!r}")
        self.port = int(line.rsplit(":", 1)[1])
        self.address = f"127.0.0.1:{self.port}"

    def connect(self):
        """Opens a client's connection, over TLS if the server speaks TLS."""
        return contender_certificate.over(self.connect_plainly()) if self.is_over_tls else self.connect_plainly()

    def connect_plainly(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
        if "io_uring is not available here" in errors:
            pytest.skip("io_uring is not available here")
        return self.process.returncode

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(name, **options):
    """Runs a server while the block runs."""
    running = Server(name, **options)
    try:
        yield running
    finally:
        assert running.end() == 0, "the server must outlive its clients and end with exit code 0"


def echo_once(stream, message):
    stream.sendall(message)
    assert receive(stream, len(message)) == message


def run_client(client, *arguments):
    """Runs a bare client and returns its counts."""
    result = subprocess.run([program(client), *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)


def assert_holds(server, count, client, *arguments):
    """Asserts that a bare client holds `count` connections until its input ends."""
    with subprocess.Popen([program(client), server.address, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as child:
        assert child.stdout.readline() == f"ready {count}\n"
        assert child.poll() is None
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) >= count
        child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0
