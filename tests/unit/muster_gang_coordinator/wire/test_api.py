"""Gangs for callers."""

import pytest

from muster.type.v1 import plan_pb2
from muster.type.v1.gang_pb2 import GangState
from muster_gang_coordinator.wire.api import from_page_token, to_page_token, to_view
from muster_servicekit.errors import Invalid
from muster_types import GangId
from unit.muster_gang_coordinator.builders import GANG, NOON
from unit.muster_gang_coordinator.stories import STORIES


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("consumed", "CONSUMED"),
        ("stockout", "READY"),
        ("never", "FAILED"),
        ("waited-and-cancelled", "CANCELLED"),
        ("revoked", "REVOKED"),
        ("broken-and-adopted", "PLANNING"),
    ],
)
def test_the_state_of_a_story(name: str, state: str) -> None:
    view = to_view(GANG, STORIES[name]().known, NOON)
    assert GangState.Name(view.state) == f"GANG_STATE_{state}"


def test_a_refused_gang_tells_how_final_that_is() -> None:
    view = to_view(GANG, STORIES["never"]().known, NOON)
    assert view.no_plan_kind == plan_pb2.NO_PLAN_KIND_NEVER
    assert [r.code for r in view.reasons] == ["NO_PLAN_NEVER", "SHAPE"]
    assert not view.placements


def test_an_offered_gang_shows_its_orders_placements_and_details() -> None:
    view = to_view(GANG, STORIES["stockout"]().known, NOON)
    assert [(o.state, o.count, list(o.nodes)) for o in view.orders] == [
        ("short", 3, ["x0"]),
        ("filled", 2, ["y0", "y1"]),
    ]
    assert [p.node for p in view.placements] == ["x0", "y0", "y1"]
    assert view.details["muster.dev/nodes"] == "x0,y0,y1"
    assert view.cost == 20


def test_a_pinned_gang_shows_its_pins_on_the_nodes_that_came_and_who_got_no_place() -> None:
    view = to_view(GANG, STORIES["consumed"]().known, NOON)
    assert [(p.kind, p.pod_set, p.index, p.node) for p in view.pins] == [("node", "workers", 1, "x0")]
    assert [(u.pod_set, u.index) for u in view.unplaced] == [("workers", 2)]
    assert list(view.assumptions) == ["the rack of h100-r7 is known only after boot"]


def test_a_gang_that_holds_nothing_shows_no_pins() -> None:
    view = to_view(GANG, STORIES["pinned"]().known, NOON)
    assert not view.pins
    assert not view.unplaced


def test_page_tokens_come_back_and_foreign_ones_are_refused() -> None:
    assert from_page_token(to_page_token(GangId("train-1a2b3c"))) == "train-1a2b3c"
    assert from_page_token("") is None
    with pytest.raises(Invalid, match="page_token"):
        from_page_token("*")
