# SPDX-License-Identifier: BSD-3-Clause
"""The reference of small headers: what is in it, what is left out, and how it reads."""
import html
import re

import headers  # noqa: F401  finds the modules of tools/
import public_headers
import pytest
import reference
import signatures
from declarations import Declaration, share_comments

THING = """// SPDX-License-Identifier: BSD-3-Clause
// Thing: runs things, as ThingOptions says.
//
//   peal::Thing thing({.limit_bytes = 2});
//   if (thing.run(1) < 2) stop_all();
//
// A Thing is used by one thread.
#pragma once

#include <peal/net/parts/secret.h>

namespace peal {

namespace detail {
// Must not be seen.
struct Hidden {};
// Neither this base, but what it gives.
struct Base {
  // Waits for it.
  int wait() { return 0; }
};
}  // namespace detail

// How it ends.
enum class Ending : char {
  kSoon,   // at once
  kLater,  // when `limit_bytes` are gone
};

struct ThingOptions {
  // At most so many bytes: larger ones hurt.
  unsigned limit_bytes = 16 * 1024;
  // Both are needed: first_step and last_step.
  int first_step = 1;
  int last_step = 2;

  Ending ending = Ending::kSoon;
};

template <class T>
concept Small = sizeof(T) < 8;

class Thing : public detail::Base {
 public:
  // Makes one.
  explicit Thing(const ThingOptions& options = {}) : limit_(options.limit_bytes) {}
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;
  // Used by the library alone.
  explicit Thing(detail::Hidden& hidden);

  // Runs `count` times and returns how many ran. See Ending.
  int run(int count);
  // The same for anything small.
  template <class T>
    requires Small<T>
  int run(T count, bool twice = true) {
    return twice ? 2 : 1;
  }
  // pause() and resume() do what they say.
  void pause();
  void resume();
  void silent() const;

  // ---- Nested. What is inside.

  // One step.
  struct Step {
    int number = 0;  // from 1
  };

 private:
  // Must not be seen.
  int hidden();
  unsigned limit_;
};

// Stops every Thing.
void stop_all();

inline int Thing::run(int count) { return count; }

}  // namespace peal

// PEAL_THING(x) is x.
#define PEAL_THING(x) (x)
"""
SECRET = """// SPDX-License-Identifier: BSD-3-Clause
#pragma once
namespace peal {
// Must not be seen.
struct Secret {};
}
"""
ARCHITECTURE = "| 3 | `peal/net/` | `Thing` and friends. `parts/`: secrets |\n"


