# SPDX-License-Identifier: BSD-3-Clause
"""The check of translations: it accepts what says the same, and finds what is missing, different or outdated."""
import subprocess
import sys

import pytest
import translations

GUIDE = """# The guide

Read [the first page](first.md) and [limits](first.md#limits-of-time), then `[no](link.md)`.

```cpp
int main() {}
```

## Code

- See [the sources](../../examples/a.cc) and [docs](..).
- [More](https://example.org/a).
"""
GUIDE_ZH = """# 指南

[English](../../guide/README.md) | [术语表](../glossary.md)

先读[限制](first.md#时间限制)和[第一页](first.md)。

```cpp
int main() {}
```

## 代码

- 见[源码](../../../examples/a.cc)和[文档](../..)。
- [更多](https://example.org/a)。
"""
FIRST = "# First\n\n## Limits of time\n\nNone.\n"
FIRST_ZH = "# 第一页\n\n## 时间限制\n\n没有。\n"
README = "# peal\n\n<!-- figures: quick -->\n\n| a | 1.05 (1 to 2) |\n\n<!-- end of figures -->\n"
README_ZH = "# peal\n\n<!-- figures: quick -->\n\n| 甲 | 1.05（1 到 2） |\n\n<!-- end of figures -->\n"
PAGES = {"README.md": README, "docs/guide/README.md": GUIDE, "docs/guide/first.md": FIRST,
         "docs/zh/README.md": README_ZH, "docs/zh/guide/README.md": GUIDE_ZH, "docs/zh/guide/first.md": FIRST_ZH,
         "docs/zh/glossary.md": "# 术语表\n"}
TRANSLATIONS = ["docs/zh/README.md", "docs/zh/guide/README.md", "docs/zh/guide/first.md"]


def lay(root, pages):
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def found(root):
    return list(translations.Checker(root).findings())


@pytest.fixture
def accepted(tmp_path):
    """A tree whose translations are complete and accepted."""
    lay(tmp_path, PAGES)
    assert translations.main(["--root", str(tmp_path), "--accept", *TRANSLATIONS]) == 0
    return tmp_path


def change(root, path, old, new):
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new), encoding="utf-8")


def test_a_tree_without_translations_has_no_findings(tmp_path):
    lay(tmp_path, {"README.md": README, "docs/guide/README.md": GUIDE})
    assert found(tmp_path) == []


def test_accepted_translations_have_no_findings(accepted):
    assert found(accepted) == []


def test_accepting_again_changes_nothing(accepted):
    before = (accepted / TRANSLATIONS[1]).read_text(encoding="utf-8")
    assert translations.main(["--root", str(accepted), "--accept", TRANSLATIONS[1]]) == 0
    assert (accepted / TRANSLATIONS[1]).read_text(encoding="utf-8") == before


def test_a_translation_that_nobody_accepted_is_found(tmp_path):
    lay(tmp_path, PAGES)
    assert {path for path, _, _ in found(tmp_path)} == set(TRANSLATIONS)


def test_line_breaks_and_comments_of_the_original_do_not_count(accepted):
    change(accepted, "docs/guide/README.md", "Read [the first", "<!-- a note -->\nRead\n[the first")
    assert found(accepted) == []


@pytest.mark.parametrize(("path", "old", "new", "where", "sentence"), [
    ("docs/guide/README.md", "Read ", "Never read ", TRANSLATIONS[1], "\"The guide\" of docs/guide/README.md"),
    ("docs/guide/first.md", "## Limits of time", "## Limits of size", TRANSLATIONS[1], "lacks a link"),
    ("docs/zh/guide/README.md", "int main() {}", "int main() { }", TRANSLATIONS[1], "block of code 1"),
    ("docs/zh/guide/README.md", "```cpp", "```c", TRANSLATIONS[1], "block of code 1"),
    ("docs/zh/guide/README.md", "## 代码", "```\nmore\n```\n\n## 代码", TRANSLATIONS[1], "more blocks of code"),
    ("docs/zh/guide/README.md", "## 代码", "代码", TRANSLATIONS[1], "lacks the section \"Code\""),
    ("docs/zh/guide/README.md", "## 代码", "### 代码", TRANSLATIONS[1], "has level 3"),
    ("docs/guide/README.md", "## Code", "Code", TRANSLATIONS[1], "has no such section"),
    ("docs/zh/guide/README.md", "[源码](../../../examples/a.cc)", "源码", TRANSLATIONS[1], "lacks a link"),
    ("docs/zh/guide/README.md", "examples/a.cc", "examples/b.cc", TRANSLATIONS[1], "links to examples/b.cc"),
    ("docs/zh/guide/README.md", "first.md#时间限制", "first.md#第一页", TRANSLATIONS[1], "section 2"),
    ("README.md", "1.05 (", "1.06 (", TRANSLATIONS[0], "figures differ"),
])
def test_a_difference_is_found(accepted, path, old, new, where, sentence):
    change(accepted, path, old, new)
    findings = found(accepted)
    assert any(place == where and sentence in said for place, _, said in findings), findings


def test_a_page_without_a_translation_and_one_without_an_original_are_found(accepted):
    (accepted / TRANSLATIONS[2]).rename(accepted / "docs/zh/guide/other.md")
    findings = found(accepted)
    assert ("docs/guide/first.md", 1, "has no translation in docs/zh/") in findings
    assert any(path == "docs/zh/guide/other.md" and "does not exist" in said for path, _, said in findings)


def test_nothing_is_accepted_while_a_section_is_missing(accepted, capsys):
    change(accepted, TRANSLATIONS[1], "## 代码", "代码")
    assert translations.main(["--root", str(accepted), "--accept", TRANSLATIONS[1]]) == 1
    assert "lacks the section" in capsys.readouterr().out


def test_a_page_of_its_own_cannot_be_accepted(accepted, capsys):
    assert translations.main(["--root", str(accepted), "--accept", "docs/guide/first.md"]) == 1
    assert "is no translation" in capsys.readouterr().out


def test_the_program_prints_findings_and_fails(accepted):
    change(accepted, "docs/guide/first.md", "None.", "Some.")
    run = subprocess.run([sys.executable, translations.__file__, "--root", accepted], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 1
    assert "docs/zh/guide/first.md:3: \"Limits of time\"" in run.stdout
    assert "1 findings in 4 pages" in run.stdout
