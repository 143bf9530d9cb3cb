import pytest

from muster_audit.lifting import binding
from muster_audit.words import Cause
from muster_dra import Features, parse_claim
from muster_plan import Snapshot
from support.cluster_objects import Json, a_claim, a_class, a_device, a_node, a_request, a_slice

SETS = [{"name": "s", "counters": {"m": {"value": "3"}}}]


def drawing(name: str) -> Json:
    return a_device(name, consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": "2"}}}])


def bound(slices: list[Json], *requests: Json, constraints: list[Json] | None = None) -> Cause | None:
    snapshot = Snapshot.build([a_node(), a_class(), *slices], features=Features.v1_37())
    (node,) = snapshot.tables.nodes.values()
    claim = parse_claim(a_claim("c", *requests, constraints=constraints or []))
    return binding(node.node, [claim], snapshot.catalog, snapshot.allocated)


DRAWING = [
    a_slice(name="c", count=2, sharedCounters=SETS),
    a_slice(name="d", count=2, devices=[drawing("x"), drawing("y")]),
]
TWO = (a_request("a"), a_request("b"))
NIC = a_device("n", capacity={"rate": "10G"}, allowMultipleAllocations=True)
RATE = {"capacity": {"requests": {"rate": "8G"}}}


@pytest.mark.parametrize(
    ("slices", "requests", "constraints", "cause"),
    [
        (
            DRAWING,
            TWO,
            [],
            Cause.COUNTERS_EXHAUSTED,
        ),
        ([a_slice(devices=[NIC])], (a_request("a", **RATE), a_request("b", **RATE)), [], Cause.CAPACITY_EXHAUSTED),
        (
            [a_slice(devices=[a_device("x", numa=0), a_device("y", numa=1)])],
            TWO,
            [{"matchAttribute": "gpu.example.com/numa"}],
            Cause.TOPOLOGY_MISMATCH,
        ),
        ([a_slice(devices=[a_device("x")])], TWO, [], None),
    ],
)  # fmt: skip
def test_the_condition_without_which_requests_fit_together(
    slices: list[Json], requests: tuple[Json, ...], constraints: list[Json], cause: Cause | None
) -> None:
    assert bound(slices, *requests, constraints=constraints) is cause
