"""A negative capacity request makes room, as upstream has it (dra-semantics §0.3, #141216); found by `make fuzz`."""

from typing import Any

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    NoFit,
    Outcome,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
)

GPU = "gpu.example.com"


def problem(first: str) -> dict[str, Any]:
    """One shared device of 4 with 1 held; a request of `first`, then all devices, which takes the full 4."""
    device = {"name": "gpu-2", "capacity": {"memory": {"value": "4"}}, "allowMultipleAllocations": True}
    held = {"driver": GPU, "pool": "n0", "device": "gpu-2", "shareID": "s", "consumedCapacity": {"memory": "1"}}
    return {
        "id": "negative",
        "nodes": [{"metadata": {"name": "n0"}}],
        "slices": [
            {
                "metadata": {"name": "n0-gpu"},
                "spec": {
                    "driver": GPU,
                    "pool": {"name": "n0", "resourceSliceCount": 1},
                    "nodeName": "n0",
                    "devices": [device],
                },
            }
        ],
        "classes": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "claims": [
            {
                "metadata": {"name": "claim"},
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "r0",
                                "exactly": {
                                    "deviceClassName": "gpu",
                                    "allocationMode": "ExactCount",
                                    "count": 1,
                                    "capacity": {"requests": {"memory": first}},
                                },
                            },
                            {"name": "r1", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
                        ]
                    }
                },
            }
        ],
        "allocated": [
            {"metadata": {"name": "held"}, "spec": {}, "status": {"allocation": {"devices": {"results": [held]}}}}
        ],
    }


def outcome(first: str) -> Outcome:
    row = problem(first)
    catalog = Catalog.build(map(parse_slice, row["slices"]), map(parse_class, row["classes"]))
    allocated = AllocatedState.from_claims(map(parse_claim, row["allocated"]))
    return allocate(parse_node(row["nodes"][0]), tuple(map(parse_claim, row["claims"])), catalog, allocated)


def test_room_that_an_earlier_negative_request_makes_counts_for_all_devices() -> None:
    assert isinstance(outcome("-2"), Allocation)


def test_without_it_the_held_share_is_in_the_way() -> None:
    assert isinstance(outcome("0"), NoFit)
