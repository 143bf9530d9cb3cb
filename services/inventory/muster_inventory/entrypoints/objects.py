"""The objects of a cluster as its newest facts hold them; read from the stream when asked for, not kept in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.events.observed.v1 import observed_pb2 as pb
from muster_eventstore import Codec, Decoded, EventStore, event_filter
from muster_types import ClusterId, ObjectKey

_PART_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ShownObjects:
    """Kubernetes JSON by kind, namespace and name. `sequence` is that of the last fact about the cluster."""

    objects: tuple[bytes, ...]
    sequence: int

    def parts(self) -> Iterator[Sequence[bytes]]:
        """In messages of about a megabyte; at least one object each."""
        part: list[bytes] = []
        size = 0
        for obj in self.objects:
            if part and size + len(obj) > _PART_BYTES:
                yield part
                part, size = [], 0
            part.append(obj)
            size += len(obj)
        if part:
            yield part


async def read_objects(store: EventStore, codec: Codec, cluster: ClusterId) -> ShownObjects:
    """What the stream `observed` shows of a cluster now. Facts that cannot be decoded are passed over: the inventory's
    own reader parks them."""
    shown: dict[ObjectKey, bytes] = {}
    sequence = 0
    async for chunk in store.read("observed", [event_filter("observed", cluster)]):
        for message in chunk.messages:
            sequence = message.sequence
            decoded = codec.decode(message.headers, message.data)
            if not isinstance(decoded, Decoded):
                continue
            for event in decoded.batch.events:
                if isinstance(event, pb.ObjectObserved | pb.ObjectRemoved):
                    key = ObjectKey(event.object.kind, event.object.namespace, event.object.name)
                    shown.pop(key, None)
                    if isinstance(event, pb.ObjectObserved):
                        shown[key] = event.json
        if chunk.pending == 0:
            break
    return ShownObjects(tuple(shown[key] for key in sorted(shown)), sequence)
