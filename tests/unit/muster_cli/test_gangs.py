"""A gang for the eye."""

from muster.api.capacity.v1.capacity_service_pb2 import GangView
from muster.type.v1.plan_pb2 import Pin, UnplacedMember
from muster_cli.live.gangs import plan_lines


def test_pods_without_a_place_assumptions_and_pins_stand_below_the_placements() -> None:
    gang = GangView(
        unplaced=[UnplacedMember(pod_set="workers", index=4), UnplacedMember(pod_set="workers", index=5)],
        assumptions=["the rack is known only after boot"],
        pins=[Pin(kind="node", pod_set="workers", node="x0")],
        details={"muster.dev/pins": "x0: workers 0"},
    )
    assert plan_lines(gang) == [
        "without a place, for they are beyond the minimum: workers-4, workers-5",
        "to be verified on arrival: the rack is known only after boot",
        "kube-scheduler must be told: x0: workers 0",
    ]


def test_before_the_offer_pins_are_counted() -> None:
    assert plan_lines(GangView(pins=[Pin(kind="node")])) == [
        "kube-scheduler must be told: 1 pod; how is told with the offer"
    ]
    assert plan_lines(GangView()) == []
