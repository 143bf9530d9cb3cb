"""What a plan honours, feature by feature; the recorded corpora go wider (tests/conformance/plan)."""

from typing import Any

import pytest

from muster_plan import Limit, Lost, NoPlanKind, Policy, ReasonCode, Survival
from muster_types import NodeGroupName
from unit.muster_plan.builders import (
    GPU,
    HOST,
    KUEUE,
    RACK,
    ZONE,
    claim_spec,
    claim_template,
    device_names,
    from_claim,
    from_template,
    gpus,
    gpus_on_one_numa,
    group,
    named_claim,
    network_slice,
    node,
    places,
    planned,
    pod,
    pod_group,
    pod_template,
    refused,
    request,
    snapshot_of,
)

ONE = claim_template("one", claim_spec(request("g")))


def test_free_devices_of_existing_nodes_come_before_new_nodes() -> None:
    cluster = snapshot_of(
        node("node-0", devices=gpus(4)),
        group("h100", devices=gpus(4), price=7),
        claim_template("four", gpus_on_one_numa(4)),
        pod_template("worker", claims=[from_template("four")]),
    )
    found = planned(cluster, ("worker", 2))
    assert places(found) == {"node-0": 1, "h100#0": 1}
    assert (found.cost, found.new_nodes, found.optimal, found.bound) == (7, 1, True, 7)
    assert found.survival is Survival.SURVIVES


def test_alternatives_say_what_they_cost_and_why_they_lost() -> None:
    cluster = snapshot_of(
        group("cheap", devices=gpus(4), price=7),
        group("dear", devices=gpus(4), price=9),
        claim_template("four", gpus_on_one_numa(4)),
        pod_template("worker", claims=[from_template("four")]),
    )
    found = planned(cluster, ("worker", 2))
    without = found.alternatives[0]
    assert (without.label, without.cost, without.lost) == ("without group cheap", 18, Lost.COSTLIER)
    assert without.why == "costs 18 instead of 14"


def test_spare_capacity_of_new_nodes_is_what_the_gang_leaves() -> None:
    cluster = snapshot_of(
        group("h100", devices=gpus(4), cpu="8"), ONE, pod_template("worker", claims=[from_template("one")], cpu="3")
    )
    (spare,) = planned(cluster, ("worker", 1)).spare
    assert dict(spare.devices) == {GPU: 3}
    assert dict(spare.resources)["cpu"] == 5 * 10**9


