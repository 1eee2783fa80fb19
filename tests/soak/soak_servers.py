# SPDX-License-Identifier: BSD-3-Clause
"""The servers of soak.py: real programs with few fds and little memory, and functions that observe them."""
import asyncio
import json
import os
import pathlib
import random
import resource
import select
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "examples"))
from programs import open_files  # noqa: E402

BIN = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin"))
PATIENCE_SECONDS = 240  # the limit of a wait, which may take as long as a timeout of the servers (a minute)
FEW_FDS = 48  # the limit of open fds of a server
# The soft mark of the memory budget. Four clients that never read exceed it. The hard mark is 2 MiB.
LITTLE_MEMORY = "1MiB"
ENGINES = ("epoll", "io_uring")
KINDS = ("http", "callbacks", "coroutines", "chat")

# The files of the web server. The last one is for slow downloads.
FILES = {f"/{name}.bin": random.Random(name).randbytes(size)
         for name, size in (("small", 100), ("page", 20_000), ("large", 900_000), ("slow", 160 * 1024))}


def command(kind, engine, root):
    if kind == "chat":
        return [BIN / "examples" / "websocket_chat", "127.0.0.1:0", engine, "127.0.0.1:0"]
    serve = [BIN / "peal", "serve", "http" if kind == "http" else "pingpong", "--listen", "127.0.0.1:0", "--inspect",
             "127.0.0.1:0", "--engine", engine, "--memory", LITTLE_MEMORY]
    return serve + (["--root", root] if kind == "http" else ["--style", kind])


def write_files(root):
    for name, data in FILES.items():
        (root / name[1:]).write_bytes(data)


class Server:
    """One program. Its log file is kept after the program has ended."""

    def __init__(self, kind, engine, folder):
        self.kind, self.name = kind, f"{kind} on {engine}"
        self.log = folder / f"{kind}-{engine}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                list(map(str, command(kind, engine, folder / "files"))), stdout=log, stderr=log,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FEW_FDS, FEW_FDS)))
        self.address = self.said("listening on ", but="inspector")
        self.page = self.said("the inspector listens on ")

    def said(self, words, but="\0"):
        """Waits for a line of the log that contains `words` and not `but`. Returns the address after `words`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            for line in self.log.read_text(errors="replace").splitlines():
                if words in line and but not in line:
                    host, _, port = line.rpartition(words)[2].rpartition(":")
                    return host, int(port)
            select.select([], [], [], 0.01)
        raise AssertionError(f"{self.name} did not log '{words}', see {self.log}")

    async def facts(self):
        """Returns the facts of the inspector about the loops and the server. Returns None if the server has no fd to
        answer.
        """
        try:
            reader, writer = await asyncio.open_connection(*self.page)
            try:
                writer.write(b"GET /json HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                head, _, body = (await asyncio.wait_for(reader.read(-1), 20)).partition(b"\r\n\r\n")
            finally:
                writer.close()
            if not head.startswith(b"HTTP/1.1 200"):
                return None
        except (OSError, asyncio.TimeoutError):
            return None
        told = json.loads(body)
        server, loops = told["servers"][0], told["loops"]
        return server | {"blocks_in_use": sum(loop["blocks_in_use"] for loop in loops),
                         "shed": sum(loop["accepts_shed"] for loop in loops)}

    def fds(self):
        """Returns the names of the open fds, without files.

        A web server keeps files open for 10 s after their last use.
        """
        return sorted(fd for fd in open_files(self.process.pid) if not fd.endswith(tuple(FILES)))

    def resident_kib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError(f"{self.name} has no resident memory")

    def end(self):
        """Ends the program by SIGTERM, or the chat by SIGINT. Returns its exit code."""
        self.process.send_signal(signal.SIGINT if self.kind == "chat" else signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
