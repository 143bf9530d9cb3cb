"""Drivers by the type that a NodeGroup names; a group of another type, or with senseless settings, is unserved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from muster_provisioner.adapters.simulated.driver import SimulatedCloud
from muster_provisioner.adapters.simulated.group_settings import read_group
from muster_provisioner.ports import DeclaredGroup, NodeGroupDriver, Unserved
from muster_types import NodeGroupName

SIMULATED = "simulated"
EXTERNALGRPC = "externalgrpc"
CLUSTERAPI = "clusterapi"
KARPENTER = "karpenter"


class DeclaredDriver(NodeGroupDriver, Protocol):
    """A driver that is told its groups."""

    def declare(self, declared: DeclaredGroup) -> str | None:
        """Serve a group from now on; a sentence that names field and reason when that cannot be."""
        ...

    def withdraw(self, group: NodeGroupName) -> None:
        """Take no more orders for a group; its instances can still be given back."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    """A driver, and how it is told of its groups."""

    driver: NodeGroupDriver
    declare: Callable[[DeclaredGroup], str | None]
    withdraw: Callable[[NodeGroupName], None]


class DriversByType:
    """The drivers of one cluster by type. `absent` says of further types why there is no driver for them here."""

    def __init__(
        self,
        simulated: SimulatedCloud,
        others: Mapping[str, DeclaredDriver] | None = None,
        absent: Mapping[str, str] | None = None,
    ) -> None:
        self._drivers = {SIMULATED: _Known(simulated, lambda each: _declare(simulated, each), simulated.withdraw)}
        for type, driver in (others or {}).items():
            self._drivers[type] = _Known(driver, driver.declare, driver.withdraw)
        self._absent = absent or {}
        self._serving: dict[NodeGroupName, NodeGroupDriver | Unserved] = {}
        self._keeping: dict[NodeGroupName, _Known] = {}
        self._types: dict[NodeGroupName, str] = {}

    @property
    def groups(self) -> tuple[NodeGroupName, ...]:
        """Every group ever declared, by name."""
        return tuple(sorted(self._serving))

    def declare(self, declared: DeclaredGroup) -> None:
        """A group exists with this content, from now on. One that moved to another type of driver is served by that
        from now on; what it has with the former is no longer seen."""
        self._types[declared.name] = declared.driver
        known = self._drivers.get(declared.driver)
        problem = self._why_absent(declared.driver) if known is None else known.declare(declared)
        if known is None or problem is not None:
            self._serving[declared.name] = Unserved(f"node group {declared.name}: {problem}")
            return
        self._keeping[declared.name] = known
        self._serving[declared.name] = known.driver

    def withdraw(self, group: NodeGroupName) -> None:
        """A group takes no more orders; what it has can still be given back."""
        keeper = self._keeping.get(group)
        if keeper is not None:
            keeper.withdraw(group)
        self._serving[group] = Unserved(f"node group {group} was withdrawn")

    def of(self, group: NodeGroupName) -> NodeGroupDriver | Unserved | None:
        """The driver of a group for orders; None for a group that nobody declared."""
        return self._serving.get(group)

    def type_of(self, group: NodeGroupName) -> str:
        """Type of driver that a group names; empty for a group that nobody declared."""
        return self._types.get(group, "")

    def keeper_of(self, group: NodeGroupName) -> NodeGroupDriver | None:
        """The driver that knows the instances of a group, also after it was withdrawn."""
        keeper = self._keeping.get(group)
        return None if keeper is None else keeper.driver

    def _why_absent(self, type: str) -> str:
        known = " and ".join(repr(each) for each in sorted(self._drivers))
        return self._absent.get(type) or f"no driver of type {type!r} here, there is {known}"


def _declare(cloud: SimulatedCloud, declared: DeclaredGroup) -> str | None:
    settings = read_group(declared.manifest)
    if isinstance(settings, str):
        return settings
    cloud.declare(settings)
    return None
