"""What a dump shows of devices: which class serves a resource, what devices publish, where integers are shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muster_dra import AllocatedState, Catalog, Device, DeviceClass, UnreadableSelector
from muster_dra.cel import CelError, DeviceView, compile_selector
from muster_dra.selectors import device_view
from muster_migrate.catalogue import SRIOV, NoEquivalent, Query, attribute, documented, quoted
from muster_migrate.remarks import Cause
from muster_plan import ClusterNode, Pod, Snapshot
from muster_types import to_integer


@dataclass(frozen=True, slots=True)
class Published:
    """A device that a node may use, with the driver that publishes it."""

    driver: str
    device: Device
    view: DeviceView = field(compare=False)  # what CEL sees; it keeps what evaluations have in common

    def text(self, name: str) -> str | None:
        """The value of a string attribute, by its bare or its qualified name."""
        for each in (name, f"{self.driver}/{name}"):
            found = self.device.attributes.get(each)
            if found is not None and isinstance(found.value, str):
                return found.value
        return None

    def satisfies(self, expressions: Iterable[str]) -> bool | None:
        """Whether all expressions hold; None when one of them fails on this device."""
        for expression in expressions:
            selector = compile_selector(expression)
            answer = selector if isinstance(selector, CelError) else selector.matches(self.view)
            if isinstance(answer, CelError):
                return None
            if not answer:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Evidence:
    """A dump as the migration looks at it. `Evidence.none()` is no dump: then only documented mappings hold."""

    nodes: tuple[ClusterNode, ...]
    pods: tuple[Pod, ...]
    classes: Mapping[str, DeviceClass]
    devices: Mapping[str, tuple[Published, ...]]  # by node
    by_resource: Mapping[str, DeviceClass]
    mapped: Mapping[str, Query] = field(default_factory=dict[str, Query])  # what the user declared
    given: bool = True
    catalog: Catalog | None = None
    _matched: dict[tuple[str, Query], tuple[Published, ...]] = field(  # a cache: many pods ask for the same devices
        default_factory=dict[tuple[str, Query], tuple[Published, ...]], compare=False, repr=False
    )
    remembered: dict[object, object] = field(default_factory=dict[object, object], compare=False, repr=False)
    """Answers that were worked out from it before, by what was asked."""

    @classmethod
    def none(cls, mapped: Mapping[str, Query] | None = None) -> "Evidence":
        return cls((), (), {}, {}, {}, mapped or {}, given=False)

    @classmethod
    def of(cls, snapshot: Snapshot, mapped: Mapping[str, Query] | None = None) -> "Evidence":
        """Everything that a snapshot shows."""
        tables = snapshot.tables
        nodes = tuple(tables.nodes[key] for key in sorted(tables.nodes))
        classes = {each.name: each for _, each in sorted(tables.classes.items())}
        return cls(
            nodes,
            tuple(tables.pods[key] for key in sorted(tables.pods)),
            classes,
            {node.name: _published(snapshot.catalog, node) for node in nodes},
            _by_resource(classes.values()),
            mapped or {},
            catalog=snapshot.catalog,
        )

    def query(self, resource: str) -> Query | NoEquivalent:
        """Which devices a resource stands for: as declared, as a class of the dump says, as documented."""
        if resource in self.mapped:
            return self.mapped[resource]
        known = documented(resource)
        if isinstance(known, NoEquivalent):
            return known
        own = self.by_resource.get(resource)
        if own is not None:
            noun, driver = (known.noun, known.driver) if known else ("device", _driver_of(own))
            return Query(own.name, driver, noun, f"DeviceClass {own.name} says extendedResourceName: {resource}")
        return known or self._network(resource) or _unknown(resource)

    def class_selectors(self, query: Query) -> Sequence[str | None]:
        """Of the class as the dump has it, else as documented."""
        found = self.classes.get(query.device_class)
        return found.selectors if found is not None else query.class_selectors

    def matching(self, node: str, query: Query) -> tuple[Published, ...]:
        """The devices of a node that a query means; a selector that fails on a device does not mean it."""
        known = self._matched.get((node, query))
        if known is None:
            wanted = [each for each in (*self.class_selectors(query), *query.selectors) if each is not None]
            known = tuple(each for each in self.devices.get(node, ()) if each.satisfies(wanted))
            self._matched[node, query] = known
        return known

    def offered(self, node: ClusterNode, resource: str) -> int:
        """How many units of an integer resource a node has for pods."""
        return to_integer(node.allocatable.get(resource, 0))

    def _network(self, resource: str) -> Query | None:
        """Virtual functions that carry the resource's name, as the SR-IOV driver's policies give it to them."""
        name = resource.rpartition("/")[2]
        for node in self.nodes:
            for each in self.devices[node.name]:
                shown = each.text("resourceName") if each.driver == SRIOV else None
                if shown is not None and shown in (name, resource):
                    selector = f"{attribute(SRIOV, 'resourceName')} == {quoted(shown)}"
                    why = f"a virtual function that driver {SRIOV} publishes with resourceName {shown}"
                    own = (f"device.driver == {quoted(SRIOV)}",)
                    return Query(SRIOV, SRIOV, "nic", why, (selector,), own)
        return None


def _published(catalog: Catalog, node: ClusterNode) -> tuple[Published, ...]:
    pools = catalog.pools_of(node.node)
    if isinstance(pools, UnreadableSelector):
        return ()
    return tuple(_of(pool.id.driver, device) for pool in pools if pool.usable for _, device in pool.devices())


def _of(driver: str, device: Device) -> Published:
    return Published(driver, device, device_view(driver, device))


def _by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Of two classes with one name the younger serves it, then the smaller class name (dra-semantics §5.2)."""
    found: dict[str, DeviceClass] = {}
    for each in sorted(classes, key=lambda each: each.name):
        other = found.get(each.extended_resource_name)
        if each.extended_resource_name and (other is None or each.creation_time > other.creation_time):
            found[each.extended_resource_name] = each
    return found


def _driver_of(device_class: DeviceClass) -> str:
    """The driver that a class names by `device.driver == "…"`, "" if it does so in no such words."""
    for each in device_class.selectors:
        for quote in ('"', "'"):
            head, found, rest = (each or "").partition(f"device.driver == {quote}")
            if found and not head.strip(" ("):
                return rest.partition(quote)[0]
    return ""


def _unknown(resource: str) -> NoEquivalent:
    return NoEquivalent(
        Cause.UNKNOWN_RESOURCE,
        f"nobody here knows which devices {resource} counts",
        f"declare it with --map, or let a DeviceClass of the dump say extendedResourceName: {resource}",
    )


EMPTY = AllocatedState.empty()
"""Nothing allocated: what a node can hold at all."""
