"""Which devices, shares and amounts are taken, pool by pool (dra-semantics §1.12)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster_dra.objects.claims import AllocatedDevice, ResourceClaim
from muster_dra.objects.slices import PoolId
from muster_dra.outcome import DeviceResult
from muster_dra.persistent import PersistentMap
from muster_types import DeviceId, Nano

Committed = AllocatedDevice | DeviceResult
"""A result as read from a claim's status, or as just decided: both say which device, whose share, and how much."""


@dataclass(frozen=True, slots=True)
class SharedUse:
    """The committed shares of one device. `amounts` is None when no share recorded what it consumes."""

    shares: int = 0
    amounts: Mapping[str, Nano] | None = None
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PoolUse:
    """What is taken in one pool. Compared by identity: a changed pool is a new value.

    `dedicated` maps a device name to the claims that hold it (full names; "" where nobody said).
    """

    dedicated: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    shared: Mapping[str, SharedUse] = field(default_factory=dict[str, SharedUse])

    def is_allocated(self, device: str) -> bool:
        return device in self.dedicated or device in self.shared

    def holders(self, device: str) -> tuple[str, ...]:
        shared = self.shared.get(device)
        return self.dedicated.get(device, ()) + (shared.holders if shared else ())


NO_USE = PoolUse()


@dataclass(frozen=True, slots=True, eq=False)
class AllocatedState:
    """An immutable view of everything allocated; cheap to change one pool of."""

    pools: PersistentMap[PoolId, PoolUse]

    @classmethod
    def empty(cls) -> "AllocatedState":
        return cls(PersistentMap.of(()))

    @classmethod
    def from_claims(cls, claims: Iterable[ResourceClaim]) -> "AllocatedState":
        """From every allocated claim of the cluster, reserved or not, being deleted or not, in-flight ones included."""
        return cls.from_devices(
            (device, claim.full_name)
            for claim in claims
            if claim.allocation is not None
            for device in claim.allocation.devices
        )

    @classmethod
    def from_devices(cls, devices: Iterable[tuple[Committed, str]]) -> "AllocatedState":
        """From results with the full name of the claim that holds each."""
        changed: dict[PoolId, _Draft] = {}
        for device, holder in devices:
            if not device.admin_access:
                key = PoolId(device.device.driver, device.device.pool)
                changed.setdefault(key, _Draft({}, {})).add(device, holder)
        return cls(PersistentMap.of((key, draft.finished()) for key, draft in changed.items()))

    def use(self, pool: PoolId) -> PoolUse:
        return self.pools.get(pool, NO_USE)

    def holders(self, device: DeviceId) -> tuple[str, ...]:
        """The claims that hold the device or a share of it."""
        return self.pools.get(PoolId(device.driver, device.pool), NO_USE).holders(device.device)

    def plus(self, devices: Iterable[Committed], holder: str = "") -> "AllocatedState":
        """With more results committed, for the claim of that full name. Admin access never counts."""
        return self._changed(devices, holder, _Draft.add)

    def minus(self, devices: Iterable[Committed], holder: str = "") -> "AllocatedState":
        """Without results that `plus` or `from_claims` brought in under the same holder. A stranger's stay."""
        return self._changed(devices, holder, _Draft.remove)

    def _changed(
        self, devices: Iterable[Committed], holder: str, change: "Callable[[_Draft, Committed, str], None]"
    ) -> "AllocatedState":
        changed: dict[PoolId, _Draft] = {}
        for device in devices:
            if device.admin_access:
                continue
            key = PoolId(device.device.driver, device.device.pool)
            if key not in changed:
                use = self.pools.get(key, NO_USE)
                changed[key] = _Draft(dict(use.dedicated), dict(use.shared))
            change(changed[key], device, holder)
        return AllocatedState(self.pools.updated((key, draft.finished()) for key, draft in changed.items()))


class _Draft:
    """The use of one pool while it is put together."""

    __slots__ = ("dedicated", "shared")

    def __init__(self, dedicated: dict[str, tuple[str, ...]], shared: dict[str, SharedUse]) -> None:
        self.dedicated, self.shared = dedicated, shared

    def add(self, device: Committed, holder: str) -> None:
        name = device.device.device
        if not device.is_share:
            self.dedicated[name] = (*self.dedicated.get(name, ()), holder)
            return
        use = self.shared.get(name, SharedUse())
        amounts = use.amounts
        if device.committed is not None:
            sums = dict(amounts or {})
            for capacity, amount in device.committed.items():
                sums[capacity] = Nano(sums.get(capacity, 0) + amount)
            amounts = sums
        self.shared[name] = SharedUse(use.shares + 1, amounts, (*use.holders, holder))

    def remove(self, device: Committed, holder: str) -> None:
        name = device.device.device
        if not device.is_share:
            holders = _without(self.dedicated.get(name, ()), holder)
            self.dedicated.pop(name, None)
            if holders:
                self.dedicated[name] = holders
            return
        use = self.shared.get(name)
        if use is None or holder not in use.holders:
            return
        amounts = use.amounts
        gone = device.committed
        if amounts is not None and gone is not None:
            amounts = {key: Nano(amount - gone.get(key, 0)) for key, amount in amounts.items()}
        del self.shared[name]
        if use.shares > 1:
            self.shared[name] = replace(
                use, shares=use.shares - 1, amounts=amounts, holders=_without(use.holders, holder)
            )

    def finished(self) -> PoolUse:
        return PoolUse(self.dedicated, self.shared)


def _without(holders: tuple[str, ...], holder: str) -> tuple[str, ...]:
    if holder not in holders:
        return holders
    index = holders.index(holder)
    return holders[:index] + holders[index + 1 :]
