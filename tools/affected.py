# SPDX-License-Identifier: BSD-3-Clause
"""What has to be looked at again since a commit at which all of it was found to be in order: the files that changed,
and the sources that include one of them. A change of the rules of the check affects everything.

The commit stands in .ci/deep-lint, which `make lint-deep` writes. A clone that does not have it knows of no such
commit: everything is affected.

    affected.py BUILD_FOLDER
"""
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = Path(".ci/deep-lint")
# What decides how sources are compiled and read.
RULES = re.compile(r"\.clang-tidy$|CMakePresets\.json$|cmake/(flags|library)\.cmake$|scripts/(lint|packages\.txt)$"
                   r"|tools/(affected|lint_sources|borrowed_symbols)\.py$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def _git(root, *words):
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changed_files(root=ROOT):
    """The files of the tree that are not as they were at the recorded commit, by their paths from the root; None:
    there is no such commit."""
    record = root / RECORD
    if not record.exists():
        return None
    differ = _git(root, "diff", "--name-only", "-z", record.read_text(encoding="utf-8").strip(), "--")
    fresh = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    if differ is None or fresh is None:
        return None
    return {name for name in (differ + fresh).split("\0") if name}


class Includes:
    """Which headers of the tree a file includes, and what these include. A header is known by the end of its path, as
    folders of headers differ from target to target: where two have the same, both count."""

    def __init__(self, root=ROOT):
        self._root = root
        self._of = {}
        self._headers = {}
        for path in root.rglob("*.h"):
            name = path.relative_to(root)
            if name.parts[0] != "build":
                self._headers.setdefault(path.name, []).append(str(name))

    def of(self, path):
        """`path` itself too; paths from the root."""
        found, ahead = set(), [path]
        while ahead:
            name = ahead.pop()
            if name not in found:
                found.add(name)
                ahead += self._directly(name)
        return found

    def _directly(self, path):
        if path not in self._of:
            text = (self._root / path).read_text(encoding="utf-8", errors="replace")
            self._of[path] = [header for name in INCLUDE.findall(text)
                              for header in self._headers.get(Path(name).name, [])
                              if ("/" + header).endswith("/" + name.lstrip("./"))]
        return self._of[path]


class Affected:
    """What of the tree is affected; `sources` are absolute paths."""

    def __init__(self, root=ROOT):
        self._root = root
        self._changed = changed_files(root)
        self._includes = Includes(root)
        self.is_all = self._changed is None or any(RULES.search(name) for name in self._changed)

    def of(self, sources):
        """Those that changed or include what changed."""
        if self.is_all:
            return list(sources)
        return [source for source in sources if not self._includes.of(self._name(source)).isdisjoint(self._changed)]

    def written(self, sources):
        """Sources in which each changed line is seen once: the changed sources and, for each changed header, the
        source of the same name, or else the first source that includes the header."""
        if self.is_all:
            return list(sources)
        names = {self._name(source): source for source in sources}
        found = {names[name] for name in self._changed if name in names}
        for header in sorted(name for name in self._changed if name.endswith(".h")):
            own = header.removesuffix(".h") + ".cc"
            includers = (source for name, source in names.items() if header in self._includes.of(name))
            source = names.get(own) or next(includers, None)
            found |= {source} if source else set()
        return sorted(found)

    def _name(self, source):
        return str(Path(source).relative_to(self._root)) if Path(source).is_relative_to(self._root) else str(source)


def object_of(command):
    words = shlex.split(command)
    return words[words.index("-o") + 1]


def main(arguments):
    """Of a build folder's sources the objects to be built, one a line; "all" where all of them are."""
    build = Path(arguments[0]).resolve()
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    affected = Affected()
    if affected.is_all:
        print("all")
        return
    objects = {entry["file"]: object_of(entry["command"]) for entry in entries}
    for source in affected.of(objects):
        print(objects[source])


if __name__ == "__main__":
    main(sys.argv[1:])
