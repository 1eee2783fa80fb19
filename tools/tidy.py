#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the rules of the house that no compiler checks, and prints what each floor spends of its token budget.

tidy.py [--hints] [ROOT] prints one line a finding, `path:line: rule: sentence`, and exits 1 when there is one. There
is no list of waivers: what a rule forbids is changed, or the rule is.
"""
import argparse
import sys
from pathlib import Path

import tidy_rules_documents
import tidy_rules_house
import tidy_rules_tests
import tidy_rules_text
import tidy_rules_unity
import tidy_rules_words
from tidy_tree import Tree

REPOSITORY = Path(__file__).resolve().parent.parent
MODULES = (tidy_rules_house, tidy_rules_text, tidy_rules_words, tidy_rules_tests, tidy_rules_documents,
           tidy_rules_unity)
RULES = [rule for module in MODULES for rule in module.RULES]


def findings(tree):
    """Every finding as (path, line, rule, sentence), in the order of the files."""
    return sorted({finding for rule in RULES for finding in rule(tree)})


def budget_table(tree):
    """One line per floor of the library: lines and tokens of code without tests, and the budget of tokens."""
    budget, spent = tidy_rules_house.TOKEN_BUDGET, tidy_rules_house.spent(tree)
    rows = [(floor, lines, tokens, budget.get(floor, "-")) for floor, (lines, tokens) in spent.items()]
    rows.append(("together", *map(sum, zip(*spent.values(), strict=True)), sum(budget.values())))
    return "\n".join(f"{folder:<14}{lines:>11}{tokens:>8}{most:>8}"
                     for folder, lines, tokens, most in [("folder", "code lines", "tokens", "budget"), *rows])


def stale_figures():
    """A line about the figures of this repository that were measured before the code changed; empty: there are none."""
    sys.path.insert(0, str(REPOSITORY))
    from versus.figures import ledger, staleness

    stale = staleness.stale(ledger.read())
    return f"stale figures, to be measured again: {', '.join(stale)}" if stale else ""


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=REPOSITORY, help="the repository")
    parser.add_argument("--hints", action="store_true",
                        help="also list comments that open with What, As or Not: often the subject is missing")
    parsed = parser.parse_args(arguments)
    tree = Tree(parsed.root)
    for hint in tidy_rules_words.hints(tree) if parsed.hints else []:
        print(hint)
    found = findings(tree)
    for path, line, rule, sentence in found:
        print(f"{path}:{line}: {rule}: {sentence}")
    print(budget_table(tree))
    if Path(parsed.root).resolve() == REPOSITORY and (line := stale_figures()):
        print(line)
    print(f"tidy: {len(found)} findings in {len(tree.files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
