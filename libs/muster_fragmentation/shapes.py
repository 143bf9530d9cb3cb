"""Claim shapes: what is asked for, whoever asks. Fragmentation is waste with regard to shapes, never by itself."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster_dra import ClaimRequest, ClaimSpec, DeviceRequest, ResourceClaim
from muster_plan import Snapshot

ALL = "All"


@dataclass(frozen=True, slots=True)
class Shape:
    """A claim's spec with a name for people, and how many claims or templates of the cluster ask for it."""

    name: str
    spec: ClaimSpec
    seen: int = 0

    @property
    def devices(self) -> int:
        """The fewest devices that a copy takes; 1 for each request that asks for all."""
        return sum(min(map(_devices, options(request)), default=0) for request in self.spec.requests)

    @property
    def takes_all(self) -> bool:
        """Whether a request asks for all matching devices: then a node holds one copy at most."""
        return any(option.mode == ALL for request in self.spec.requests for option in options(request))

    def claim(self) -> ResourceClaim:
        """A claim of the shape that nobody has made."""
        return ResourceClaim(self.name, "", self.spec)


def options(request: ClaimRequest) -> tuple[DeviceRequest, ...]:
    """The ways to satisfy a request."""
    return request.first_available or ((request.exactly,) if request.exactly is not None else ())


def observed_shapes(snapshot: Snapshot) -> tuple[Shape, ...]:
    """Every distinct spec among claims and claim templates, most seen first; admin access is no use of devices."""
    tables = snapshot.tables
    named: list[tuple[str, ClaimSpec]] = [
        (f"{each.namespace}/{each.name}", each.spec) for _, each in sorted(tables.claim_templates.items())
    ]
    named += [(each.full_name, each.spec) for _, each in sorted(tables.claims.items())]
    return merged(Shape(name, spec, 1) for name, spec in named if spec.requests and not _admin(spec))


def merged(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """Equal specs as one shape, under the first of their names."""
    found: dict[str, Shape] = {}
    for shape in shapes:
        key = repr(replace(shape.spec, config=()))
        known = found.get(key)
        found[key] = shape if known is None else replace(known, seen=known.seen + shape.seen)
    return tuple(sorted(found.values(), key=lambda shape: (-shape.seen, -shape.devices, shape.name)))


def _devices(option: DeviceRequest) -> int:
    return 1 if option.mode == ALL else option.count


def _admin(spec: ClaimSpec) -> bool:
    return any(option.admin_access for request in spec.requests for option in options(request))
