# SPDX-License-Identifier: BSD-3-Clause
import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest

import shared_exports

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("PEAL_BUILD_DIR", ROOT / "build" / "dev"))

HEADERS = {
    "peal/net/shape.h": """
        #pragma once
        #include <string>
        namespace peal {
        struct Hidden;
        class Shape {
         public:
          Shape();
          virtual ~Shape();
          virtual double area() const = 0;
          std::string name() const;
          int twice(int x) const { return 2 * x; }
          static inline int made = 0;
         private:
          struct Inside;
          void grow();
          static const int kMost;
        };
        class Plain {
         public:
          Plain() = default;
          Plain(const Plain&) = delete;
          template <typename T> void take(T value);
        };
        template <typename T> class Box { void put(T value); };
        template <typename T> T made_of(int x) { return T(x); }
        inline int one() { return 1; }
        int two(int x);
        int two(double x);
        inline constexpr int kThree = 3;
        namespace detail { int four(); }
        }
        """,
    "peal/net/parts/secret.h": "namespace peal::detail { int secret(); }",
    "peal/tls/other.h": "namespace peal { int of_tls(); }",
    "CMakeLists.txt": "project(peal VERSION 7.8.9 LANGUAGES C CXX)\n",
    "cmake/readme": "",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in HEADERS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def written(tree):
    assert shared_exports.main([str(tree)]) == 0
    return (tree / shared_exports.MAP).read_text(encoding="utf-8")


def test_what_a_program_may_need_is_exported(tree):
    listed = written(tree)
    for name in ('"peal::Shape::Shape()"', '"peal::Shape::~Shape()"', '"peal::Shape::name[abi:cxx11]() const"',
                 '"peal::Shape::grow()"', '"peal::Shape::kMost"', '"peal::Shape::made"', '"peal::two(int)"',
                 '"peal::two(double)"', '"peal::detail::four()"', '"peal::kThree"', '"vtable for peal::Shape"',
                 '"typeinfo for peal::Shape"', "*peal::Plain::take?*", "peal::Box?*", "*peal::made_of?*"):
        assert f"    {name};\n" in listed


def test_everything_else_is_local(tree):
    listed = written(tree)
    for name in ("area", "twice", "one(", "Plain::Plain", "secret", "of_tls", "Inside", "Hidden", "for peal::Plain"):
        assert name not in listed
    assert listed.endswith("  local: *;\n};\n")
    assert "PEAL_7.8 {" in listed


def test_a_list_that_is_out_of_date(tree, capsys):
    written(tree)
    assert shared_exports.main([str(tree), "--check"]) == 0
    with (tree / "peal/net/shape.h").open("a", encoding="utf-8") as header:
        header.write("namespace peal { int five(); }\n")
    assert shared_exports.main([str(tree), "--check"]) == 1
    assert "is not what the headers declare" in capsys.readouterr().out


def test_a_static_variable_of_an_inline_function_is_refused(tree, capsys):
    with (tree / "peal/net/shape.h").open("a", encoding="utf-8") as header:
        header.write("namespace peal { inline int next() { static int last = 0; return ++last; } }\n")
    assert shared_exports.main([str(tree)]) == 1
    assert "peal::next() is inline and has a static variable" in capsys.readouterr().out


def test_functions_that_take_types_of_fmt_are_listed_for_every_version_of_it():
    name = "peal::detail::log_line(peal::LogLevel, fmt::v9::basic_string_view<char>)"
    assert shared_exports.pattern_of(name) == "peal::detail::log_line?*"
    assert shared_exports.pattern_of("fmt::v9::formatter<peal::LogLines, char>::format(int) const") == (
        "fmt::v*::formatter?peal::LogLines??char?::format?*")


def test_the_list_of_this_tree_is_up_to_date():
    assert shared_exports.main(["--check"]) == 0


def symbols(file, *options):
    listed = subprocess.run(["nm", "-DC", *options, file], capture_output=True, text=True, check=True).stdout
    return {line.split(maxsplit=2 if line[0] != " " else 1)[-1] for line in listed.splitlines()}


def test_the_examples_and_the_other_libraries_need_only_what_is_exported():
    library = BUILD / "libpeal.so"
    if not library.is_file():
        pytest.skip("this build has no shared libpeal.so")
    listed = re.findall(r'^    (\S.*);$', (ROOT / shared_exports.MAP).read_text(encoding="utf-8"), re.MULTILINE)
    names = {line.strip('"') for line in listed if line.startswith('"')}
    patterns = re.compile("|".join(fnmatch.translate(line) for line in listed if not line.startswith('"')))
    defined = symbols(library, "--defined-only")
    users = [*BUILD.glob("libpeal_*.so"), *(BUILD / "bin/examples").iterdir()]
    assert len(users) > 50
    needed = {name for user in users for name in symbols(user, "--undefined-only")} & defined
    assert len(needed) > 300
    assert not sorted(name for name in needed if name not in names and not patterns.match(name))
