"""CapacityService: requests, queries and the history of gangs."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from grpc import aio

from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.api.capacity.v1 import capacity_service_pb2_grpc as rpc
from muster_eventstore import Cause, Codec, Decoded, EventStore, Projector, StoredMessage, derived_id, event_filter
from muster_gang_coordinator.domain.commands import CancelGang
from muster_gang_coordinator.domain.sentences import sentence
from muster_gang_coordinator.handlers.desk import KIND, STREAM, Desk, gang_of, gang_subject
from muster_gang_coordinator.handlers.export import export_state
from muster_gang_coordinator.handlers.intake import Intake
from muster_gang_coordinator.handlers.projections import GangsView, Step
from muster_gang_coordinator.handlers.queries import find_gang, list_gangs
from muster_gang_coordinator.ports import Clock, ProvisionableCapacity
from muster_gang_coordinator.wire.api import from_page_token, to_group, to_page_token, to_view
from muster_gang_coordinator.wire.events import from_wire, to_wire
from muster_gang_coordinator.wire.plans import to_time
from muster_gang_coordinator.wire.states import to_state
from muster_servicekit.errors import Invalid, NotFound
from muster_servicekit.grpc import wait_min_sequence
from muster_types import ClusterId, GangId

NAME = "muster.api.capacity.v1.CapacityService"
Context = aio.ServicerContext[Any, Any]


class CapacityServicer(rpc.CapacityServiceServicer):
    """An empty cluster means the first one configured. Answers tell the sequence of `gangs` that they reflect."""

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        desk: Desk,
        intake: Intake,
        gangs: GangsView,
        projector: Projector,
        capacity: ProvisionableCapacity,
        clusters: tuple[str, ...],
        clock: Clock,
        query_wait: float,
    ) -> None:
        self._store = store
        self._codec = codec
        self._desk = desk
        self._intake = intake
        self._gangs = gangs
        self._projector = projector
        self._capacity = capacity
        self._clusters = clusters
        self._clock = clock
        self._query_wait = query_wait

    async def RequestCapacity(self, request: pb.RequestCapacityRequest, context: Context) -> pb.RequestCapacityResponse:  # noqa: N802 -- the generated name
        taken = await self._intake.request(
            self._cluster(request.cluster), request.request_id, request.request_json, tuple(request.objects_json)
        )
        await self._wait(taken.sequence)  # who asks for the gang next finds it
        await self._wait(taken.sequence)  # whoever asks for the gang next finds it
        return pb.RequestCapacityResponse(gang_id=taken.gang_id, sequence=taken.sequence)

    async def CancelGang(self, request: pb.CancelGangRequest, context: Context) -> pb.CancelGangResponse:  # noqa: N802 -- the generated name
        if not request.request_id:
            raise Invalid("request_id: it is empty; give each cancel an id of its own, to be used again on a retry")
        cluster, gang_id = self._cluster(request.cluster), GangId(request.gang_id)
        cause = Cause.first(derived_id("cancel", cluster, gang_id, request.request_id))
        command = CancelGang(request.cause or "somebody asked for it", self._clock.now())
        outcome = await self._desk.tell(cluster, gang_id, command, cause)
        await self._wait(outcome.sequence)
        return pb.CancelGangResponse(sequence=outcome.sequence)

    async def GetGang(self, request: pb.GetGangRequest, context: Context) -> pb.GetGangResponse:  # noqa: N802 -- the generated name
        await self._wait(request.min_sequence)
        entry = find_gang(self._gangs, self._cluster(request.cluster), GangId(request.gang_id))
        view = to_view(entry.gang_id, entry.gang, entry.change_time)
        return pb.GetGangResponse(gang=view, sequence=self._projector.position)

    async def ListGangs(self, request: pb.ListGangsRequest, context: Context) -> pb.ListGangsResponse:  # noqa: N802 -- the generated name
        await self._wait(request.min_sequence)
        after = from_page_token(request.page_token)
        page = list_gangs(self._gangs, self._cluster(request.cluster), request.page_size, after)
        return pb.ListGangsResponse(
            gangs=[to_view(e.gang_id, e.gang, e.change_time) for e in page.entries],
            sequence=self._projector.position,
            next_page_token=to_page_token(page.after),
        )

    async def ExportState(self, request: pb.ExportStateRequest, context: Context) -> pb.ExportStateResponse:  # noqa: N802 -- the generated name
        await self._wait(request.min_sequence)
        cluster = self._cluster(request.cluster)
        json = export_state(cluster, self._gangs.all(cluster))
        return pb.ExportStateResponse(json=json, sequence=self._projector.position)

    async def ListProvisionableCapacity(  # noqa: N802 -- the generated name
        self, request: pb.ListProvisionableCapacityRequest, context: Context
    ) -> pb.ListProvisionableCapacityResponse:
        found = await self._capacity.list_groups(
            self._cluster(request.cluster), tuple(request.claims_json), request.min_sequence
        )
        return pb.ListProvisionableCapacityResponse(groups=map(to_group, found.groups), sequence=found.sequence)

    async def WatchGang(  # noqa: N802 -- the generated name
        self, request: pb.WatchGangRequest, context: Context
    ) -> AsyncIterator[pb.WatchGangResponse]:
        cluster, gang_id = self._cluster(request.cluster), GangId(request.gang_id)
        if gang_id:
            await self._wait(request.after_sequence)
            find_gang(self._gangs, cluster, gang_id)
        elif request.until_end:
            raise Invalid("until_end: it needs a gang_id; all gangs together have no end")
        subject = gang_subject(cluster, gang_id) if gang_id else event_filter(STREAM, cluster, KIND)
        gangs = GangsView()  # a fold of its own, for the state after each event
        async with aclosing(self._store.read(STREAM, [subject])) as chunks:
            async for chunk in chunks:
                for message in chunk.messages:
                    for answer in self._told(message, gangs):
                        if message.sequence > request.after_sequence:
                            yield answer
                entry = gangs.get(cluster, gang_id)
                over = request.history_only or (request.until_end and entry is not None and entry.over)
                if over and chunk.pending == 0:
                    return

    def _told(self, message: StoredMessage, gangs: GangsView) -> list[pb.WatchGangResponse]:
        place = gang_of(message.subject)
        decoded = self._codec.decode(message.headers, message.data)
        if place is None or not isinstance(decoded, Decoded):
            return []  # parked and logged by the projector
        events = [from_wire(event) for event in decoded.batch.events]
        return [_to_told(step, message, decoded) for step in gangs.apply(*place, events, decoded.meta.time)]

    async def _wait(self, sequence: int) -> None:
        await wait_min_sequence(self._projector, sequence, self._query_wait)

    def _cluster(self, asked: str) -> ClusterId:
        if asked and asked not in self._clusters:
            known = ", ".join(self._clusters)
            raise NotFound(f"cluster {asked!r} is not served here; served: {known}", "CLUSTER_UNKNOWN")
        return ClusterId(asked or self._clusters[0])


def _to_told(step: Step, message: StoredMessage, decoded: Decoded) -> pb.WatchGangResponse:
    event = to_wire(step.event)
    return pb.WatchGangResponse(
        sequence=message.sequence,
        gang_id=step.entry.gang_id,
        time=to_time(decoded.meta.time),
        type=event.DESCRIPTOR.full_name,
        payload=event.SerializeToString(deterministic=True),
        sentence=sentence(step.event),
        state=to_state(step.entry.gang),
    )
