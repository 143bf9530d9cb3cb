"""How far a cluster's API was told, so that a restart goes on there. Losing it costs a list."""

from collections.abc import Mapping

import orjson

from muster_cluster_watcher.wire.observed import CONTEXT
from muster_eventstore import EventStore, Snapshot, SnapshotStore
from muster_types import ClusterId

# Changes whenever the form of a fact does, for what is not listed again is not told in the new form.
_SCHEMA = 1


class Cursors:
    """Kept as snapshots of the stream: a cursor says "the stream, up to this sequence, has all of the cluster up to
    these versions", so it is worth nothing over a stream that was made anew or went back."""

    def __init__(self, snapshots: SnapshotStore, store: EventStore) -> None:
        self._snapshots = snapshots
        self._store = store

    async def load(self, cluster: ClusterId, identity: str) -> Mapping[str, str]:
        """Versions by path of the resource; empty when there is nothing to go on from. `identity` is the server's."""
        kept = await self._snapshots.load(_name(cluster))
        if kept is None or kept.schema != _SCHEMA or kept.stream != CONTEXT:
            return {}
        state = await self._store.state(CONTEXT)
        if state.incarnation != kept.incarnation or state.last_sequence < kept.sequence:
            return {}
        written: dict[str, object] = orjson.loads(kept.data)
        versions = written.get("versions")
        if written.get("identity") != identity or not isinstance(versions, dict):
            return {}
        return {str(path): str(version) for path, version in versions.items()}

    async def save(self, cluster: ClusterId, identity: str, versions: Mapping[str, str]) -> None:
        """Replace the cursor; everything up to `versions` is stored."""
        state = await self._store.state(CONTEXT)
        data = orjson.dumps({"identity": identity, "versions": dict(sorted(versions.items()))})
        snapshot = Snapshot(CONTEXT, state.incarnation, state.last_sequence, _SCHEMA, data)
        await self._snapshots.save(_name(cluster), snapshot)


def _name(cluster: ClusterId) -> str:
    return f"cluster-watcher/{cluster}"
