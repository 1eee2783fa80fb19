# SPDX-License-Identifier: BSD-3-Clause
"""Stores runs on disk, one JSON line per run and one line per duel. An interrupted campaign resumes where it
stopped."""

import json
import os
from pathlib import Path


class StoreError(RuntimeError):
    """The folder belongs to another campaign, or cannot be written. The text is one sentence that says why."""


def _difference(name: str, there: dict, value) -> str:
    """Returns a short text of what differs."""
    was = there.get(name)
    if not isinstance(was, dict) or not isinstance(value, dict):
        return f"{name} {was}, not {value}"
    others = [each for each in {**was, **value} if was.get(each) != value.get(each)]
    return f"{name}: {', '.join(others)}"


class Store:
    """The files runs.ndjson and campaign.json in one folder. There is one writer."""

    def __init__(self, folder: Path, identity: dict):
        self.folder = folder
        self.records: list[dict] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._check(identity)
            self._load()
            self._file = open(folder / "runs.ndjson", "a", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot use the folder {folder}: {error.strerror}.") from error
        self._done = {record["key"]: record for record in self.records}

    def _check(self, identity: dict) -> None:
        path = self.folder / "campaign.json"
        if path.exists():
            there = json.loads(path.read_text(encoding="utf-8"))
            for name, value in identity.items():
                if there.get(name) != value:
                    raise StoreError(f"{self.folder} holds another campaign ({_difference(name, there, value)}): "
                                     "choose another --out, or use the same options and programs.")
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
                break  # the line was cut off: that run is repeated
        path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")

    def get(self, key: str) -> dict | None:
        return self._done.get(key)

    def add(self, record: dict) -> None:
        """Appends one finished record. When this returns, the record is in the file."""
        self._append(record, [record])

    def add_all(self, records: list[dict]) -> None:
        """Appends several records. After a crash, the file has all of them or none."""
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
