# SPDX-License-Identifier: BSD-3-Clause
"""Runs nginx beside the tested programs."""
import contextlib
import os
import socket
import subprocess

from programs import PATIENCE_SECONDS, tool, wait_until


@contextlib.contextmanager
def nginx(folder, place, http):
    """Runs nginx as long as the `with` block, with `http` as the text of its http block.

    `place` is a port of 127.0.0.1 or the path of a socket. Yields the path of nginx's error log when nginx accepts.
    """
    config, log = folder / "nginx.conf", folder / "error.log"
    user = "user root;" if os.geteuid() == 0 else ""  # otherwise nginx's workers cannot enter the folder
    config.write_text(f"""
        daemon off; pid {folder}/pid; error_log {log}; worker_processes 1; {user}
        events {{ worker_connections 64; }}
        http {{
          access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; sendfile on;
          fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          {http}
        }}""", encoding="utf-8")
    family, address = (socket.AF_INET, ("127.0.0.1", place)) if isinstance(place, int) else (socket.AF_UNIX, str(place))
    command = [tool("nginx"), "-c", config, "-p", folder, "-e", log]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        def accepts():
            assert process.poll() is None, log.read_text(encoding="utf-8")
            with socket.socket(family) as probe:
                return probe.connect_ex(address) == 0

        try:
            wait_until(accepts, "nginx listens")
            yield log
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
