"""Patterns: which numbers of pods of each kind fit on one node of a stock together."""

from dataclasses import dataclass

from muster_dra import ResourceClaim
from muster_plan.gang import SharedClaim

Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Pattern:
    """Pods per kind, and the flags that the node carries: shared claims it holds, pod sets it has all to itself."""

    counts: Counts
    flags: frozenset[int]


@dataclass(frozen=True, slots=True)
class Flags:
    """Things that exist on one node at most. `of_kind`: the flags a kind needs on its node. `claims`: the shared claim
    behind a flag, None for a pod set that must be together on one node."""

    of_kind: tuple[frozenset[int], ...]
    claims: tuple[SharedClaim | None, ...]

    def sets(self) -> tuple[frozenset[int], ...]:
        """The combinations of flags that let some kinds in; no flag first."""
        found = {frozenset[int]()}
        for needed in self.of_kind:
            if needed:
                found |= {each | needed for each in found}
        return tuple(sorted(found, key=lambda flags: (len(flags), sorted(flags))))


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim as it is put to the allocator, and whose it is."""

    claim: ResourceClaim
    kind: int | None  # None: shared or of a daemon pod
    copy: int  # which pod of its kind on the node
    entry: str
    shared: str

    @property
    def daemon(self) -> bool:
        return self.kind is None and not self.shared
