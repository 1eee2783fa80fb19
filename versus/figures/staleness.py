# SPDX-License-Identifier: BSD-3-Clause
"""Whether code has changed since a figure was measured. Changes of comments and of white space do not count."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("peal/engine", "peal/net", "peal/http", "peal/tls")
_COMMENT = re.compile(r"//.*")  # also cuts a text that holds "//", in both versions alike


def _git(*words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    return done.stdout if done.returncode == 0 else None


def bare(text: str) -> str:
    """The code alone."""
    return re.sub(r"\s+", "", _COMMENT.sub("", text))


@cache
def changed_since(commit: str) -> tuple[str, ...] | None:
    """The sources under CODE whose code has changed since. None: this clone does not know the commit, or it was
    measured with changes that were in no commit."""
    names = None if " " in commit else _git("diff", "--name-only", commit, "--", *CODE)
    if names is None:
        return None
    found = []
    for name in names.split("\n"):
        if not name or re.search(r"_(test|bench)\.\w+$", name):
            continue
        now = ROOT / name
        text = now.read_text(encoding="utf-8") if now.exists() else ""
        if bare(_git("show", f"{commit}:{name}") or "") != bare(text):
            found.append(name)
    return tuple(found)


def words(commit: str) -> str:
    """" Stale: ..." if the figures of that commit are, else an empty text."""
    changed = changed_since(commit)
    if changed is None:
        return " **Stale**: the commit is not in this repository."
    if not changed:
        return ""
    others = f" and {len(changed) - 1} more files have" if len(changed) > 1 else " has"
    return f" **Stale**: `{changed[0]}`{others} changed since."


def stale(ledger: dict) -> list[str]:
    """The names of the figures that are stale, for `tools/tidy.py`."""
    entries = [(f"bench {name}", entry) for name, entry in ledger["bars"].items()]
    entries += [(f"table {name}", entry) for name, entry in ledger["tables"].items()]
    return [name for name, entry in entries if words(entry["commit"])]
