# SPDX-License-Identifier: BSD-3-Clause
"""Contenders in other languages: if one cannot be built, a .missing file gives the reason, and the build does not
fail."""
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOOLS = ("bash", "cat", "cp", "env", "grep", "mkdir", "rm", "tail", "timeout")


@pytest.fixture
def build(tmp_path):
    """Returns a function that runs foreign.sh and returns the folder of programs. The only compilers on the PATH are
    the scripts that the test gives as NAME=SCRIPT."""
    (tmp_path / "tools").mkdir()
    for tool in TOOLS:
        (tmp_path / "tools" / tool).symlink_to(shutil.which(tool))

    def run(**compilers):
        for name, script in compilers.items():
            path = tmp_path / "tools" / name
            path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
            path.chmod(0o755)
        result = subprocess.run([HERE / "foreign.sh", HERE, tmp_path / "work", tmp_path / "bin"], text=True, timeout=60,
                                env={"PATH": str(tmp_path / "tools")}, capture_output=True)
        assert result.returncode == 0, result.stderr
        return tmp_path / "bin"

    return run


def test_no_toolchain_is_no_failure(build):
    programs = build()
    for name in ("http_go", "go_tls"):
        assert (programs / f"{name}.missing").read_text() == "go is not installed\n"
    assert (programs / "http_hyper.missing").read_text() == "cargo is not installed\n"


def test_a_failing_build_gives_its_first_error_as_the_reason(build):
    programs = build(cargo="echo compiling; echo 'error: failed to download hyper' >&2; echo more; exit 101")
    assert (programs / "http_hyper.missing").read_text() == (
        "cargo could not build it: error: failed to download hyper\n")


def test_a_program_that_builds_now_loses_its_missing_file(build):
    build()
    programs = build(go='while [ "$1" != -o ]; do shift; done; echo built >"$2"')
    for name in ("http_go", "go_tls"):
        assert (programs / name).read_text() == "built\n" and not (programs / f"{name}.missing").exists()


def test_a_program_that_no_longer_builds_is_deleted(build):
    build(go='while [ "$1" != -o ]; do shift; done; echo built >"$2"')
    programs = build(go="exit 1")
    assert not (programs / "http_go").exists() and (programs / "http_go.missing").exists()
