"""The compiled form of an expression."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from muster_dra.cel.access import Domains
from muster_dra.cel.quantities import Quantity
from muster_dra.cel.values import Value

Frame = Sequence[Any]  # its places hold values of different kinds, and a cast for each read would double its cost
"""The four fields of `device` in the order of device.FIELDS, what was spent so far, then a slot a variable."""

Evaluate = Callable[[Frame], Value]

SPENT = 4  # where a frame holds the cost so far
FIRST_SLOT = 5


def blank_of(slots: int) -> tuple[object, ...]:
    """What a frame has after the fields of the device, before evaluation."""
    return (0, *(None,) * slots)


@dataclass(frozen=True, slots=True)
class Plan:
    """A function over frames, the slots it needs, whether it counts its cost, and whether it may change quantities."""

    run: Evaluate
    slots: int
    metered: bool
    changes_quantities: bool

    def evaluate(self, fields: tuple[str, Domains, Domains, bool]) -> Value:
        """The value of the expression on a device. Raises EvalError or Aborted."""
        return self.run(self.frame(fields))

    def frame(self, fields: tuple[str, Domains, Domains, bool]) -> Frame:
        """What `run` runs on; of a metered plan it holds what was spent, whatever the outcome."""
        if self.changes_quantities:
            driver, attributes, capacity, shared = fields
            fields = (driver, attributes, _fresh(capacity), shared)
        if self.slots or self.metered:
            return [*fields, *blank_of(self.slots)]
        return fields


def _fresh(capacity: Domains) -> Domains:
    return Domains(
        {
            domain: {name: one.fresh() if isinstance(one, Quantity) else one for name, one in held.items()}
            for domain, held in capacity.items()
        }
    )
