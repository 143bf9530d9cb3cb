"""What costly selectors say of the devices of a body: one device after another, no further than somebody has to know.

Upstream evaluates a device when its search reaches it, and ends with the first error it reaches. Where an expression
may cost much, the devices behind errors are therefore left unread until a search wants one of them; and what all
evaluations for one node may cost is limited to ALLOWANCE, beyond which devices stay unread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from muster_dra.cel import DeviceView
from muster_dra.selectors import CompiledSelectors, SelectorError

ALLOWANCE = 1_500_000
"""What is spent on expressions for one node before devices are left unread; one expression on one device may cost
1,000,000 (dra-semantics §4.4). The last body begun may cost as much again and one expression more."""


class Answer(NamedTuple):
    """Sets of devices of a body: let through, failing with an error, and not asked. `cost` 0: not worth counting."""

    selected: int
    errors: int
    unread: int = 0
    cost: int = 0


@dataclass(slots=True, eq=False)
class Weighing:
    """The outcomes so far, in order. What it answers depends on the devices alone, not on who asked before."""

    selectors: CompiledSelectors
    devices: Sequence[tuple[int, DeviceView]]
    """Number in the body, and what an expression sees."""
    _known: list[tuple[bool | SelectorError, int]] = field(default_factory=list[tuple[bool | SelectorError, int]])

    def answer(self, errors_read: int) -> Answer:
        """Up to so many errors, and within the allowance."""
        selected = errors = cost = 0
        for position, (device, view) in enumerate(self.devices):
            if errors.bit_count() >= errors_read or cost > ALLOWANCE:
                return Answer(selected, errors, sum(1 << rest for rest, _ in self.devices[position:]), cost)
            if position == len(self._known):
                self._known.append(self.selectors.weigh(view))
            found, spent = self._known[position]
            cost += spent
            if isinstance(found, SelectorError):
                errors |= 1 << device
            elif found:
                selected |= 1 << device
        return Answer(selected, errors, 0, cost)

    def unread(self) -> Answer:
        """Nothing asked at all."""
        return Answer(0, 0, sum(1 << device for device, _ in self.devices))


@dataclass(slots=True, eq=False)
class Purse:
    """What the expressions for one node have cost so far; the same answer is paid for once."""

    spent: int = 0
    _paid: set[Weighing] = field(default_factory=set[Weighing])

    def ask(self, weighing: Weighing, errors_read: int) -> Answer:
        if weighing not in self._paid and self.spent > ALLOWANCE:
            return weighing.unread()
        answer = weighing.answer(errors_read)
        if weighing not in self._paid:
            self._paid.add(weighing)
            self.spent += answer.cost
        return answer
