# SPDX-License-Identifier: BSD-3-Clause
import subprocess

import borrowed_symbols


def archive_of(folder, sources):
    """A library of these C++ sources, each an object of its own."""
    objects = []
    for name, text in sources.items():
        source = folder / f"{name}.cc"
        source.write_text(text, encoding="utf-8")
        objects.append(str(folder / f"{name}.o"))
        subprocess.run(["g++", "-O0", "-c", str(source), "-o", objects[-1]], check=True)
    archive = str(folder / "lib.a")
    subprocess.run(["ar", "rcs", archive, *objects], check=True)
    return archive


def test_what_is_declared_here_and_defined_inline_elsewhere_is_found(tmp_path):
    archive = archive_of(tmp_path, {
        "borrower": "template <class T> T twice(T); int four() { return twice(2); }",
        "lender": "template <class T> T twice(T one) { return 2 * one; } int six() { return twice(3); }",
    })
    assert [name for _, name in borrowed_symbols.borrowed([archive])] == ["_Z5twiceIiET_S0_"]
    assert borrowed_symbols.main([archive]) == 1


def test_functions_and_classes_of_another_object_are_no_finding(tmp_path):
    shape = "struct Shape { virtual ~Shape(); virtual int sides(); };"
    archive = archive_of(tmp_path, {
        "user": f"{shape} int two(); int sides() {{ return Shape().sides() + two(); }}",
        "owner": f"{shape} Shape::~Shape() {{}} int Shape::sides() {{ return 4; }} int two() {{ return 2; }}",
    })
    assert borrowed_symbols.borrowed([archive]) == []
    assert borrowed_symbols.main([archive]) == 0


def test_of_one_object_what_it_borrows_from_a_library_or_what_peal_has_nowhere_is_found(tmp_path):
    archive_of(tmp_path, {
        "lender": "template <class T> T twice(T one) { return 2 * one; } int six() { return twice(3); }"})
    archive_of(tmp_path, {
        "borrower": "template <class T> T twice(T); int six(); namespace peal { inline int lost(); }"
                    "int four() { return twice(2) + six() + peal::lost(); }"})
    borrower = str(tmp_path / "borrower.o")
    library = str(tmp_path / "lender.o")
    assert [name for _, name in borrowed_symbols.borrowed([library], [borrower])] == [
        "_Z5twiceIiET_S0_", "_ZN4peal4lostEv"]
    assert borrowed_symbols.main([library, "--of", borrower]) == 1
    assert borrowed_symbols.main([library, "--of", library]) == 0
