"""Objects of new nodes in the overlay of a cluster directory, which stands for the API server."""

from collections.abc import Mapping
from pathlib import Path

from muster_kube import ClusterDirectory
from muster_types import ObjectKey


class ClusterOverlay:
    """`ClusterObjects` on a directory; other processes may write other objects into it at the same time."""

    def __init__(self, overlay: Path) -> None:
        self._directory = ClusterDirectory((), overlay)

    def put(self, obj: Mapping[str, object]) -> None:
        """Create or replace an object."""
        self._directory.put(obj)

    def delete(self, key: ObjectKey) -> None:
        """Remove an object; nothing happens when it is not there."""
        self._directory.delete(key)
