# SPDX-License-Identifier: BSD-3-Clause
"""The file box, as a browser uses it: a form, a cookie, a form with files. By curl, and by a client that gives up."""
import os
import random
import re
import resource
import stat
import time

import pytest

from programs import PATIENCE_SECONDS, Program, connect, joined, open_files, read_all, run_tool

CONTENT = random.Random(5).randbytes(3_000_000)


def curl(*arguments):
    return run_tool("curl", "-sS", "--noproxy", "*", *arguments).decode(errors="replace")


def status(*arguments):
    return int(curl("-o", os.devnull, "-w", "%{http_code}", *arguments))


def signed_in(url, jar, name="Ann"):
    head = curl("-i", "-c", jar, "--data-urlencode", f"name={name}", url + "/sign-in")
    assert head.startswith("HTTP/1.1 303 "), head
    return head


def test_who_comes_in_is_remembered_until_they_leave(tmp_path):
    with Program("file_box", tmp_path, "127.0.0.1:0") as box:
        url = "http://" + joined(box.address())
        assert "Your name" in curl(url + "/")
        jar = tmp_path / "jar"
        head = signed_in(url, jar, "Ann & <Bob>")
        assert re.search(r"\r\nSet-Cookie: session=[0-9a-f]{32}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax\r\n",
                         head)
        assert "Ann &amp; &lt;Bob&gt;" in curl("-b", jar, url + "/")
        assert "Your name" in curl("-b", "session=" + "0" * 32, url + "/")
        assert "Max-Age=0" in curl("-i", "-b", jar, "-c", jar, "-X", "POST", url + "/sign-out")
        assert "Your name" in curl("-b", jar, url + "/"), "the cookie is gone"
        assert status("-d", "name=", url + "/sign-in") == 400
        assert status("-F", "name=Ann", url + "/sign-in") == 415


def test_files_are_put_in_and_fetched(tmp_path):
    folder, jar, source = tmp_path / "folder", tmp_path / "jar", tmp_path / "source"
    folder.mkdir()
    source.write_bytes(CONTENT)
    with Program("file_box", folder, "127.0.0.1:0") as box:
        url = "http://" + joined(box.address())
        assert status("-F", f"file=@{source}", url + "/files") == 403, "nobody is signed in"
        signed_in(url, jar)
        assert status("-b", jar, "-F", "note=for <you>", "-F", f'file=@{source};filename="../../e\\"vil.txt"',
                      "-F", f"file=@{source};filename=b", url + "/files") == 303
        page = curl("-b", jar, url + "/")
        assert "e&quot;vil.txt</a> from Ann: for &lt;you&gt;" in page
        names = re.findall(r'href="/files/([0-9a-f]{32})"', page)
        assert sorted(names) == sorted(os.listdir(folder)) and len(names) == 2
        assert sorted(os.listdir(tmp_path)) == ["folder", "jar", "source"]
        for name in names:
            assert (folder / name).read_bytes() == CONTENT
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
            head = curl("-I", "-b", jar, f"{url}/files/{name}")
            assert "Content-Disposition: attachment" in head
            assert run_tool("curl", "-sS", "--noproxy", "*", "-b", jar, f"{url}/files/{name}") == CONTENT
            assert status(f"{url}/files/{name}") == 403


def upload_head(url, jar, length):
    """Up to the first byte of a file."""
    signed_in(url, jar)
    session = re.search(r"session\t([0-9a-f]{32})", jar.read_text())[1]
    return (f"POST /files HTTP/1.1\r\nHost: h\r\nCookie: session={session}\r\nContent-Type: multipart/form-data; "
            f"boundary=B\r\nContent-Length: {length}\r\n\r\n--B\r\nContent-Disposition: form-data; name=file; "
            "filename=a\r\n\r\n").encode()


def open_in(pid, folder):
    return [name for name in open_files(pid) if name.startswith(f"{folder}/")]


def wait_until(done, url):
    """Asking the server for something in between, so that it has its turns."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < give_up
        assert status(url + "/") == 200


def test_who_gives_up_leaves_nothing(tmp_path):
    folder, jar = tmp_path / "folder", tmp_path / "jar"
    folder.mkdir()
    with Program("file_box", folder, "127.0.0.1:0") as box:
        address = box.address()
        url = "http://" + joined(address)
        with connect(address) as peer:
            peer.sendall(upload_head(url, jar, 1_000_000) + bytes(300_000))
            wait_until(lambda: open_in(box.process.pid, folder), url)
        wait_until(lambda: not open_in(box.process.pid, folder), url)
        assert os.listdir(folder) == []
        with connect(address) as peer:
            peer.sendall(upload_head(url, jar, 1 << 40))
            assert read_all(peer).startswith(b"HTTP/1.1 413 ")
        assert box.end()[0] == 0


def test_a_disk_that_takes_no_more_is_a_500_and_nothing_is_left(tmp_path):
    folder, jar, source = tmp_path / "folder", tmp_path / "jar", tmp_path / "source"
    folder.mkdir()
    source.write_bytes(CONTENT)
    # Python ignores SIGXFSZ, and so the program does: EFBIG is an error like any other.
    limits = {"restore_signals": False,
              "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))}
    with Program("file_box", folder, "127.0.0.1:0", **limits) as box:
        url = "http://" + joined(box.address())
        signed_in(url, jar)
        assert status("-b", jar, "-F", f"file=@{source}", url + "/files") == 500
        assert os.listdir(folder) == []
        assert status("-b", jar, "-F", f"file=@{jar}", url + "/files") == 303
        assert len(os.listdir(folder)) == 1


def test_a_killed_process_leaves_nothing(tmp_path):
    folder, jar = tmp_path / "folder", tmp_path / "jar"
    folder.mkdir()
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        pytest.skip("this file system has no O_TMPFILE")
    with Program("file_box", folder, "127.0.0.1:0") as box:
        address = box.address()
        url = "http://" + joined(address)
        with connect(address) as peer:
            peer.sendall(upload_head(url, jar, 1_000_000) + bytes(300_000))
            wait_until(lambda: open_in(box.process.pid, folder), url)
            box.process.kill()
            box.process.wait(PATIENCE_SECONDS)
        assert os.listdir(folder) == []
