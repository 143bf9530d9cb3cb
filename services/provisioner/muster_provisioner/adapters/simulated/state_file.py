"""The state of the simulated cloud in one file: changed under a lock, replaced atomically, flushed to the disk."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from muster_provisioner.adapters.simulated.state import (
    CloudState,
    DamagedState,
    Group,
    dump_group,
    join_groups,
    load_state,
)
from muster_types import NodeGroupName

T = TypeVar("T")
_Signature = tuple[int, int, int]


class StateFile:
    """`<state>/cloud/<cluster>.json`, shared by any number of processes. Methods block for the disk, and raise
    DamagedState with the path and what to do. What was read or written last is kept, so that a file that nobody else
    changed is not parsed again and only changed groups are written out anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path.with_suffix(".lock"))
        self._last: tuple[_Signature | None, CloudState] = (None, CloudState())
        self._dumped: dict[NodeGroupName, tuple[Group, bytes]] = {}

    def read(self) -> CloudState:
        """The state as it is; empty when there is no file."""
        known, state = self._last
        try:
            with self._path.open("rb") as file:
                signature = _signature(os.fstat(file.fileno()))
                if signature == known:
                    return state
                data = file.read()
        except FileNotFoundError:
            return CloudState()
        try:
            state = load_state(data)
        except DamagedState as error:
            raise DamagedState(
                f"{self._path} is no state of the simulated cloud: {error}; restore it, or move it away to begin with "
                "a cloud that has only the nodes of the cluster dump"
            ) from error
        self._last = (signature, state)
        return state

    def change(self, act: Callable[[CloudState], tuple[CloudState, T]]) -> T:
        """Replace the state by what `act` makes of it, and hand on its result; nobody else changes it meanwhile."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            before = self.read()
            after, result = act(before)
            if after is not before and after != before:
                self._write(after)
            return result

    def _write(self, state: CloudState) -> None:
        groups = sorted(state.groups.items())
        for name, group in groups:
            if name not in self._dumped or self._dumped[name][0] is not group:
                self._dumped[name] = (group, dump_group(group))
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with temporary.open("wb") as file:
            file.write(join_groups(self._dumped[name][1] for name, _ in groups))
            file.flush()
            os.fsync(file.fileno())
            signature = _signature(os.fstat(file.fileno()))
        temporary.replace(self._path)
        self._last = (signature, state)


def _signature(stat: os.stat_result) -> _Signature:
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)
