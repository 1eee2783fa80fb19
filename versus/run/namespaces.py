# SPDX-License-Identifier: BSD-3-Clause
"""Simulates a second machine, for tests and for people who have only one: a network namespace of this machine behind a
pair of virtual interfaces whose speed can be limited. A script runs commands there, in the place of ssh.

    python3 -m versus.run.namespaces --mbit 1000 -- \\
        python3 -m versus quick --server-host box2 --remote-shell {shell}

It needs root, `ip` and `tc` (Debian: iproute2). The namespace is removed even if this process is killed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Addresses reserved for measurements (RFC 2544). Each link uses four of them.
NETWORK = "198.18"
LINKS = 1 << 14
# Kills the processes in the namespace first: a living process would keep the namespace and the links.
REMOVE = 'read nothing; ip netns pids "$1" | xargs -r kill -KILL; ip netns delete "$1"; ip link delete "$2"; true'
# The limiter's bucket for short bursts, and its queue: a tenth of a second at that speed.
BURST, WAIT = "256kb", "100ms"


class CannotMake(RuntimeError):
    """The namespace cannot be made here. The text is one sentence that says why."""


class Namespace:
    """A namespace connected to this one by a veth pair, for the length of a `with`. Raises CannotMake."""

    _made = 0  # how many this process has made

    def __init__(self, mbit: float | None = None):
        Namespace._made += 1
        number = f"{os.getpid()}x{Namespace._made}"
        base = (os.getpid() + Namespace._made) % LINKS * 4
        self.name = f"peal{number}"
        self.near_link, self.far_link = f"pn{number}", f"pf{number}"
        self.near = f"{NETWORK}.{base // 256}.{base % 256 + 1}"
        self.far = f"{NETWORK}.{base // 256}.{base % 256 + 2}"
        self._mbit = mbit
        self._folder: tempfile.TemporaryDirectory | None = None
        self._remover: subprocess.Popen | None = None

    def __enter__(self) -> "Namespace":
        missing = next((tool for tool in ("ip", "tc") if not shutil.which(tool)), None)
        if missing:
            raise CannotMake(f"`{missing}` is not installed")
        self._run("ip", "netns", "add", self.name)
        # The shell ends when its stdin is closed, at the latest when this process ends, and then removes the namespace.
        self._remover = subprocess.Popen(["/bin/sh", "-c", REMOVE, "sh", self.name, self.near_link],
                                         stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._remover.stdin.close()
        self._remover.wait()
        if self._folder:
            self._folder.cleanup()

    def _make(self) -> None:
        self._run("ip", "link", "add", self.near_link, "type", "veth", "peer", "name", self.far_link, "netns",
                  self.name)
        self._run("ip", "address", "add", f"{self.near}/30", "dev", self.near_link)
        self._run("ip", "link", "set", self.near_link, "up")
        for words in (f"address add {self.far}/30 dev {self.far_link}", f"link set {self.far_link} up",
                      "link set lo up"):
            self._run("ip", "-n", self.name, *words.split())
        if self._mbit is not None:
            limit = f"root tbf rate {self._mbit:g}mbit burst {BURST} latency {WAIT}".split()
            self._run("tc", "qdisc", "add", "dev", self.near_link, *limit)
            self._run("tc", "-n", self.name, "qdisc", "add", "dev", self.far_link, *limit)
        self._folder = tempfile.TemporaryDirectory(prefix="peal-namespace-")
        script = Path(self.shell)
        script.write_text(f'#!/bin/sh\nshift  # the host\nexec ip netns exec {self.name} sh -c "$*"\n',
                          encoding="ascii")
        script.chmod(0o755)

    @property
    def shell(self) -> str:
        """The path of a program that is called like ssh: HOST COMMAND."""
        return str(Path(self._folder.name) / "shell")

    def cut(self) -> None:
        """Cuts the link: from now on all packets are lost, and no error reports it. The far end goes down: if the near
        end did, its route would disappear and packets would take another one."""
        self._run("ip", "-n", self.name, "link", "set", self.far_link, "down")

    @staticmethod
    def _run(*words: str) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotMake(f"`{' '.join(words)}` failed: {done.stderr.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m versus.run.namespaces", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=float, help="the link's speed in each direction (default: not limited)")
    parser.add_argument("command", nargs="+", help="the command to run on this side; {shell} in it is replaced by the "
                                                   "script that runs commands on the other side")
    options = parser.parse_args()
    try:
        with Namespace(options.mbit) as there:
            return subprocess.run([word.replace("{shell}", there.shell) for word in options.command],
                                  check=False).returncode
    except CannotMake as error:
        print(f"namespaces: {error}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
