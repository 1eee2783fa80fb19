# SPDX-License-Identifier: BSD-3-Clause
"""Measures bytes/s of a static file of 1 MiB, `peal serve http --root` / nginx with sendfile, one thread each, in
paired blocks."""

import os
import tempfile
from pathlib import Path

from versus.run import process
from versus.bars import common, http_load
from versus.bars.common import Context, Row
from versus.bars.http_load import contenders
from versus.bars.http_serve import NGINX, PEAL

BAR = 0.97
FILE = "one-mib.bin"
FILE_BYTES = 1024 * 1024
CONNECTIONS = 16
RUN_S = 1.0


def _files_per_s(context: Context, contender, root: Path) -> float:
    with process.serving(contender.for_threads(1, "--root", str(root)), process.Pins.of(1).server) as server:
        found = http_load.run(context, server, RUN_S, connections=CONNECTIONS, path=f"/{FILE}")
    return found.messages_per_s


def measure(context: Context) -> list[Row]:
    both = contenders(context, (PEAL, NGINX))
    context.say(f"a static file: {context.blocks} blocks")
    with tempfile.TemporaryDirectory(prefix="versus-root-") as folder:
        os.chmod(folder, 0o755)
        (Path(folder) / FILE).write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
        variants = {name: (lambda each=each: _files_per_s(context, each, Path(folder))) for name, each in both.items()}
        values = common.paired(context, "http_static", variants)
    pair = common.pair_of(values, PEAL, NGINX)
    # peal is not slower: the mean ratio is at least 0.97, and the interval is not completely below 1.
    verdict = "cannot tell" if not pair.known else "met" if pair.ratio >= BAR and pair.high >= 1 else "not met"
    middle = common.medians(values, (PEAL, NGINX), 2, FILE_BYTES / 2**30)
    measured = f"{common.span(pair)}; {middle} GiB/s, {CONNECTIONS} connections"
    return [Row(f"a static file of 1 MiB, bytes/s, {PEAL} / {NGINX}", f">= {BAR}, 1 within the interval", measured,
                verdict, common.ratio_data(pair, values))]
