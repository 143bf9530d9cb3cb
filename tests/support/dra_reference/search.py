"""Depth first through claims, requests, alternatives and devices (§3.3, §3.4); the first assignment wins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from support.dra_reference.capacity import amounts, has_room
from support.dra_reference.nodes import Ended
from support.dra_reference.objects import Json
from support.dra_reference.pools import Pool, Published
from support.dra_reference.prepared import LIMIT, Claim, Option, suits
from support.dra_reference.quantities import nano
from support.dra_reference.rules import allows, concerns, tolerated

DeviceKey = tuple[str, str, str]


class TooManySteps(Exception):
    """The limit is reached: neither yes nor no is known."""


class End(Enum):
    FOUND = auto()
    FAILED = auto()
    TOO_MANY = auto()


@dataclass
class Held:
    """What allocated claims hold (§1.12)."""

    dedicated: set[DeviceKey] = field(default_factory=set[DeviceKey])
    shared: set[DeviceKey] = field(default_factory=set[DeviceKey])
    amounts: dict[DeviceKey, dict[str, int]] = field(default_factory=dict[DeviceKey, dict[str, int]])

    def holds(self, device: Published) -> bool:
        return device.key in self.dedicated or device.key in self.shared or device.key in self.amounts


def held_by(claims: Sequence[Json]) -> Held:
    held = Held()
    for claim in claims:
        allocation = (claim.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or []:
            key = result["driver"], result["pool"], result["device"]
            if result.get("adminAccess"):
                continue
            if not result.get("shareID"):
                held.dedicated.add(key)
                continue
            held.shared.add(key)
            if result.get("consumedCapacity") is not None:
                sums = held.amounts.setdefault(key, {})
                for name, amount in result["consumedCapacity"].items():
                    sums[name] = sums.get(name, 0) + nano(amount)
    return held


@dataclass
class Pick:
    claim: int
    option: Option
    device: Published
    amounts: dict[str, int]
    pays: bool
    """Whether it draws counters: a further share of a device does not."""


class Search:
    def __init__(
        self, node: Json, pools: Sequence[Pool], claims: Sequence[Claim], held: Held, step_limit: int, *, lists: bool
    ) -> None:
        self.node, self.claims, self.held, self.steps_left = node, claims, held, step_limit
        self.lists = lists
        self.devices = [device for pool in pools for device in pool.devices]
        self.available = {pool.name: _available(pool, held) for pool in pools}
        self.picks: list[Pick] = []
        """The only state: all sums are made from it whenever they are asked for."""
        self.fixed: dict[tuple[int, int], Option] = {}
        self._suits: dict[tuple[DeviceKey, int, int, str], bool] = {}

    def run(self) -> bool:
        """Whether there is an assignment; then it is in `picks` and `fixed`. Raises Ended and TooManySteps."""
        return self._solve(0, 0, 0, 0) is End.FOUND

    def _solve(self, claim: int, request: int, picked: int, cursor: int) -> End:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise TooManySteps
        if claim == len(self.claims):
            return End.FOUND
        if request == len(self.claims[claim].requests):
            end = self._solve(claim + 1, 0, 0, 0)
            return End.FAILED if end is End.TOO_MANY else end
        place = claim, request
        if place not in self.fixed:
            return self._alternatives(place)
        option = self.fixed[place]
        if option.everything == []:
            return End.FAILED
        if picked == option.need:
            return self._solve(claim, request + 1, 0, 0)
        if sum(pick.claim == claim for pick in self.picks) + option.need - picked > LIMIT:
            return End.TOO_MANY
        if option.everything is not None:
            return self._with(place, option, option.everything[picked], picked, 0) or End.FAILED
        for at in range(cursor, len(self.devices)):
            end = self._candidate(place, option, at, picked)
            if end in (End.FOUND, End.TOO_MANY):
                return end
        return End.FAILED

    def _alternatives(self, place: tuple[int, int]) -> End:
        options = self.claims[place[0]].requests[place[1]]
        ends: list[End] = []
        for option in options:
            self.fixed[place] = option
            end = self._solve(*place, 0, 0)
            if end is End.FOUND:
                return end
            del self.fixed[place]
            ends.append(end)
        return End.TOO_MANY if all(end is End.TOO_MANY for end in ends) else End.FAILED

    def _candidate(self, place: tuple[int, int], option: Option, at: int, picked: int) -> End | None:
        """Steps 1 to 3, which devices of "all" have behind them."""
        device = self.devices[at]
        if self._in_use(place[0], option, device, shared_exempt=False):
            return None
        key = device.key, *place, option.name
        if key not in self._suits:
            self._suits[key] = suits(device, option, self.node)
        if not self._suits[key] or self._amounts(option, device) is None:
            return None
        return self._with(place, option, device, picked, at + 1)

    def _with(self, place: tuple[int, int], option: Option, device: Published, picked: int, cursor: int) -> End | None:
        """Steps 4 to 10 and everything behind them; None: the device is not possible here."""
        claim = place[0]
        if self._in_use(claim, option, device, shared_exempt=True):
            return None
        pays = bool(device.json.get("consumesCounters")) and not (device.shared and self._has_share(device))
        if pays and not self._counters_suffice(device):
            return None
        if not tolerated(device, option.json.get("tolerations") or []):
            return None
        if not self._constraints_allow(claim, option, device):
            if option.everything is not None:
                raise Ended("a constraint refuses a device of all")
            return None
        amount = self._amounts(option, device)
        if amount is None:
            return None
        self.picks.append(Pick(claim, option, device, amount if device.shared else {}, pays))
        end = self._solve(*place, picked + 1, cursor)
        if end is not End.FOUND:
            self.picks.pop()
        return end

    def _in_use(self, claim: int, option: Option, device: Published, *, shared_exempt: bool) -> bool:
        takers = {pick.claim for pick in self.picks if pick.device.key == device.key and not device.shared}
        if option.admin:
            return claim in takers and not (shared_exempt and device.shared)
        return bool(takers) or device.key in self.held.dedicated

    def _has_share(self, device: Published) -> bool:
        return device.key in self.held.amounts or any(pick.device.key == device.key for pick in self.picks)

    def _amounts(self, option: Option, device: Published) -> dict[str, int] | None:
        """What it would take, if policies, what is held and what is taken in this run leave that."""
        found = amounts(device.json, option.capacity)
        if found is None:
            return None
        taken = [pick.amounts for pick in self.picks if pick.device.key == device.key]
        return found if has_room(device.json, found, self.held.amounts.get(device.key, {}), *taken) else None

    def _counters_suffice(self, device: Published) -> bool:
        """Every counter of the pool must stay at or above nothing, not only those that the device draws."""
        left = dict(self.available[device.pool])
        drawing = [pick.device for pick in self.picks if pick.pays and pick.device.pool == device.pool]
        for one in [*drawing, device]:
            _subtract(left, one)
        return all(amount >= 0 for amount in left.values())

    def _constraints_allow(self, claim: int, option: Option, device: Published) -> bool:
        for constraint in self.claims[claim].constraints:
            if concerns(constraint, option.request, option.name):
                before = [
                    pick.device
                    for pick in self.picks
                    if pick.claim == claim and concerns(constraint, pick.option.request, pick.option.name)
                ]
                if not allows(constraint, before, device, lists=self.lists):
                    return False
        return True


def _available(pool: Pool, held: Held) -> Mapping[tuple[str, str], int]:
    left = {counter: nano(value) for counter, value in pool.counters.items()}
    for device in pool.devices + pool.elsewhere:
        if held.holds(device):
            _subtract(left, device)
    return left


def _subtract(left: dict[tuple[str, str], int], device: Published) -> None:
    for one in device.json.get("consumesCounters") or []:
        for counter, value in one["counters"].items():
            left[one["counterSet"], counter] -= nano(value["value"])
