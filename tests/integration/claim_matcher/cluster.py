"""A small cluster and its gangs: facts and commands as the other services would publish them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson
from google.protobuf.message import Message

from muster.commands.claims.v1 import claims_pb2 as commands
from muster.events.gangs.v1 import gangs_pb2
from muster.events.observed.v1 import observed_pb2 as pb
from muster.type.v1.event_batch_pb2 import EventBatch, RecordedEvent
from muster.type.v1.gang_pb2 import GangSpec
from muster.type.v1.object_pb2 import ObjectRef
from muster.type.v1.plan_pb2 import ArrivedNode
from muster_eventstore import (
    BATCH,
    Cause,
    CommandSubject,
    EventStore,
    SendCommand,
    caused,
    derived_id,
    event_subject,
    publish_command,
)
from unit.muster_claim_matcher.objects import TEAM, Json, a_claim_template, a_pod_template, a_request

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CLUSTER = "local"


class Others:
    """The watcher and the coordinator, as far as the claim-matcher hears of them."""

    def __init__(self, store: EventStore, cluster: str = CLUSTER) -> None:
        self._store = store
        self._cluster = cluster
        self._count = 0

    async def see(self, *objects: Json) -> int:
        """These objects as they are now; the sequence of the last fact."""
        last = 0
        for obj in objects:
            last = await self._fact(_ref(obj), pb.ObjectObserved(object=_ref(obj), json=orjson.dumps(obj)))
        return last

    async def lose(self, obj: Json) -> int:
        """This object is gone."""
        return await self._fact(_ref(obj), pb.ObjectRemoved(object=_ref(obj)))

    async def complete(self) -> int:
        """The list is whole."""
        subject = event_subject("observed", self._cluster, "sync", "dump")
        return await self._publish(subject, pb.SyncCompleted(source="dump"))

    async def request(self, gang: str, spec: GangSpec) -> None:
        """The coordinator accepted a request."""
        event = gangs_pb2.GangRequested(gang_id=gang, spec=spec, request_id=spec.uid)
        batch = EventBatch(
            events=[RecordedEvent(type=event.DESCRIPTOR.full_name, payload=event.SerializeToString())],
            aggregate_version=1,
        )
        subject = event_subject("gangs", self._cluster, "gang", gang)
        cause = Cause.first(derived_id("request", gang))
        meta = caused(cause, cause.id, type=BATCH, source="/muster/gang-coordinator", subject=subject, time=NOON)
        await self._store.publish(subject, batch.SerializeToString(), meta)

    async def book(
        self,
        gang: str,
        spec: GangSpec,
        *,
        attempt: int = 1,
        excluded: Sequence[str] = (),
        kept: Sequence[ArrivedNode] = (),
        sequence: int = 0,
        again: bool = False,
    ) -> None:
        """Ask for a plan."""
        command = commands.BookGang(
            gang_id=gang,
            attempt=attempt,
            spec=spec,
            excluded_node_groups=excluded,
            kept_nodes=kept,
            min_observed_sequence=sequence,
        )
        await self._command("BookGang", gang, command, again=again)

    async def confirm(
        self, gang: str, nodes: Sequence[ArrivedNode], *, attempt: int = 1, sequence: int = 0, again: bool = False
    ) -> None:
        """Ask whether what arrived serves."""
        command = commands.ConfirmGang(gang_id=gang, attempt=attempt, nodes=nodes, min_observed_sequence=sequence)
        await self._command("ConfirmGang", gang, command, again=again)

    async def release(self, gang: str, cause: str, *, again: bool = False) -> None:
        """The gang needs its booking no more."""
        await self._command("ReleaseGang", gang, commands.ReleaseGang(gang_id=gang, cause=cause), again=again)

    async def _command(self, kind: str, gang: str, message: Message, *, again: bool) -> None:
        self._count += 1
        # A repeat that the store does not notice: the queue has forgotten the first one.
        cause = Cause.first(derived_id("test", kind, gang, message.SerializeToString(deterministic=True).hex()))
        id = derived_id(cause.id, "again", self._count) if again else None
        to = CommandSubject("claims", self._cluster, kind, gang)
        await publish_command(
            self._store, SendCommand(to, message), cause, source="/muster/gang-coordinator", now=NOON, id=id
        )

    async def _fact(self, ref: ObjectRef, message: Message) -> int:
        return await self._publish(event_subject("observed", self._cluster, ref.kind, ref.namespace, ref.name), message)

    async def _publish(self, subject: str, message: Message) -> int:
        self._count += 1
        cause = Cause.first(derived_id("test", subject, self._count))
        meta = caused(
            cause,
            derived_id(cause.id, subject),
            type=message.DESCRIPTOR.full_name,
            source="/muster/cluster-watcher",
            subject=subject,
            time=NOON,
        )
        return (await self._store.publish(subject, message.SerializeToString(deterministic=True), meta)).sequence


def a_spec(name: str, *, pods: int = 2, gpus: int = 4, one_numa: bool = True, cpu: str = "8") -> GangSpec:
    """A gang of equal pods with `gpus` devices each."""
    claim, pod = f"{name}-gpus", f"{name}-workers"
    return GangSpec(
        namespace=TEAM,
        name=name,
        uid=f"uid-{name}",
        request_json=orjson.dumps(a_request(name, pod, pods)),
        objects_json=[
            orjson.dumps(a_pod_template(pod, claim, cpu=cpu)),
            orjson.dumps(a_claim_template(claim, gpus, one_numa=one_numa)),
        ],
        pod_count=pods,
    )


def _ref(obj: Json) -> ObjectRef:
    meta = obj["metadata"]
    assert isinstance(meta, dict)
    return ObjectRef(kind=str(obj["kind"]), namespace=str(meta.get("namespace", "")), name=str(meta["name"]))
