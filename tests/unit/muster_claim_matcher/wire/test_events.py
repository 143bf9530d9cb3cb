"""Every event of the ledger survives the way to the stream and back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.events.observed.v1 import observed_pb2
from muster.type.v1 import plan_pb2
from muster_claim_matcher.domain.ledger import (
    GangBooked,
    GangBroken,
    GangConfirmed,
    GangNotBooked,
    GangReleased,
    LedgerEvent,
)
from muster_claim_matcher.domain.plans import BookedPlan, Considered, Reason
from muster_claim_matcher.wire.events import LedgerWire
from muster_claim_matcher.wire.plans import from_claim, from_placement, from_plan, to_claim, to_placement, to_plan
from muster_eventstore import PermanentError
from muster_plan import NoPlanKind, Pin, PinKind, Survival
from muster_types import GangId, Nano, PodSetName
from unit.muster_claim_matcher.builders import (
    NOON,
    a_claim,
    a_device,
    a_member,
    a_plan,
    a_refusal,
    on,
    on_new,
)

GANG = GangId("llm-4f2a1c")
MEMBERS = (
    a_member(
        on("node.1"),
        a_claim(a_device("gpu-0"), a_device("gpu-1")),
        a_claim(a_device("nic-0"), name="nic", shared="claim/team/nic"),
        a_claim(a_device("disk-0"), name="data", shared="claim/team/data", existing=True),
        resources={"cpu": "7500m", "memory": "80Gi", "hugepages-2Mi": "1Gi"},
    ),
    a_member(on_new("h100", 3), a_claim(a_device("gpu-0", "t"), share_of={"memory": "30Gi"}), index=1),
    a_member(on("node-2"), a_claim(a_device("gpu-0"), admin=True), index=2, pod_set="leader"),
)
PINS = (
    Pin(PinKind.NODE, PodSetName("workers"), 0, on("node.1"), "it could take a later pod's place"),
    Pin(PinKind.ORDER, PodSetName("workers"), 1, on_new("h100", 3), "only in this order", position=2),
    Pin(PinKind.DEVICES, PodSetName("leader"), 2, on("node-2"), "by first fit it takes what a later pod needs"),
)
PLAN = BookedPlan(
    MEMBERS,
    a_plan(orders=[("h100", 4)]).orders,
    cost=394.0,
    new_nodes=4,
    domain="rack=r7",
    alternatives=(Considered("only h200", 800.5, "costs more"),),
    lower_bound=390.25,
    pins=PINS,
    survival=Survival.PINNED,
    unplaced=((PodSetName("workers"), 4), (PodSetName("workers"), 5)),
    assumptions=("rack of h100: known only after boot",),
)
REASONS = (Reason("SHAPE", "gpu-7 is on numa 1", (("numa", "1"), ("pool", "n"))), Reason("HELP", "free one"))


@pytest.mark.parametrize(
    "event",
    [
        GangBooked(GANG, 2, PLAN, 77, NOON),
        GangNotBooked(GANG, 1, a_refusal(NoPlanKind.NEVER), 5),
        GangNotBooked(GANG, 1, a_refusal(NoPlanKind.LIMIT), 5),
        GangNotBooked(GANG, 1, a_refusal(NoPlanKind.NOT_NOW), 5),
        GangConfirmed(GANG, 1, MEMBERS, 88),
        GangBroken(GANG, 1, REASONS),
        GangReleased(GANG, "consumed"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_round_trip(event: LedgerEvent) -> None:
    wire = LedgerWire()
    assert wire.from_wire(wire.to_wire(event)) == event


@given(
    st.dictionaries(
        st.sampled_from(("cpu", "memory", "a/b")), st.integers(0, (2**63 - 1) * 10**9).map(Nano), max_size=3
    )
)
def test_amounts_keep_their_exact_value(amounts: dict[str, Nano]) -> None:
    member = a_member(on("n"))
    exact = type(member)(member.pod_set, 0, member.target, (), tuple(sorted(amounts.items())))
    assert from_placement(to_placement(exact)) == exact


def test_an_event_of_somebody_else_is_refused_by_name() -> None:
    with pytest.raises(PermanentError, match="FOREIGN_EVENT"):
        LedgerWire().from_wire(observed_pb2.SyncCompleted())


def test_a_placement_without_a_target_is_refused() -> None:
    message = to_placement(a_member(on("n")))
    message.ClearField("node")
    with pytest.raises(PermanentError, match="PLACEMENT_WITHOUT_TARGET"):
        from_placement(message)


@pytest.mark.parametrize("survival", Survival)
def test_what_is_known_about_survival_is_kept(survival: Survival) -> None:
    assert from_plan(to_plan(replace(PLAN, survival=survival))).survival is survival


def test_a_plan_of_before_pins_were_written_reads_as_not_examined() -> None:
    old = to_plan(PLAN)
    for field in ("pins", "survival", "unplaced", "assumptions"):
        old.ClearField(field)  # pyright: ignore[reportArgumentType] -- names of fields
    read = from_plan(plan_pb2.Plan.FromString(old.SerializeToString()))
    assert read == replace(PLAN, pins=(), survival=Survival.UNKNOWN, unplaced=(), assumptions=())


def test_a_shared_claim_without_devices_meant_an_existing_allocation_before_there_was_a_field() -> None:
    old = plan_pb2.PlannedClaim(name="data", shared_claim="claim/team/data")
    assert from_claim(old) == a_claim(name="data", shared="claim/team/data", existing=True)
    own = plan_pb2.PlannedClaim(name="data")
    assert not from_claim(own).existing


def test_a_claim_that_has_its_allocation_is_told_with_its_devices() -> None:
    claim = a_claim(a_device("disk-0"), name="data", shared="claim/team/data", existing=True)
    message = to_claim(claim)
    assert (message.existing, [each.device.device for each in message.results]) == (True, ["disk-0"])
    assert from_claim(message) == claim


def test_a_pin_of_a_kind_that_is_not_known_here_is_refused() -> None:
    message = to_plan(PLAN)
    message.pins[0].kind = "moon phase"
    with pytest.raises(PermanentError, match=r"UNKNOWN_PIN.*moon phase"):
        from_plan(message)
    message.pins[0].kind = "node"
    message.pins[0].ClearField("node")
    with pytest.raises(PermanentError, match="PIN_WITHOUT_TARGET"):
        from_plan(message)
    message.pins[0].node = "n"
    message.survival = 99  # pyright: ignore[reportAttributeAccessIssue] -- a value of the future
    with pytest.raises(PermanentError, match="UNKNOWN_SURVIVAL"):
        from_plan(message)
