"""What a seed is about: a small fleet, node groups and their cloud's moods, gangs, incidents, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random

from simulation.faults import Kind, Rates
from simulation.objects import PodShape, Shape


class Via(Enum):
    """How a request comes."""

    CLUSTER = "an object in the cluster"
    GRPC = "a call"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A node that is there from the beginning; `taken` of its GPUs run somebody else's pods."""

    name: str
    shape: Shape
    rack: str
    taken: int = 0


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A node group and the settings of its simulated driver."""

    name: str
    shape: Shape
    most: int
    price: float
    rack: str
    driver: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class GangPlan:
    """A gang: `leader` adds a pod without devices. `parts_late`: seconds by which its templates come after it.
    `forgotten`: its owner never makes the pods."""

    name: str
    at: float
    via: Via
    pods: int
    shape: PodShape
    leader: bool = False
    parts_late: float = 0.0
    valid: int = 0
    owner: str = ""
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens to the world: `what` names a function of `incidents`; `draw` in [0, 1) chooses whom it
    strikes. It happens `at` seconds after the `nth` event of type `after`, or after the start when that is empty."""

    what: str
    at: float
    draw: float
    lasting: float
    after: str = ""
    nth: int = 1

    @property
    def name(self) -> str:
        """Names it among those of its seed."""
        return f"{self.what}@{self.after}{self.nth}+{self.at:.2f}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """`benign`: the world itself is kind, so faults of the system alone must not change how any gang ends."""

    seed: int
    benign: bool
    nodes: tuple[NodePlan, ...]
    groups: tuple[GroupPlan, ...]
    gangs: tuple[GangPlan, ...]
    incidents: tuple[Incident, ...]
    rates: Rates
    faults_end: float
    clocks: Mapping[str, float] = field(default_factory=dict[str, float])


_INCIDENTS = (
    "delete_request",
    "cancel_call",
    "kill_machine",
    "kill_machine",
    "remove_node",
    "node_unready",
    "cordon_node",
    "drop_device",
    "taint_device",
    "slice_vanishes",
    "foreign_pod",
    "foreign_pod_leaves",
    "foreign_growth",
    "foreign_shrink",
    "evict_pod",
    "request_again",
    "second_attempt",
    "withdraw_group",
    "long_outage",
    "restart_now",
    "restart_now",
    "double_call",
    "clock_jump",
    "template_edited",
)


# Moments of a saga at which an incident is most likely to hit something.
_MOMENTS = (
    "PlanningStarted",
    "GangBooked",
    "GangPlanBooked",
    "GangWaits",
    "NodesOrdered",
    "OrderIntended",
    "OrderAcknowledged",
    "OrderFilled",
    "OrderShort",
    "NodeArrivalRecorded",
    "VerificationStarted",
    "GangConfirmed",
    "GangReadied",
    "MemberBindRecorded",
    "GangConsumed",
    "CompensationStarted",
    "OrderCancelIntended",
    "GangReleased",
)


def make_scenario(seed: int) -> Scenario:
    """The scenario of a seed; the same whenever it is asked for."""
    rng = Random(f"scenario {seed}")
    benign = seed % 3 == 0
    model = "h100"
    nodes = tuple(_node(rng, index, model, benign) for index in range(rng.choice((0, 0, 0, 1, 1, 2))))
    groups = tuple(_group(rng, name, benign) for name in ("a", "b", "c")[: rng.choice((1, 2, 2, 3))])
    gangs = tuple(_gang(rng, index, benign) for index in range(rng.choice((1, 1, 2, 2, 3, 4))))
    ends = rng.choice((60.0, 90.0, 120.0))
    incidents = () if benign else tuple(_incident(rng, ends) for _ in range(rng.choice((1, 2, 3, 5, 8, 12))))
    return Scenario(seed, benign, nodes, groups, gangs, incidents, _rates(rng), ends)


def _node(rng: Random, index: int, model: str, benign: bool) -> NodePlan:
    gpus = rng.choice((2, 4, 4, 8))
    halves = rng.choice((0, 0, 2, 4))
    shape = Shape(gpus, model if rng.random() < 0.85 else "a100", halves, rng.choice((8, 16, 32)))
    return NodePlan(f"n{index}", shape, rng.choice(("r1", "r2")), 0 if benign else rng.choice((0, 0, 0, 1, gpus)))


def _group(rng: Random, name: str, benign: bool) -> GroupPlan:
    shape = Shape(rng.choice((2, 4, 4, 8)), "h100", rng.choice((0, 0, 0, 4)), rng.choice((8, 16, 32)))
    driver: dict[str, object] = {
        "bootSeconds": rng.choice((1, 2, 5)),
        "slicesAfterSeconds": rng.choice((0, 1, 3)),
        "jitterSeconds": rng.choice((0, 0, 2)),
        "deleteSeconds": rng.choice((0, 0, 2)),
        "settleSeconds": 2,
        "orderLimitSeconds": 900 if benign else 50,
    }
    most = 40
    if not benign:
        most = rng.choice((1, 1, 2, 2, 3, 4, 8))
        if rng.random() < 0.3:
            driver["capacity"] = rng.choice((0, 1, 2, 3))
        chance = rng.choice((0.2, 0.5, 0.8))
        script = [_mood(rng, order) for order in range(1, 8) if rng.random() < chance]
        if script:
            driver["script"] = script
    return GroupPlan(name, shape, most, rng.choice((1.0, 2.0, 3.0)), rng.choice(("r1", "r2")), driver)


def _mood(rng: Random, order: int) -> dict[str, object]:
    moods: tuple[dict[str, object], ...] = (
        {"stockoutAfter": rng.choice((0, 1, 2))},
        {"quota": rng.choice((0, 1))},
        {"wrongShape": {"drop": ["gpu-0"]}},
        {"wrongShape": {"drop": ["gpu-0", "gpu-1", "gpu-2"]}},
        {"wrongShape": {"set": [_odd(f"gpu-{index}", "model", "a100") for index in range(2)]}},
        {"wrongShape": {"set": [_odd("gpu-0", "numa", 1)]}},
        {"lateSlicesSeconds": rng.choice((10, 45, 100))},
        {"neverReady": True},
        {"delaySeconds": rng.choice((5, 30, 60))},
        {"loseAnswer": True},
        {"loseCall": True},
        {"applyAfterSeconds": rng.choice((0.5, 1.5))},
    )
    second = rng.choice(moods) if rng.random() < 0.3 else {}
    return {"order": order, **second, **rng.choice(moods)}


def _odd(device: str, attribute: str, value: str | int) -> dict[str, object]:
    return {"device": device, "attribute": attribute, "value": value}


def _gang(rng: Random, index: int, benign: bool) -> GangPlan:
    kind = rng.random() * (0.85 if benign else 1.0)
    if kind < 0.35:
        shape = PodShape(gpus=1, model=rng.choice(("", "h100")))
    elif kind < 0.55:
        shape = PodShape(gpus=2, aligned=rng.random() < 0.7, cpu=rng.choice((2, 4)))
    elif kind < 0.77:
        shape = PodShape(gpus=rng.choice((2, 3, 4)), model=rng.choice(("", "h100")))
    elif kind < 0.85:
        shape = PodShape(gpus=0, cpu=rng.choice((2, 6)))
    elif kind < 0.95:
        shape = PodShape(gpus=rng.choice((0, 1)), halves=rng.choice((1, 2)))
    else:
        shape = PodShape(gpus=9)  # no node will ever have so many
    late = 0.0 if benign or rng.random() < 0.8 else rng.choice((2.0, 10.0, 15.0, 30.0))
    return GangPlan(
        name=f"g{index}",
        at=round(rng.choice((rng.uniform(0.5, 3.0), rng.uniform(0.5, 20.0))), 2),
        via=rng.choice((Via.CLUSTER, Via.CLUSTER, Via.GRPC)),
        pods=rng.choice((1, 2, 3, 4, 6)),
        shape=shape,
        leader=rng.random() < 0.2,
        parts_late=late,
        valid=0 if benign else rng.choice((0, 0, 0, 20)),
        owner=f"job-{index}" if rng.random() < 0.3 else "",
        forgotten=not benign and rng.random() < 0.1,
    )


def _incident(rng: Random, ends: float) -> Incident:
    what, draw, lasting = rng.choice(_INCIDENTS), rng.random(), rng.choice((2.0, 10.0, 30.0))
    if rng.random() < 0.25:
        return Incident(what, round(rng.uniform(1.0, ends / 2), 2), draw, lasting)
    at = round(rng.choice((0.0, 0.02, 0.1, 0.5, 2.0, 6.0)) * rng.uniform(0.5, 1.5), 3)
    return Incident(what, at, draw, lasting, rng.choice(_MOMENTS), rng.choice((1, 1, 1, 2, 3)))


def _rates(rng: Random) -> Rates:
    """Each seed has its own mix: some kinds are absent, some common."""
    common: dict[Kind, tuple[float, ...]] = {
        Kind.CRASH: (0.0, 0.003, 0.01, 0.03),
        Kind.STOP: (0.0, 0.0, 0.002),
        Kind.LOST: (0.0, 0.01, 0.05),
        Kind.TIMEOUT: (0.0, 0.02, 0.1),
        Kind.SLOW: (0.0, 0.005, 0.03),
        Kind.DUPLICATE: (0.0, 0.03, 0.15),
        Kind.DELAY: (0.0, 0.03, 0.15),
        Kind.REORDER: (0.0, 0.1, 0.5),
        Kind.UNREACHABLE: (0.0, 0.02, 0.1),
        Kind.NO_ANSWER: (0.0, 0.02, 0.1),
        Kind.WRITE_FAILED: (0.0, 0.02, 0.1),
        Kind.SNAPSHOT: (0.0, 0.5),
    }
    return Rates({kind: rng.choice(choices) for kind, choices in common.items()})
