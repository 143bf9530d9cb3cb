"""The fast search: hopeless problems end at once, hard ones end as given up, never as a no."""

import pytest

from muster_dra import (
    AllocatedState,
    Allocation,
    Catalog,
    Fatal,
    FatalKind,
    Node,
    NoFit,
    Outcome,
    SearchBudget,
    allocate,
    parse_claim,
    parse_class,
    parse_slice,
)
from muster_types import NodeName
from unit.muster_dra.problem_building import (
    CLASSES,
    A,
    chosen,
    claim,
    counters,
    device,
    every,
    exact,
    first,
    held,
    outcome,
    slice_of,
    taint,
)

ROOT, NUMA = "resource.kubernetes.io/pcieRoot", f"{A}/numa"


def within(steps: int, slices: list[dict[str, object]], *claims: dict[str, object]) -> Outcome:
    """The answer of a search that may try only so many devices."""
    known = Catalog.build(map(parse_slice, slices), map(parse_class, CLASSES))
    asked = tuple(map(parse_claim, claims))
    return allocate(Node(NodeName("n1")), asked, known, AllocatedState.empty(), budget=SearchBudget(steps))


def test_one_device_more_than_a_numa_node_has_is_refused_without_a_search() -> None:
    devices = [device(f"d{index}", attributes={"numa": index // 14}) for index in range(28)]
    asked = claim(exact("g", count=8), exact("h", count=7), match=[NUMA])
    assert isinstance(within(0, [slice_of(*devices)], asked), NoFit)


def test_pairs_on_common_roots_are_refused_without_a_search_when_one_root_is_missing() -> None:
    gpus = [device(f"g{index}", attributes={"kind": "gpu", ROOT: f"r{index}"}) for index in range(16)]
    nics = [device(f"n{index}", attributes={"kind": "nic", ROOT: f"r{index + 1}"}) for index in range(16)]
    kind = f'device.attributes["{A}"].kind == "{{}}"'
    requests = [exact(f"{kind_[0]}{i}", cel=kind.format(kind_)) for i in range(16) for kind_ in ("gpu", "nic")]
    asked = claim(*requests, match=[(ROOT, [f"g{index}", f"n{index}"]) for index in range(16)])
    assert isinstance(within(0, [slice_of(*gpus, *nics)], asked), NoFit)


def test_more_of_equal_devices_than_there_are_is_refused_without_a_search() -> None:
    devices = [device(f"d{index}") for index in range(24)]
    assert isinstance(within(0, [slice_of(*devices)], claim(*(exact(f"r{i}") for i in range(25)))), NoFit)


def test_interchangeable_partitions_are_tried_once() -> None:
    """Eight boards of seven slots; eight halves and nine thirds need more slots than there are."""

    def board(index: int) -> list[dict[str, object]]:
        kinds = {"half": (4, (0,)), "third": (3, (0, 4))}
        return [
            device(
                f"b{index}-{kind}-{start}",
                attributes={"kind": kind},
                consumesCounters=[
                    {
                        "counterSet": f"b{index}",
                        "counters": {f"slot-{slot}": {"value": "1"} for slot in range(start, start + width)},
                    }
                ],
            )
            for kind, (width, starts) in kinds.items()
            for start in starts
        ]

    sets = [counters(f"b{index}", **{f"slot-{slot}": "1" for slot in range(7)}) for index in range(8)]
    slices = [
        slice_of(*(part for index in range(8) for part in board(index)), count=2, name="s0"),
        slice_of(count=2, name="s1", sharedCounters=sets),
    ]
    kind = f'device.attributes["{A}"].kind == "{{}}"'
    fits = claim(exact("h", count=8, cel=kind.format("half")), exact("t", count=8, cel=kind.format("third")))
    assert isinstance(within(500, slices, fits), Allocation)
    too_many = claim(exact("h", count=8, cel=kind.format("half")), exact("t", count=9, cel=kind.format("third")))
    assert isinstance(within(2000, slices, too_many), NoFit)


def test_a_spent_budget_is_given_up_and_says_so() -> None:
    devices = [device(f"d{index}", attributes={"numa": index % 2}) for index in range(6)]
    found = within(0, [slice_of(*devices)], claim(exact(count=3), match=[NUMA]))
    assert isinstance(found, Fatal)
    assert found.kind is FatalKind.GAVE_UP
    assert "neither a solution nor a proof" in found.message


def test_a_given_up_search_is_not_remembered() -> None:
    known = Catalog.build([parse_slice(slice_of(device("d0")))], map(parse_class, CLASSES))
    asked, node = (parse_claim(claim(exact())),), Node(NodeName("n1"))
    first = allocate(node, asked, known, AllocatedState.empty(), budget=SearchBudget(0))
    second = allocate(node, asked, known, AllocatedState.empty())
    assert isinstance(first, Fatal)
    assert isinstance(second, Allocation)


@pytest.mark.parametrize("requests", [600])
def test_a_pod_with_hundreds_of_requests_is_given_up_at_worst(requests: int) -> None:
    devices = [device(f"d{index}") for index in range(requests)]
    pieces = [devices[start : start + 100] for start in range(0, requests, 100)]
    slices = [slice_of(*piece, count=len(pieces), name=f"s{number}") for number, piece in enumerate(pieces)]
    claims = [claim(*(exact(f"r{i}") for i in range(30)), name=f"c{number}") for number in range(requests // 30)]
    found = within(100_000, slices, *claims)
    assert isinstance(found, Allocation) or (isinstance(found, Fatal) and found.kind is FatalKind.GAVE_UP)


def test_all_tolerated_is_told_from_all_untolerated() -> None:
    """Two alternatives for the same devices: only one of them may have them."""
    slices = [slice_of(device("d0", taints=[taint("NoSchedule")]))]
    asked = claim(first("r", every("x"), every("y", tolerations=[{"operator": "Exists"}])))
    assert chosen(outcome(slices, asked)) == ["r/y=d0"]


def test_a_list_that_must_come_first_keeps_equal_devices_from_being_exchanged() -> None:
    """Without the gate a list is distinct from what follows it, and refused behind anything (found by fuzzing)."""
    values = ("r2", ["x"], "r1", "r2", "r0")
    slices = [slice_of(*(device(f"d{index}", attributes={"root": value}) for index, value in enumerate(values)))]
    assert chosen(outcome(slices, claim(exact(count=4), distinct=[f"{A}/root"]))) == ["r=d1", "r=d2", "r=d3", "r=d4"]


def test_shares_on_a_device_that_is_exclusive_now_tell_it_from_its_equals() -> None:
    """What is left of it bars it from one request and not from the other (found by fuzzing)."""
    slices = [slice_of(*(device(f"d{index}", capacity={"c": "4"}) for index in range(2)), device("d2"))]
    asked = claim(exact("r", needs={"c": "-2"}), exact("s", count=2))
    taken = [held("d1", shareID="x", consumedCapacity={"c": "1"})]
    assert chosen(outcome(slices, asked, allocated=taken)) == ["r=d1", "s=d0", "s=d2"]
