# SPDX-License-Identifier: BSD-3-Clause
"""Runs `peal load judge`, which decides what may be said about a ratio. docs/load.md has its rules.

The judging program is that of the folder PEAL_BIN_DIR, by default build/release/bin, whatever program is measured.
"""

import json
import math
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

LESS, MORE, WITHIN, OUTSIDE, AT_THE_BOUND = "less", "more", "within", "outside", "at the bound"
APART = (LESS, MORE)
PROGRAM = Path(os.environ.get("PEAL_BIN_DIR") or Path(__file__).parents[2] / "build/release/bin").absolute() / "peal"


class NoJudge(OSError):
    """The judging program is missing or failed. The message says why in one sentence."""


def need() -> None:
    """Raises NoJudge if the program is missing. Must be called before anything is measured."""
    if not os.access(PROGRAM, os.X_OK):
        raise NoJudge(f"{PROGRAM}, which judges the ratios, is missing: run `make build`, or set PEAL_BIN_DIR to the "
                      "folder of a built peal")


def question(logs: Sequence[float | None], subject: str = "", rival: str = "", **more) -> dict:
    """Returns a question for the judge about a pair. `logs` are the pair's log ratios, one per restart. `more` has
    further keys of `peal load judge`; None and infinite values are dropped."""
    asked = {key: value for key, value in more.items() if value not in (None, math.inf)}
    restarts = [None if log is None else math.exp(log) for log in logs]
    return {"subject": subject, "rival": rival, "restarts": restarts} | asked


def ask(questions: list[dict]) -> list[dict]:
    """Returns the judge's answers in order. Each has ratio, low, high, restarts, p, p_adjusted, verdict, why, sentence.
    Raises NoJudge."""
    if not questions:
        return []
    need()
    answered = subprocess.run([PROGRAM, "load", "judge", "--json", "-"], input=json.dumps({"ratios": questions}),
                              capture_output=True, text=True, check=False)
    if answered.returncode:
        raise NoJudge(f"{PROGRAM} load judge failed: {answered.stderr.strip()}")
    return json.loads(answered.stdout)["ratios"]


def alone(logs: Sequence[float | None], **more) -> str:
    """Returns the verdict on a single question, without a family."""
    return ask([question(logs, **more)])[0]["verdict"]
