# SPDX-License-Identifier: BSD-3-Clause
"""Runs `peal serve` with workers, and plays its clients and the service manager to which it reports."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess

from peal_program import PEAL
from programs import PATIENCE_SECONDS, Lines, connect, parted, wait_until


class Service:
    """`peal serve` with workers, in a session of its own.

    Every master that replaces the first one is in this session, too.
    """

    def __init__(self, *words, program=PEAL, prefix=(), **options):
        command = [*prefix, program, "serve", *words]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True, **options)
        self.output, self.log = Lines(self.process.stdout), Lines(self.process.stderr)
        self.master = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        wait_until(self._killed)
        self.process.wait(PATIENCE_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()

    def address(self):
        return self.output.until("listening on ").removeprefix("listening on ")

    def tell(self, number):
        os.kill(self.master, number)

    def ends_well(self):
        """Ends the master by SIGTERM. Returns whether the process that was started exits with 0."""
        self.tell(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS) == 0

    def end(self):
        """Ends the master by SIGTERM, and waits until no process is left."""
        self.tell(signal.SIGTERM)
        wait_until(lambda: self.session() == [])

    def session(self):
        """Returns the living processes of the session."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(entry.name) and int(fields[3]) == self.process.pid and fields[0] not in "ZX":
                    found.append(int(entry.name))
        return found

    def _killed(self):
        """Kills all processes of the session. Returns whether there was none.

        A process that is born meanwhile is found by the next call.
        """
        alive = self.session()
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not alive

    def workers(self):
        return [int(pid) for pid in
                pathlib.Path(f"/proc/{self.master}/task/{self.master}/children").read_text().split()]

    def reload(self):
        self.tell(signal.SIGHUP)
        self.log.until("reloaded: ")
        self.log.until("the workers that made room are gone")

    def replace(self):
        """Replaces the master by a new one, and waits until the old one has ended. Returns the new one's address."""
        old = self.master
        self.tell(signal.SIGUSR2)
        self.master = int(self.log.until(" is to replace this one").split("process ")[1].split()[0])
        address = self.address()
        self.log.until("replaced by process")
        wait_until(lambda: old not in self.session())
        return address


def ask(address, words=b"hello"):
    with connect(parted(address)) as peer:
        peer.sendall(words)
        return peer.recv(len(words), socket.MSG_WAITALL)


def ask_at(path, words=b"hello"):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_SECONDS)
        peer.connect(str(path))
        peer.sendall(words)
        return peer.recv(len(words), socket.MSG_WAITALL)


class Manager:
    """Receives what systemd would receive."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(PATIENCE_SECONDS)
        self.environment = {**os.environ, "NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "100000"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def until(self, *heads):
        """Waits for messages that begin with `heads`, in this order. Other messages may come between. Returns them."""
        found = []
        for head in heads:
            while not (told := self.socket.recv(4096).decode()).startswith(head):
                pass
            found.append(told)
        return found
