# SPDX-License-Identifier: BSD-3-Clause
"""The tested program, and servers that run as long as a block."""
import contextlib
import os
import pathlib
import subprocess

import pytest

from programs import PATIENCE_SECONDS

BIN = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")).absolute()
PEAL = BIN / "peal"


@contextlib.contextmanager
def listening(*words):
    """Runs a server. Yields its process and the address that it prints.

    At the end of the block, SIGTERM ends the server, which must exit with 0.
    """
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


def peal(*words, **options):
    """Runs `peal` to its end. The result has the exit code and both outputs."""
    usual = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": PATIENCE_SECONDS}
    return subprocess.run([PEAL, *map(str, words)], check=False, **usual | options)
