# SPDX-License-Identifier: BSD-3-Clause
"""The process monitor watches a busy process, and notices its end."""
import subprocess
import sys
import urllib.request

from programs import EXAMPLES, PATIENCE_SECONDS, Program, joined, wait_until

BUSY = "import sys\ndata = bytearray(64 << 20)\nprint('ready', flush=True)\nwhile True: pass"


def fetched(address, path):
    with urllib.request.urlopen(f"http://{joined(address)}{path}", timeout=PATIENCE_SECONDS) as answer:
        return answer.read().decode()


def test_cpu_memory_and_threads_of_a_process_and_its_end():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as busy:
        try:
            busy.stdout.readline()
            with Program("process_monitor", busy.pid, "127.0.0.1:0", 20) as monitor:
                address = monitor.address()

                def worked():
                    rows = [[float(word) for word in line.split()]
                            for line in fetched(address, "/samples").splitlines()[1:]]
                    return rows if sum(row[0] for row in rows) > 0.2 else None

                rows = wait_until(worked)
                assert all(row[0] < 5 for row in rows)
                assert rows[-1][1] > 64
                assert rows[-1][2] == 1
                page = fetched(address, "/")
                assert f"({busy.pid})" in page and page.count("<polyline") == 3 and "has ended" not in page
                busy.kill()
                busy.wait()
                wait_until(lambda: "has ended" in fetched(address, "/"))
                assert monitor.end()[0] == 0
        finally:
            busy.kill()


def test_nobody_to_watch_is_said_in_one_sentence():
    for words, code in ([], 2), (["x"], 2), (["1", "127.0.0.1:0", "0"], 2), (["4194305", "127.0.0.1:0"], 1):
        told = subprocess.run([EXAMPLES / "process_monitor", *words], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, check=False)
        assert told.returncode == code and told.stderr.count("\n") == 1, told
