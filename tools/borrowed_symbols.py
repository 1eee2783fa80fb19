# SPDX-License-Identifier: BSD-3-Clause
"""Finds templates and inline functions that one object of a library uses and does not define, because its source has
not included their definition. It links as long as another object happens to define them; with other options, where
the compiler inlines them there, it does not.

    borrowed_symbols.py LIBRARY... [--of OBJECT...]

With --of, what these objects use, of libraries that were built with other options.
"""

import argparse
import subprocess
import sys

WEAK = set("WVu")
STRONG = set("TDBRAGSC")
# Those of a class are emitted beside its first virtual function that is not inline, wherever they are used.
OF_CLASSES = ("_ZTV", "_ZTI", "_ZTS", "_ZTT")
OURS = "4peal"  # the namespace, mangled


def symbols(files: list[str]) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """The objects that want each symbol; the symbols with a weak definition, and those with a strong one."""
    wanted: dict[str, set[str]] = {}
    weak: set[str] = set()
    strong: set[str] = set()
    for file in files:
        listing = subprocess.run(["nm", "-A", file], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            place, _, symbol = line.rpartition(":")  # a mangled name has no colon
            kind, name = symbol.split()[-2:]
            if kind == "U":
                wanted.setdefault(name, set()).add(place)
            elif kind in WEAK:
                weak.add(name)
            elif kind in STRONG:
                strong.add(name)
    return wanted, weak, strong


def borrowed(libraries: list[str], objects: list[str] | None = None) -> list[tuple[str, str]]:
    """(object, symbol) for each symbol that an object needs and only a weak definition in another object provides. A
    symbol of peal's that nothing defines counts too: the compiler of the libraries inlined it."""
    wanted, weak, strong = symbols(objects or libraries)
    if objects:
        _, weak_there, strong_there = symbols(libraries)
        weak, strong = weak | weak_there, strong | strong_there
    return sorted((place, name) for name, places in wanted.items()
                  if (name in weak or OURS in name) and name not in strong and not name.startswith(OF_CLASSES)
                  for place in places)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--of", nargs="*", dest="objects", metavar="OBJECT")
    asked = parser.parse_args(arguments)
    findings = borrowed(asked.libraries, asked.objects)
    for place, name in findings:
        plain = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{place}: uses {plain}, whose definition its source does not include")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
