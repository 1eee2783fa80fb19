#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the rules of the house that no compiler checks, and prints what each floor spends of its line budget.

tidy.py [ROOT] prints one line a finding, `path:line: rule: sentence`, and exits 1 when there is one. There is no
list of waivers: what a rule forbids is changed, or the rule is.
"""
import argparse
import sys
from pathlib import Path

import tidy_rules_house
import tidy_rules_tests
import tidy_rules_text
from tidy_tree import Tree

RULES = tidy_rules_house.RULES + tidy_rules_text.RULES + tidy_rules_tests.RULES


def findings(tree):
    """Every finding as (path, line, rule, sentence), in the order of the files."""
    return sorted({finding for rule in RULES for finding in rule(tree)})


def budget_table(tree):
    """One line per folder of the library: code lines without tests, and the budget where there is one."""
    spent = tidy_rules_house.spent_lines(tree)
    rows = [f"{'folder':<14}{'code lines':>11}{'budget':>8}"]
    for folder, lines in spent.items():
        rows.append(f"{folder:<14}{lines:>11}{tidy_rules_house.LINE_BUDGET.get(folder, '-'):>8}")
    rows.append(f"{'together':<14}{sum(spent.values()):>11}{sum(tidy_rules_house.LINE_BUDGET.values()):>8}")
    return "\n".join(rows)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent, help="the repository")
    tree = Tree(parser.parse_args(arguments).root)
    found = findings(tree)
    for path, line, rule, sentence in found:
        print(f"{path}:{line}: {rule}: {sentence}")
    print(budget_table(tree))
    print(f"tidy: {len(found)} findings in {len(tree.files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
