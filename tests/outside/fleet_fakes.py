# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for the programs that scripts/fleet calls.

They are an ssh that runs the command on this machine, a peal that obeys --start-at, and a clock that is wrong. A host
is only a name. The environment variable does_HOST says what the peal of that host does.
"""
import contextlib
import os
import pathlib
import select
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE_SECONDS = 60

# Works as ssh does: it joins its words, lets a shell of the "host" split them again, and ends when that shell ends.
SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
host=$1
shift
if [ "$host" = gone ]; then
  echo "ssh: connect to host gone port 22: No route to host" >&2
  exit 255
fi
if [ -d "$FAKES/$host" ]; then PATH="$FAKES/$host:$PATH"; fi
FAKE_HOST=$host
export PATH FAKE_HOST
exec sh -c "$*"
"""

DATE = """#!/bin/sh
/bin/date -d '+3 seconds' "$@"
"""

NO_DATE = """#!/bin/sh
/bin/date +%s.N
"""

PEAL = """#!/usr/bin/python3
import json, os, signal, sys, time
words = sys.argv[1:]
if words[:2] == ["load", "merge"]:
    cut = words.index("--json")
    merged = {"merged": [json.load(open(name)) for name in words[2:cut]]}
    json.dump(merged, open(words[cut + 1], "w"))
    print("merged", cut - 2)
    sys.exit(int(os.environ.get("FAKE_MERGE", 0)))
host = os.environ.get("FAKE_HOST", "local")
does = os.environ.get("does_" + host, "0")
with open(os.environ["FAKE_STARTED"], "a") as started:
    started.write(f"{os.getpid()} {host}\\n")
start_at = float(words[words.index("--start-at") + 1])
if does == "hang":
    signal.pause()
if does.startswith("go:"):
    os.read(os.open(os.environ["FAKE_GO"], os.O_RDONLY), 1)
    does = does.removeprefix("go:")
if does == "usage":
    sys.exit("peal: there is no such option")
time.sleep(max(start_at - time.time(), 0))
if does == "garbage":
    print("{")
else:
    print(json.dumps({"host": host, "start_at": start_at, "words": words}))
print("a report in words", file=sys.stderr)
sys.exit(0 if does == "garbage" else int(does))
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Fakes:
    """A folder with the stand-ins. `environment` has the variables that they need."""

    def __init__(self, folder):
        self.folder, self.started, self.go = folder, folder / "started", folder / "go"
        write_program(folder / "ssh", SSH)
        write_program(folder / "peal", PEAL)
        write_program(folder / "skewed/date", DATE)
        write_program(folder / "clockless/date", NO_DATE)
        os.mkfifo(self.started)
        os.mkfifo(self.go)
        # Both FIFOs are open at both ends, so that no open() blocks. They can hold far more than the lines of a test.
        self.pipe, self.go_pipe = os.open(self.started, os.O_RDWR), os.open(self.go, os.O_RDWR)
        self.fleets, self.generators = [], []
        self.environment = os.environ | {"FAKES": str(folder), "FAKE_STARTED": str(self.started),
                                         "FAKE_GO": str(self.go)}

    def close(self):
        """Ends whatever a failing test has left running. A fleet that ends takes its generators along."""
        for process in self.fleets:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for pid in self.generators:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self.pipe)
        os.close(self.go_pipe)

    def let_go(self):
        """Lets one generator exit that waits for this call ("go:1")."""
        os.write(self.go_pipe, b".")

    def wait_for_generators(self, count):
        """Waits until `count` generators run, and returns their process ids."""
        lines = b""
        while lines.count(b"\n") < count:
            ready, _, _ = select.select([self.pipe], [], [], PATIENCE_SECONDS)
            assert ready, f"{count} generators were to start, and there are {lines.splitlines()}"
            lines += os.read(self.pipe, 4096)
        self.generators += [int(line.split()[0]) for line in lines.splitlines()]
        return self.generators

    def fleet(self, *words, **does):
        """Starts a fleet. `does` says what each host does: exit with a code, exit with a code after let_go() ("go:1"),
        or hang, garbage, usage."""
        environment = self.environment | {f"does_{host}": str(what) for host, what in does.items()}
        options = ["--ssh", f"{self.folder}/ssh -o BatchMode=yes", "--peal", self.folder / "peal", "--local-peal",
                   self.folder / "peal", "--out", self.folder / "out", "--delay", "200ms"]
        self.fleets.append(subprocess.Popen([ROOT / "scripts/fleet", *map(str, options), *words], env=environment,
                                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return self.fleets[-1]

    def run(self, *words, **does):
        """Runs a fleet to its end. Returns its exit code, its stdout and its stderr."""
        with self.fleet(*words, **does) as process:
            out, error = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, error
