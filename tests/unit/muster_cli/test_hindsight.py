"""What was known about a gang at a moment, and which event of another service each step follows from."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muster.events.claims.v1 import claims_pb2
from muster.events.gangs.v1 import gangs_pb2
from muster.events.inventory.v1 import inventory_pb2
from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_cli.live.hindsight import look_back
from muster_cli.live.journal import entries
from muster_cli.live.origins import causes_of
from muster_eventstore import (
    Batch,
    Cause,
    Codec,
    CommandHandler,
    MemoryServer,
    MemoryStore,
    StoredMessage,
    derived_id,
    event_subject,
)
from muster_eventstore.codec import BATCH
from muster_eventstore.envelope import caused
from muster_gang_coordinator.domain.commands import Command, RecordBooking, RecordNoPlan, RequestGang, RetryGang, Timer
from muster_gang_coordinator.domain.gang import gang_decider
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.handlers.desk import Desk
from muster_gang_coordinator.wire.events import GangWire
from muster_types import ClusterId
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, POLICY, a_plan, a_spec, why

HERE = ClusterId("local")
CODEC = Codec.of_modules(gangs_pb2, claims_pb2, inventory_pb2)


@dataclass
class Past:
    """Recorded decisions; `at` is the minute after noon."""

    now: datetime = NOON
    server: MemoryServer = field(init=False)
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        self.server = MemoryServer(lambda: self.now)
        handler = CommandHandler(
            self.store, CODEC, gang_decider(POLICY), GangWire(), stream="gangs", source="/test", now=lambda: self.now
        )
        self.desk = Desk(handler)

    @property
    def store(self) -> MemoryStore:
        return MemoryStore(self.server)

    def at(self, minute: float) -> "Past":
        self.now = NOON + timedelta(minutes=minute)
        return self

    async def tell(self, command: Command, cause: Cause) -> None:
        await self.desk.tell(HERE, GANG, command, cause)

    async def record(self, stream: str, kind: str, *events: object) -> Cause:
        """Events of another service; the cause of what is decided for the first of them."""
        subject = event_subject(stream, HERE, kind, *([] if kind == "ledger" else ["x"]))
        state = await self.store.state(stream)
        first = Cause.first(derived_id("test", stream, state.last_sequence))
        meta = caused(first, derived_id(first.id, subject), type=BATCH, source="/test", subject=subject, time=self.now)
        last = 0
        async for chunk in self.store.read(stream, [subject]):
            last = max([last, *(message.sequence for message in chunk.messages)])
            if chunk.pending == 0:
                break
        batch = CODEC.encode(Batch(tuple(events), len(events), 0, first.id))  # type: ignore[arg-type]
        await self.store.append(subject, last, batch, meta)
        return Cause.of(meta).step("fact", 0)


async def a_past() -> Past:
    """Waits for a while because of another gang, then is booked."""
    past = Past()
    other = plan_pb2.Plan(placements=[plan_pb2.Placement(pod_set="w", node="n1")])
    await past.at(-5).record("claims", "ledger", claims_pb2.GangBooked(gang_id="other", attempt=1, plan=other))
    await past.at(0).tell(RequestGang(GANG, a_spec(), "request-1", past.now), Cause.first("request"))
    refused = claims_pb2.GangNotBooked(gang_id=GANG, attempt=1, observed_sequence=40)
    cause = await past.at(1).record("claims", "ledger", refused)
    booked_out = why("BOOKED", "capacity is booked for other")
    await past.tell(RecordNoPlan(1, NoPlanKind.NOT_NOW, (booked_out,), past.now), cause)
    wrong = plan_pb2.ShapeMismatch(check="C5", sentence="other NUMA nodes")
    mistrusted = inventory_pb2.TemplateMistrusted(node_group=H100, node="z9", mismatches=[wrong])
    await past.at(2).record("inventory", "nodegroup", mistrusted)
    await past.at(6).record("claims", "ledger", claims_pb2.GangReleased(gang_id="other", cause="consumed"))
    await past.tell(RetryGang("gang other was released", past.now), Cause.first("retry"))
    booking = claims_pb2.GangBooked(gang_id=GANG, attempt=2, observed_sequence=55)
    cause = await past.at(7).record("claims", "ledger", booking)
    await past.tell(RecordBooking(2, a_plan((H100, 1)), past.now), cause)
    return past


async def test_before_the_request_nothing_was_known() -> None:
    past = await a_past()
    assert await look_back(past.store, HERE, GANG, NOON - timedelta(minutes=1)) is None


async def test_a_waiting_gang_is_told_with_its_reason_the_holders_and_its_timers() -> None:
    past = await a_past()
    found = await look_back(past.store, HERE, GANG, NOON + timedelta(minutes=3))
    assert found is not None
    assert found.state == GangState.GANG_STATE_WAITING
    assert found.since == NOON + timedelta(minutes=1)
    assert [reason.sentence for reason in found.reasons] == ["capacity is booked for other"]
    assert [(holder.gang, holder.members) for holder in found.holders] == [("other", 1)]
    assert found.observed_sequence == 40
    assert [timer for _, timer in found.timers] == [Timer.RETRY, Timer.REQUEST]
    assert found.mistrusted == [f"{H100}: node z9 differs: C5 other NUMA nodes"]


async def test_what_came_later_was_not_known_then() -> None:
    past = await a_past()
    early = await look_back(past.store, HERE, GANG, NOON + timedelta(minutes=1.5))
    assert early is not None
    assert early.mistrusted == []
    late = await look_back(past.store, HERE, GANG, NOON + timedelta(minutes=8))
    assert late is not None
    assert late.state == GangState.GANG_STATE_ORDERED
    assert [holder.gang for holder in late.holders] == [GANG]
    assert (late.observed_sequence, late.planned_attempt) == (55, 2)
    assert late.document()["state"] == "ORDERED"


async def test_each_step_is_traced_to_the_event_that_it_follows_from() -> None:
    past = await a_past()
    causes = await causes_of(past.store, HERE, GANG)
    assert list(causes.values()) == ["claims/2 GangNotBooked", "claims/4 GangBooked"]


async def test_a_gang_is_named_by_its_id_and_its_orders_and_by_nothing_else() -> None:
    past = await a_past()
    messages: list[StoredMessage] = []
    async for chunk in past.store.read("gangs"):
        messages += chunk.messages
        if chunk.pending == 0:
            break
    told = [entry for message in messages for entry in entries(message)]
    assert all(entry.is_about_gang(GANG) for entry in told)
    assert not any(entry.is_about_gang(GANG[:-1]) for entry in told)
    assert any(entry.names(f"{GANG}-a2-1") for entry in told)
