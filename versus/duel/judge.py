# SPDX-License-Identifier: BSD-3-Clause
"""The seam to `peal load judge`: which word may be said of a ratio, and why none may. docs/load.md has its rules.

It is asked of the program in the folder PEAL_BIN_DIR, else of that in build/release/bin, whatever is measured.
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
    """The program that judges is missing or failed; the message says why in one sentence."""


def need() -> None:
    """Raises NoJudge if the program is missing. To be called before anything is measured."""
    if not os.access(PROGRAM, os.X_OK):
        raise NoJudge(f"{PROGRAM}, which judges the ratios, is not there: run `make build`, or name the folder of a "
                      "built peal with PEAL_BIN_DIR")


def question(logs: Sequence[float | None], subject: str = "", rival: str = "", **more) -> dict:
    """About a pair whose log ratio is one of `logs` in each restart; `more` as `peal load judge` reads it, without what
    is None or infinite."""
    asked = {key: value for key, value in more.items() if value not in (None, math.inf)}
    restarts = [None if log is None else math.exp(log) for log in logs]
    return {"subject": subject, "rival": rival, "restarts": restarts} | asked


def ask(questions: list[dict]) -> list[dict]:
    """An answer for each, in order: ratio, low, high, restarts, p, p_adjusted, verdict, why, sentence. Raises
    NoJudge."""
    if not questions:
        return []
    need()
    answered = subprocess.run([PROGRAM, "load", "judge", "--json", "-"], input=json.dumps({"ratios": questions}),
                              capture_output=True, text=True, check=False)
    if answered.returncode:
        raise NoJudge(f"{PROGRAM} did not judge: {answered.stderr.strip()}")
    return json.loads(answered.stdout)["ratios"]


def alone(logs: Sequence[float | None], **more) -> str:
    """The verdict of one that stands by itself."""
    return ask([question(logs, **more)])[0]["verdict"]
