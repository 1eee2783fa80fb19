# SPDX-License-Identifier: BSD-3-Clause
"""tidy accepts a good tree, finds each kind of trouble in a bad one, and finds none in this repository."""
import subprocess
import sys
from pathlib import Path

import pytest
import tidy
import tidy_functions
import tidy_samples
from tidy_tree import File, Tree

REPOSITORY = Path(tidy.__file__).resolve().parent.parent


def lay(root, files):
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    return Tree(root)


def test_a_good_tree_has_no_findings(tmp_path):
    assert tidy.findings(lay(tmp_path, tidy_samples.GOOD)) == []


@pytest.mark.parametrize(("rule", "files"), tidy_samples.BAD,
                         ids=[f"{rule}: {next(iter(files))}" for rule, files in tidy_samples.BAD])
def test_a_bad_file_is_found(tmp_path, rule, files):
    found = tidy.findings(lay(tmp_path, tidy_samples.GOOD | files))
    assert {finding[2] for finding in found} == {rule}
    assert all(any(file.startswith(path) for file in files) for path, _, _, _ in found)


def test_every_rule_has_a_bad_sample():
    written = set()
    for module in tidy.MODULES:
        source = Path(module.__file__).read_text(encoding="utf-8")
        tree = tidy_functions.ast.parse(source)
        for node in tidy_functions.ast.walk(tree):
            if isinstance(node, tidy_functions.ast.Yield) and isinstance(node.value, tidy_functions.ast.Tuple) and len(
                    node.value.elts) == 4:
                written.add(node.value.elts[2].value)
    assert written == {rule for rule, _ in tidy_samples.BAD}


@pytest.mark.parametrize(("text", "expected"), tidy_samples.FUNCTIONS)
def test_functions_are_found_where_they_are(tmp_path, text, expected):
    (tmp_path / "sample.cc").write_text(text, encoding="utf-8")
    assert list(File(tmp_path, "sample.cc").functions()) == expected


def test_a_function_of_exactly_the_cap_passes(tmp_path):
    body = "int f() {\n" + "  work();\n" * 68 + "}\n"
    assert tidy.findings(lay(tmp_path, {"peal/base/full.cc": tidy_samples.SPDX + body})) == []


def test_recorded_data_is_not_judged(tmp_path):
    assert tidy.findings(lay(tmp_path, {"peal/base/testdata/big.txt": "\t \n" * 1000, "build/x.cc": "\t"})) == []


def test_a_region_between_marks_is_quoted(tmp_path):
    marked = "// Quoted in docs: [open]\nint a;\n// End of quote: [open]\nint b;\n"
    readme = "<!-- quote: examples/two.cc [open] -->\n\n```cpp\nint a;\n```\n"
    tree = lay(tmp_path, {"examples/two.cc": tidy_samples.SPDX + marked, "README.md": readme})
    assert tidy.findings(tree) == []


def test_regions_may_overlap_and_their_marks_are_not_quoted(tmp_path):
    marked = ("// Quoted in docs: [one]\nint a;\n// Quoted in docs: [two]\nint b;\n"
              "// End of quote: [one]\nint c;\n// End of quote: [two]\n")
    one = "<!-- quote: examples/two.cc [one] -->\n```cpp\nint a;\nint b;\n```\n"
    two = "<!-- quote: examples/two.cc [two] -->\n```cpp\nint b;\nint c;\n```\n"
    tree = lay(tmp_path, {"examples/two.cc": tidy_samples.SPDX + marked, "README.md": one + two})
    assert tidy.findings(tree) == []


def test_the_program_prints_findings_and_the_budget_and_fails(tmp_path):
    lay(tmp_path, tidy_samples.GOOD | {"peal/base/bare.cc": "int a;\n"})
    run = subprocess.run([sys.executable, tidy.__file__, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stdout.startswith("peal/base/bare.cc:1: spdx: ")
    assert "peal/base" in run.stdout and "20300" in run.stdout


def test_this_repository_passes():
    found = tidy.findings(Tree(REPOSITORY))
    assert not found, "\n".join(f"{path}:{line}: {rule}: {sentence}" for path, line, rule, sentence in found)
