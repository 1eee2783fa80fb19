# SPDX-License-Identifier: BSD-3-Clause
"""Which page of the site each document is, and where it stands in the navigation."""
import posixpath
import re
from pathlib import Path

# Every document of the site's English part by its place: tab, group (or none), files. A test fails if one is missing.
TABS = {
    "Documents": {
        "": ["docs/README.md"],
        "First steps": ["docs/install.md", "docs/program.md", "docs/examples.md"],
        "Connections and threads": ["docs/coroutines.md", "docs/threads.md", "docs/watch.md", "docs/troubles.md"],
        "Protocols": ["docs/http.md", "docs/forms.md", "docs/websocket.md", "docs/tls.md", "docs/protobuf.md"],
        "Production": ["docs/processes.md", "docs/inspector.md"],
        "Tests": ["docs/simulator.md", "docs/hurts.md"],
        "Measuring": ["docs/load.md", "docs/distributed-load.md", "docs/two-machines.md", "docs/comparison.md",
                      "docs/contenders.md", "docs/measuring.md"],
    },
    "Models": {"": ["docs/models.md"]},
    "Findings": {"": ["docs/findings.md"]},
    "Figures": {"": ["docs/figures.md"]},
    "Design": {"": ["ARCHITECTURE.md", "docs/engines.md", "docs/lineage.md"]},
    "Project": {"": ["CHANGELOG.md", "CONTRIBUTING.md", "docs/stability.md", "SECURITY.md"]},
}
# Pages that are their tab's only one: no navigation beside them.
ALONE = {"index.md", "models.md", "findings.md", "figures.md", "glossary.md"}
GUIDE = "docs/guide/README.md"
# The words of the navigation in each language; what is missing stays in English.
WORDS = {"zh": {"Home": "首页", "Guide": "指南", "Glossary": "术语表", "In English": "英文文档",
                "Documents": "文档", "Models": "并发模型", "Findings": "结论", "Figures": "数据", "Design": "设计",
                "Reference": "API 参考", "Project": "项目"}}
LANGUAGES = {"en": "English", "zh": "中文"}
_LINK = re.compile(r"\]\(([\w-]+\.md)(?:#[\w-]*)?\)")


def documents(root, language):
    """Every document of a language as {path in the repository: page of the site}."""
    root = Path(root)
    if language == "en":
        paths = [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "docs/guide").glob("*.md")]
    else:
        paths = (root / "docs" / language).rglob("*.md")
    return {path: page_of(path, language) for path in sorted(str(one.relative_to(root)) for one in paths)}


def page_of(path, language):
    """The page of a document, as the path of its Markdown in the site's sources."""
    if path == "docs/README.md":
        return "documents.md"
    path = path.removeprefix("docs/" if language == "en" else f"docs/{language}/")
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.md" if name == "README.md" else name.lower())


def guide_order(root, guide):
    """The pages of a guide in the order in which its first page names them."""
    text = (Path(root) / guide).read_text(encoding="utf-8")
    folder = posixpath.dirname(guide)
    named = [posixpath.join(folder, name) for name in dict.fromkeys(_LINK.findall(text))]
    rest = sorted(str(path.relative_to(root)) for path in (Path(root) / folder).glob("*.md"))
    return [guide, *(path for path in dict.fromkeys([*named, *rest])
                     if path != guide and (Path(root) / path).exists())]


def english(root, reference):
    """The navigation of the English part, as mkdocs takes it. `reference` is that of the API."""
    tabs = [{"Home": "index.md"}, {"Guide": [page_of(path, "en") for path in guide_order(root, GUIDE)]}]
    for tab, groups in TABS.items():
        inside = []
        for group, paths in groups.items():
            listed = [page_of(path, "en") for path in paths]
            inside += [{group: listed}] if group else listed
        tabs.append({tab: inside})
        if tab == "Design":
            tabs.append({"Reference": reference})
    return tabs


def translated(root, language):
    """The navigation of a translation: what is translated, then the tabs of the English part."""
    words = WORDS.get(language, {})

    def word(text):
        return words.get(text, text)

    found = documents(root, language)
    home, guide, glossary = (f"docs/{language}/{name}" for name in ("README.md", "guide/README.md", "glossary.md"))
    tabs = [{word("Home"): "index.md"}] if home in found else []
    if guide in found:
        tabs.append({word("Guide"): [found[path] for path in guide_order(root, guide)]})
    if glossary in found:
        tabs.append({word("Glossary"): found[glossary]})
    listed = {home, guide, glossary, *(guide_order(root, guide) if guide in found else [])}
    tabs += [page for path, page in found.items() if path not in listed]
    first = {tab: next(iter(groups.values()))[0] for tab, groups in TABS.items()}
    links = [{word(tab): "../" + page_of(path, "en").removesuffix(".md") + ".html"} for tab, path in first.items()]
    links.append({word("Reference"): "../reference/index.html"})
    return [*tabs, {word("In English"): links}]
