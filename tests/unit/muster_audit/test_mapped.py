from muster_audit import Dump
from muster_audit.frames import frames_of
from muster_audit.mapped import Mapped
from muster_dra import Features
from muster_plan import Snapshot
from support.audits import word_of
from support.cluster_objects import Json, a_claim, a_class, a_device, a_node, a_pod, a_request, a_slice, a_waiting

CPU = {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}}
GROUP = a_device("group", capacity={"cores": "16"}, allowMultipleAllocations=True) | {"nodeAllocatableResources": CPU}
FLEET = [a_node(cpu="32"), a_class(), a_slice(devices=[GROUP])]


def cores(amount: str) -> Json:
    return a_request(capacity={"requests": {"cores": amount}})


def held(amount: str) -> list[Json]:
    claim = a_claim("c", cores(amount), held=["group"], by="r", shareID="one", consumedCapacity={"cores": amount})
    return [claim, a_pod("r", "c", node="node-a", cpu="0")]


def of(*objects: Json) -> Mapped:
    return Mapped.of(frames_of([Dump(objects)])[-1], Snapshot.build(objects, features=Features.v1_37()))


def test_what_claims_take_of_a_node_is_counted_with_its_multiplier() -> None:
    assert {node: dict(taken) for node, taken in of(*FLEET, *held("8")).on_node.items()} == {
        "node-a": {"cpu": 16 * 10**9}
    }


def test_devices_of_a_fixed_amount_and_the_older_form_are_read() -> None:
    fixed = a_device("a") | {"nodeAllocatableResources": {"memory": {"mapping": {"deviceMultiplier": "1Gi"}}}}
    older = a_device("b") | {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "cores"}}}
    shares = of(a_slice(devices=[fixed, older])).shares.values()
    assert [(each.resource, each.key, each.times) for share in shares for each in share] == [
        ("memory", "", 2**30 * 10**9),
        ("cpu", "cores", 10**9),
    ]


def test_a_cluster_without_mappings_costs_nothing() -> None:
    assert of(a_node(), a_slice(devices=[a_device("a")])).shares == {}


def test_plain_pods_and_claims_are_added_up() -> None:
    assert word_of("p", *FLEET, *held("8"), a_pod("p", cpu="16")) == "feasible"
    assert word_of("p", *FLEET, *held("8"), a_pod("p", cpu="17")) == "infeasible shortage"
    assert word_of("p", *FLEET, a_pod("r", node="node-a", cpu="15"), *a_waiting("p", cores("8"))) == "feasible"
    assert (
        word_of("p", *FLEET, a_pod("r", node="node-a", cpu="16"), *a_waiting("p", cores("8"))) == "infeasible shortage"
    )


def test_several_pending_pods_are_added_up_too() -> None:
    pods = [each for index in range(3) for each in a_waiting(f"p{index}", cores("5"), cpu="1")]
    words = [word_of(f"p{index}", *FLEET, *pods) for index in range(3)]
    assert words[:2] == ["feasible", "feasible"]
    assert words[2].startswith("infeasible")
