# SPDX-License-Identifier: BSD-3-Clause
"""Sources are grouped by folder and flags, told apart where they collide, and found out together as they are alone."""
import json

import lint_sources
from lint_sources import Source, flags_of, groups_of, misfits, parts_of, sources_of, together

ROOT = str(lint_sources.ROOT)
FLAGS = ("-std=c++23",)


def test_flags_are_a_command_without_its_source_its_object_and_its_launcher():
    entry = {"file": "/x/a.cc", "command": "/usr/bin/ccache clang++-19 -O1 -DA='\"b c\"' -o a.o -c /x/a.cc"}
    assert flags_of(entry) == ("-O1", '-DA="b c"')
    assert [source.path for source in sources_of([entry, {"file": "/x/b.c", "command": "cc -c /x/b.c"}])] == ["/x/a.cc"]


def test_a_group_is_of_one_folder_and_the_same_flags():
    net = [Source(f"{ROOT}/peal/net/{name}.cc", FLAGS) for name in "abc"]
    parts = Source(f"{ROOT}/peal/net/parts/d.cc", FLAGS)
    other_folder = Source(f"{ROOT}/load/e.cc", FLAGS)
    other_flags = Source(f"{ROOT}/peal/net/f.cc", ("-O0",))
    assert groups_of([*net, parts, other_folder, other_flags], most=4) == [[*net, parts], [other_folder], [other_flags]]
    assert [len(group) for group in groups_of([*net, parts], most=3)] == [3, 1]


def test_those_the_compiler_blames_are_told_apart():
    group = [Source("/x/a.cc", FLAGS), Source("/x/b.cc", FLAGS)]
    output = ("/x/b.cc:3:5: error: redefinition of 'k' [clang-diagnostic-error]\n"
              "/x/a.cc:3:5: note: previous definition\n/x/a.cc:4:5: error: use nullptr [modernize-use-nullptr]\n")
    assert misfits(output, group) == [group[1]]
    assert parts_of(group, [group[1]]) == [[group[0]], [group[1]]]
    assert parts_of(group, []) == [[group[0]], [group[1]]]
    assert "#define main main_1" in together(group)
    assert "main" not in together(group[:1])


def lint(home, files, capsys):
    """Of a tree `home`, by its build folder, `files` by their paths in it."""
    build = home / "build"
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    build.mkdir(exist_ok=True)
    (build / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n", encoding="utf-8")
    entries = [{"file": str(home / name), "command": f"clang++-19 -std=c++2b -I{home} -c {home / name}"}
               for name in files if name.endswith(".cc")]
    (build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    code = lint_sources.main([str(build), "--all"])
    return code, capsys.readouterr().out


GOOD = "namespace { int twice(int value) { return 2 * value; } }\nint main() { return twice(0); }\n"
BAD = "inline int* nothing() { return 0; }\n"


def test_what_is_wrong_with_one_of_several_is_found_and_what_is_clean_is_not_read_again(tmp_path, capsys):
    bad = BAD + "int main() { return nothing() == nullptr ? 0 : 1; }\n"
    code, said = lint(tmp_path, {"peal/a.cc": GOOD, "peal/b.cc": GOOD, "peal/c.cc": bad}, capsys)
    assert code == 1
    assert "c.cc:1:32: error: use nullptr" in said
    assert "3 of them read in 2 parts, 1 with findings" in said  # b.cc collides with a.cc
    good = bad.replace("return 0;", "return nullptr;")
    code, said = lint(tmp_path, {"peal/a.cc": GOOD, "peal/b.cc": GOOD, "peal/c.cc": good}, capsys)
    assert code == 0
    assert "1 of them read in 1 parts" in said  # the others had been found clean: b.cc, and a.cc reads as it does


def test_headers_of_others_do_not_count_though_the_tree_lies_in_a_folder_of_our_name(tmp_path, capsys):
    files = {"peal/a.cc": f'#include "others/b.h"\n{GOOD}', "others/b.h": BAD}
    assert lint(tmp_path / "peal", files, capsys)[0] == 0
    code, said = lint(tmp_path / "a-b" / "peal", {"peal/a.cc": f'#include "peal/b.h"\n{GOOD}', "peal/b.h": BAD}, capsys)
    assert code == 1
    assert "b.h:1:32: error: use nullptr" in said
