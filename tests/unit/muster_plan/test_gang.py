from typing import Any

from muster_plan import Gang, InvalidGang
from muster_types import GangId, ObjectKey
from unit.muster_plan.builders import (
    KUEUE,
    RACK,
    claim_spec,
    claim_template,
    from_claim,
    from_template,
    gang_of,
    named_claim,
    node,
    pod_group,
    pod_template,
    provisioning_request,
    request,
    snapshot_of,
)


def invalid(snapshot: Any, *pod_sets: tuple[str, int]) -> InvalidGang:
    found = Gang.from_request(provisioning_request(*pod_sets), snapshot)
    assert isinstance(found, InvalidGang)
    return found


def test_what_does_not_exist_yet_is_named_so_that_it_can_be_waited_for() -> None:
    cluster = snapshot_of(
        pod_template("worker", claims=[from_template("absent"), from_claim("nowhere", "other")], pod_group="pg")
    )
    found = invalid(cluster, ("worker", 1), ("leader", 1))
    assert set(found.missing) == {
        ObjectKey("PodGroup", "team", "pg"),
        ObjectKey("PodTemplate", "team", "leader"),
        ObjectKey("ResourceClaim", "team", "nowhere"),
        ObjectKey("ResourceClaimTemplate", "team", "absent"),
    }
    assert "PodTemplate/team/leader does not exist" in found.sentence()
    assert not found.faults


def test_the_id_is_namespace_and_name_unless_given() -> None:
    cluster = snapshot_of(pod_template("worker"))
    assert gang_of(cluster, ("worker", 1)).id == "team/gang"
    given = Gang.from_request(provisioning_request(("worker", 1)), cluster, gang=GangId("g-17"))
    assert isinstance(given, Gang)
    assert (given.id, given.name) == ("g-17", "gang")


def test_two_pod_sets_of_one_template_get_names_of_their_own() -> None:
    found = gang_of(snapshot_of(pod_template("worker")), ("worker", 1), ("worker", 2))
    assert [each.name for each in found.pod_sets] == ["worker", "worker-2"]


def test_a_count_that_cannot_be_cut_into_slices_is_a_fault() -> None:
    notes = {KUEUE + "podset-slice-required-topology": RACK, KUEUE + "podset-slice-size": "4"}
    found = invalid(snapshot_of(pod_template("worker", annotations=notes)), ("worker", 6))
    assert found.faults == ("pod set worker: 6 pods cannot be cut into slices of 4; make the count a multiple of 4",)


def test_annotations_that_exclude_each_other_are_a_fault() -> None:
    notes = {KUEUE + "podset-required-topology": RACK, KUEUE + "podset-preferred-topology": RACK}
    assert (
        "exclude each other"
        in invalid(snapshot_of(pod_template("worker", annotations=notes)), ("worker", 1)).sentence()
    )


def test_three_slice_layers_are_read_from_json() -> None:
    notes = {KUEUE + "podset-slice-required-topology-constraints": f'[{{"level": "{RACK}", "size": 4}}]'}
    found = gang_of(snapshot_of(pod_template("worker", annotations=notes)), ("worker", 8))
    assert [(each.key, each.size) for each in found.pod_sets[0].topology.layers] == [(RACK, 4)]


def test_a_request_without_pod_sets_is_a_fault_that_names_the_field() -> None:
    found = Gang.from_request({"metadata": {"name": "r", "namespace": "team"}, "spec": {}}, snapshot_of())
    assert isinstance(found, InvalidGang)
    assert found.sentence() == "ProvisioningRequest/team/r: spec.podSets: want 1 to 32 pod sets, got 0"


def test_an_entry_with_claim_and_template_makes_the_template_invalid_by_name() -> None:
    entry = {"name": "dev", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}
    from muster_plan import Snapshot

    cluster = Snapshot.build([pod_template("worker", claims=[entry])])
    found = invalid(cluster, ("worker", 1))
    assert "spec.resourceClaims[0].resourceClaimName" in found.sentence()


def test_a_group_claim_that_exists_already_is_used_by_its_recorded_name() -> None:
    group = pod_group("pg", least=1, claims=[from_template("one")])
    group["status"] = {"resourceClaimStatuses": [{"name": "dev", "resourceClaimName": "pg-dev-x7"}]}
    cluster = snapshot_of(
        node("node-0"),
        group,
        named_claim("pg-dev-x7", claim_spec(request("g"))),
        claim_template("one", claim_spec(request("g"))),
        pod_template("worker", claims=[from_template("one")], pod_group="pg"),
    )
    (entry,) = gang_of(cluster, ("worker", 1)).pod_sets[0].shared_claims
    assert (entry.claim.id, entry.direct) == ("claim/team/pg-dev-x7", False)
