from dataclasses import replace

import orjson

from muster_claim_matcher.domain.ledger import GangBooked, GangConfirmed, GangNotBooked, GangReleased, LedgerEvent
from muster_claim_matcher.handlers.replay import replay
from muster_plan import Pin, PinKind, Survival
from muster_types import ClusterId, GangId, PodSetName
from unit.muster_claim_matcher.builders import NOON, a_claim, a_device, a_member, a_plan, a_refusal, on, on_new

HERE = ClusterId("local")
A, B = GangId("a-111111"), GangId("b-222222")
PLAN = a_plan(a_member(on_new("h100", 0), a_claim(a_device("gpu-0", "t"))), orders=[("h100", 1)])
REAL = (a_member(on("n-0"), a_claim(a_device("gpu-0", "n-0")), resources={"cpu": "500m"}),)
BATCHES: list[tuple[LedgerEvent, ...]] = [
    (GangBooked(A, 1, PLAN, 7, NOON),),
    (GangNotBooked(B, 1, a_refusal(), 8),),
    (GangConfirmed(A, 1, REAL, 9),),
]


def test_the_export_says_what_is_promised_to_whom() -> None:
    state = orjson.loads(replay(BATCHES, HERE))
    booking = state["gangs"][A]["booking"]
    assert booking["confirmed"] is True
    assert booking["members"][0]["node"] == "n-0"
    assert booking["members"][0]["resources"] == {"cpu": "500m"}
    assert booking["members"][0]["claims"][0]["devices"][0]["device"] == "gpu.example.com/n-0/gpu-0"
    assert state["gangs"][B] == {"answered": 1, "verified": 0, "released": "", "booking": None}


def test_the_export_says_how_the_pods_must_be_pinned_and_who_got_no_place() -> None:
    pin = Pin(PinKind.ORDER, PodSetName("workers"), 0, on_new("h100", 0), "only in another order")
    plan = replace(
        PLAN, pins=(pin,), survival=Survival.PINNED, unplaced=((PodSetName("workers"), 1),), assumptions=("a rack",)
    )
    booking = orjson.loads(replay([(GangBooked(A, 1, plan, 7, NOON),)], HERE))["gangs"][A]["booking"]
    assert booking["pins"] == [
        {
            "kind": "order",
            "podSet": "workers",
            "index": 0,
            "group": "h100",
            "ordinal": 0,
            "why": "only in another order",
        }
    ]
    assert booking["survival"] == "survives with its pins"
    assert booking["unplaced"] == [{"podSet": "workers", "index": 1}]
    assert booking["assumptions"] == ["a rack"]


def test_a_released_gang_is_remembered_without_its_booking() -> None:
    state = orjson.loads(replay([*BATCHES, (GangReleased(A, "consumed"),)], HERE))
    assert state["gangs"][A] == {"answered": 1, "verified": 1, "released": "consumed", "booking": None}


def test_sequences_and_times_are_no_part_of_the_state() -> None:
    later = [(GangBooked(A, 1, PLAN, 700, NOON.replace(year=2027)),), *BATCHES[1:]]
    assert replay(later, HERE) == replay(BATCHES, HERE)
