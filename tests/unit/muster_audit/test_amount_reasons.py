from support.audits import row_of
from support.cluster_objects import Json, a_claim, a_class, a_device, a_node, a_pod, a_request, a_slice, a_waiting


def used(amount: str) -> list[Json]:
    claim = a_claim("used", held=["gpu-0"], by="busy", shareID="one", consumedCapacity={"memory": amount})
    return [claim, a_pod("busy", "used", node="node-a")]


def shared() -> list[Json]:
    device = a_device("gpu-0", capacity={"memory": "24Gi"}, allowMultipleAllocations=True)
    return [a_node(), a_class(), a_slice(devices=[device])]


def test_what_is_left_of_an_amount_is_told_with_who_holds_the_rest() -> None:
    wanted = a_request(capacity={"requests": {"memory": "10Gi"}})
    row = row_of("p", *shared(), *used("20Gi"), *a_waiting("p", wanted))
    assert row.reason == "capacity-exhausted"
    assert "4Gi of 24Gi memory left, 10Gi wanted; held by claim team-a/used (pod busy)" in row.why


def test_a_partition_that_nobody_publishes_any_more_is_named_where_it_still_draws() -> None:
    def halves(generation: int, *names: str) -> list[Json]:
        draw = {"counterSet": "s", "counters": {"m": {"value": "20Gi"}}}
        whole = {"counterSet": "s", "counters": {"m": {"value": "40Gi"}}}
        devices = [a_device(name, type="half", consumesCounters=[draw]) for name in names]
        sets = [{"name": "s", "counters": {"m": {"value": "40Gi"}}}]
        return [
            a_slice(name="c", count=2, generation=generation, sharedCounters=sets),
            a_slice(
                name="d",
                count=2,
                generation=generation,
                devices=[*devices, a_device("whole", type="whole", consumesCounters=[whole])],
            ),
        ]

    rest = [a_node(), a_class(), a_claim("old", held=["half-0"], by="x"), a_pod("x", "old", node="node-a")]
    wanted = a_waiting("p", a_request("g", "gpu.example.com", 'device.attributes["gpu.example.com"].type == "whole"'))
    row = row_of("p", *rest, *halves(1, "half-0", "half-1"), then=[[*rest, *halves(2, "half-1"), *wanted]])
    assert row.reason == "counters-exhausted"
    assert "half-0 (held by claim team-a/old) still draws although it is not published" in row.why