def made(root, text=THING):
    (root / "peal/net/parts").mkdir(parents=True, exist_ok=True)
    (root / "peal/net/thing.h").write_text(text, encoding="utf-8")
    (root / "peal/net/parts/secret.h").write_text(SECRET, encoding="utf-8")
    (root / "ARCHITECTURE.md").write_text(ARCHITECTURE, encoding="utf-8")
    return reference.make(root, "1.2.3")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    return made(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def thing(api):
    return api.pages["reference/net/Thing.md"]


def plain(page):
    """The words of a page."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_each_class_has_a_page_and_the_rest_of_the_header_one(api):
    assert sorted(api.pages) == [
        "reference/index.md", "reference/names.md", "reference/net/Thing.md", "reference/net/ThingOptions.md",
        "reference/net/index.md", "reference/net/thing_h.md"]


def test_internals_are_left_out(api):
    for page in api.pages.values():
        for word in ("Hidden", "Secret", "hidden", "limit_<", "Must not be seen", "detail::Base"):
            assert word not in page


def test_a_page_opens_with_header_target_version_and_essay(thing):
    words = plain(thing)
    assert "#include <peal/net/thing.h>" in words and "peal::peal" in words and "peal 1.2.3" in words
    assert words.index("runs things") < words.index("used by one thread") < words.index("Makes one.")


def test_code_in_a_comment_is_a_block_with_links(thing):
    assert '<pre><code>' in thing
    assert '<a href="thing_h.html#stop_all"><span class="n">stop_all</span></a>' in thing


def test_overloads_are_one_entry(thing):
    assert thing.count("{ #run }") == 1
    words = plain(thing)
    assert "int run(int count)" in words
    assert re.search(r"template <class T>\n\s+requires Small<T>\nint run\(T count, bool twice = true\)", words)


def test_functions_that_share_a_comment_are_one_entry(thing):
    assert "### `pause()`, `resume()` { #pause }" in thing and '<a id="resume"></a>' in thing
    assert "### `silent()` { #silent }" in thing


@pytest.mark.parametrize(("comment", "shared"), [
    ("first() and second() count.", True),
    ("Both functions count.", True),
    ("Each of these functions counts.", True),
    ("Counts. These answers say so.", False),
    ("Counts as Other::second() does.", False),
    ("Counts, a second time.", False),
])
def test_a_comment_is_shared_only_with_what_it_is_about(comment, shared):
    first, second = (Declaration("function", name, line=number) for number, name in ((1, "first"), (2, "second")))
    first.comment = [comment]
    share_comments([first, second], lambda before, after: True)
    assert second.shares == shared and bool(second.comment) == shared


def test_nothing_is_shared_across_an_empty_line():
    first, second = (Declaration("function", "same", line=number) for number in (1, 3))
    first.comment = ["Counts."]
    share_comments([first, second], lambda before, after: False)
    assert not second.comment


@pytest.mark.parametrize(("text", "expected"), [
    ("const int* a = nullptr", ("const int*", "nullptr")),
    ("bool a : 1 = false", ("bool", "false")),
    ("char a[16] = {}", ("char[16]", "{}")),
    ("std::map<int, A> a{{1, A{}}}", ("std::map<int, A>", "{{1, A{}}}")),
    ("size_t a = Other().a", ("size_t", "Other().a")),
    ("std::string b = {}, a = {1}", ("std::string", "{1}")),
])
def test_the_type_and_the_default_of_a_field(text, expected):
    assert signatures.of_variable(text, "a", "std::string") == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("explicit A(int b = {}) noexcept : b_(b), c_{b} ", "explicit A(int b = {}) noexcept"),
    ("A(std::string_view a = peal::kNone) : a_(a) ", "A(std::string_view a = peal::kNone)"),
])
def test_a_constructor_loses_its_initializers(text, expected):
    assert signatures.of_function(text, True) == expected


def test_private_and_internal_bases_are_left_out():
    assert signatures.of_class("class A final : public B, private C, public detail::D {", "class") == (
        "class A final : public B", ["B"])
    assert signatures.of_class("struct A : B<C, D>, private E {", "struct") == (
        "struct A : public B<C, D>", ["B<C, D>"])


def test_special_members_are_a_sentence(thing):
    assert "It can be neither copied nor moved." in thing
    assert "= delete" not in thing


def test_what_an_internal_base_gives_is_there(thing):
    assert "### `wait()` { #wait }" in thing


def test_headings_of_the_header_are_kept_and_nested_types_are_entries(thing):
    assert "## Nested { #Thing-nested }" in thing and "What is inside." in thing
    assert "### `Step` { #Step }" in thing and 'id="Step-number"' in thing


def test_options_are_a_table_with_type_default_and_reason(api):
    page = api.pages["reference/net/ThingOptions.md"]
    assert "## Options" in page
    assert "16 * 1024" in plain(page) and "larger ones hurt" in page
    assert page.count("Both are needed") == 1
    assert page.index('id="first_step"') < page.index('id="last_step"') < page.index("Both are needed")
    assert 'See <a href="thing_h.html#Ending"><code>Ending</code></a>.' in page


def test_enums_macros_concepts_and_functions_are_on_the_page_of_the_header(api):
    page = api.pages["reference/net/thing_h.md"]
    assert 'id="Ending-kLater"' in page and "when <a " in page
    for name in ("Ending", "Small", "stop_all", "PEAL_THING"):
        assert f"{{ #{name} }}" in page
    assert '<a href="Thing.html"><code>Thing</code></a>' in page


def test_the_indexes_lead_to_all_pages(api):
    front, floor, names = (api.pages[f"reference/{name}.md"] for name in ("index", "net/index", "names"))
    assert 'href="net/index.html"' in front and "<code>Thing</code> and friends." in front and "secrets" not in front
    assert "Runs things" in floor and 'href="ThingOptions.html"' in floor
    assert 'href="net/Thing.html#run"><code>Thing::run</code>' in names


def test_declarations_without_a_comment_are_counted(api):
    assert api.figures["silent"] == {"concept": 1, "field": 1, "function": 1, "struct": 1}
    assert api.figures["documented"] == api.figures["declarations"] - 4


def test_the_same_headers_give_the_same_bytes(tmp_path, api):
    assert made(tmp_path).pages == api.pages


def test_headers_that_do_not_compile_are_an_error(tmp_path):
    with pytest.raises(public_headers.HeaderErrors, match="unknown_type"):
        made(tmp_path, THING.replace("void stop_all();", "unknown_type stop_all();"))
