"""Proofs that no completion exists, from counts alone: cheap to try, and never wrong.

A bound looks at the requests of a plan from one number up to its horizon, with the devices that each of their options
could still take. It removes devices that cannot be part of any completion until nothing changes or a set is too small.
Requests that cannot be told apart share a set when the search has not begun.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster_dra.colours import option_colours
from muster_dra.plan_content import Choice, PlanContent, bits_of

_Options = tuple[tuple[int, int], ...]
"""The options of a request as pairs of set number and need."""


@dataclass(frozen=True, slots=True)
class _Match:
    """Devices of one value serve if they can satisfy every member, each alone and all together by number."""

    kind: int
    """Equal for matches with the same values and needs: one answer for the same sets."""
    groups: tuple[int, ...]
    members: tuple[tuple[_Options, int], ...]
    """Requests that are under the constraint whatever is chosen, and how many there are of each kind."""
    single: _Options
    """The members' only options, if none of them has another."""
    inputs: tuple[int, ...]
    """The set numbers that the answer depends on."""
    needed: int
    """Devices that all members need together; -1 if that depends on what is chosen or they do not compete."""
    under: tuple[int, ...]
    """Set numbers of all options under the constraint that may shrink."""


@dataclass(frozen=True, slots=True)
class _Distinct:
    groups: tuple[int, ...]
    needed: int
    sets: tuple[int, ...]


class Bound:
    """`sets` are numbered as `set_of` says: for each option of the requests, in order, the number of its set.

    `merged`: options that cannot be told apart share a set, which only holds before anything is taken.
    """

    __slots__ = ("_demands", "_distinct", "_families", "_matches", "_shared", "choices", "examples", "set_of")

    def __init__(self, content: PlanContent, number: int, horizon: int, *, merged: bool) -> None:
        requests = content.requests[number:horizon]
        choices = [choice for request in requests for choice in request.choices]
        self._shared = content.shared
        self.choices = tuple(
            (number + position, index, request.claim)
            for position, request in enumerate(requests)
            for index in range(len(request.choices))
        )
        """Request, option and claim of each option."""
        colours, alike = _apart(content, choices) if not merged else option_colours(content, requests)
        self.set_of = _renumbered(colours)
        self.examples = tuple(self.set_of.index(number) for number in range(len(set(self.set_of))))
        """For each set an option that it belongs to."""
        rows: list[tuple[Choice, ...]] = [request.choices for request in requests]
        numbered = _consecutive(rows)
        # A set of "all" is whole or empty, see `whole_or_none`; how many it holds may be known only later.
        needs = [1 if choice.every and content.members_vary else choice.need for choice in choices]

        def options(own: Sequence[int]) -> _Options:
            return tuple((self.set_of[index], needs[index]) for index in own)

        self._demands = tuple(
            Counter(
                (
                    options([index for index in own if choices[index].need or not choices[index].every]),
                    not any(choices[index].admin for index in own),
                )
                for own in numbered
            ).items()
        )
        self._families = tuple(_families(content, numbered, choices))
        self._matches: list[_Match] = []
        self._distinct: list[_Distinct] = []
        kinds: dict[object, int] = {}
        seen: set[_Match] = set()
        for constraint in sorted({alike.index(colour) for colour in alike}):  # one of each kind
            table = content.constraints[constraint]
            forced = [own for own in numbered if all(constraint in choices[index].constraints for index in own)]
            if not forced:
                continue
            if table.distinct:
                needed = sum(min(needs[index] for index in own) for own in forced)
                self._distinct.append(
                    _Distinct(table.groups, needed, tuple(self.set_of[index] for own in forced for index in own))
                )
                continue
            members = tuple(Counter(options(own) for own in forced).items())
            fixed = all(len(member) == 1 for member, _ in members)
            competing = not any(choices[index].admin for own in forced for index in own)
            needed = sum(member[0][1] * count for member, count in members) if fixed and competing else -1
            inputs = tuple(index for member, _ in members for index, _ in member)
            shape = table.groups, needed, tuple((tuple(n for _, n in member), count) for member, count in members)
            under = {
                self.set_of[index]
                for index, choice in enumerate(choices)
                if constraint in choice.constraints and not choice.every
            }
            match = _Match(
                kinds.setdefault(shape, len(kinds)),
                table.groups,
                members,
                tuple(member[0] for member, _ in members) if fixed else (),
                inputs,
                needed,
                tuple(sorted(under)),
            )
            if match not in seen:
                seen.add(match)
                self._matches.append(match)

    def drained(self, left: Sequence[int]) -> bool:
        """Whether the requests need more of the counters of one name than all sets together have left."""
        return any(
            sum(max(left[place], 0) for place in places) < needed  # what a pool is overdrawn by binds nobody elsewhere
            for places, needed in self._families
        )

    def hopeless(self, sets: list[int]) -> bool:
        """Whether the requests cannot all be satisfied from these sets, which are shrunk in place."""
        known: dict[object, int] = {}
        dirty = True
        while dirty:
            dirty = False
            for match in self._matches:
                key = (match.kind, *[sets[index] for index in match.inputs])
                serving = known.get(key)
                if serving is None:
                    serving = known[key] = self._serving(match, sets)
                for index in match.under:
                    smaller = sets[index] & serving
                    if smaller != sets[index]:
                        sets[index] = smaller
                        dirty = True
        return self._too_few(sets) or any(self._values_short(distinct, sets) for distinct in self._distinct)

    def _serving(self, match: _Match, sets: Sequence[int]) -> int:
        serving = 0
        if match.single:
            return self._serving_single(match, sets)
        for group in match.groups:
            union = 0
            for options, _ in match.members:
                can = False
                for index, need in options:
                    fitting = sets[index] & group
                    if fitting.bit_count() >= need:
                        union |= fitting
                        can = True
                if not can:
                    break
            else:
                if union.bit_count() >= match.needed or union & self._shared:
                    serving |= group
        return serving

    def _serving_single(self, match: _Match, sets: Sequence[int]) -> int:
        """As `_serving`, where no member has alternatives: the common case, and the innermost loop of a fleet."""
        serving, needed, shared = 0, match.needed, self._shared
        wanted = [(sets[index], need) for index, need in match.single]
        for group in match.groups:
            union = 0
            for mask, need in wanted:
                fitting = mask & group
                if fitting.bit_count() < need:
                    break
                union |= fitting
            else:
                if union.bit_count() >= needed or union & shared:
                    serving |= group
        return serving

    def _values_short(self, distinct: _Distinct, sets: Sequence[int]) -> bool:
        """Whether all devices together have fewer values than the requests need different ones."""
        union = 0
        for index in distinct.sets:
            union |= sets[index]
        return sum(1 for group in distinct.groups if group & union) < distinct.needed

    def _too_few(self, sets: Sequence[int]) -> bool:
        """Whether a request lacks devices, or requests that look at the same ones lack them together."""
        demand: dict[int, int] = {}
        needed = everything = 0
        for (options, competes), count in self._demands:
            least, union = -1, 0
            for index, need in options:
                mask = sets[index]
                if mask.bit_count() >= need:
                    union |= mask
                    if least < 0 or need < least:
                        least = need
            if least < 0:
                return True
            if competes and not union & self._shared:
                demand[union] = demand.get(union, 0) + least * count
                needed += least * count
                everything |= union
        if everything.bit_count() < needed:
            return True
        return any(mask.bit_count() < wanted for mask, wanted in demand.items())


