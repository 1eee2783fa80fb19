# SPDX-License-Identifier: BSD-3-Clause
"""The example prints what happens in a folder, in order, until the folder itself is removed."""
import os

from programs import Program, run_program


def test_files_come_and_go(tmp_path):
    folder = tmp_path / "watched"
    folder.mkdir()
    with Program("follow_folder", folder) as program:
        assert program.line() == f"following {folder}"
        (folder / "a.txt").write_text("hello")
        assert [program.line(), program.line()] == ["made a.txt", "written a.txt"]
        (folder / "a.txt").rename(tmp_path / "elsewhere")
        assert program.line() == "moved away a.txt"
        (tmp_path / "elsewhere").rename(folder / "b.txt")
        assert program.line() == "moved here b.txt"
        (folder / "b.txt").unlink()
        assert program.line() == "deleted b.txt"
        assert program.end() == (0, "", "")


def test_a_name_with_controls_moves_no_cursor(tmp_path):
    with Program("follow_folder", tmp_path) as program:
        program.line()
        os.mkdir(os.fsencode(tmp_path) + b"/\x1b[2Ja\n")
        assert program.line() == "made ?[2Ja?"
        program.end()


def test_thousands_at_once_are_all_told(tmp_path):
    with Program("follow_folder", tmp_path) as program:
        program.line()
        for number in range(3000):
            (tmp_path / str(number)).mkdir()
        assert [program.line() for _ in range(3000)] == [f"made {number}" for number in range(3000)]
        program.end()


def test_the_folder_goes(tmp_path):
    folder = tmp_path / "watched"
    folder.mkdir()
    with Program("follow_folder", folder) as program:
        program.line()
        folder.rmdir()
        assert program.wait() == (0, "the folder is gone\n", "")


def test_no_folder(tmp_path):
    (tmp_path / "file").touch()
    for wrong, why in [(tmp_path / "none", "No such file or directory"), (tmp_path / "file", "Not a directory")]:
        assert run_program("follow_folder", wrong) == (1, "", f"{wrong}: {why}\n")
