"""The reference search takes upstream's steps: the conformance vectors of dra-semantics §9.1 (incubating allocator)."""

from collections.abc import Sequence

import pytest

from muster_dra import AllocatedState, Defaults, Features, Node, parse_claim, parse_class, parse_slice
from muster_dra.objects.nodes import NodeName
from muster_dra.reference import reference_allocate
from unit.muster_dra.problem_building import CLASSES, A, B, claim, device, every, exact, first, slice_of

X = f'device.attributes["{A}"].type == "x"'
Y = f'device.attributes["{A}"].type == "y"'
XYY = slice_of(*(device(f"d{i}", attributes={"type": kind}) for i, kind in enumerate("xyy")))


def steps(slices: Sequence[dict[str, object]], asked: dict[str, object]) -> int:
    """How often the search is entered, the final success included."""
    _, count = reference_allocate(
        Node(NodeName("n1"), {}),
        (parse_claim(asked, Defaults.AS_WRITTEN),),
        [parse_slice(each) for each in slices],
        {each.name: each for each in map(parse_class, CLASSES)},
        AllocatedState.empty(),
        Features.v1_37(),
    )
    return count


@pytest.mark.parametrize(
    "slices",
    [
        [slice_of(*(device(f"d{i}") for i in range(4)))],
        [slice_of(*(device(f"d{i}") for i in pair), count=2, name=f"s{pair[0]}") for pair in ((0, 1), (2, 3))],
        [slice_of(*(device(f"d{i}") for i in (k, k + 1)), pool=f"p{k}", name=f"s{k}") for k in (0, 2)],
    ],
)
def test_five_of_four_devices_take_16_steps_however_they_are_split(slices: list[dict[str, object]]) -> None:
    assert steps(slices, claim(exact(count=5))) == 16


def test_combinations_with_backtracking_take_12_steps() -> None:
    assert steps([XYY], claim(exact("r1", count=2), exact("r2", cel=X))) == 12


def test_alternatives_with_backtracking_take_26_steps() -> None:
    asked = claim(
        first("r1", exact("a", count=3, cel=Y), exact("b", count=2)),
        first("r2", exact("a", count=2), exact("b", cel=X)),
    )
    assert steps([XYY], asked) == 26


def test_the_limit_of_32_prunes_to_75_steps() -> None:
    asked = claim(*(first(name, exact("a", count=32), exact("b", count=16)) for name in ("r1", "r2")))
    assert steps([slice_of(*(device(f"d{i}") for i in range(64)))], asked) == 75


def test_all_beyond_the_limit_takes_42_steps() -> None:
    slices = [
        slice_of(*(device(f"d{i}") for i in range(31)), name="s0"),
        slice_of(device("e0"), device("e1"), driver=B, name="s1"),
    ]
    asked = claim(first("r0", every("a", cls="a"), exact("b", cls="a", count=2)), exact("r1", cls="b", count=2))
    assert steps(slices, asked) == 42
