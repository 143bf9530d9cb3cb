"""What a gang asks for, and the choice between a new gang and the one that already serves the same workload."""

from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha1

from muster_gang_coordinator.domain.plans import Reason
from muster_types import ClusterId, GangId, ObjectKey

# Gang and order ids become label values of at most 63 characters: name, "-" and 6 hex, "-a<attempt>-<n>".
_NAME_LENGTH = 44


@dataclass(frozen=True, slots=True)
class GangSpec:
    """The accepted request with every object that its plan needs.

    `content_hash` covers what is asked, not its names: another attempt of the same workload has the same hash.
    `missing` names objects that the request refers to and nobody has seen yet; `defects` say why it can't be served.
    """

    namespace: str
    name: str
    uid: str
    request_json: bytes
    objects_json: tuple[bytes, ...]
    pod_count: int
    content_hash: str
    priority: int
    booking_duration: timedelta
    workload_key: str = ""
    missing: tuple[ObjectKey, ...] = ()
    defects: tuple[Reason, ...] = ()

    @property
    def abridged(self) -> "GangSpec":
        """Without the objects themselves: what an ended gang keeps. Hash and stream still tell what they were."""
        return replace(self, request_json=b"", objects_json=())

    @property
    def key(self) -> ObjectKey:
        """The ProvisioningRequest that this spec was read from."""
        return ObjectKey("ProvisioningRequest", self.namespace, self.name)


def gang_id_of(cluster: ClusterId, namespace: str, name: str, uid: str) -> GangId:
    """The id of the gang that serves a request: its name, made unique by the uid, fit for a label value."""
    digest = sha1(f"{cluster}/{namespace}/{name}/{uid}".encode(), usedforsecurity=False).hexdigest()[:6]
    return GangId(f"{name[:_NAME_LENGTH]}-{digest}")


@dataclass(frozen=True, slots=True)
class Sibling:
    """A live gang that serves the same workload (owner uid and check) as a new request."""

    gang_id: GangId
    uid: str
    content_hash: str
    compensating: bool


@dataclass(frozen=True, slots=True)
class Intake:
    """Which gang takes a request, and which older attempts of its workload are cancelled for it."""

    gang_id: GangId
    superseded: tuple[GangId, ...] = ()


def plan_intake(fresh: GangId, spec: GangSpec, siblings: tuple[Sibling, ...]) -> Intake:
    """A running attempt of the same workload is adopted when it asks for the same, else cancelled (F2, T27).

    An attempt that is already giving its capacity back can't be adopted and needs no cancel.
    """
    running = sorted(
        (s for s in siblings if not s.compensating and s.gang_id != fresh and s.uid != spec.uid),
        key=lambda s: s.gang_id,
    )
    if not spec.workload_key or not running:
        return Intake(fresh)
    equal = [s.gang_id for s in running if s.content_hash == spec.content_hash]
    chosen = equal[0] if equal and not spec.missing and not spec.defects else fresh
    return Intake(chosen, tuple(s.gang_id for s in running if s.gang_id != chosen))
