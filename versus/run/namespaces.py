# SPDX-License-Identifier: BSD-3-Clause
"""A second machine for the poor, and for tests: a network namespace of this one, at the other end of a pair of virtual
interfaces, whose speed can be limited; and a shell that leads there, in the place of ssh.

    python3 -m versus.run.namespaces --mbit 1000 -- \\
        python3 -m versus quick --server-host box2 --remote-shell {shell}

It takes root, `ip` and `tc` (Debian: iproute2). Whatever happens to who made it, the namespace goes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Nobody's addresses, kept for measurements (RFC 2544); a link takes four of them.
NETWORK = "198.18"
LINKS = 1 << 14
# What is still there would keep the namespace, and with it the links.
REMOVE = 'read nothing; ip netns pids "$1" | xargs -r kill -KILL; ip netns delete "$1"; ip link delete "$2"; true'
# For a moment's burst, and for what waits: a tenth of a second at that speed.
BURST, WAIT = "256kb", "100ms"


class CannotMake(RuntimeError):
    """There is no second place here: one sentence why."""


class Namespace:
    """A namespace with a veth pair to this one, for the length of a `with`. Raises CannotMake."""

    _made = 0  # by this process

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
            raise CannotMake(f"there is no `{missing}` here")
        self._run("ip", "netns", "add", self.name)
        # Ends when its stdin does, with this process at the latest, and takes the namespace with it.
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
        """A program that is called as ssh is: HOST COMMAND."""
        return str(Path(self._folder.name) / "shell")

    def cut(self) -> None:
        """From now on nothing gets through, and nobody is told. At the far end: with the near one the way there would
        go, and another be taken."""
        self._run("ip", "-n", self.name, "link", "set", self.far_link, "down")

    @staticmethod
    def _run(*words: str) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotMake(f"`{' '.join(words)}` failed: {done.stderr.strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m versus.run.namespaces", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=float, help="the link's speed, each way (default: none but the CPU's)")
    parser.add_argument("command", nargs="+", help="what is run here; {shell} in it leads to the other place")
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
