from datetime import UTC, datetime

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from muster.commands.provisioning.v1 import provisioning_pb2 as commands
from muster.events.inventory.v1 import inventory_pb2
from muster.events.provisioning.v1 import provisioning_pb2
from muster_eventstore import Batch, Codec, PermanentError
from muster_provisioner.domain.messages import (
    Baseline,
    CancelOrder,
    Event,
    InstanceId,
    NodeLaunched,
    OrderAcknowledged,
    OrderCancelIntended,
    OrderCancelled,
    OrderFilled,
    OrderIntended,
    OrderShort,
    OrderTerms,
    ShortfallClass,
)
from muster_provisioner.ports import DeclaredGroup, WithdrawnGroup
from muster_provisioner.wire.commands import Wanted, from_command, group_of
from muster_provisioner.wire.events import OrderWire
from muster_provisioner.wire.inventory import from_inventory
from muster_types import GangId, NodeGroupName, NodeName, OrderId

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
WIRE = OrderWire()
CODEC = Codec.of_modules(provisioning_pb2)

orders = st.text(min_size=1).map(OrderId)
gangs = st.text().map(GangId)
groups = st.text().map(NodeGroupName)
nodes = st.lists(st.text().map(NodeName), max_size=3).map(tuple)
counts = st.integers(0, 2**31)
times = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 -- hypothesis wants naive bounds
    max_value=datetime(9999, 1, 1),  # noqa: DTZ001 -- hypothesis wants naive bounds
    timezones=st.just(UTC),
)
baselines = st.builds(Baseline, counts, st.lists(st.text().map(InstanceId), max_size=3).map(tuple))
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(OrderIntended, st.builds(OrderTerms, orders, gangs, groups, counts, counts), baselines, times),
    st.builds(OrderAcknowledged, orders, counts, times),
    st.builds(NodeLaunched, orders, gangs, st.text().map(InstanceId), st.text().map(NodeName), counts, times),
    st.builds(OrderFilled, orders, gangs, groups, nodes, times),
    st.builds(OrderShort, orders, gangs, groups, st.sampled_from(ShortfallClass), st.text(), nodes, counts, times),
    st.builds(OrderCancelIntended, orders, nodes, times),
    st.builds(OrderCancelled, orders, gangs, groups, nodes, nodes, counts, times),
)


@for_all(st.lists(EVENTS, max_size=4))
def test_events_come_back_from_the_wire_as_they_were(events: list[Event]) -> None:
    data = CODEC.encode(Batch(tuple(map(WIRE.to_wire, events))))
    batch = CODEC.decode_batch(data)
    assert isinstance(batch, Batch)
    assert list(map(WIRE.from_wire, batch.events)) == events


def test_a_message_of_another_stream_is_refused_by_name() -> None:
    with pytest.raises(PermanentError, match=r"muster\.events\.inventory\.v1\.NodeGone"):
        WIRE.from_wire(inventory_pb2.NodeGone())


def test_commands_are_read_and_name_their_group() -> None:
    place = commands.PlaceOrder(order_id="o", gang_id="g", node_group="n", count=3, first_ordinal=2)
    terms = OrderTerms(OrderId("o"), GangId("g"), NodeGroupName("n"), 3, 2)
    assert from_command(place, NOON) == Wanted(terms)
    cancel = commands.CancelOrder(order_id="o", gang_id="g", node_group="n", kept_nodes=["b", "a"])
    kept = frozenset({NodeName("a"), NodeName("b")})
    assert from_command(cancel, NOON) == CancelOrder(OrderId("o"), GangId("g"), NodeGroupName("n"), kept, NOON)
    assert [group_of(place), group_of(cancel), group_of(inventory_pb2.NodeGone())] == ["n", "n", ""]


@pytest.mark.parametrize("field", ["order_id", "gang_id", "node_group"])
def test_a_command_with_an_empty_field_is_refused_by_its_name(field: str) -> None:
    names = {"order_id": "o", "gang_id": "g", "node_group": "n", field: ""}
    for message in (commands.PlaceOrder(**names, count=1), commands.CancelOrder(**names)):
        with pytest.raises(PermanentError, match=f"field {field} is empty"):
            from_command(message, NOON)


def test_declarations_are_read_and_other_events_of_the_inventory_are_not() -> None:
    declared = inventory_pb2.NodeGroupDeclared(name="n", driver="", json=b'{"a": 1}')
    assert from_inventory(declared) == DeclaredGroup(NodeGroupName("n"), "simulated", {"a": 1})
    broken = inventory_pb2.NodeGroupDeclared(name="n", driver="karpenter", json=b"[")
    assert from_inventory(broken) == DeclaredGroup(NodeGroupName("n"), "karpenter", {})
    assert from_inventory(inventory_pb2.NodeGroupWithdrawn(name="n")) == WithdrawnGroup(NodeGroupName("n"))
    assert from_inventory(inventory_pb2.NodeGone()) is None
