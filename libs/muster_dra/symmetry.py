"""Counter sets that can be exchanged: partitioned devices of one kind, each with its partitions and counters.

Two sets are alike in a state of a search if they are equal but for names, have the same left of every counter, and the
same number of partitions of every kind free. What fails on one of them then fails on the other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from muster_dra.classes import device_keys
from muster_dra.plan_content import PlanContent, bits_of


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """One counter set: its counters' positions by name, and its devices by kind, in one order for a whole group."""

    positions: tuple[int, ...]
    kinds: tuple[int, ...]
    devices: int

    def state(self, left: Sequence[int], drawn: Sequence[int], busy: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What is left of the counters, and how many devices of each kind are free."""
        return (
            tuple([left[place] - drawn[place] for place in self.positions]),
            tuple([(kind & ~busy).bit_count() for kind in self.kinds]),
        )


def partition_groups(content: PlanContent) -> tuple[tuple[PartitionSet, ...], ...]:
    """The sets that can be looked at by themselves, in groups that are equal but for names.

    Left out are sets that a device draws from together with another, and those that shared devices draw from.
    """
    if content.negative or not content.drawing:
        return ()
    keys = device_keys(content)
    place_to_set = {place: number for number, (_, places) in enumerate(content.counter_sets) for place in places}
    members: list[dict[Hashable, int]] = [{} for _ in content.counter_sets]
    mixed: set[int] = set()
    for device in bits_of(content.drawing):
        touched = {place_to_set[place] for place, _ in content.draws[device]}
        if len(touched) != 1 or content.shared >> device & 1:
            mixed |= touched
            continue
        (number,) = touched
        names, places = content.counter_sets[number]
        named = dict(zip(places, names, strict=True))
        key = keys[device], tuple(sorted((named[place], amount) for place, amount in content.draws[device]))
        members[number][key] = members[number].get(key, 0) | 1 << device
    groups: dict[Hashable, list[PartitionSet]] = {}
    for number, ((names, places), kinds) in enumerate(zip(content.counter_sets, members, strict=True)):
        if number in mixed or not kinds:
            continue
        ordered = sorted(kinds, key=repr)
        identity = names, tuple((key, kinds[key].bit_count()) for key in ordered)
        devices = 0
        for mask in kinds.values():
            devices |= mask
        groups.setdefault(identity, []).append(PartitionSet(places, tuple(kinds[key] for key in ordered), devices))
    return tuple(map(tuple, groups.values()))
