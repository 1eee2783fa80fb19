# SPDX-License-Identifier: BSD-3-Clause
"""Tests of turns: one program runs at a time, all get their turns, and none is left running."""

import os
import sys

from versus.run import turns

COUNTS = """
import time
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
print("done", flush=True)
"""
SLEEPS = "import time, os\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"
# Writes its name into a file again and again while it runs.
MARKS = """
import sys, time
name, path = sys.argv[1:]
end = time.process_time() + 0.25
with open(path, "ab", buffering=0) as file:
    while time.process_time() < end:
        file.write(name.encode())
        for _ in range(2000): pass
"""


def test_all_programs_run_to_their_end():
    found = turns.take_turns({name: [sys.executable, "-c", COUNTS] for name in "abc"}, (), 1, 60.0)
    assert {name: (each.code, each.out.strip()) for name, each in found.items()} == dict.fromkeys("abc", (0, "done"))


def test_programs_run_in_turns_not_in_parallel(tmp_path):
    marks = tmp_path / "marks"
    commands = {name: [sys.executable, "-c", MARKS, name, str(marks)] for name in "ab"}
    assert [each.code for each in turns.take_turns(commands, (), 1, 60.0).values()] == [0, 0]
    text = marks.read_text()
    changes = sum(1 for one, other in zip(text, text[1:]) if one != other)
    # In parallel on two processors, the names would alternate every few marks.
    assert 3 <= changes <= len(text) / 20


def test_a_program_that_does_not_end_is_killed_and_none_is_left():
    found = turns.take_turns({"a": [sys.executable, "-c", SLEEPS], "b": [sys.executable, "-c", "print(1)"]}, (), 1, 1.0)
    assert found["a"].code is None and found["b"].code == 0
    pid = int(found["a"].out)
    assert not os.path.exists(f"/proc/{pid}")


def test_the_error_line_of_a_program_is_kept():
    found = turns.take_turns({"a": [sys.executable, "-c", "import sys; sys.exit('no such thing')"]}, (), 1, 30.0)
    assert found["a"].code == 1 and "no such thing" in found["a"].complaint
