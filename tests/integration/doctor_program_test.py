# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `peal doctor`, run by a shell: with a low limit of open files, and with wrong options."""
import json
import os
import pathlib
import subprocess

PEAL = pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")) / "peal"
HARD = "open files, hard (ulimit -Hn)"


def doctor(*words, before="true"):
    """Runs `peal doctor` in a shell, after the shell command `before`."""
    return subprocess.run(["bash", "-c", f'{before} && exec "$0" doctor --look 1ms "$@"', PEAL, *words],
                          capture_output=True, text=True, timeout=60, check=False)


def test_a_low_limit_of_open_files_is_named_and_mended():
    ran = doctor("--json", before="ulimit -n 700")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = {row["name"]: row for row in json.loads(ran.stdout)["findings"]}[HARD]
    assert found["value"] == "700"
    assert found["verdict"] == "bad"
    assert "At most 500 connections a process, or 250 socketpairs" in found["here"]
    assert found["mend"].startswith("sudo prlimit --pid $$ --nofile=")


def test_a_soft_limit_below_the_hard_one():
    ran = doctor("--json", before="ulimit -Sn 256")
    found = {row["name"]: row for row in json.loads(ran.stdout)["findings"]}["open files, soft (ulimit -Sn)"]
    assert (found["value"], found["verdict"]) == ("256", "limits")
    assert found["mend"].startswith("ulimit -Sn ")


def test_the_text_fits_a_hundred_columns_and_counts_what_it_shows():
    ran = doctor("--all", before="ulimit -n 700")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert lines[-1] == (f"{rows.count('ok')} ok, {rows.count('limits')} limits, {rows.count('bad')} bad, "
                         f"{rows.count('unknown')} not readable here. Nothing was changed.")


def test_called_wrongly():
    ran = doctor("--look", "soon")
    assert ran.returncode == 2
    ran = doctor("--frobnicate")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("peal: ")


def test_an_answer_that_cannot_be_written():
    ran = doctor(before="exec >/dev/full")
    assert (ran.returncode, ran.stderr) == (1, "peal: what was found could not be written\n")
