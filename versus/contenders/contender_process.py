# SPDX-License-Identifier: BSD-3-Clause
"""A contender's program under test: started on a free port, spoken to, ended.

Runs against built programs: PEAL_BIN_DIR names the folder that holds contenders/. What was not built is skipped.
"""
import os
import resource
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import contender_certificate

BIN_DIR = Path(os.environ.get("PEAL_BIN_DIR", "build/release/bin")) / "contenders"
SERVE_HTTP = ("serve", "http", "--server-name", "bench", "--say-keep-alive", "--engine")
# The contenders that are not a program of their own: peal's (versus/roster.py).
OF_PEAL = {"http_peal_epoll": (*SERVE_HTTP, "epoll"), "http_peal_uring": (*SERVE_HTTP, "io_uring"),
           "https_peal_epoll": (*SERVE_HTTP, "epoll"), "https_peal_uring": (*SERVE_HTTP, "io_uring"),
           "tls_peal_epoll": ("serve", "pingpong", "--engine", "epoll"),
           "tls_peal_uring": ("serve", "pingpong", "--engine", "io_uring")}
# Those that speak TLS, and of whom they are: another contender, where they are no program of their own.
OF_TLS = {"raw_tls": "raw_tls", "raw_tls_gather": "raw_tls_gather", "libevent_tls": "libevent_tls",
          "asio_tls": "asio_tls", "go_tls": "go_tls", "https_raw": "https_raw", "https_beast": "https_beast",
          "https_nginx": "http_nginx", "https_go": "http_go", "https_hyper": "http_hyper",
          **{name: "peal" for name in OF_PEAL if name.startswith(("tls_", "https_"))}}
PATIENCE_S = 30


def program(name):
    path = BIN_DIR.parent / "peal" if name in OF_PEAL else BIN_DIR / OF_TLS.get(name, name)
    if not path.exists():
        pytest.skip(f"{path} was not built")
    return str(path)


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
        """A client's connection; over TLS where the server speaks that."""
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
        return time_of(self.process.pid)


def time_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
