"""Costly expressions: no further than an answer needs, and no more than a node may cost. Counted in evaluations."""

from typing import Any

import pytest

from muster_dra import Allocation, Fatal, FatalKind, Outcome
from muster_dra.cel import DeviceView, Selector
from muster_dra.cel.values import LIMIT
from muster_dra.weighing import ALLOWANCE
from unit.muster_dra.problem_building import A, chosen, claim, device, every, exact, held, outcome, slice_of

TENS = "[0,1,2,3,4,5,6,7,8,9]"


def nested(depth: int, last: str = "i0 >= 0") -> str:
    return "".join(f"{TENS}.all(i{level}, " for level in reversed(range(depth))) + last + ")" * depth


ENDLESS = nested(6)
"""Reaches the cost limit on every device."""
DEAR = nested(5)
"""Costs several hundred thousand, and is true."""


class Weighed:
    """Evaluations whose cost was counted, and what they cost."""

    def __init__(self) -> None:
        self.costs: list[int] = []


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> Weighed:
    seen, original = Weighed(), Selector.weigh

    def weigh(self: Selector, view: DeviceView) -> Any:
        found, cost = original(self, view)
        if cost:
            seen.costs.append(cost)
        return found, cost

    monkeypatch.setattr(Selector, "weigh", weigh)
    return seen


def devices(count: int, **attributes: int) -> list[dict[str, Any]]:
    return [device(f"d{index}", attributes={"i": index, **attributes}) for index in range(count)]


def kind_of(found: Outcome) -> FatalKind:
    assert isinstance(found, Fatal)
    return found.kind


def fast(slices: list[dict[str, Any]], *claims: dict[str, Any], **more: Any) -> Outcome:
    return outcome(slices, *claims, **more)


def test_the_first_device_that_errors_ends_the_evaluation(weighed: Weighed) -> None:
    found = fast([slice_of(*devices(64))], claim(exact(cel=ENDLESS)))
    assert kind_of(found) is FatalKind.EXPRESSION
    assert len(weighed.costs) <= 4  # by the engine and by the reference beside it


def test_devices_behind_an_error_that_is_in_use_are_read_when_they_are_wanted() -> None:
    reads_i = f'device.attributes["{A}"].i'
    slices = [slice_of(*devices(6))]
    once, twice = (f"{reads_i} < {errors} ? {ENDLESS} : {reads_i} == 4" for errors in (1, 2))
    assert chosen(fast(slices, claim(exact(cel=once)), allocated=[held("d0")])) == ["r=d4"]
    assert kind_of(fast(slices, claim(exact(cel=twice)), allocated=[held("d0")])) is FatalKind.EXPRESSION


def test_a_device_in_front_of_the_error_is_enough() -> None:
    reads_i = f'device.attributes["{A}"].i'
    expression = f"{reads_i} == 0 || {ENDLESS}"
    slices = [slice_of(*devices(64))]
    assert chosen(fast(slices, claim(exact(cel=expression)))) == ["r=d0"]
    assert kind_of(fast(slices, claim(exact(count=2, cel=expression)))) is FatalKind.EXPRESSION
    assert kind_of(fast(slices, claim(every(cel=expression)))) is FatalKind.EXPRESSION


def test_what_one_node_may_cost_is_limited_and_the_end_says_so(weighed: Weighed) -> None:
    slices = [slice_of(*devices(64))]
    assert isinstance(fast(slices, claim(exact(cel=DEAR))), Allocation)
    found = fast(slices, claim(every(cel=DEAR)))
    assert isinstance(found, Fatal)
    assert found.kind is FatalKind.GAVE_UP
    assert "cost more than" in found.message
    assert all(100_000 < cost <= LIMIT for cost in weighed.costs)
    assert sum(weighed.costs) <= 2 * 2 * (2 * ALLOWANCE + LIMIT)


def test_cheap_expressions_are_not_weighed(weighed: Weighed) -> None:
    found = fast([slice_of(*devices(30))], claim(every(cel=f'device.attributes["{A}"].i < 30')))
    assert isinstance(found, Allocation)
    assert not weighed.costs


def test_many_requests_with_costly_expressions_share_one_allowance(weighed: Weighed) -> None:
    asked = claim(*(exact(f"r{index}", cel=nested(5, f"i0 >= 0 && {index} == {index}")) for index in range(6)))
    found = fast([slice_of(*devices(8))], asked)
    assert kind_of(found) is FatalKind.GAVE_UP
    assert sum(weighed.costs) <= 2 * (2 * ALLOWANCE + LIMIT)
