# SPDX-License-Identifier: BSD-3-Clause
"""Lets programs take turns on the same CPUs: one runs for some milliseconds while the others are stopped, so that noise
of the machine affects all of them. A program that measures its own CPU time is measured in the same way as in a
duel."""

import random
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack

from versus.run import process
from versus.run.process import Outcome

TURN_S = 0.03


def take_turns(commands: dict[str, list[str]], cpus: tuple[int, ...], seed: int | str,
               limit_s: float) -> dict[str, Outcome]:
    """Starts all programs and lets one at a time run (SIGCONT, SIGSTOP), in an order that is shuffled each round, until
    all have ended. After `limit_s`, the remaining ones are killed."""
    shuffler = random.Random(seed)
    with ExitStack() as files:
        started: dict[str, tuple[subprocess.Popen, object, object]] = {}
        try:
            for name, words in commands.items():
                out, complaints = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
                child = process.spawn(words, cpus, signal.SIGKILL, stdout=out, stderr=complaints)
                started[name] = (child, out, complaints)
                child.send_signal(signal.SIGSTOP)
            _play([child for child, _, _ in started.values()], shuffler, time.monotonic() + limit_s)
            in_time = {name: child.poll() is not None for name, (child, _, _) in started.items()}
        finally:
            for child, _, _ in started.values():
                if child.poll() is None:
                    child.kill()  # SIGKILL also ends stopped programs
                    child.wait()
        return {name: Outcome(child.returncode if in_time[name] else None, _read(out), _read(complaints)[:2000])
                for name, (child, out, complaints) in started.items()}


def _play(children: list[subprocess.Popen], shuffler: random.Random, until: float) -> None:
    while left := [child for child in children if child.poll() is None]:
        shuffler.shuffle(left)
        for child in left:
            if time.monotonic() >= until:
                return
            child.send_signal(signal.SIGCONT)
            if not process.wait_for_end(child, TURN_S):
                child.send_signal(signal.SIGSTOP)


def _read(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
