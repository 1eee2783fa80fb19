# SPDX-License-Identifier: BSD-3-Clause
import subprocess

import pytest

from affected import RECORD, Affected, object_of

FILES = {
    "peal/net/a.h": "#include <peal/net/b.h>\n", "peal/net/b.h": "", "peal/net/alone.h": "",
    "peal/net/a.cc": "#include <peal/net/a.h>\n", "peal/net/b.cc": "#include <peal/net/b.h>\n",
    "peal/net/c.cc": "#include <vector>\n", "peal/net/d.cc": '#include "alone.h"\n#include <peal/net/b.h>\n',
    "tools/affected.py": "",
}


@pytest.fixture
def tree(tmp_path):
    """A repository whose commit was found to be in order."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "all")
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text(git(tmp_path, "rev-parse", "HEAD"), encoding="utf-8")
    return tmp_path


def git(folder, *words):
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


def sources(tree):
    return sorted(str(path) for path in tree.rglob("*.cc"))


def names(found):
    return sorted(path.rsplit("/", 1)[1] for path in found)


def test_nothing_changed(tree):
    affected = Affected(tree)
    assert not affected.is_all
    assert affected.of(sources(tree)) == affected.written(sources(tree)) == []


def test_a_header_affects_who_includes_it_and_is_written_in_its_own_source(tree):
    (tree / "peal/net/b.h").write_text("int b();\n", encoding="utf-8")
    affected = Affected(tree)
    assert names(affected.of(sources(tree))) == ["a.cc", "b.cc", "d.cc"]
    assert names(affected.written(sources(tree))) == ["b.cc"]


def test_a_header_without_a_source_is_written_in_one_that_includes_it(tree):
    (tree / "peal/net/alone.h").write_text("int alone();\n", encoding="utf-8")
    affected = Affected(tree)
    assert names(affected.of(sources(tree))) == names(affected.written(sources(tree))) == ["d.cc"]


def test_a_source_that_is_changed_or_new(tree):
    (tree / "peal/net/c.cc").write_text("int c() { return 1; }\n", encoding="utf-8")
    (tree / "peal/net/e.cc").write_text("#include <peal/net/a.h>\n", encoding="utf-8")
    assert names(Affected(tree).of(sources(tree))) == ["c.cc", "e.cc"]
    git(tree, "add", ".")
    git(tree, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "more")
    assert names(Affected(tree).written(sources(tree))) == ["c.cc", "e.cc"]


def test_a_source_that_the_build_made_is_affected_by_what_it_includes(tree):
    made = tree / "build" / "alone" / "headers" / "alone.cc"
    made.parent.mkdir(parents=True)
    made.write_text("#include <peal/net/alone.h>\n", encoding="utf-8")
    (tree / ".gitignore").write_text("build/\n", encoding="utf-8")
    assert Affected(tree).of([str(made)]) == []
    (tree / "peal/net/alone.h").write_text("int alone();\n", encoding="utf-8")
    assert names(Affected(tree).of([str(made)])) == ["alone.cc"]


@pytest.mark.parametrize("spoil", ["record", "rules", "commit"])
def test_everything_is_affected(tree, spoil):
    if spoil == "record":
        (tree / RECORD).unlink()
    elif spoil == "rules":
        (tree / "tools/affected.py").write_text("# other\n", encoding="utf-8")
    else:
        (tree / RECORD).write_text("0" * 40 + "\n", encoding="utf-8")
    affected = Affected(tree)
    assert affected.is_all
    assert affected.of(sources(tree)) == affected.written(sources(tree)) == sources(tree)


def test_the_object_of_a_command():
    assert object_of("ccache g++ -O0 -DX='a b' -o CMakeFiles/peal.dir/peal/net/a.cc.o -c /x/peal/net/a.cc") == (
        "CMakeFiles/peal.dir/peal/net/a.cc.o")
