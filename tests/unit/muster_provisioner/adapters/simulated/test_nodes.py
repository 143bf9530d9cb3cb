from typing import cast

from muster_kube import validate
from muster_provisioner.adapters.simulated.nodes import daemon_pods, node_object
from muster_types import NodeName

from .groups import NODE, Json, a_group, a_machine, a_template


def test_a_node_carries_what_the_inventory_reads_and_passes_validation() -> None:
    node = node_object(a_group(), a_machine(), ready=True)
    assert cast("Json", node["metadata"])["labels"] == {
        "topology.kubernetes.io/rack": "r7",
        "kubernetes.io/hostname": NODE,
        "muster.dev/node-group": "h100-r7",
        "muster.dev/ordinal": "3",
        "muster.dev/gang": "train-1a2b3c",
        "muster.dev/order": "train-1a2b3c-a1-1",
    }
    assert cast("Json", node["spec"])["taints"] == [
        {"key": "muster.dev/gang", "value": "train-1a2b3c", "effect": "NoSchedule"}
    ]
    assert cast("Json", node["status"])["allocatable"] == {"cpu": "192", "memory": "2Ti", "pods": "110"}
    assert validate(node) == []


def test_a_node_that_is_starting_is_not_ready_and_says_so_by_taint_too() -> None:
    node = node_object(a_group(), a_machine(), ready=False)
    status = cast("Json", node["status"])
    assert cast("list[Json]", status["conditions"])[0]["status"] == "False"
    keys = [each["key"] for each in cast("list[Json]", cast("Json", node["spec"])["taints"])]
    assert keys == ["muster.dev/gang", "node.kubernetes.io/not-ready"]


def test_taints_of_the_template_are_kept() -> None:
    taint = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
    node = node_object(a_group(a_template(spec={"taints": [taint]})), a_machine(), ready=True)
    assert cast("Json", node["spec"])["taints"] == [
        taint,
        {"key": "muster.dev/gang", "value": "train-1a2b3c", "effect": "NoSchedule"},
    ]


def test_each_unit_of_an_atomic_group_is_a_domain_of_its_own() -> None:
    group = a_group(atomicUnit=2, domainLabel="topology.example.com/slice")

    def domain(node: str, unit: int) -> object:
        labels = cast("Json", node_object(group, a_machine(NodeName(node), unit=unit), ready=True)["metadata"])[
            "labels"
        ]
        return cast("Json", labels)["topology.example.com/slice"]

    assert domain("g-abcde-0", 0) == domain("g-abcde-1", 0)
    assert domain("g-abcde-2", 1) != domain("g-abcde-0", 0)
    assert domain("g-fffff-0", 0) != domain("g-abcde-0", 0)


def test_daemon_pods_run_on_the_node_and_those_with_claims_are_left_out() -> None:
    agent: Json = {"metadata": {"name": "agent", "namespace": "system"}, "spec": {"containers": [{"name": "a"}]}}
    claiming: Json = {
        "metadata": {"name": "claiming"},
        "spec": {"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "t"}]},
    }
    (pod,) = daemon_pods(a_group(a_template(daemonPods=[agent, claiming])), a_machine())
    assert cast("Json", pod["metadata"])["name"] == f"agent-{NODE}"
    assert cast("Json", pod["metadata"])["namespace"] == "system"
    assert cast("Json", pod["spec"])["nodeName"] == NODE
