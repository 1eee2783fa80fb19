# SPDX-License-Identifier: BSD-3-Clause
"""The program under test, and servers that live as long as a block."""
import contextlib
import os
import pathlib
import subprocess
import time

import pytest

BIN = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")).absolute()
PEAL = BIN / "peal"
PATIENCE_SECONDS = 60


@contextlib.contextmanager
def listening(*words):
    """A server's process, and its address, which it says. It ends well, by SIGTERM where the block did not end it."""
    if not pathlib.Path(words[0]).exists():
        pytest.skip(f"{words[0]} was not built")
    with subprocess.Popen([*map(str, words), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("listening on "), f"{words[0]} did not start: {line!r}"
            yield process, line.strip().removeprefix("listening on ")
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def wait_until(happened, what="what was waited for"):
    """There is nothing to wait on: looks again and again."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < give_up, f"never: {what}"
        os.sched_yield()
