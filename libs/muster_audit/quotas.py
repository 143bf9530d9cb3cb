"""ResourceQuotas on devices: they are charged when a claim is created, by what its spec asks for at most."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster_audit.cluster import Cluster
from muster_audit.parts import part
from muster_dra import ClaimSpec
from muster_dra.prepare import MAX_RESULTS
from muster_types import InvalidQuantity, parse_quantity, to_integer

_DEVICES = ".deviceclass.resource.k8s.io/devices"
_CLAIMS = "count/resourceclaims.resource.k8s.io"


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit of one quota. `what` is a class name, or empty for the number of claims."""

    quota: str
    resource: str
    what: str
    hard: int
    used: int

    @property
    def left(self) -> int:
        return max(self.hard - self.used, 0)

    def sentence(self, namespace: str, wanted: int) -> str:
        thing = f"devices of {self.what}" if self.what else "claims"
        return f"{self.used} of {self.hard} {thing} used in {namespace} (quota {self.quota}), {wanted} more wanted"


@dataclass(frozen=True, slots=True)
class Exceeded:
    bound: Bound
    wanted: int


class Quotas:
    """The limits on devices and claims, by namespace, with what is charged already."""

    def __init__(self, cluster: Cluster) -> None:
        charged = _charged(cluster)
        self._bounds: dict[str, list[Bound]] = {}
        for key, quota in cluster.frame.of_kind("ResourceQuota"):
            used = part(quota, "status", "used")
            for resource, hard in sorted(part(quota, "spec", "hard").items()):
                what = _what(resource)
                limit = _amount(hard)
                if what is None or limit is None:
                    continue
                counted = _amount(used.get(resource))
                here = charged.get((key.namespace, what), 0) if counted is None else counted
                self._bounds.setdefault(key.namespace, []).append(Bound(key.name, resource, what, limit, here))

    def allowed(self, namespace: str, specs: Iterable[ClaimSpec], pods: int) -> tuple[int, Exceeded | None]:
        """How many of the pods may have their new claims created, and the limit that stops the next one."""
        wanted = _charges((spec, 1) for spec in specs)
        allowed, exceeded = pods, None
        for bound in self._bounds.get(namespace, ()):
            each = wanted.get(bound.what, 0)
            if each and bound.left // each < allowed:
                allowed, exceeded = bound.left // each, Exceeded(bound, each)
        return allowed, exceeded

    def together(self, namespace: str, specs: Iterable[tuple[ClaimSpec, int]]) -> Exceeded | None:
        """The limit that stops so many claims of each spec from being created all."""
        wanted = _charges(specs)
        for bound in self._bounds.get(namespace, ()):
            if wanted.get(bound.what, 0) > bound.left:
                return Exceeded(bound, wanted[bound.what])
        return None


def _charges(specs: Iterable[tuple[ClaimSpec, int]]) -> dict[str, int]:
    """Claims ("") and devices by class."""
    wanted: dict[str, int] = {}
    for spec, times in specs:
        for what, count in {"": 1, **devices_charged(spec)}.items():
            wanted[what] = wanted.get(what, 0) + count * times
    return wanted


def devices_charged(spec: ClaimSpec) -> dict[str, int]:
    """Devices by class name: "all" counts as the most a claim can hold, of alternatives the largest of each class."""
    found: dict[str, int] = {}
    for request in spec.requests:
        here: dict[str, int] = {}
        for option in (request.exactly, *request.first_available):
            if option is not None:
                count = MAX_RESULTS if option.mode == "All" else option.count
                here[option.class_name] = max(here.get(option.class_name, 0), count)
        for name, count in here.items():
            found[name] = found.get(name, 0) + count
    return found


def _charged(cluster: Cluster) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for claim in cluster.snapshot.tables.claims.values():
        found[claim.namespace, ""] = found.get((claim.namespace, ""), 0) + 1
        for what, count in devices_charged(claim.spec).items():
            found[claim.namespace, what] = found.get((claim.namespace, what), 0) + count
    return found


def _what(resource: str) -> str | None:
    """The class that a limit is about, "" for the number of claims, None for other limits."""
    if resource == _CLAIMS:
        return ""
    return resource.removesuffix(_DEVICES) if resource.endswith(_DEVICES) else None


def _amount(written: object) -> int | None:
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    try:
        return to_integer(parse_quantity(str(written)))
    except InvalidQuantity:
        return None


__all__ = ["Bound", "Exceeded", "Quotas", "devices_charged"]
