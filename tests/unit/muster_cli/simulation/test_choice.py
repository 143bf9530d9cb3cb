from collections.abc import Mapping

import pytest

from muster_cli.simulation.choice import Chosen, PendingPod, Unschedulable, choose_node
from muster_dra import ResourceClaim, parse_claim
from muster_plan.pods import parse_pod
from muster_plan.snapshot import Snapshot
from muster_types import NodeName, ObjectKey

from .cluster import GANG, NAMESPACE, a_claim_template, a_class, a_node, a_pod, a_slice

TOLERATION = {"key": "muster.dev/gang", "operator": "Equal", "value": GANG, "effect": "NoSchedule"}


def claim(count: int = 2, name: str = "p-gpus") -> ResourceClaim:
    template = a_claim_template(count=count)["spec"]
    assert isinstance(template, Mapping)
    return parse_claim(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": template["spec"],
        }
    )


def pending(*claims: ResourceClaim, offered: tuple[str, ...] = (), cpu: str = "4", **spec: object) -> PendingPod:
    pod = parse_pod(a_pod("p", cpu=cpu, **{"tolerations": [TOLERATION], **spec}))
    names = frozenset(NodeName(name) for name in offered)
    return PendingPod(ObjectKey("Pod", NAMESPACE, "p"), pod.spec, claims, GANG, names)


def chosen(pod: PendingPod, *objects: Mapping[str, object]) -> str:
    choice = choose_node(pod, Snapshot.build([a_class(), *objects]))
    return choice.node if isinstance(choice, Chosen) else choice.message


def test_the_first_node_by_name_that_fits_is_taken() -> None:
    assert chosen(pending(), a_node("b"), a_node("a")) == "a"


def test_nodes_held_for_the_gang_come_first_then_those_of_the_offer() -> None:
    nodes = (a_node("a"), a_node("b"), a_node("c", taint=GANG))
    assert chosen(pending(offered=("b",)), *nodes) == "c"
    assert chosen(pending(offered=("b",)), *nodes[:2]) == "b"


def test_a_node_held_for_another_gang_is_refused_with_the_reason() -> None:
    assert chosen(pending(), a_node("a", taint="other")) == (
        "0/1 nodes are available: 1 node(s) had untolerated taint {muster.dev/gang=other:NoSchedule}."
    )


def test_reasons_are_counted_by_node() -> None:
    message = chosen(
        pending(claim()),
        a_node("a", ready=False),
        a_node("b", cpu="2"),
        a_node("c"),
        a_node("d"),
    )
    assert message == (
        "0/4 nodes are available: 1 Insufficient cpu, 2 cannot allocate all claims, 1 node(s) were not ready."
    )


def test_claims_are_allocated_by_the_real_allocator_with_their_constraint() -> None:
    objects = [a_class(), a_node("a"), a_slice("a")]
    choice = choose_node(pending(claim(2)), Snapshot.build(objects))
    assert isinstance(choice, Chosen)
    devices = [result.device.device for result in choice.allocations["p-gpus"].results]
    assert devices == ["gpu-0", "gpu-1"]
    assert isinstance(choose_node(pending(claim(3)), Snapshot.build(objects)), Unschedulable)


def test_devices_that_other_claims_hold_are_not_given_again() -> None:
    held = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "held", "namespace": "other"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {"request": "r", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"},
                    ]
                }
            }
        },
    }
    choice = choose_node(pending(claim(2)), Snapshot.build([a_class(), a_node("a"), a_slice("a"), held]))
    assert isinstance(choice, Chosen)
    assert [each.device.device for each in choice.allocations["p-gpus"].results] == ["gpu-2", "gpu-3"]


def test_a_missing_class_ends_the_attempt_and_is_named() -> None:
    choice = choose_node(pending(claim()), Snapshot.build([a_node("a"), a_slice("a")]))
    assert isinstance(choice, Unschedulable)
    assert "the device class does not exist" in choice.message


def test_resources_of_bound_pods_are_taken() -> None:
    nodes = (a_node("a", cpu="8"), a_node("b", cpu="8"))
    assert chosen(pending(cpu="4"), *nodes, a_pod("other", "a", cpu="6")) == "b"


def test_selector_and_anti_affinity_and_host_ports_are_obeyed() -> None:
    nodes = (a_node("a"), a_node("b", zone="z1"))
    assert chosen(pending(nodeSelector={"zone": "z1"}), *nodes) == "b"
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "noisy"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert chosen(pending(affinity=affinity), *nodes, a_pod("noisy", "a")) == "b"
    port = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    assert chosen(pending(containers=port), *nodes, a_pod("web", "a", containers=port)) == "b"


def test_an_extended_resource_without_node_capacity_becomes_a_claim_of_its_class() -> None:
    containers = [{"name": "main", "resources": {"requests": {"example.com/gpu": "2"}}}]
    objects = [a_class(), a_node("a"), a_slice("a")]
    choice = choose_node(pending(containers=containers), Snapshot.build(objects))
    assert isinstance(choice, Chosen)
    assert choice.extended is not None
    assert len(choice.allocations["p-extended-resources"].results) == 2
    assert chosen(pending(containers=containers), a_node("a")).endswith("1 cannot allocate all claims.")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_the_objects_changes_nothing(order: tuple[int, ...]) -> None:
    objects = [a_node("b"), a_slice("b"), a_node("c")]
    assert chosen(pending(claim()), *(objects[index] for index in order)) == "b"
