# SPDX-License-Identifier: BSD-3-Clause
"""Finds templates and inline functions that one object of a library uses and does not define, because its source has
not included their definition. It links as long as another object happens to define them; with other options, where
the compiler inlines them there, it does not.

    borrowed_symbols.py ARCHIVE...
"""

import subprocess
import sys

WEAK = set("WVu")
STRONG = set("TDBRAGSC")
# Those of a class are emitted beside its first virtual function that is not inline, wherever they are used.
OF_CLASSES = ("_ZTV", "_ZTI", "_ZTS", "_ZTT")


def symbols(archives: list[str]) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """The objects that want each symbol; the symbols with a weak definition, and those with a strong one."""
    wanted: dict[str, set[str]] = {}
    weak: set[str] = set()
    strong: set[str] = set()
    for archive in archives:
        listing = subprocess.run(["nm", "-A", archive], capture_output=True, text=True, check=True).stdout
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


def borrowed(archives: list[str]) -> list[tuple[str, str]]:
    """(object, symbol) for each symbol that is wanted where it is not defined, and defined only weakly elsewhere."""
    wanted, weak, strong = symbols(archives)
    return sorted((place, name) for name, places in wanted.items()
                  if name in weak and name not in strong and not name.startswith(OF_CLASSES) for place in places)


def main(archives: list[str]) -> int:
    findings = borrowed(archives)
    for place, name in findings:
        plain = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{place}: uses {plain}, whose definition its source does not include")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
