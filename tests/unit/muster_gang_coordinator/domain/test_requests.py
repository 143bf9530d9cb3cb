"""Ids, and which gang takes a request."""

from muster_gang_coordinator.domain.commands import RequestGang
from muster_gang_coordinator.domain.events import GangRequested
from muster_gang_coordinator.domain.planning import order_id
from muster_gang_coordinator.domain.requests import Intake, Sibling, gang_id_of, plan_intake
from muster_gang_coordinator.domain.states import Ordered
from muster_types import ClusterId, GangId
from unit.muster_gang_coordinator.builders import GANG, H100, NOON, Story, a_plan, a_spec

LOCAL = ClusterId("local")
FRESH = GangId("train-attempt-2-ffffff")
OLDER = Sibling(GangId("train-attempt-1-aaaaaa"), "uid-1", "hash-1", compensating=False)
SPEC = a_spec(uid="uid-2", name="train-attempt-2", workload_key="workload-uid/check")


def test_the_id_of_a_gang_differs_by_uid_namespace_and_cluster() -> None:
    ids = {
        gang_id_of(LOCAL, "ml", "train", "u1"),
        gang_id_of(LOCAL, "ml", "train", "u2"),
        gang_id_of(LOCAL, "ai", "train", "u1"),
        gang_id_of(ClusterId("east"), "ml", "train", "u1"),
    }
    assert len(ids) == 4
    assert all(i.startswith("train-") for i in ids)


def test_ids_of_a_gang_and_its_orders_fit_a_label_value() -> None:
    gang_id = gang_id_of(LOCAL, "ml", "a" * 253, "u1")
    assert len(order_id(gang_id, 99999, 99)) <= 63


def test_a_request_without_owner_gets_its_own_gang() -> None:
    assert plan_intake(FRESH, a_spec(uid="uid-2"), (OLDER,)) == Intake(FRESH)


def test_t27_a_new_attempt_that_asks_for_the_same_adopts_the_running_gang() -> None:
    assert plan_intake(FRESH, SPEC, (OLDER,)) == Intake(OLDER.gang_id)


def test_t27_a_new_attempt_that_asks_for_something_else_replaces_the_running_gang() -> None:
    other = a_spec(uid="uid-2", workload_key="workload-uid/check", content_hash="hash-2")
    assert plan_intake(FRESH, other, (OLDER,)) == Intake(FRESH, (OLDER.gang_id,))


def test_an_attempt_that_already_gives_back_is_neither_adopted_nor_cancelled() -> None:
    going = Sibling(OLDER.gang_id, "uid-1", "hash-1", compensating=True)
    assert plan_intake(FRESH, SPEC, (going,)) == Intake(FRESH)


def test_of_two_running_attempts_one_is_adopted_and_the_other_cancelled() -> None:
    second = Sibling(GangId("train-attempt-1-bbbbbb"), "uid-9", "hash-1", compensating=False)
    assert plan_intake(FRESH, SPEC, (second, OLDER)) == Intake(OLDER.gang_id, (second.gang_id,))


def test_f2_an_adopted_gang_goes_on_under_the_new_request_without_new_orders() -> None:
    story = Story().requested(workload_key="workload-uid/check").booked(a_plan((H100, 2)))
    adopted = a_spec(uid="uid-2", name="train-attempt-2", workload_key="workload-uid/check")
    events = story.at(3).tell(RequestGang(GANG, adopted, "request-2", story.now))
    assert events == [GangRequested(GANG, adopted, "request-2", NOON)]
    assert isinstance(story.gang, Ordered)
    assert story.known.saga.spec.uid == "uid-2"
    assert len(story.known.saga.orders) == 1
    assert story.tell(RequestGang(GANG, adopted, "request-2", story.now)) == []