def _families(
    content: PlanContent, numbered: Sequence[Sequence[int]], choices: Sequence[Choice]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """For each counter name its positions in all sets, and the least that the requests draw of it together."""
    if content.negative or not content.drawing:
        return
    families: dict[str, list[int]] = {}
    for names, places in content.counter_sets:
        for name, place in zip(names, places, strict=True):
            families.setdefault(name, []).append(place)
    for places in families.values():
        own = set(places)
        draws = [sum(amount for place, amount in draw if place in own) for draw in content.draws]
        needed = _least_together([[choices[index] for index in row] for row in numbered], draws, content)
        if needed:
            yield tuple(places), needed


def _least_together(rows: Sequence[Sequence[Choice]], draws: Sequence[int], content: PlanContent) -> int:
    """The least that all requests draw: exclusive ones never the same device, so at best the cheapest of all theirs."""
    apart = others = count = union = 0
    for row in rows:
        least = min(_least_drawn(choice, draws, content) for choice in row)
        if any(choice.admin or choice.every or choice.touched & content.shared for choice in row):
            others += least
            continue
        apart += least
        count += min(choice.need for choice in row)
        for choice in row:
            union |= choice.touched
    return others + max(apart, sum(sorted(draws[device] for device in bits_of(union))[:count]))


def _least_drawn(choice: Choice, draws: Sequence[int], content: PlanContent) -> int:
    """The least that the devices of one option draw. Shared devices may have paid already, admin may be exempt."""
    if choice.admin and not content.admin_pays:
        return 0
    devices = [0 if content.shared >> device & 1 else draws[device] for device in bits_of(choice.touched)]
    if choice.every:
        return (
            0
            if content.members_vary
            else sum(0 if content.shared >> device & 1 else draws[device] for device in choice.members)
        )
    return sum(sorted(devices)[: choice.need])


def whole_or_none(members: int, lost: int) -> int:
    """The set of an option for all devices: nothing, if one of them is lost."""
    return 0 if members & lost else members


def _apart(content: PlanContent, choices: Sequence[Choice]) -> tuple[Sequence[int], Sequence[int]]:
    """Every option and every constraint a kind of its own."""
    return range(len(choices)), range(len(content.constraints))


def _renumbered(colours: Sequence[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(colour, len(numbers)) for colour in colours)


def _consecutive(rows: Sequence[Sequence[object]]) -> list[range]:
    found: list[range] = []
    start = 0
    for row in rows:
        found.append(range(start, start + len(row)))
        start += len(row)
    return found
