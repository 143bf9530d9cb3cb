import pytest

from support.audits import row_of
from support.cluster_objects import (
    GPU,
    NIC,
    Json,
    a_class,
    a_device,
    a_node,
    a_request,
    a_running,
    a_slice,
    a_waiting,
    gpus,
)

FLEET = [a_node(), a_class()]
NUMA = "resource.kubernetes.io/numaNode"
SICK = {"key": "sick", "value": "ecc", "effect": "NoSchedule"}


HIDDEN = {
    "driver": GPU,
    "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
    "nodeName": "node-a",
    "devices": gpus(1),
    "sharedCounters": [{"name": "s", "counters": {"m": {"value": "1"}}}],
}


def model(value: str) -> Json:
    return a_request("g", GPU, f'device.attributes["{GPU}"].model == "{value}"')


@pytest.mark.parametrize(
    ("objects", "remedy"),
    [
        (
            [a_slice(devices=gpus(1, model="a")), *a_waiting("p", model("b"))],
            'ask for model == "a": then node-a takes it',
        ),
        (
            [a_slice(devices=[a_device("x", taints=[SICK])]), *a_waiting("p")],
            "tolerate sick=ecc:NoSchedule in request g: then node-a takes it; or repair x",
        ),
        (
            [a_slice(devices=gpus(1)), *a_running("r", "gpu-0"), *a_waiting("p")],
            "when claim team-a/r (pod r) ends, node-a takes the pod",
        ),
        ([a_slice(devices=gpus(2)), *a_waiting("p", a_request(count=3))], "ask for 2 devices instead of 3"),
        (
            [a_slice(devices=gpus(1), count=3), *a_waiting("p")],
            f"wait until {GPU} publishes 2 more slices of pool node-a; do not order nodes for it",
        ),
        (
            [a_slice(name="s", sharedCounters=[]) | {"spec": HIDDEN}, *a_waiting("p")],
            "the driver must publish devices and counters of slice s in slices of their own",
        ),
        ([*a_waiting("p")], "install the driver, or add nodes that have such devices"),
        (
            [a_slice(devices=gpus(1)), *a_waiting("p", a_request(capacity={"requests": {"memory": "1Gi"}}))],
            "ask for no amount of memory: the devices count none",
        ),
    ],
)
def test_the_cheapest_remedy(objects: list[Json], remedy: str) -> None:
    assert row_of("p", *FLEET, *objects).remedy == remedy


def test_an_attribute_of_another_domain_that_the_devices_have_is_proposed() -> None:
    slices = [
        a_slice(devices=[a_device("g", attributes={NUMA: 0, f"{GPU}/numaNode": 0})]),
        a_slice(devices=[a_device("n", attributes={NUMA: 0})], driver=NIC),
    ]
    pair = a_waiting("p", a_request("g"), a_request("n", NIC), constraints=[{"matchAttribute": f"{GPU}/numaNode"}])
    row = row_of("p", *FLEET, a_class(NIC), *slices, *pair)
    assert row.remedy == f"match on {NUMA} instead: then node-a takes it"


def test_a_remedy_that_would_not_help_is_not_named() -> None:
    held = a_running("r", "gpu-0")
    row = row_of("p", *FLEET, a_slice(devices=gpus(1, model="a")), *held, *a_waiting("p", model("b")))
    assert row.remedy == "no published value of model alone would help; change the selector"


def test_a_claim_moves_to_other_devices_of_its_node_where_it_can() -> None:
    sets = [{"name": f"s{index}", "counters": {"m": {"value": "2"}}} for index in range(2)]

    def drawing(name: str, index: int, amount: str) -> Json:
        return a_device(
            name, kind=name[0], consumesCounters=[{"counterSet": f"s{index}", "counters": {"m": {"value": amount}}}]
        )

    devices = [drawing(f"h{index}{half}", index, "1") for index in range(2) for half in "ab"]
    devices += [drawing(f"w{index}", index, "2") for index in range(2)]
    slices = [a_slice(name="c", count=2, sharedCounters=sets), a_slice(name="d", count=2, devices=devices)]
    whole = a_request("g", GPU, f'device.attributes["{GPU}"].kind == "w"')
    row = row_of("p", *FLEET, *slices, *a_running("x", "h0a"), *a_running("y", "h1a"), *a_waiting("p", whole))
    assert (row.reason, row.remedy) == (
        "fragmentation",
        "move claim team-a/x (pod x) from node-a to h1b there, then node-a takes the pod",
    )


def test_what_is_used_up_everywhere_is_exhausted() -> None:
    draw = [{"counterSet": "s", "counters": {"m": {"value": "2"}}}]
    slices = [
        a_slice(name="c", count=2, sharedCounters=[{"name": "s", "counters": {"m": {"value": "3"}}}]),
        a_slice(name="d", count=2, devices=[a_device(name, consumesCounters=draw) for name in ("x", "y")]),
    ]
    assert row_of("p", *FLEET, *slices, *a_running("r", "x"), *a_waiting("p")).reason == "counters-exhausted"
