# SPDX-License-Identifier: BSD-3-Clause
"""Counts user instructions by single-stepping a program (ptrace(2)). This is for programs that valgrind cannot run:
those on io_uring.

It is slow, some microseconds per instruction, but exact. Instructions of the kernel are not counted. It counts only the
program's first thread.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Callable

from versus.bars.common import CannotMeasure

_STEP, _DETACH, _SEIZE, _INTERRUPT = 9, 17, 0x4206, 0x4207
_WALL = 0x40000000


def _ptrace(request: int, pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(request, pid, 0, 0) != 0:
        error = ctypes.get_errno()
        raise CannotMeasure(f"ptrace cannot single-step process {pid}: {os.strerror(error)}")


def during(pid: int, work: Callable[[], object]) -> int:
    """Returns the instructions that the process executes while `work` drives it. `work` runs on its own thread."""
    failures = []

    def drive() -> None:
        try:
            work()
        except Exception as error:  # the caller's thread raises it again
            failures.append(error)
        finally:
            over.set()
            os.kill(pid, signal.SIGSTOP)  # ends a wait of the process in the kernel

    over = threading.Event()
    _ptrace(_SEIZE, pid)
    _ptrace(_INTERRUPT, pid)
    os.waitpid(pid, _WALL)
    driver = threading.Thread(target=drive)
    driver.start()
    steps = 0
    while True:
        _ptrace(_STEP, pid)
        _, status = os.waitpid(pid, _WALL)
        if not os.WIFSTOPPED(status):
            raise CannotMeasure(f"process {pid} ended while it was single-stepped")
        if os.WSTOPSIG(status) == signal.SIGSTOP and over.is_set():
            break
        steps += 1
    _ptrace(_DETACH, pid)
    driver.join()
    if failures:
        raise failures[0]
    return steps