def test_prices_are_exact_and_may_have_cents() -> None:
    cluster = snapshot_of(
        group("a", devices=gpus(8), price=98.32),
        group("b", devices=gpus(8), price=98.31, room=1),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    assert planned(cluster, ("worker", 3)).cost == pytest.approx(98.31 + 2 * 98.32)


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ({"ready": False}, ReasonCode.NOT_READY),
        ({"unschedulable": True}, ReasonCode.NOT_READY),
        ({"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}, ReasonCode.TAINT),
        ({"cpu": "1"}, ReasonCode.RESOURCES),
    ],
)
def test_a_node_that_takes_no_pod_is_not_used_and_the_reason_says_why(broken: Any, code: ReasonCode) -> None:
    assert planned(snapshot_of(node("node-0"), pod_template("worker", cpu="2")), ("worker", 1)).cost == 0
    no = refused(snapshot_of(node("node-0", **broken), pod_template("worker", cpu="2")), ("worker", 1))
    assert no.reasons[0].code is code
    assert "node-0" in no.sentence()


def test_a_toleration_opens_a_tainted_node_but_no_taint_of_another_gang() -> None:
    tolerant = pod_template("worker", tolerations=[{"operator": "Exists"}])
    sick = node("node-0", taints=[{"key": "dedicated", "effect": "NoExecute"}])
    assert planned(snapshot_of(sick, tolerant), ("worker", 1)).cost == 0
    held = node("node-0", taints=[{"key": "muster.dev/gang", "value": "other", "effect": "NoSchedule"}])
    assert refused(snapshot_of(held, tolerant), ("worker", 1)).reasons[0].code is ReasonCode.BOOKED
    own = node("node-0", taints=[{"key": "muster.dev/gang", "value": "team/gang", "effect": "NoSchedule"}])
    assert planned(snapshot_of(own, pod_template("worker")), ("worker", 1)).cost == 0


def test_host_ports_keep_pods_apart_on_a_node() -> None:
    ports = [{"name": "c", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    work = pod_template("worker")
    work["template"]["spec"]["containers"] = ports
    cluster = snapshot_of(node("node-0"), node("node-1"), node("node-2"), pod("web", "node-2", containers=ports), work)
    assert places(planned(cluster, ("worker", 2))) == {"node-0": 1, "node-1": 1}
    assert refused(cluster, ("worker", 3)).kind is NoPlanKind.NEVER


def anti_affinity(key: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_anti_affinity_over_racks_spreads_pods_over_racks() -> None:
    cluster = snapshot_of(
        *(node(f"node-{i}", labels={RACK: f"r{i // 2}"}) for i in range(4)),
        pod_template("worker", labels={"app": "w"}, affinity=anti_affinity(RACK, "w")),
    )
    assert len(places(planned(cluster, ("worker", 2)))) == 2
    assert refused(cluster, ("worker", 3)).even_empty


def test_a_running_pod_may_refuse_the_gang() -> None:
    cluster = snapshot_of(
        node("node-0", labels={RACK: "r0"}),
        node("node-1", labels={RACK: "r0"}),
        pod("db", "node-0", namespace="team", affinity=anti_affinity(RACK, "w")),
        pod_template("worker", labels={"app": "w"}),
    )
    no = refused(cluster, ("worker", 1))
    assert (no.reasons[0].code, no.even_empty, no.waiting_helps) == (ReasonCode.ANTI_AFFINITY, False, True)


def spread(skew: int = 1, key: str = ZONE) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "w"}}
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


def test_spread_counts_domains_of_nodes_that_take_no_pod() -> None:
    cluster = snapshot_of(
        node("node-0", labels={ZONE: "a"}),
        node("node-1", labels={ZONE: "b"}, unschedulable=True),
        pod_template("worker", labels={"app": "w"}, topologySpreadConstraints=spread()),
    )
    assert planned(cluster, ("worker", 1)).cost == 0
    assert refused(cluster, ("worker", 2)).reasons[0].code is ReasonCode.SPREAD


def test_an_allocated_claim_of_the_request_pins_by_labels_too() -> None:
    claim = named_claim("common", claim_spec(request("g")), held=[("fabric.example.com", "f", "chan-0")])
    term = {"matchExpressions": [{"key": RACK, "operator": "In", "values": ["r1"]}]}
    claim["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    cluster = snapshot_of(
        node("node-0", labels={RACK: "r0"}),
        node("node-1", labels={RACK: "r1"}),
        claim,
        pod_template("worker", claims=[from_claim("common")]),
    )
    assert places(planned(cluster, ("worker", 2))) == {"node-1": 2}


def test_a_shared_claim_on_a_network_pool_holds_its_pods_to_nodes_that_reach_it() -> None:
    chan = {"kind": "DeviceClass", "metadata": {"name": "chan"}, "spec": {}}
    chan["spec"] = {"selectors": [{"cel": {"expression": 'device.driver == "fabric.example.com"'}}]}
    term = {"matchExpressions": [{"key": RACK, "operator": "In", "values": ["r1"]}]}
    cluster = snapshot_of(
        chan,
        node("node-0", labels={RACK: "r0"}, cpu="8"),
        node("node-1", labels={RACK: "r1"}, cpu="1"),
        node("node-2", labels={RACK: "r1"}, cpu="1"),
        network_slice("r1", [{"name": "chan-0"}], nodeSelector={"nodeSelectorTerms": [term]}),
        claim_template("channel", claim_spec(request("c", cls="chan"))),
        pod_template("worker", claims=[from_template("channel")], pod_group="pg"),
        pod_group("pg", least=2, claims=[from_template("channel")]),
    )
    assert places(planned(cluster, ("worker", 2))) == {"node-1": 1, "node-2": 1}


def test_a_minimum_is_ordered_for_and_the_rest_takes_what_is_free() -> None:
    cluster = snapshot_of(
        node("node-0", devices=gpus(3)),
        group("h100", devices=gpus(2), price=5),
        ONE,
        pod_template("worker", claims=[from_template("one")], pod_group="pg"),
        pod_group("pg", least=4),
    )
    found = planned(cluster, ("worker", 8))
    assert (found.cost, found.new_nodes) == (5, 1)
    assert len(found.placements) == 5, "one more than the minimum fits on what is there anyway"
    assert len(found.unplaced) == 3


def test_required_hostname_puts_a_pod_set_on_one_node() -> None:
    notes = {KUEUE + "podset-required-topology": HOST}
    cluster = snapshot_of(
        node("node-0", devices=gpus(3)),
        node("node-1", devices=gpus(3)),
        group("big", devices=gpus(8), price=4),
        ONE,
        pod_template("worker", claims=[from_template("one")], annotations=notes),
    )
    assert len(places(planned(cluster, ("worker", 3)))) == 1
    assert places(planned(cluster, ("worker", 4))) == {"big#0": 4}


def test_a_unit_is_ordered_whole_and_forms_a_domain_of_its_own() -> None:
    notes = {KUEUE + "podset-required-topology": "example.com/slice"}
    unit = group(
        "tpu", room=8, devices=gpus(1), price=3, atomicUnit=4, domainLabel="example.com/slice", labels={"x": "y"}
    )
    cluster = snapshot_of(unit, ONE, pod_template("worker", claims=[from_template("one")], annotations=notes))
    found = planned(cluster, ("worker", 3))
    assert (found.cost, found.new_nodes) == (12, 4)
    assert found.domains[0].value == "new unit 1 of group tpu"
    assert not found.domains[0].known
    assert refused(cluster, ("worker", 5)).even_empty, "no unit holds five"


def test_limits_over_groups_are_kept_and_named() -> None:
    cluster = snapshot_of(
        group("a", devices=gpus(8), price=5),
        claim_template("eight", claim_spec(request("g", 8))),
        pod_template("worker", claims=[from_template("eight")]),
    )
    budget = Policy(limits=(Limit("team budget", max_cost=14),))
    assert planned(cluster, ("worker", 2), policy=budget).cost == 10
    no = refused(cluster, ("worker", 3), policy=budget)
    assert no.kind is NoPlanKind.LIMIT
    assert "team budget" in " ".join(each.sentence() for each in no.reasons)
    devices = Policy(limits=(Limit("gpus", max_new_devices=16),))
    assert planned(cluster, ("worker", 2), policy=devices).cost == 10
    assert refused(cluster, ("worker", 3), policy=devices).kind is NoPlanKind.LIMIT


def test_a_group_that_backs_off_is_left_out_and_waited_for() -> None:
    cluster = snapshot_of(group("a", devices=gpus(8)), ONE, pod_template("worker", claims=[from_template("one")]))
    without = Policy(excluded_groups=frozenset({NodeGroupName("a")}))
    no = refused(cluster, ("worker", 1), policy=without)
    assert no.kind is NoPlanKind.NOT_NOW
    assert no.helps[-1].subjects == ("a",)


def test_a_group_without_device_template_is_told_apart_from_one_without_devices() -> None:
    work = (ONE, pod_template("worker", claims=[from_template("one")]))
    unknown = refused(snapshot_of(group("a", devices=None), *work), ("worker", 1))
    assert unknown.reasons[0].code is ReasonCode.NO_TEMPLATE
    assert "nobody said" in unknown.sentence()
    assert refused(snapshot_of(group("a"), *work), ("worker", 1)).reasons[0].code is ReasonCode.SHAPE


def test_devices_that_others_hold_are_named() -> None:
    held = named_claim("theirs", claim_spec(request("g")), namespace="other", held=[(GPU, "node-0", "gpu-0")])
    cluster = snapshot_of(
        node("node-0", devices=gpus(1)), held, ONE, pod_template("worker", claims=[from_template("one")])
    )
    no = refused(cluster, ("worker", 1))
    assert (no.kind, no.even_empty, no.waiting_helps) == (NoPlanKind.NEVER, False, True)
    assert "held by other/theirs" in no.sentence()
    assert no.helps[0].subjects == ("ResourceClaim/other/theirs",)


def test_extended_resources_come_from_the_device_class_where_the_node_does_not_advertise_them() -> None:
    mapped = {
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {
            "selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}],
            "extendedResourceName": "example.com/gpu",
        },
    }
    cluster = snapshot_of(
        node("node-0", devices=gpus(2)),
        node("node-1", allocatable={"example.com/gpu": "1"}),
        mapped,
        pod_template("worker", requests={"example.com/gpu": "1"}),
    )
    found = planned(cluster, ("worker", 3))
    assert places(found) == {"node-0": 2, "node-1": 1}
    assert device_names(found) == [["gpu-0"], ["gpu-1"], []]
    assert found.placements[0].claims[0].name == "<extended-resources>"


def affinity(key: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pods_that_want_a_running_pod_go_to_its_domain() -> None:
    cluster = snapshot_of(
        node("node-0", labels={RACK: "r0"}),
        node("node-1", labels={RACK: "r1"}),
        node("node-2", labels={RACK: "r1"}),
        pod("db", "node-2", namespace="team", labels={"app": "db"}),
        pod_template("worker", affinity=affinity(RACK, "db")),
        pod_template("lost", affinity=affinity(RACK, "nobody")),
    )
    found = planned(cluster, ("worker", 100))
    assert set(places(found)) == {"node-1", "node-2"}
    assert refused(cluster, ("lost", 1)).reasons[0].code is ReasonCode.AFFINITY


def test_pods_that_want_each_other_share_a_domain() -> None:
    cluster = snapshot_of(
        node("node-0", labels={RACK: "r0"}, cpu="2"),
        node("node-1", labels={RACK: "r1"}, cpu="2"),
        node("node-2", labels={RACK: "r1"}, cpu="2"),
        pod_template("worker", labels={"app": "w"}, affinity=affinity(RACK, "w")),
        pod_template("follower", affinity=affinity(RACK, "w")),
        pod_template("host", labels={"app": "h"}, affinity=affinity(HOST, "h")),
    )
    assert places(planned(cluster, ("worker", 4))) == {"node-1": 2, "node-2": 2}
    both = planned(cluster, ("worker", 1), ("follower", 3))
    assert set(places(both)) == {"node-1", "node-2"}
    assert places(planned(cluster, ("host", 2))) in ({"node-0": 2}, {"node-1": 2}, {"node-2": 2})
    assert refused(cluster, ("host", 3)).even_empty


def test_a_preferred_domain_is_kept_where_it_costs_nothing() -> None:
    notes = {KUEUE + "podset-preferred-topology": RACK}
    nodes = [node(f"node-{index}", labels={RACK: f"r{index % 2}"}, cpu="1") for index in range(6)]
    cluster = snapshot_of(*nodes, pod_template("worker", annotations=notes))
    found = planned(cluster, ("worker", 3))
    assert {int(name[-1]) % 2 for name in places(found)} in ({0}, {1})
    assert len(places(planned(cluster, ("worker", 4)))) == 4, "it is only a wish"


def test_spread_over_hosts_bounds_the_pods_of_a_node_and_a_no_is_not_called_never() -> None:
    cluster = snapshot_of(
        *(node(f"node-{index}") for index in range(3)),
        pod("old", "node-0", namespace="team", labels={"app": "w"}),
        pod_template("worker", labels={"app": "w"}, topologySpreadConstraints=spread(key=HOST)),
    )
    assert places(planned(cluster, ("worker", 2))) == {"node-1": 1, "node-2": 1}
    no = refused(cluster, ("worker", 3))
    assert (no.kind, no.reasons[0].code) == (NoPlanKind.NOT_NOW, ReasonCode.GAVE_UP)


def channel_class() -> dict[str, Any]:
    spec = {"selectors": [{"cel": {"expression": 'device.driver == "fabric.example.com"'}}]}
    return {"kind": "DeviceClass", "metadata": {"name": "chan"}, "spec": spec}


def in_rack(rack: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": RACK, "operator": "In", "values": [rack]}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


def test_pods_of_many_nodes_share_the_channels_of_one_pool() -> None:
    channels = {"r0": 1, "r1": 3}
    cluster = snapshot_of(
        channel_class(),
        *(node(f"node-{index}", labels={RACK: f"r{index % 2}"}, cpu="2") for index in range(4)),
        *(
            network_slice(rack, [{"name": f"chan-{i}"} for i in range(count)], **in_rack(rack))
            for rack, count in channels.items()
        ),
        claim_template("channel", claim_spec(request("c", cls="chan"))),
        pod_template("worker", claims=[from_template("channel")]),
    )
    found = planned(cluster, ("worker", 4))
    racks = [int(str(each.target)[-1]) % 2 for each in found.placements]
    assert (racks.count(0), racks.count(1)) == (1, 3)
    used = [claim.results[0].device for each in found.placements for claim in each.claims]
    assert len(set(used)) == 4
    assert refused(cluster, ("worker", 5)).kind is NoPlanKind.NEVER
