"""The state of a search: what is taken, what that leaves to whom, and how it is undone."""

from dataclasses import dataclass

from muster_dra.outline import may_end
from muster_dra.plan_content import bits_of
from muster_dra.situation import Option, Situation

EVERY_DEVICE = -1
"""The set of all devices, however many there are."""


class SearchState:
    """Changed by `take`, and changed back by the undo it gives, in strict nesting."""

    def __init__(self, situation: Situation) -> None:
        plan = situation.plan
        content = plan.content
        self.situation, self.plan, self.content = situation, plan, content
        self.options, self.requests, self.tables = situation.options, content.requests, content.constraints
        self.outline = plan.outline(
            (False,) * len(content.requests)
            if plan.harmless
            else tuple(
                any(may_end(option.choice, option.errors, content) for option in options)
                for options in situation.options
            )
        )
        self.prunes = self.outline.prunes
        self.taken = 0
        self.taken_by_claim = [0] * len(plan.least)
        self.allowed = [table.first for table in content.constraints]
        self.common = [EVERY_DEVICE] * len(content.constraints)
        self.used = dict(situation.used)
        self.charged = situation.charged
        self.drawn = [0] * len(situation.left)
        self.results = [0] * len(plan.least)
        self.steps = 0
        """Work done so far: devices tried, or as much as that."""
        self._totals = dict(content.totals)
        self._fitting: dict[object, int] = {}

    def blocked(self, option: Option, claim: int) -> int:
        """Exclusive devices that this run has taken and the option may not take again (dra-semantics §3.4 step 1)."""
        return self.taken_by_claim[claim] if option.choice.admin else self.taken

    def available(self, option: Option, claim: int) -> int:
        """Devices the option may take now; amounts and counters are asked for when one is tried."""
        mask = option.candidates & ~self.blocked(option, claim)
        for constraint in option.choice.constraints:
            mask &= self.allowed[constraint]
        return mask

    def fitting(self) -> int:
        """Devices whose counters are left; those of which that cannot be told cheaply are among them."""
        if not self.drawn or self.content.negative:
            return EVERY_DEVICE
        left, drawn, draws = self.situation.left, self.drawn, self.content.draws
        refused = 0
        for group in self.plan.partitions():
            for one in group:
                key = one.devices, *[drawn[place] for place in one.positions]
                known = self._fitting.get(key)
                if known is None:
                    known = 0
                    for device in bits_of(one.devices):
                        if any(left[place] < drawn[place] + amount for place, amount in draws[device]):
                            known |= 1 << device
                    self._fitting[key] = known
                refused |= known
        return ~refused

    def take(self, option: Option, claim: int, device: int) -> "Undo | None":
        """Takes the device, or None when its capacity or counters are gone. Constraints have agreed before."""
        bit = 1 << device
        shared = bool(self.content.shared & bit)
        amounts = option.takes.get(device, ()) if shared else ()
        used = self.used.get(device, ())
        if shared and any(
            have + more > total for have, more, total in zip(used, amounts, self._totals.get(device, ()), strict=True)
        ):
            return None
        if not self.counters_left(option, device):
            return None
        undo = Undo(
            self.taken,
            self.taken_by_claim[claim],
            claim,
            [
                (constraint, self.allowed[constraint], self.common[constraint])
                for constraint in option.choice.constraints
            ],
            device if shared else -1,
            used,
            self.charged,
            self.content.draws[device] if self._charges(option, device) else (),
        )
        for counter, amount in undo.draws:
            self.drawn[counter] += amount
        if shared:
            self.charged |= bit
            if amounts:
                self.used[device] = tuple(have + more for have, more in zip(used, amounts, strict=True))
        else:
            self.taken |= bit
            self.taken_by_claim[claim] |= bit
        for constraint in option.choice.constraints:
            self._constrain(constraint, device)
        return undo

    def _constrain(self, constraint: int, device: int) -> None:
        table = self.tables[constraint]
        if not table.values:
            self.allowed[constraint] &= table.after[device]
            return
        common = self.common[constraint] & table.values[device]
        self.common[constraint] = common
        allowed = 0
        for group, members in enumerate(table.groups):
            if common >> group & 1:
                allowed |= members
        self.allowed[constraint] = allowed

    def _charges(self, option: Option, device: int) -> bool:
        if not self.content.drawing >> device & 1:
            return False
        if option.choice.admin and not self.content.admin_pays:
            return False
        return not self.charged >> device & 1

    def counters_left(self, option: Option, device: int) -> bool:
        if not self._charges(option, device):
            return True
        left, drawn = self.situation.left, self.drawn
        draws = self.content.draws[device]
        if self.situation.overdrawn >> device & 1:
            return False
        if not self.content.negative:
            return all(left[counter] >= drawn[counter] + amount for counter, amount in draws)
        more = dict(draws)
        return all(
            left[counter] >= drawn[counter] + more.get(counter, 0) for counter in self.content.counters_of[device]
        )

    def alike(self, device: int) -> int:
        """Devices that would fail as this one did: equal in all that the requests look at, and used alike."""
        bit = 1 << device
        if not self.situation.symmetric:
            return bit
        same = self.plan.alike()[device]
        if bit & self.plan.partitioned:
            return same | self._in_like_sets(device)
        if same == bit:
            return bit
        if self.content.shared & bit:
            mine = self.used.get(device, ()), self.charged & bit != 0
            others = same & ~bit
            while others:
                lowest = others & -others
                others ^= lowest
                other = lowest.bit_length() - 1
                if (self.used.get(other, ()), self.charged & lowest != 0) != mine:
                    same ^= lowest
            return same
        if self.plan.has_admin:
            taken, dedicated = self.taken, self.situation.dedicated
            same &= taken if taken & bit else ~taken
            same &= dedicated if dedicated & bit else ~dedicated
        return same

    def _in_like_sets(self, device: int) -> int:
        """Devices of its kind in the counter sets that are in the same state as its own."""
        busy, left = self.taken | self.situation.dedicated, self.situation.left
        for group in self.plan.partitions():
            self.steps += len(group)
            for own in group:
                if own.devices >> device & 1:
                    kind = next(index for index, mask in enumerate(own.kinds) if mask >> device & 1)
                    state = own.state(left, self.drawn, busy)
                    found = 0
                    for other in group:
                        if other.state(left, self.drawn, busy) == state:
                            found |= other.kinds[kind]
                    return found
        return 0

    def key(self, number: int) -> object:
        """What the requests from here on depend on; equal up to an exchange of interchangeable devices."""
        request = self.requests[number]
        parts = self._key(number, self.outline.relevant[number], self.outline.bound[number])
        if self.plan.has_admin:
            own = 0 if request.opens_claim else self.taken_by_claim[request.claim]
            parts.append(own & self.outline.relevant[number])
        if self.plan.counts and not request.opens_claim:
            parts.append(self.results[request.claim])
        return tuple(parts)

    def key_of(self, remaining: int) -> object:
        """As `key`, for any set of requests."""
        relevant, constraints = self.plan.reach_of(remaining)
        parts = self._key(remaining, relevant, constraints)
        if self.plan.counts:
            parts.append(tuple(self.results))
        return tuple(parts)

    def _key(self, which: int, relevant: int, constraints: tuple[int, ...]) -> list[object]:
        parts: list[object] = [which]
        own: tuple[int, ...] = ()
        if self.plan.has_admin or not self.situation.symmetric:
            parts.append(self.taken & relevant)
        else:
            groups = self.plan.partitions()
            own = self.plan.partition_counters
            parts.append(self._canonical(self.taken & relevant & ~self.plan.partitioned))
            busy = self.taken | self.situation.dedicated
            for group in groups:
                self.steps += len(group)
                parts.append(tuple(sorted([one.state(self.situation.left, self.drawn, busy) for one in group])))
        for constraint in constraints:
            parts.append(self.allowed[constraint] & relevant)
            if self.common[constraint] != EVERY_DEVICE:
                parts.append(self.common[constraint])
        if self.drawn:
            parts.append(tuple([amount for place, amount in enumerate(self.drawn) if place not in own]))
        if self.content.shared:
            parts.append(self._shares())
        return parts

    def _canonical(self, taken: int) -> int:
        """The same number of devices of each class, the first ones."""
        self.plan.alike()
        for mask in self.plan.classes_exclusive:
            count = (taken & mask).bit_count()
            if count:
                taken &= ~mask
                for device in bits_of(mask):
                    taken |= 1 << device
                    count -= 1
                    if not count:
                        break
        return taken

    def _shares(self) -> object:
        self.plan.alike()
        states: list[object] = []
        for devices in self.plan.classes_shared:
            alike = [(self.used.get(device, ()), self.charged >> device & 1) for device in devices]
            states.append(tuple(sorted(alike)))
        return tuple(states)


@dataclass(slots=True)
class Undo:
    """What one taken device changed."""

    taken: int
    taken_by_claim: int
    claim: int
    constraints: list[tuple[int, int, int]]
    shared: int
    used: tuple[int, ...]
    charged: int
    draws: tuple[tuple[int, int], ...]

    def restore(self, run: SearchState) -> None:
        run.taken, run.charged = self.taken, self.charged
        run.taken_by_claim[self.claim] = self.taken_by_claim
        for constraint, allowed, common in self.constraints:
            run.allowed[constraint], run.common[constraint] = allowed, common
        if self.shared >= 0 and self.shared in run.used:
            run.used[self.shared] = self.used
        for counter, amount in self.draws:
            run.drawn[counter] -= amount
