"""Directories of manifests, read again only where a file has changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muster_kube.manifests import manifest_files, read_file
from muster_kube.readings import Limits, Manifest, Reading, Rejected, Skipped, Source
from muster_kube.tombstones import Tombstone, read_overlay_file
from muster_types import ObjectKey

_Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Listing:
    """What a cluster's directories show: one object for each key, what was refused, what was not asked for."""

    objects: Mapping[ObjectKey, Manifest]
    rejected: tuple[Rejected, ...]
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class Layer:
    """One directory (or file) of manifests. `overlay`: a file may be a tombstone."""

    path: Path
    limits: Limits
    overlay: bool = False
    _seen: dict[Path, tuple[_Signature, tuple[Reading | Tombstone, ...]]] = field(
        default_factory=dict[Path, tuple[_Signature, tuple[Reading | Tombstone, ...]]]
    )

    def refresh(self) -> bool:
        """Read what is new or changed, forget what is gone; whether anything was."""
        present = self._files()
        changed = False
        for file in present:
            signature = _signature(file)
            known = self._seen.get(file)
            if known is None or known[0] != signature:
                self._seen[file] = (signature, tuple(self._read(file)))
                changed = True
        gone = self._seen.keys() - set(present)
        for file in gone:
            del self._seen[file]
        return changed or bool(gone)

    def readings(self) -> Iterable[tuple[Path, Reading | Tombstone]]:
        """What the files hold, by path and place in the file."""
        for file in sorted(self._seen):
            for reading in self._seen[file][1]:
                yield file, reading

    def _files(self) -> list[Path]:
        if self.path.is_dir():
            return manifest_files(self.path)
        if self.overlay and not self.path.exists():
            return []  # nobody has written yet
        return [self.path]

    def _read(self, file: Path) -> Iterable[Reading | Tombstone]:
        return read_overlay_file(file, self.limits) if self.overlay else read_file(file, limits=self.limits)


def _signature(file: Path) -> _Signature:
    try:
        stat = file.stat()
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def merge(layers: Iterable[Layer]) -> Listing:
    """A later layer's object takes the place of an earlier one's; a tombstone takes it away.

    The same object twice in one layer is a mistake of whoever dumped it: the later one counts, the earlier is refused.
    """
    objects: dict[ObjectKey, Manifest] = {}
    rejected: list[Rejected] = []
    skipped: list[Skipped] = []
    for layer in layers:
        own: dict[ObjectKey, Manifest] = {}
        for _, reading in layer.readings():
            match reading:
                case Manifest():
                    earlier = own.get(reading.key)
                    if earlier is not None and earlier.obj != reading.obj:
                        rejected.append(_superseded(earlier, reading.source))
                    own[reading.key] = reading
                case Tombstone(key):
                    objects.pop(key, None)
                case Rejected():
                    rejected.append(reading)
                case Skipped():
                    skipped.append(reading)
        objects.update(own)
    return Listing(objects, tuple(rejected), tuple(skipped))


def _superseded(earlier: Manifest, later: Source) -> Rejected:
    reason = f"the same object stands again at {later}, which counts; remove one of them"
    return Rejected(earlier.source, str(earlier.key), "", reason, earlier.obj)
