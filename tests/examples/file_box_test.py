# SPDX-License-Identifier: BSD-3-Clause
"""The file box, used by curl as by a browser (a form, a cookie, a form with files) and by a client that gives up."""
import contextlib
import os
import random
import re
import resource
import stat

import pytest

from programs import (PATIENCE_SECONDS, Program, connect, curl, joined, open_files, read_all, status_by_curl,
                      wait_until)

CONTENT = random.Random(5).randbytes(3_000_000)


def page_of(*arguments):
    return curl(*arguments).decode(errors="replace")


class Box:
    """The program, with the folder that it serves, its address, and the file in which curl keeps its cookies."""

    def __init__(self, program, folder, jar):
        self.program, self.folder, self.jar = program, folder, jar
        self.address = program.address()
        self.url = "http://" + joined(self.address)

    def open_files(self):
        """Returns the files of its folder that the program has open."""
        return [name for name in open_files(self.program.process.pid) if name.startswith(f"{self.folder}/")]

    def wait_until(self, done):
        """Waits until `done` returns true. Sends requests meanwhile, so that the program's loop turns."""
        wait_until(lambda: status_by_curl(self.url + "/") == 200 and done())

    @contextlib.contextmanager
    def begun_upload(self):
        """Begins an upload: sends a third of a file and waits until the program has opened it."""
        with connect(self.address) as peer:
            peer.sendall(upload_head(self.url, self.jar, 1_000_000) + bytes(300_000))
            self.wait_until(self.open_files)
            yield


@contextlib.contextmanager
def file_box(tmp_path, **options):
    folder = tmp_path / "folder"
    folder.mkdir()
    with Program("file_box", folder, "127.0.0.1:0", **options) as program:
        yield Box(program, folder, tmp_path / "jar")


def signed_in(url, jar, name="Ann"):
    head = page_of("-i", "-c", jar, "--data-urlencode", f"name={name}", url + "/sign-in")
    assert head.startswith("HTTP/1.1 303 "), head
    return head


def test_who_comes_in_is_remembered_until_they_leave(tmp_path):
    with Program("file_box", tmp_path, "127.0.0.1:0") as box:
        url = "http://" + joined(box.address())
        assert "Your name" in page_of(url + "/")
        jar = tmp_path / "jar"
        head = signed_in(url, jar, "Ann & <Bob>")
        assert re.search(r"\r\nSet-Cookie: session=[0-9a-f]{32}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax\r\n",
                         head)
        assert "Ann &amp; &lt;Bob&gt;" in page_of("-b", jar, url + "/")
        assert "Your name" in page_of("-b", "session=" + "0" * 32, url + "/")
        assert "Max-Age=0" in page_of("-i", "-b", jar, "-c", jar, "-X", "POST", url + "/sign-out")
        assert "Your name" in page_of("-b", jar, url + "/"), "the cookie must be removed"
        assert status_by_curl("-d", "name=", url + "/sign-in") == 400
        assert status_by_curl("-F", "name=Ann", url + "/sign-in") == 415


def test_files_are_put_in_and_fetched(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    with file_box(tmp_path) as box:
        url, folder, jar = box.url, box.folder, box.jar
        assert status_by_curl("-F", f"file=@{source}", url + "/files") == 403, "uploads need a session"
        signed_in(url, jar)
        assert status_by_curl("-b", jar, "-F", "note=for <you>", "-F",
                              f'file=@{source};filename="../../e\\"vil.txt"', "-F", f"file=@{source};filename=b",
                              url + "/files") == 303
        page = page_of("-b", jar, url + "/")
        assert "e&quot;vil.txt</a> from Ann: for &lt;you&gt;" in page
        names = re.findall(r'href="/files/([0-9a-f]{32})"', page)
        assert sorted(names) == sorted(os.listdir(folder)) and len(names) == 2
        assert sorted(os.listdir(tmp_path)) == ["folder", "jar", "source"]
        for name in names:
            assert (folder / name).read_bytes() == CONTENT
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
            head = page_of("-I", "-b", jar, f"{url}/files/{name}")
            assert "Content-Disposition: attachment" in head
            assert curl("-b", jar, f"{url}/files/{name}") == CONTENT
            assert status_by_curl(f"{url}/files/{name}") == 403


def upload_head(url, jar, length):
    """Returns the beginning of a request, up to the first byte of a file."""
    signed_in(url, jar)
    session = re.search(r"session\t([0-9a-f]{32})", jar.read_text())[1]
    return (f"POST /files HTTP/1.1\r\nHost: h\r\nCookie: session={session}\r\nContent-Type: multipart/form-data; "
            f"boundary=B\r\nContent-Length: {length}\r\n\r\n--B\r\nContent-Disposition: form-data; name=file; "
            "filename=a\r\n\r\n").encode()


def test_who_gives_up_leaves_nothing(tmp_path):
    with file_box(tmp_path) as box:
        with box.begun_upload():
            pass
        box.wait_until(lambda: not box.open_files())
        assert os.listdir(box.folder) == []
        with connect(box.address) as peer:
            peer.sendall(upload_head(box.url, box.jar, 1 << 40))
            assert read_all(peer).startswith(b"HTTP/1.1 413 ")
        assert box.program.end()[0] == 0


def test_a_disk_that_takes_no_more_is_a_500_and_nothing_is_left(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    # Python ignores SIGXFSZ, and the program inherits this. So EFBIG is an error like any other.
    limits = {"restore_signals": False,
              "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))}
    with file_box(tmp_path, **limits) as box:
        signed_in(box.url, box.jar)
        assert status_by_curl("-b", box.jar, "-F", f"file=@{source}", box.url + "/files") == 500
        assert os.listdir(box.folder) == []
        assert status_by_curl("-b", box.jar, "-F", f"file=@{box.jar}", box.url + "/files") == 303
        assert len(os.listdir(box.folder)) == 1


def test_a_killed_process_leaves_nothing(tmp_path):
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        pytest.skip("this file system has no O_TMPFILE")
    with file_box(tmp_path) as box:
        with box.begun_upload():
            box.program.process.kill()
            box.program.process.wait(PATIENCE_SECONDS)
        assert os.listdir(box.folder) == []
