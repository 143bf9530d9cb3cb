"""What is left of shared things for one request: amounts of capacity, and counters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from muster_dra.allocated import AllocatedState
from muster_dra.amounts import Amount
from muster_dra.capacity import amounts_taken, fits
from muster_dra.cel import DeviceView
from muster_dra.compiled import Ask, CompiledClaims
from muster_dra.counters import available, drawn
from muster_dra.objects.slices import PoolId
from muster_dra.phrases import amount_like, listed
from muster_dra.plan_content import bits_of
from muster_dra.pools import Pool
from muster_dra.reasons import Reason, ReasonCode
from muster_dra.views import NodeView, Slot
from muster_types import DeviceId


@dataclass(frozen=True, slots=True)
class Survivor:
    """A device that is still in the running: its number in the shape and where it is from."""

    number: int
    slot: Slot

    @property
    def id(self) -> DeviceId:
        return self.slot.pool.id.device(self.slot.device.name)


class Sharing:
    """The stages of a funnel that ask what others took."""

    def __init__(self, compiled: CompiledClaims, view: NodeView, allocated: AllocatedState) -> None:
        self._compiled, self._view, self._allocated = compiled, view, allocated
        self._features = compiled.features

    def _amounts(self, ask: Ask, one: Survivor) -> "dict[str, Amount] | None":
        wanted = ask.option.wanted.capacity or {}
        found = amounts_taken(one.slot.device, one.slot.pool.id.driver, wanted, self._features)
        return None if found is None else dict(found)

    def _with_room(self, ask: Ask, left: list[Survivor], wanted: int) -> list[Survivor] | Reason:
        """Shared devices with enough left."""
        if not self._features.consumable_capacity:
            return left
        room = [one for one in left if fits(one.slot.device, self._amounts(ask, one) or {}, self._committed(one))]
        if len(room) >= wanted:
            return room
        full = [one for one in left if one not in room]
        name, needed = self._shortest(ask, full)
        most = max(full, key=lambda one: self._left(one, name).nano)
        holders = sorted({holder for one in full for holder in self._shares_of(one)})
        return self._named(
            ask,
            Reason(
                ReasonCode.CAPACITY_USED,
                subject=name,
                wanted=wanted,
                found=len(room),
                wanted_amount=needed.text,
                found_amount=self._left(most, name).text,
                devices=ids(full),
                holders=tuple(holders),
            ),
            left,
        )

    def _committed(self, one: Survivor) -> dict[str, int]:
        shared = self._allocated.use(one.slot.pool.id).shared.get(one.slot.device.name)
        return dict(shared.amounts or {}) if shared is not None else {}

    def _shares_of(self, one: Survivor) -> tuple[str, ...]:
        shared = self._allocated.use(one.slot.pool.id).shared.get(one.slot.device.name)
        return shared.holders if shared is not None else ()

    def _left(self, one: Survivor, name: str) -> Amount:
        capacity = one.slot.device.capacity.get(name)
        if capacity is None:
            return Amount.computed(0)
        return amount_like(capacity.value.nano - self._committed(one).get(name, 0), capacity.value)

    def _shortest(self, ask: Ask, full: list[Survivor]) -> tuple[str, Amount]:
        """The capacity that the first full device lacks, and how much of it is needed."""
        for name, amount in (self._amounts(ask, full[0]) or {}).items():
            left = self._left(full[0], name)
            if amount.nano > left.nano:
                return name, amount_like(amount.nano, full[0].slot.device.capacity[name].value)
        return "", Amount.computed(0)

    def _with_counters(self, ask: Ask, left: list[Survivor], wanted: int) -> list[Survivor] | Reason:
        """Devices whose pool has the counters left for one of them."""
        if not self._features.partitionable_devices or (ask.option.admin and self._features.strict):
            return left
        remaining: dict[int, dict[tuple[str, str], int]] = {}
        blocked: list[tuple[Survivor, tuple[str, str], int, int]] = []
        able: list[Survivor] = []
        for one in left:
            shortage = self._shortage(one, remaining)
            if shortage is None:
                able.append(one)
            else:
                blocked.append((one, *shortage))
        if len(able) >= wanted:
            return able
        one, counter, needed, have = max(blocked, key=lambda item: (item[3] - item[2], -item[0].number))
        return self._named(
            ask,
            Reason(
                ReasonCode.COUNTERS_USED,
                subject="/".join(counter),
                wanted=wanted,
                found=len(able),
                wanted_amount=Amount.computed(needed).text,
                found_amount=Amount.computed(have).text,
                devices=ids(item[0] for item in blocked),
                holders=self._drawing(one.slot.pool, counter),
                pool=one.slot.pool.id,
            ),
            (one,),
        )

    def counters_together(self, able: Sequence[Survivor], wanted: int) -> tuple[str, str, str]:
        """What `wanted` of devices that could be had one by one draw together: counter, least needed, left.

        If no single counter proves too small, the counters that they draw with what is left, and no amounts.
        """
        several = len(pools_of(able)) > 1
        short: list[tuple[int, str, int, int]] = []
        drawn_from: dict[str, int] = {}
        for pool in {one.slot.pool.id: one.slot.pool for one in able}.values():
            left = available(pool, self._allocated.use(pool.id), self._features)
            needs = [
                dict(drawn(one.slot.device.consumes, self._features)) if one.slot.pool.id == pool.id else {}
                for one in able
            ]
            for counter, have in left.items():
                amounts = sorted(need.get(counter, 0) for need in needs)
                name = f"{pool.id.name + '/' if several else ''}{'/'.join(counter)}"
                least = sum(amounts[:wanted])
                if any(amounts):
                    drawn_from[name] = have
                if least > have:
                    short.append((have - least, name, least, have))
        if short:
            _, name, least, have = min(short)
            return name, Amount.computed(least).text, Amount.computed(have).text
        return listed(f"{name} ({Amount.computed(have).text} left)" for name, have in drawn_from.items()), "", ""

    def _shortage(
        self, one: Survivor, remaining: dict[int, dict[tuple[str, str], int]]
    ) -> tuple[tuple[str, str], int, int] | None:
        device, pool = one.slot.device, one.slot.pool
        use = self._allocated.use(pool.id)
        shared = use.shared.get(device.name)
        paid = shared is not None and (shared.amounts is not None or self._features.strict)
        if not device.consumes or (paid and self._view.shape.shared >> one.number & 1):
            return None
        left = remaining.setdefault(id(pool), available(pool, use, self._features))
        needs = dict(drawn(device.consumes, self._features))
        for counter in left:
            if left[counter] < needs.get(counter, 0):
                return counter, needs.get(counter, 0), left[counter]
        return None

    def _drawing(self, pool: Pool, counter: tuple[str, str]) -> tuple[str, ...]:
        use = self._allocated.use(pool.id)
        devices = (*(device for _, device in pool.devices()), *pool.elsewhere)
        return tuple(
            sorted(
                {
                    holder
                    for device in devices
                    if any(counter == drawn_from for drawn_from, _ in drawn(device.consumes, self._features))
                    for holder in use.holders(device.name)
                }
            )
        )

    def _named(self, ask: Ask, reason: Reason, left: Iterable[Survivor] = ()) -> Reason:
        """With claim, request and the pools of the devices that came in question."""
        claim = self._compiled.claims[ask.claim].claim.full_name
        return replace(reason, claim=claim, request=ask.option.full_name, pools=pools_of(left))


def pools_of(survivors: Iterable[Survivor]) -> tuple[PoolId, ...]:
    """Their pools, each once, in search order."""
    return tuple(dict.fromkeys(one.slot.pool.id for one in survivors))


def pools_in(view: NodeView, devices: int) -> tuple[PoolId, ...]:
    """The pools of a set of devices of the view, in search order."""
    return tuple(dict.fromkeys(view.slot(device).pool.id for device in bits_of(devices)))


def ids(survivors: Iterable[Survivor]) -> tuple[DeviceId, ...]:
    return tuple(one.id for one in survivors)


def index_of(one: Survivor) -> int:
    return one.number - one.slot.part.offset


def cel_view(one: Survivor) -> DeviceView:
    return one.slot.part.body.views[index_of(one)]
