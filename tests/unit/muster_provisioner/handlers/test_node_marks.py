import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from google.protobuf.message import Message

from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import Batch, Cause, Codec, Decoded, StoredMessage, TransientError, caused
from muster_provisioner.domain.messages import (
    Baseline,
    Event,
    InstanceId,
    NodeLaunched,
    OrderCancelled,
    OrderIntended,
    OrderTerms,
)
from muster_provisioner.domain.steps import Traits
from muster_provisioner.handlers.node_marks import NodeMarks
from muster_provisioner.handlers.subjects import order_subject
from muster_provisioner.ports import NodeMark
from muster_provisioner.wire.events import OrderWire
from muster_servicekit.clock import FakeClock
from muster_types import ClusterId, GangId, NodeGroupName, NodeName, OrderId

CLUSTER = ClusterId("local")
GROUP = NodeGroupName("h100")
ORDER = OrderId("train-a1-1")
GANG = GangId("train")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
INTENDED = OrderIntended(OrderTerms(ORDER, GANG, GROUP, 2, 0), Baseline(0, ()), NOON)
CODEC = Codec.of_modules(provisioning_pb2)


@dataclass(slots=True)
class Marker:
    """`NodeMarker` that fails as often as it is told."""

    failures: int = 0
    marked: list[tuple[NodeName, NodeMark]] = field(default_factory=list[tuple[NodeName, NodeMark]])

    async def mark(self, node: NodeName, mark: NodeMark) -> None:
        if self.failures:
            self.failures -= 1
            raise TransientError("the API server is away")
        self.marked.append((node, mark))


@dataclass(slots=True)
class Driver:
    """The part of a driver that matters here."""

    tags_orders: bool

    def traits(self, group: NodeGroupName) -> Traits:
        return Traits(self.tags_orders, timedelta(seconds=1), timedelta(minutes=1))


@dataclass(slots=True)
class Keeping:
    """`Drivers` with one, or none yet."""

    driver: Driver | None

    def keeper_of(self, group: NodeGroupName) -> Driver | None:
        return self.driver


def launched(node: str, ordinal: int) -> NodeLaunched:
    return NodeLaunched(ORDER, GANG, InstanceId(f"i-{node}"), NodeName(node), ordinal, NOON)


class Scene:
    """A read model that is told events, and time that passes."""

    def __init__(self, *, tags_orders: bool = False, failures: int = 0) -> None:
        self.clock = FakeClock()
        self.marker = Marker(failures)
        self.drivers = Keeping(Driver(tags_orders))
        self.marks = NodeMarks(
            OrderWire().from_wire,
            {CLUSTER: self.marker},
            {CLUSTER: self.drivers},  # pyright: ignore[reportArgumentType] -- the part that is asked
            self.clock,
        )

    def tell(self, *events: Event) -> None:
        messages: tuple[Message, ...] = tuple(map(OrderWire().to_wire, events))
        subject = order_subject(CLUSTER, ORDER)
        meta = caused(Cause.first("test"), "id", type="batch", source="/test", subject=subject, time=NOON)
        stored = StoredMessage("provisioning", 1, subject, CODEC.encode(Batch(messages, 1)), {}, NOON)
        self.marks.apply(stored, Decoded(meta, Batch(messages, 1)))

    async def pass_time(self, seconds: int) -> None:
        running = asyncio.create_task(self.marks.run())
        for _ in range(seconds + 1):
            for _ in range(10):
                await asyncio.sleep(0)
            await self.clock.advance(1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_launched_node_is_marked_with_order_gang_group_and_ordinal() -> None:
    scene = Scene()
    scene.tell(INTENDED, launched("n1", 0), launched("n2", 1))
    await scene.pass_time(1)
    assert scene.marker.marked == [
        ("n1", NodeMark(ORDER, GANG, GROUP, 0)),
        ("n2", NodeMark(ORDER, GANG, GROUP, 1)),
    ]
    await scene.pass_time(5)
    assert len(scene.marker.marked) == 2


async def test_nodes_of_a_driver_that_tags_are_left_alone() -> None:
    scene = Scene(tags_orders=True)
    scene.tell(INTENDED, launched("n1", 0))
    await scene.pass_time(2)
    assert scene.marker.marked == []


async def test_what_fails_is_tried_again() -> None:
    scene = Scene(failures=2)
    scene.tell(INTENDED, launched("n1", 0))
    await scene.pass_time(5)
    assert [node for node, _ in scene.marker.marked] == ["n1"]


async def test_a_node_that_was_given_back_meanwhile_is_not_marked() -> None:
    scene = Scene()
    cancelled = OrderCancelled(ORDER, GANG, GROUP, (NodeName("n1"),), (NodeName("n2"),), 1, NOON)
    scene.tell(INTENDED, launched("n1", 0), launched("n2", 1), cancelled)
    await scene.pass_time(1)
    assert [node for node, _ in scene.marker.marked] == ["n2"]


async def test_a_node_whose_group_is_not_declared_yet_waits_for_it() -> None:
    scene = Scene()
    driver, scene.drivers.driver = scene.drivers.driver, None
    scene.tell(INTENDED, launched("n1", 0))
    await scene.pass_time(2)
    assert scene.marker.marked == []
    scene.drivers.driver = driver
    await scene.pass_time(2)
    assert [node for node, _ in scene.marker.marked] == ["n1"]
