# SPDX-License-Identifier: BSD-3-Clause
"""The seam to `peal load duel`: the only module that knows its command line and its JSON."""

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from versus.quick.quick_plan import DuelCell, DuelClaim
from versus.roster import Contender
from versus.run import process

EXIT_DONE, EXIT_GATE = 0, 3
SPARE_S = 60.0  # beyond its budget, for a restart that takes long


class NoDuel(RuntimeError):
    """A duel could not be played: one sentence why; `contender`: who was to blame, or ""."""

    def __init__(self, sentence: str, contender: str = ""):
        super().__init__(sentence)
        self.contender = contender


@dataclass
class Duel:
    """What was played in one cell."""

    cell: DuelCell
    command: str
    found: dict  # the JSON
    left_out: list[str] = field(default_factory=list)


def command(program: str, cell: DuelCell, contenders: list[Contender], claims: list[DuelClaim], budget_s: float,
            seed: int, json_path: Path) -> list[str]:
    """The command line of a duel."""
    words = [program, "load", "duel", cell.kind]
    for contender in contenders:
        words += ["--run", f"{contender.name}={shlex.join(contender.command)}"]
    for claim in claims:
        words += ["--claim", claim.words]
    return words + cell.words() + ["--restarts", str(cell.restarts), "--budget", f"{budget_s:.1f}s",
                                   "--seed", str(seed), "--json", str(json_path)]


def _blamed(complaint: str, contenders: list[Contender]) -> str:
    """The contender that "peal: NAME: what went wrong" speaks of."""
    told = complaint.removeprefix("peal: ")
    return next((c.name for c in contenders if told.startswith((f"{c.name}: ", f"{c.name}-twin: "))), "")


def play(program: str, cell: DuelCell, contenders: list[Contender], claims: list[DuelClaim], budget_s: float, seed: int,
         folder: Path) -> Duel:
    """Plays one duel. Raises NoDuel."""
    # A duel has at least one restart: of everybody and the twin, a warming round among the others.
    least_s = (len(contenders) + 1) * (cell.rounds + 1) * cell.slice_ms / 1e3
    budget_s = max(budget_s, 1.1 * least_s)
    json_path = folder / f"duel-{cell.name}.json"
    json_path.unlink(missing_ok=True)
    names = {contender.name for contender in contenders}
    claims = [claim for claim in claims if {claim.subject, claim.rival} <= names]
    words = command(program, cell, contenders, claims, budget_s, seed, json_path)
    outcome = process.run(words, limit_s=budget_s + SPARE_S)
    if outcome.code not in (EXIT_DONE, EXIT_GATE):
        why = outcome.complaint or ("it did not end in time" if outcome.code is None else f"exit code {outcome.code}")
        raise NoDuel(why.removeprefix("peal: "), _blamed(why, contenders))
    try:
        return Duel(cell, shlex.join(words), json.loads(json_path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise NoDuel(f"{json_path} cannot be read: {error}") from error


def play_all(program: str, cell: DuelCell, contenders: list[Contender], claims: list[DuelClaim], budget_s: float,
             seed: int, folder: Path) -> Duel:
    """The same; whoever cannot play is left out and named. Raises NoDuel when nobody can."""
    left_out, playing = [], list(contenders)
    while playing:
        try:
            duel = play(program, cell, playing, claims, budget_s, seed, folder)
            duel.left_out = left_out
            return duel
        except NoDuel as error:
            if not error.contender:
                raise
            left_out.append(f"{cell.title}: {error}")
            playing = [contender for contender in playing if contender.name != error.contender]
    raise NoDuel(f"{cell.title}: nobody could play ({'; '.join(left_out)})")
