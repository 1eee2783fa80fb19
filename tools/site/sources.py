# SPDX-License-Identifier: BSD-3-Clause
"""Pages for files and folders of the repository that documents link to and that are no documents: the source with
colours, or the list of what is in the folder. So no link of the site leads out of it."""
import posixpath

HOME = "source"
_LANGUAGES = {".h": "cpp", ".cc": "cpp", ".c": "c", ".py": "python", ".cmake": "cmake", ".json": "json",
              ".yml": "yaml", ".yaml": "yaml", ".proto": "protobuf", ".sh": "bash", ".j2": "jinja", ".html": "html",
              ".css": "css", ".js": "javascript"}
_NAMES = {"CMakeLists.txt": "cmake", "Makefile": "make", "Dockerfile": "docker"}


def page_of(root, path):
    """The page of a file or a folder, relative to the site's sources."""
    return posixpath.join(HOME, path, "index.md") if (root / path).is_dir() else f"{HOME}/{path}.md"


def _language(path, text):
    name = posixpath.basename(path)
    ending = posixpath.splitext(name)[1]
    if name in _NAMES or ending in _LANGUAGES:
        return _NAMES.get(name) or _LANGUAGES[ending]
    return "bash" if text.startswith("#!") and "sh" in text.split("\n", 1)[0] else "text"


def _head(path):
    return f'---\ntitle: "{path}"\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n'


def file_page(root, path, note=""):
    """The Markdown of the page that shows a file."""
    text = (root / path).read_text(encoding="utf-8", errors="replace").rstrip("\n")
    fence = "`" * 3
    while fence in text:
        fence += "`"
    body = f"{fence}{_language(path, text)} {{ linenums=1 }}\n{text}\n{fence}"
    return _head(path) + (f"{note}\n\n" if note else "") + body.replace(" { linenums=1 }", ' linenums="1"') + "\n"


def folder_page(root, path, known):
    """The Markdown of the page that lists a folder. `known` has the files and folders that have a page."""
    page, lines = page_of(root, path), []
    hidden = {"__pycache__", "build"}
    for entry in sorted((root / path).iterdir(), key=lambda one: (one.is_file(), one.name)):
        if entry.name in hidden or entry.name.startswith("."):
            continue
        inside = posixpath.normpath(posixpath.join(path, entry.name))
        shown = f"`{entry.name}{'/' if entry.is_dir() else ''}`"
        if inside in known:
            shown = f"[{shown}]({posixpath.relpath(page_of(root, inside), posixpath.dirname(page))})"
        lines.append(f"- {shown}")
    return _head(f"{path}/") + "\n".join(lines) + "\n"
