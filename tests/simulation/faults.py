"""What goes wrong, decided by the seed at every await, recorded, and repeatable by name.

Each place that a fault can strike asks here, under a name that says where and for the how manieth time. A run can be
told to let only named faults happen: so failures are shrunk.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum

from simulation.chance import Chance


class Kind(Enum):
    """What can go wrong. Values appear in the figures."""

    CRASH = "crash of a service"
    STOP = "orderly stop of a service"
    LOST = "request to the store lost"
    TIMEOUT = "store timed out after it stored"
    SLOW = "answer late"
    DUPLICATE = "message twice"
    DELAY = "message late"
    REORDER = "messages out of order"
    UNREACHABLE = "driver call lost"
    NO_ANSWER = "driver call done, answer lost"
    WRITE_FAILED = "write to the cluster failed"
    CLOCK = "clock jump"
    SNAPSHOT = "snapshot lost"
    INCIDENT = "incident in the world"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault that struck: its kind, its name, and when (virtual seconds)."""

    kind: Kind
    name: str
    at: float

    @property
    def key(self) -> str:
        """Names the fault in another run of the same seed."""
        return f"{self.kind.name}:{self.name}"


@dataclass(frozen=True, slots=True)
class Rates:
    """Probability of each kind at each place that it can strike."""

    of: dict[Kind, float]

    def __getitem__(self, kind: Kind) -> float:
        return self.of.get(kind, 0.0)


@dataclass(slots=True)
class Faults:
    """`only`: the keys of the faults that may happen; None: all that the seed decides. After `end` (virtual seconds)
    nothing goes wrong any more."""

    chance: Chance
    rates: Rates
    now: Callable[[], float]
    end: float
    only: Collection[str] | None = None
    struck: list[Fault] = field(default_factory=list[Fault])
    _counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def calm(self) -> bool:
        """Faults have stopped."""
        return self.now() >= self.end

    @property
    def struck_any(self) -> bool:
        """Whether anything but the planned requests has happened."""
        return any(not (f.kind is Kind.INCIDENT and f.name.startswith("gang ")) for f in self.struck)

    def place(self, name: str) -> str:
        """A name for this visit of a place."""
        self._counts[name] += 1
        return f"{name}/{self._counts[name]}"

    def strikes(self, kind: Kind, place: str) -> bool:
        """Whether a fault of this kind happens at a visit."""
        rate = self.rates[kind]
        if rate <= 0.0 or self.calm:
            return False
        if self.only is None:
            struck = self.chance.unit(f"{kind.name}|{place}") < rate
        else:
            struck = f"{kind.name}:{place}" in self.only
        if struck:
            self.struck.append(Fault(kind, place, self.now()))
        return struck

    def happens(self, kind: Kind, name: str) -> bool:
        """Whether a fault that the scenario has planned happens: always, unless it was taken out."""
        if self.only is not None and f"{kind.name}:{name}" not in self.only:
            return False
        self.struck.append(Fault(kind, name, self.now()))
        return True
