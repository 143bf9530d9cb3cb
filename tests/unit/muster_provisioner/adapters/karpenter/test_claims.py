from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from muster_kubeapi import Json
from muster_provisioner.adapters.karpenter.claims import (
    CREATING,
    Claim,
    claim_name,
    new_claim,
    read_claim,
    sibling,
)
from muster_provisioner.adapters.karpenter.group_settings import KarpenterGroup, read_karpenter_group
from muster_provisioner.adapters.karpenter.sight import missing, overdue, target_of, to_instance
from muster_provisioner.domain.group import InstanceState
from muster_provisioner.ports import OrderTags
from muster_types import GangId, NodeGroupName, OrderId

GROUP = NodeGroupName("h100")
TAGS = OrderTags(OrderId("train-a1-1"), GangId("train"), 3)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True)


def a_group() -> KarpenterGroup:
    driver = {
        "type": "karpenter",
        "nodeClassRef": {"group": "g", "kind": "K", "name": "n"},
        "instanceType": "p5",
        "zone": "a",
        "capacityType": "spot",
        "labels": {"team": "research"},
        "requests": {"cpu": "8"},
        "terminationGracePeriod": "1h",
    }
    template = {
        "metadata": {"labels": {"topology.kubernetes.io/rack": "r7"}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    }
    found = read_karpenter_group({"spec": {"maxSize": 9, "driver": driver, "template": template}})
    assert isinstance(found, KarpenterGroup)
    return found


def a_claim(body: Json | None = None, *, status: Json | None = None, **metadata: object) -> Claim:
    """A claim as the server shows it."""
    made = body or new_claim(GROUP, a_group(), TAGS, 3, 0)
    stored = {**made, "metadata": {**made["metadata"], **metadata}, "status": status or {}}  # type: ignore[dict-item]
    return read_claim(stored)


def condition(type: str, status: str, since: str = "2026-01-01T11:00:00Z", reason: str = "") -> Json:
    return {"type": type, "status": status, "reason": reason, "lastTransitionTime": since}


REGISTERED = {"nodeName": "n1", "conditions": [condition("Registered", "True")]}


def test_a_claim_that_is_written_is_read_back() -> None:
    claim = a_claim(new_claim(GROUP, a_group(), TAGS, 3, 4))
    assert (claim.order, claim.gang, claim.ordinal, claim.creating) == (TAGS.order, TAGS.gang, 3, 4)
    assert claim.ours
    assert not claim.deleting


def test_the_labels_of_a_template_are_promises_and_not_copied() -> None:
    labels = new_claim(GROUP, a_group(), TAGS, 3, 0)["metadata"]["labels"]  # type: ignore[index]
    assert "topology.kubernetes.io/rack" not in labels
    assert labels["team"] == "research"


def test_requests_taints_and_the_grace_period_are_passed_on() -> None:
    spec = new_claim(GROUP, a_group(), TAGS, 3, 0)["spec"]
    assert spec["resources"] == {"requests": {"cpu": "8"}}  # type: ignore[index]
    assert spec["terminationGracePeriod"] == "1h"  # type: ignore[index]
    assert [taint["key"] for taint in spec["taints"]] == ["gpu", "muster.dev/gang"]  # type: ignore[index]


def test_a_sibling_differs_in_name_and_ordinal_alone_and_says_nothing_of_the_first_machine() -> None:
    first = new_claim(GROUP, a_group(), TAGS, 3, 4)
    found = {"topology.kubernetes.io/zone": "a", "karpenter.sh/capacity-type": "spot"}
    labelled = {**first["metadata"]["labels"], **found}  # type: ignore[index, dict-item]
    made = sibling(a_claim(first, labels=labelled), GROUP, a_group(), 5)
    expected = new_claim(GROUP, a_group(), TAGS, 5, 0)
    assert made == expected
    assert CREATING not in made["metadata"]["annotations"]  # type: ignore[index]


@given(names, names, st.integers(0, 9999))
def test_names_are_valid_labels_and_differ_by_order_and_ordinal(group: str, order: str, ordinal: int) -> None:
    name = claim_name(NodeGroupName(group), OrderId(order), ordinal)
    assert len(name) <= 63
    assert name == claim_name(NodeGroupName(group), OrderId(order), ordinal)
    assert name != claim_name(NodeGroupName(group), OrderId(order), ordinal + 1)
    assert name != claim_name(NodeGroupName(group), OrderId(f"{order}-2"), ordinal)
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_a_claim_is_running_once_its_node_joined() -> None:
    assert to_instance(a_claim(), None).state is InstanceState.CREATING
    launched = a_claim(status={"conditions": [condition("Launched", "True")]})
    assert to_instance(launched, None).state is InstanceState.CREATING
    joined = to_instance(a_claim(status=REGISTERED), None)
    assert (joined.state, joined.node, joined.order, joined.ordinal) == (InstanceState.RUNNING, "n1", TAGS.order, 3)


def test_who_deleted_a_claim_is_told_by_our_finalizer() -> None:
    vanished = a_claim(deletionTimestamp="2026-01-01T00:00:00Z")
    assert (vanished.failed, vanished.counts) == (True, True)
    given_up = a_claim(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["karpenter.sh/termination"])
    assert (given_up.failed, given_up.counts) == (False, False)
    assert to_instance(given_up, None).state is InstanceState.DELETING
    lost = a_claim(deletionTimestamp="2026-01-01T00:00:00Z", status=REGISTERED)
    assert (lost.failed, lost.counts) == (False, False)


def test_the_timer_runs_from_registration_to_initialization_alone() -> None:
    half_an_hour = timedelta(minutes=30)
    waiting = a_claim(
        status={
            "nodeName": "n1",
            "conditions": [
                condition("Registered", "True"),
                condition("Initialized", "Unknown", reason="DRADriverPoolsNotPublished"),
            ],
        }
    )
    assert overdue(waiting, half_an_hour, NOON - timedelta(minutes=31)) is None
    late = overdue(waiting, half_an_hour, NOON - timedelta(minutes=30))
    assert late is not None
    assert late.message.endswith(": registered 1800 s ago and not initialized: DRADriverPoolsNotPublished")
    done = {"conditions": [condition("Registered", "True"), condition("Initialized", "True")]}
    assert overdue(a_claim(status=done), half_an_hour, NOON) is None
    assert overdue(a_claim(), half_an_hour, NOON) is None


def test_an_order_that_is_being_created_counts_in_full() -> None:
    first = a_claim(new_claim(GROUP, a_group(), TAGS, 3, 4))
    second = a_claim(new_claim(GROUP, a_group(), TAGS, 4, 0))
    other = a_claim(new_claim(GROUP, a_group(), OrderTags(OrderId("b"), TAGS.gang, 0), 0, 0))
    assert missing(first, (first, second, other)) == 2
    assert target_of((first, second, other)) == 5
    assert target_of((first, second, other), without=TAGS.order) == 1
