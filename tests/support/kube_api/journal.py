"""Every write of a fake API server in a file: what a server that was killed starts from, and what a test reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from support.kube_api.answers import Json
from support.kube_api.store import Event, Store, TypeId


@dataclass(frozen=True, slots=True)
class Write:
    """An object as it was stored; when it is `gone`, its last form."""

    type_id: TypeId
    obj: Json
    gone: bool

    @property
    def plural(self) -> str:
        """Its resource, without the group."""
        return self.type_id[1]

    @property
    def name(self) -> str:
        """Its name, without the namespace."""
        return str(self._metadata["name"])

    @property
    def place(self) -> tuple[str, str]:
        """Namespace and name."""
        return str(self._metadata.get("namespace") or ""), self.name

    @property
    def _metadata(self) -> Json:
        return cast("Json", self.obj["metadata"])


def keep_journal(store: Store, path: Path) -> None:
    """Take up what the journal holds, and write every further change into it before anybody hears of it."""
    for write in read_journal(path):
        if write.gone:
            store.remove(write.type_id, write.place, write.obj)
        else:
            store.put(write.type_id, write.place, write.obj)
    file = path.open("ab", buffering=0)

    def note(type_id: TypeId, event: Event) -> None:
        entry = event.after or event.before
        assert entry is not None
        file.write(orjson.dumps([type_id, event.after is None, entry.obj]) + b"\n")

    store.listener = note


def read_journal(path: Path) -> Iterator[Write]:
    """All writes, in order; the last line may be one that is being written."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            (group, plural), gone, obj = orjson.loads(line)
            yield Write((group, plural), obj, gone)
