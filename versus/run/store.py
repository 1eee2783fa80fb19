# SPDX-License-Identifier: BSD-3-Clause
"""Runs on disk, a JSON line each, a duel's in one line: a campaign that was cut off goes on where it stopped."""

import json
import os
from pathlib import Path


class StoreError(RuntimeError):
    """The folder belongs to another campaign, or cannot be written: one sentence why."""


def _difference(name: str, there: dict, value) -> str:
    """What is not the same, as short as it can be said."""
    was = there.get(name)
    if not isinstance(was, dict) or not isinstance(value, dict):
        return f"{name} {was}, not {value}"
    others = [each for each in {**was, **value} if was.get(each) != value.get(each)]
    return f"{name}: {', '.join(others)}"


class Store:
    """runs.ndjson and campaign.json in one folder. One writer."""

    def __init__(self, folder: Path, identity: dict):
        self.folder = folder
        self.records: list[dict] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._check(identity)
            self._load()
            self._file = open(folder / "runs.ndjson", "a", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{folder} cannot be used: {error.strerror}.") from error
        self._done = {record["key"]: record for record in self.records}

    def _check(self, identity: dict) -> None:
        path = self.folder / "campaign.json"
        if path.exists():
            there = json.loads(path.read_text(encoding="utf-8"))
            for name, value in identity.items():
                if there.get(name) != value:
                    raise StoreError(f"{self.folder} holds another campaign ({_difference(name, there, value)}): "
                                     "choose another --out, or the same options and programs.")
            return
        path.write_text(json.dumps(identity, indent=1) + "\n", encoding="utf-8")

    def _load(self) -> None:
        path = self.folder / "runs.ndjson"
        if not path.exists():
            return
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                read = json.loads(line)
                self.records += read if isinstance(read, list) else [read]
                kept.append(line)
            except ValueError:
                break  # cut off in the middle of a line: that run is done again
        path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")

    def get(self, key: str) -> dict | None:
        return self._done.get(key)

    def add(self, record: dict) -> None:
        """Appends one finished record; it is on disk when this returns."""
        self._append(record, [record])

    def add_all(self, records: list[dict]) -> None:
        """The same of several: they are all there after a restart, or none is."""
        self._append(records, records)

    def _append(self, line: dict | list[dict], records: list[dict]) -> None:
        for record in records:
            assert record["key"] not in self._done, record["key"]
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
        self.records += records
        self._done |= {record["key"]: record for record in records}

    def close(self) -> None:
        os.fsync(self._file.fileno())
        self._file.close()
