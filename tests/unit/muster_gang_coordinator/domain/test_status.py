"""The status of the ProvisioningRequest, event by event (group-capacity §1.12)."""

from muster_gang_coordinator.domain.commands import CancelGang, RecordNodeLoss, RequestGang, Timer
from muster_gang_coordinator.domain.evolve import evolve
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.states import Gang, New
from muster_gang_coordinator.domain.status import EMPTY, RequestStatus, evolve_status, plan_writes
from muster_types import NodeName, ObjectKey
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, Story, a_node, a_plan, a_spec


def statuses(story: Story) -> list[RequestStatus]:
    """The status after each event."""
    gang: Gang = New()
    status, after = EMPTY, []
    for event in story.history:
        gang = evolve(gang, event)
        assert not isinstance(gang, New)
        status = evolve_status(status, event, gang)
        after.append(status)
    return after


def row(status: RequestStatus) -> str:
    """One row of the table: `type=status/reason` in order."""
    return " ".join(f"{c.type}={'T' if c.status else 'F'}/{c.reason}" for c in status.conditions)


def rows(story: Story) -> list[str]:
    """Rows without repetitions."""
    return list(dict.fromkeys(row(s) for s in statuses(story)))


def a_ready_gang() -> Story:
    story = Story().requested(pod_count=1).booked(a_plan((H100, 2)))
    story.at(1).filled("a1-1", "x0", "x1").arrived(a_node("x0"))
    return story.arrived(a_node("x1", ordinal=1)).at(2).confirmed("x0", "x1")


def test_the_rows_of_a_gang_that_is_consumed_come_in_the_order_of_the_table() -> None:
    story = a_ready_gang()
    story.bound("ml/p0")
    assert rows(story) == [
        "",
        "Accepted=T/Accepted Provisioned=F/Planning",
        "Accepted=T/Accepted Provisioned=F/Provisioning",
        "Accepted=T/Accepted Provisioned=F/VerifyingShape",
        "Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned",
        "Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned BookingExpired=T/CapacityBookingConsumed",
    ]


def test_progress_stands_in_the_message_of_provisioned() -> None:
    story = Story().requested().booked(a_plan((H100, 3))).filled("a1-1", "x0", "x1", "x2")
    story.arrived(a_node("x0"), a_node("x1", ordinal=1))
    provisioned = statuses(story)[-1].find("Provisioned")
    assert provisioned is not None
    assert provisioned.message == "2 of 3 nodes arrived (h100-r7)"


def test_n_2_2_accepted_never_stands_without_provisioned() -> None:
    for story in (a_ready_gang(), Story().requested(missing=(ObjectKey("PodTemplate", "ml", "worker"),))):
        story.at(9).woken(Timer.TEMPLATES, attempt=0)
        for status in statuses(story):
            assert (status.find("Accepted") is None) == (status.find("Provisioned") is None)


def test_the_time_of_a_condition_is_that_of_its_last_flip() -> None:
    story = a_ready_gang()
    by_row = {row(s): s for s in statuses(story)}
    verifying = by_row["Accepted=T/Accepted Provisioned=F/VerifyingShape"].find("Provisioned")
    offered = by_row["Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned"].find("Provisioned")
    assert verifying is not None
    assert offered is not None
    assert verifying.changed == NOON
    assert offered.changed == story.now


def test_a_gang_without_plan_now_is_not_provisioned_and_not_failed() -> None:
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    assert rows(story)[-1] == "Accepted=T/Accepted Provisioned=F/CapacityIsNotFound"


def test_an_infeasible_gang_is_failed_with_the_proof() -> None:
    story = Story().requested()
    story.refused(NoPlanKind.NEVER)
    assert rows(story)[-1] == "Accepted=T/Accepted Provisioned=F/CapacityIsNotFound Failed=T/CapacityIsNotFound"
    failed = statuses(story)[-1].find("Failed")
    assert failed is not None
    assert "never" in failed.message
    assert "the closest shape has 2" in failed.message


def test_f1_a_missing_template_fails_with_the_reason_of_the_autoscaler() -> None:
    story = Story().requested(missing=(ObjectKey("PodTemplate", "ml", "worker"),))
    story.at(1).woken(Timer.TEMPLATES, attempt=0)
    assert rows(story)[-1].endswith("Failed=T/FailedToCreatePods")


def test_the_offer_that_nobody_took_has_expired() -> None:
    story = a_ready_gang().at(13)
    story.woken(Timer.BOOKING)
    story.cancelled("a1-1", "x0", "x1")
    story.released()
    assert rows(story)[-1] == (
        "Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned BookingExpired=T/CapacityReservationTimeExpired"
    )


def test_expiry_is_told_only_when_everything_went_back() -> None:
    story = a_ready_gang().at(13)
    story.woken(Timer.BOOKING)
    assert not statuses(story)[-1].true("BookingExpired")


def test_t30_capacity_that_is_lost_after_the_offer_and_not_repaired_is_revoked_and_never_failed() -> None:
    story = a_ready_gang()
    story.tell(RecordNodeLoss(NodeName("x0"), story.now))
    assert rows(story)[-1] == "Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned", "it may be repaired"
    story.refused(NoPlanKind.NOT_NOW, attempt=2)
    expected = "Accepted=T/Accepted Provisioned=T/CapacityIsProvisioned CapacityRevoked=T/CapacityIsNotFound"
    assert rows(story)[-1] == expected
    story.cancelled("a1-1", "x1")
    story.released()
    assert rows(story)[-1] == expected


def test_a_cancelled_gang_is_failed_before_the_offer_and_revoked_after_it() -> None:
    early = Story().requested()
    early.tell(CancelGang("the user has changed their mind", NOON))
    early.released()
    assert rows(early)[-1].endswith("Failed=T/Cancelled")
    late = a_ready_gang()
    late.tell(CancelGang("the user has changed their mind", NOON))
    late.cancelled("a1-1", "x0", "x1")
    late.released()
    assert rows(late)[-1].endswith("CapacityRevoked=T/Cancelled")


def test_an_adopted_gang_keeps_its_status_for_the_new_request() -> None:
    story = a_ready_gang()
    before = statuses(story)[-1]
    story.tell(RequestGang(GANG, a_spec(uid="uid-2", pod_count=1), "request-2", story.now))
    assert statuses(story)[-1] == before


def test_t31_details_are_written_before_provisioned_is_true() -> None:
    verifying, ready = statuses(a_ready_gang())[-2:]
    first, second = plan_writes(verifying, ready)
    assert not first.true("Provisioned")
    assert first.details == ready.details
    assert second == ready


def test_nothing_is_written_twice_or_backwards() -> None:
    story = a_ready_gang()
    verifying, ready = statuses(story)[-2:]
    assert plan_writes(ready, ready) == ()
    assert plan_writes(ready, verifying) == ()
    assert plan_writes(EMPTY, verifying) == (verifying,)
