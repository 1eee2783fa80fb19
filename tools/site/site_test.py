# SPDX-License-Identifier: BSD-3-Clause
"""The documents on their way into the site: links, lists, pictures, navigation; and the check of links."""
from pathlib import Path

import documents
import hooks
import link_check
import navigation
import pytest
import sources

ROOT = Path(documents.__file__).resolve().parent.parent.parent


def converted(text, path="docs/guide/a.md"):
    return documents.converted(text, path, lambda target, anchor: f"<{target}{anchor}>")


def test_links_lead_to_the_pages_of_their_files():
    assert converted("[a](b.md#c) and ![i](../i.svg), [out](https://example.org/), [here](#d).\n") == (
        "[a](<docs/guide/b.md#c>) and ![i](<docs/i.svg>), [out](https://example.org/), [here](#d).\n")


def test_code_keeps_what_looks_like_a_link_or_a_comment():
    text = "`[a](b.md)`\n\n```\n[a](b.md)\n<!-- kept -->\n- x\n  - y\n```\n"
    assert converted(text) == text


def test_comments_go_and_pictures_follow_the_colours():
    text = ('<!-- quote: x -->\nText.\n\n<picture>\n  <source media="m" srcset="dark.svg">\n  <img alt="A" '
            'src="light.svg">\n</picture>\n')
    assert converted(text, "README.md") == "Text.\n\n![A](<light.svg#only-light>)\n![A](<dark.svg#only-dark>)\n"


def test_lists_are_indented_and_set_apart():
    text = "A text:\n- one\n  more\n  - inner\n    deep\n\n    ```\n    code\n    ```\n- two\n\nAfter.\n"
    assert converted(text) == ("A text:\n\n- one\n    more\n    - inner\n        deep\n\n        ```\n        code\n"
                               "        ```\n- two\n\nAfter.\n")


def test_a_table_is_set_apart():
    assert converted("Text.\n| a |\n|---|\n") == "Text.\n\n| a |\n|---|\n"


def test_every_document_has_a_place_in_the_navigation():
    placed = {path for groups in navigation.TABS.values() for paths in groups.values() for path in paths}
    placed |= {"README.md", *navigation.guide_order(ROOT, navigation.GUIDE)}
    assert placed == set(navigation.documents(ROOT, "en")), "tools/site/navigation.py has the tabs"


def test_no_two_documents_are_one_page():
    pages = list(navigation.documents(ROOT, "en").values())
    assert len(pages) == len(set(pages))


def test_the_guide_follows_its_first_page(tmp_path):
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/guide/README.md").write_text("[b](b.md) [a](a.md#x) [gone](gone.md)\n")
    for name in ("a", "b", "c"):
        (tmp_path / f"docs/guide/{name}.md").write_text("# x\n")
    assert navigation.guide_order(tmp_path, "docs/guide/README.md") == [
        f"docs/guide/{name}.md" for name in ("README", "b", "a", "c")]


def test_a_translation_has_its_own_pages_and_leads_to_the_rest(tmp_path):
    (tmp_path / "docs/zh/guide").mkdir(parents=True)
    for name in ("README.md", "glossary.md", "guide/README.md", "guide/a.md"):
        (tmp_path / "docs/zh" / name).write_text("# x\n")
    tabs = navigation.translated(tmp_path, "zh")
    assert tabs[:3] == [{"首页": "index.md"}, {"指南": ["guide/index.md", "guide/a.md"]}, {"术语表": "glossary.md"}]
    assert {"API 参考": "../reference/index.html"} in tabs[3]["英文文档"]


@pytest.mark.parametrize(("page", "expected"), [("guide/a.md", "../../guide/a.html"), ("glossary.md", "../index.html")])
def test_the_language_switch_leads_to_the_same_page_or_the_front_page(page, expected):
    english = {"lang": "en", "folder": "..", "pages": ["index.md", "guide/a.md"]}
    assert hooks.address(english, page) == expected


def test_the_page_of_a_source_shows_it_whole(tmp_path):
    (tmp_path / "a.cc").write_text("int a;\n// ```\n")
    text = sources.file_page(tmp_path, "a.cc")
    assert '````cpp linenums="1"\nint a;\n// ```\n````\n' in text


def test_the_page_of_a_folder_links_what_has_a_page(tmp_path):
    (tmp_path / "x/y").mkdir(parents=True)
    (tmp_path / "x/a.cc").write_text("int a;\n")
    text = sources.folder_page(tmp_path, "x", {"x", "x/a.cc"})
    assert text.endswith("- `y/`\n- [`a.cc`](a.cc.md)\n")


PAGE = '<h1 id="top">A</h1><a href="b/c.html#there">x</a><a href="#top">y</a><a href="https://example.org">z</a>'
OTHER = '<p id="there"><a href="../a.html">x</a><img src="../i.png"><a name="old" href="mailto:x@y"></a></p>'


@pytest.mark.parametrize(("page", "fault"), [
    (PAGE, None),
    (PAGE.replace("c.html", "d.html"), "a.html:1: b/d.html#there does not exist"),
    (PAGE.replace("#there", "#gone"), "no such anchor"),
    (PAGE.replace("#there", "#old"), None),
    (PAGE.replace("#top", "#"), None),
    (PAGE.replace('"#top"', '"/a.html"'), "begins at the root of a server"),
    (PAGE.replace('"#top"', '"../../x.html"'), "leads out of the site"),
    (PAGE + '<script src="https://example.org/a.js"></script>', "loads https://example.org/a.js"),
    (PAGE + '<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css"),
    (PAGE + '<img srcset="i.png 1x, gone.png 2x">', "gone.png does not exist"),
    (PAGE + '<p style="background: url(http://example.org/i.png)">', "loads http://example.org/i.png"),
    (PAGE + '<b id="top">', "the anchor top is there twice"),
])
def test_dead_links_and_remote_requests_are_found(tmp_path, page, fault):
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b/c.html").write_text(OTHER)
    (tmp_path / "i.png").write_bytes(b"")
    found = link_check.faults(tmp_path)
    assert len(found) == (0 if fault is None else 1), found
    assert fault is None or fault in found[0]


def test_style_sheets_load_nothing_from_elsewhere(tmp_path):
    (tmp_path / "a.css").write_text("@import 'https://example.org/f.css'; b { background: url(gone.png), url(data:x) }")
    assert link_check.faults(tmp_path) == ["a.css: loads https://example.org/f.css", "a.css: gone.png does not exist"]
