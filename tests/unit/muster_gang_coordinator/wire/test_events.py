"""Own events there and back."""

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest

from muster.commands.gangs.v1 import gangs_pb2 as gang_commands
from muster.events.gangs.v1 import gangs_pb2
from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import GANG_STATE_READY
from muster_eventstore import Codec, PermanentError
from muster_gang_coordinator.domain.events import Event, OrderCancelRecorded, OrphanFound
from muster_gang_coordinator.domain.plans import Survival
from muster_gang_coordinator.wire.events import from_wire, to_wire
from muster_gang_coordinator.wire.plans import from_plan, to_plan
from muster_types import NodeName, OrderId
from unit.muster_gang_coordinator.builders import Story
from unit.muster_gang_coordinator.stories import STORIES, a_rich_plan


@pytest.mark.parametrize("make", STORIES.values(), ids=STORIES)
def test_every_event_of_a_story_comes_back_as_it_was(make: Callable[[], Story]) -> None:
    for event in make().history:
        message = to_wire(event)
        assert type(message).__name__ == type(event).__name__
        assert from_wire(type(message).FromString(message.SerializeToString())) == event


def test_the_stories_hold_every_event_there_is() -> None:
    told = {type(event) for make in STORIES.values() for event in make().history}
    assert told == set(get_args(Event))


def test_every_message_of_the_contract_is_an_event_here() -> None:
    parts = {"NodeOrder", "SurplusOrder"}
    names = {name.rpartition(".")[2] for name in Codec.of_modules(gangs_pb2).types} - parts
    assert names == {event.__name__ for event in get_args(Event)}


def test_a_foreign_message_is_refused() -> None:
    with pytest.raises(PermanentError, match="FOREIGN_EVENT"):
        from_wire(gang_commands.CancelGang())


@pytest.mark.parametrize(
    "message",
    [
        gangs_pb2.GangEnded(end_state=GANG_STATE_READY),
        gangs_pb2.GangWaits(attempt=1),
    ],
)
def test_an_enum_without_meaning_is_refused(message: gangs_pb2.GangEnded | gangs_pb2.GangWaits) -> None:
    with pytest.raises(PermanentError, match="UNKNOWN_ENUM"):
        from_wire(message)


def test_messages_of_before_nodes_were_named_still_read() -> None:
    orphan = from_wire(gangs_pb2.OrphanFound(order_id="g-a1-1"))
    assert orphan == OrphanFound(OrderId("g-a1-1"), booking=False)
    receipt = from_wire(gangs_pb2.OrderCancelRecorded(order_id="g-a1-1", deleted_nodes=["x0"]))
    assert receipt == OrderCancelRecorded(OrderId("g-a1-1"), (NodeName("x0"),))


def test_a_plan_of_before_pins_were_written_still_reads() -> None:
    old = to_plan(a_rich_plan())
    for field in ("pins", "survival", "unplaced", "assumptions"):
        old.ClearField(field)
    for placement in old.placements:
        for claim in placement.claims:
            claim.ClearField("existing")
    read = from_plan(plan_pb2.Plan.FromString(old.SerializeToString()))
    assert (read.pins, read.unplaced, read.assumptions, read.survival) == ((), (), (), Survival.NOT_EXAMINED)
    assert not any(claim.existing for placement in read.placements for claim in placement.claims)


@pytest.mark.parametrize("survival", Survival)
def test_what_is_known_about_survival_is_kept(survival: Survival) -> None:
    assert from_plan(to_plan(replace(a_rich_plan(), survival=survival))).survival is survival


def test_a_pin_or_survival_of_a_newer_version_is_refused() -> None:
    newer = to_plan(a_rich_plan())
    newer.pins[0].kind = "moon phase"
    with pytest.raises(PermanentError, match="moon phase"):
        from_plan(newer)
    newer = to_plan(a_rich_plan())
    newer.survival = 99  # type: ignore[assignment] -- a value of the future
    with pytest.raises(PermanentError, match="Survival 99"):
        from_plan(newer)
