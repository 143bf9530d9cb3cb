"""A plan on a node as it is: what is in use left out, so that the search starts from sets it only has to intersect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_dra.bounds import whole_or_none
from muster_dra.capacity import fits
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.outline import Plan, starting_mask
from muster_dra.plan_content import Choice, bits_of
from muster_dra.shapes import Shape
from muster_dra.views import Occupancy
from muster_types import Nano


@dataclass(slots=True, eq=False)
class Option:
    """A choice in a situation. `candidates` and `errors` are those not in use, `members` may have shrunk (1.36, D6).

    `lacking` are members whose capacity is gone whatever the search does.
    """

    choice: Choice
    candidates: int
    errors: int
    need: int
    members: tuple[int, ...]
    lacking: int
    takes: Mapping[int, tuple[int, ...]]


@dataclass(slots=True, eq=False)
class Situation:
    """`used`: what is taken of each shared device; `charged`: shared devices whose counters are paid for already.

    `overdrawn`: devices that have to pay counters of a pool with less than nothing left.
    """

    plan: Plan
    options: tuple[tuple[Option, ...], ...]
    dedicated: int
    used: dict[int, tuple[int, ...]]
    charged: int
    overdrawn: int
    left: tuple[int, ...]
    symmetric: bool = True
    """Whether devices that the plan treats alike are alike: not so with shares on devices that are exclusive now."""


_NOTHING: Mapping[int, tuple[int, ...]] = {}


def starting_sets(plan: Plan, dedicated: int) -> list[int]:
    """For each option the devices it could take when only exclusive devices are in use; for mode All its members."""
    sets: list[int] = []
    for choice in plan.options:
        mask, barred = starting_mask(choice, plan.content), 0 if choice.admin else dedicated
        sets.append(whole_or_none(mask, barred) if choice.every else mask & ~barred)
    return sets


def plain_situation(plan: Plan, dedicated: int, sets: Sequence[int]) -> Situation:
    """The plan where nobody holds a share and no counter is known: `sets` are the candidates, perhaps shrunk."""
    used = {device: (0,) * len(totals) for device, totals in plan.content.totals}
    options: list[tuple[Option, ...]] = []
    number = 0
    for request in plan.content.requests:
        row: list[Option] = []
        for choice in request.choices:
            row.append(
                Option(
                    choice,
                    0 if choice.every else sets[number],
                    choice.errors & ~(0 if choice.admin else dedicated),
                    choice.need,
                    choice.members,
                    0,
                    dict(choice.takes) if choice.takes else _NOTHING,
                )
            )
            number += 1
        options.append(tuple(row))
    return Situation(plan, tuple(options), dedicated, used, 0, 0, ())


def situation(plan: Plan, compiled: CompiledClaims, shape: Shape, taken: Occupancy) -> Situation:
    """The plan with the occupancy applied. `shape` is any shape of the plan when nothing exclusive has shares."""
    content, features = plan.content, compiled.features
    start = plain_situation(plan, taken.dedicated, starting_sets(plan, taken.dedicated))
    start.left = taken.left
    start.symmetric = all(content.shared >> device & 1 for device in taken.committed)
    start.charged = sum(
        1 << device
        for device, amounts in taken.committed.items()
        if content.shared >> device & 1 and (amounts is not None or features.strict)
    )
    start.overdrawn = _overdrawn(plan, taken, start.charged)
    for options, asked in zip(start.options, compiled.requests, strict=True):
        for option, ask in zip(options, asked.asks, strict=True):
            refused = 0 if option.choice.admin and features.strict else start.overdrawn
            option.candidates &= ~refused
            _apply_shares(option, ask, plan, compiled, shape, taken, refused)
    for device in start.used:
        amounts = taken.committed.get(device)
        start.used[device] = tuple((amounts or {}).get(name, 0) for name in shape.devices[device].capacity)
    return start


def _apply_shares(
    option: Option, ask: Ask, plan: Plan, compiled: CompiledClaims, shape: Shape, taken: Occupancy, refused: int
) -> None:
    """Devices with shares: whether what is left of them is enough for the option. `refused` ones have other reasons."""
    choice = option.choice
    if not compiled.features.consumable_capacity:
        return
    for device, amounts in taken.committed.items():
        bit = 1 << device
        # A negative amount taken before may make the room that is lacking now (#141216).
        settled = not (plan.content.negative and plan.content.shared & bit)
        if choice.every:
            if device in choice.members and not _has_room(ask, compiled, shape, device, amounts):
                if plan.content.members_vary:
                    option.members = tuple(member for member in option.members if member != device)
                    option.need = len(option.members)
                elif settled:
                    option.lacking |= bit
        elif choice.candidates & bit and settled:
            in_reach = (choice.admin or not taken.dedicated & bit) and not refused & bit
            if in_reach and _has_room(ask, compiled, shape, device, amounts):
                option.candidates |= bit
            else:
                option.candidates &= ~bit


def _has_room(ask: Ask, compiled: CompiledClaims, shape: Shape, device: int, used: Mapping[str, Nano] | None) -> bool:
    for part in reversed(shape.parts):
        if part.offset <= device:
            amounts = compiled.giving(ask, part.body)[device - part.offset]
            return amounts is not None and fits(shape.devices[device], amounts, used or {})
    return False


def _overdrawn(plan: Plan, taken: Occupancy, charged: int) -> int:
    """Devices that draw counters in a pool with an overdrawn one: none of them can be taken (dra-semantics §3.6)."""
    content = plan.content
    if not content.drawing or content.negative or all(amount >= 0 for amount in taken.left):
        return 0
    return sum(
        1 << device
        for device in bits_of(content.drawing & ~charged)
        if any(taken.left[counter] < 0 for counter in content.counters_of[device])
    )
