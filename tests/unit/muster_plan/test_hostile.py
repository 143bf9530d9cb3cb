"""Requests that ask for nonsense get a sentence that names the field, at once."""

import pytest

from muster_dra import InvalidObject
from muster_plan import Gang, InvalidGang, NoPlan, NoPlanKind, parse_node_group, plan
from unit.muster_plan.builders import (
    KUEUE,
    claim_spec,
    claim_template,
    from_template,
    gang_of,
    gpus,
    group,
    pod_template,
    provisioning_request,
    request,
    snapshot_of,
)

CLAIM = claim_template("c", claim_spec(request("g")))


def fault_of(*pod_sets: tuple[str, int], annotations: dict[str, str] | None = None) -> str:
    cluster = snapshot_of(CLAIM, pod_template("p", claims=[from_template("c")], annotations=annotations))
    found = Gang.from_request(provisioning_request(*pod_sets), cluster)
    assert isinstance(found, InvalidGang)
    return found.sentence()


def test_an_empty_gang_is_refused() -> None:
    assert "spec.podSets: want 1 to 32 pod sets, got 0" in fault_of()


def test_a_pod_set_without_pods_is_refused() -> None:
    assert "spec.podSets[0].count: want at least 1, got 0" in fault_of(("p", 0))


def test_more_pods_than_a_cluster_can_hold_are_refused_before_anything_is_counted() -> None:
    assert "want at most 150000 pods in all, got 1000000000" in fault_of(("p", 10**9))


def test_contradictory_topologies_are_refused() -> None:
    both = {f"{KUEUE}podset-required-topology": "a", f"{KUEUE}podset-preferred-topology": "b"}
    assert "exclude each other" in fault_of(("p", 4), annotations=both)


def test_a_group_whose_minimum_exceeds_its_maximum_is_refused() -> None:
    with pytest.raises(InvalidObject, match="minSize: want at most maxSize 4, got 9"):
        parse_node_group(group("g", room=4, minSize=9))


def test_an_unknown_topology_key_is_never_met() -> None:
    wanted = {f"{KUEUE}podset-required-topology": "no.such/key"}
    template = pod_template("p", claims=[from_template("c")], annotations=wanted)
    cluster = snapshot_of(CLAIM, template, group("g", devices=gpus(8)))
    found = plan(cluster, gang_of(cluster, ("p", 4)))
    assert isinstance(found, NoPlan)
    assert found.kind is NoPlanKind.NEVER
    assert "no.such/key" in found.sentence()


def test_ten_thousand_pods_are_counted_not_searched() -> None:
    template = pod_template("p", claims=[from_template("c")])
    cluster = snapshot_of(CLAIM, template, group("g", devices=gpus(8), room=5))
    found = plan(cluster, gang_of(cluster, ("p", 10_000)))
    assert isinstance(found, NoPlan)
    assert found.kind is NoPlanKind.LIMIT
    assert found.sentence() == "group g would have to add 1250 nodes, it can add 5 (maximum 5, now 0)"
