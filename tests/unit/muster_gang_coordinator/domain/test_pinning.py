"""How pods must be pinned, on the nodes that really came."""

from muster_gang_coordinator.domain.pinning import pins_text, settle_pins
from muster_gang_coordinator.domain.plans import (
    DeviceResult,
    ExistingNode,
    NewNode,
    Pin,
    PinKind,
    Placement,
    PlannedClaim,
    Target,
)
from muster_types import DeviceId, NodeName, PodSetName
from unit.muster_gang_coordinator.builders import H100

LEADER, WORKERS = PodSetName("leader"), PodSetName("workers")
ALL = 32768


def a_pin(kind: PinKind, index: int, target: Target, pod_set: PodSetName = WORKERS) -> Pin:
    return Pin(kind, pod_set, index, target, "because")


def a_place(index: int, node: str, *devices: str, pod_set: PodSetName = WORKERS, existing: bool = False) -> Placement:
    results = tuple(DeviceResult("gpu", DeviceId("gpu.example.com", node, device)) for device in devices)
    claims = (PlannedClaim("gpus", "", results, existing),) if devices else ()
    return Placement(pod_set, index, ExistingNode(NodeName(node)), claims)


def test_pins_follow_their_pods_to_the_nodes_that_arrived() -> None:
    pins = tuple(a_pin(PinKind.NODE, i, NewNode(H100, i)) for i in range(2))
    settled = settle_pins(pins, (a_place(0, "x0"), a_place(1, "x1")))
    assert [pin.target for pin in settled] == [ExistingNode(NodeName("x0")), ExistingNode(NodeName("x1"))]


def test_a_pin_of_a_pod_that_got_no_place_is_left_out() -> None:
    assert settle_pins((a_pin(PinKind.NODE, 7, NewNode(H100, 0)),), (a_place(0, "x0"),)) == ()


def test_neighbours_of_a_node_are_told_as_a_range() -> None:
    nodes = ["x0", "x0", "x0", "x1", "x0"]
    places = (a_place(0, "x1", pod_set=LEADER), *(a_place(i, node) for i, node in enumerate(nodes)))
    pins = tuple(a_pin(PinKind.NODE, p.index, NewNode(H100, 0), p.pod_set) for p in places)
    assert pins_text(pins, places, ALL) == "x1: leader 0, workers 3; x0: workers 0-2, workers 4"


def test_where_first_fit_fails_the_devices_are_told_too_but_not_those_that_are_allocated_already() -> None:
    places = (
        a_place(0, "x0", "gpu-3", "gpu-4", pod_set=LEADER),
        a_place(0, "x0", "gpu-0"),
        a_place(1, "x1", "gpu-7"),
        a_place(2, "x1", "gpu-6", existing=True),
    )
    kinds = (PinKind.DEVICES, PinKind.DEVICES, PinKind.ORDER, PinKind.ORDER)
    pins = tuple(a_pin(kind, p.index, p.target, p.pod_set) for kind, p in zip(kinds, places, strict=True))
    assert pins_text(pins, places, ALL) == (
        "x0 with exactly these devices: leader 0 (gpu.example.com/x0/gpu-3 gpu.example.com/x0/gpu-4), "
        "workers 0 (gpu.example.com/x0/gpu-0); "
        "x1 in this order: workers 1 (gpu.example.com/x1/gpu-7), workers 2"
    )


def test_a_text_that_is_too_long_is_cut_at_a_node() -> None:
    places = tuple(a_place(i, f"x{i}") for i in range(100))
    pins = tuple(a_pin(PinKind.NODE, i, NewNode(H100, i)) for i in range(100))
    whole = pins_text(pins, places, ALL)
    for limit in range(36, 60):
        text = pins_text(pins, places, limit)
        assert len(text) <= limit
        assert text.endswith("; …")
        assert f"{text.removesuffix('…')}" in whole
    assert pins_text(pins, places, 10) == "…"
    assert pins_text(pins, places, len(whole)) == whole
