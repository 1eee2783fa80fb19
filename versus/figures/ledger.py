# SPDX-License-Identifier: BSD-3-Clause
"""docs/figures.json: the figures that the documents show, as runs measured them, each with date, commit and command."""

import json
import re
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "docs/figures.json"
SCHEMA = 1
CELL_KEYS = ("name", "title", "unit", "floor", "restarts")
ROW_KEYS = ("contender", "ratio", "low", "high", "says", "floor", "server_us")


class BadLedger(ValueError):
    """docs/figures.json, or the results to be recorded, cannot be used: one sentence why."""


def read(path: Path = PATH) -> dict:
    """The ledger; an empty one if there is no file yet."""
    if not path.exists():
        return {"schema": SCHEMA, "bars": {}, "tables": {}}
    ledger = json.loads(path.read_text(encoding="utf-8"))
    if ledger.get("schema") != SCHEMA:
        raise BadLedger(f"{path} has the schema {ledger.get('schema')}, and this program writes {SCHEMA}.")
    return ledger


def write(ledger: dict, path: Path = PATH) -> None:
    path.write_text(json.dumps(ledger, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def record_bars(ledger: dict, figure: str, rows: list[dict], commit: str) -> None:
    """Takes over what `versus bench --only FIGURE` has measured now, in place of what was there."""
    ledger["bars"][figure] = {
        "date": time.strftime("%Y-%m-%d"), "commit": commit,
        "command": f"/usr/bin/python3 -m versus bench --only {figure}",
        "rows": [{key: row[key] for key in ("figure", "bar", "measured", "verdict")} for row in rows]}


def _kernel(full: str) -> str:
    """"Linux 6.18 x86_64" for "Linux 6.18.44-distribution x86_64"."""
    return re.sub(r"^(\w+ \d+\.\d+)\S*", r"\1", full)


def record_table(ledger: dict, name: str, results: dict) -> None:
    """Takes over the costs of a run of the quick lab. `results` is what its results.json holds."""
    if results.get("plan", {}).get("name") != "quick" or "Commit" not in results.get("environment", {}):
        raise BadLedger("These are no results of the quick lab in a clone of the repository.")
    machine = results["environment"]
    ledger["tables"][name] = {
        "date": results["started"][:10], "commit": machine["Commit"], "command": results["command"],
        "machine": f"{machine['CPUs usable']} CPUs, {_kernel(machine['Kernel'])}",
        "claims": {"met": sum(claim["verdict"] == "met" for claim in results["claims"]),
                   "declared": len(results["claims"])},
        "cells": [{key: cell[key] for key in CELL_KEYS} |
                  {"rows": [{key: row[key] for key in ROW_KEYS} for row in cell["rows"]]}
                  for cell in results["cells"]]}
