"""All that verdicts share: the cluster, its hardware facts, its states, its node groups. Built once for an audit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster_audit.cluster import Cluster
from muster_audit.facts import Published
from muster_audit.fleet import Fleet, Specs
from muster_audit.mapped import Mapped
from muster_audit.physical import Physical
from muster_audit.quotas import Quotas
from muster_audit.seating import Domains, Promises
from muster_audit.survey import Surveyor, has_affinities
from muster_plan import Booking, Snapshot
from muster_plan.potential import Potentials, potentials_of


@dataclass(frozen=True, slots=True)
class State:
    """One state of the cluster twice: as the API counts it, and with doubtful hardware blocked (`careful`)."""

    counted: Surveyor
    careful: Surveyor


@dataclass(frozen=True, slots=True)
class Hold:
    """What a gang that runs needs for its missing members: on these nodes, against pods of no higher priority."""

    name: str
    nodes: frozenset[str]
    priority: int
    running: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Scene:
    """`now` is the cluster as it is; `held` with what running gangs need for their missing members taken."""

    cluster: Cluster
    published: Published
    physical: Physical
    specs: Specs
    quotas: Quotas
    potentials: Potentials
    domains: Domains
    affinities: bool
    now: State
    held: State
    promises: Promises
    kinds: dict[str, object]
    """What was found out about device classes, by name; filled by `uniform`."""
    holds: tuple[Hold, ...] = ()

    @property
    def snapshot(self) -> Snapshot:
        return self.cluster.snapshot

    @classmethod
    def of(cls, cluster: Cluster) -> "Scene":
        snapshot = cluster.snapshot
        published = Published.of(cluster.full, snapshot)
        physical = Physical.of(published, snapshot)
        mapped = Mapped.of(cluster.frame, snapshot)
        now = _state(snapshot, physical, mapped)
        return cls(
            cluster,
            published,
            physical,
            Specs(),
            Quotas(cluster),
            potentials_of(snapshot),
            Domains(now.counted.fleet),
            has_affinities(snapshot),
            now,
            now,
            Promises(now.careful.fleet.allocated),
            {},
        )

    def holding(self, bookings: Sequence[Booking], holds: Sequence[Hold]) -> "Scene":
        """With capacity set aside for gangs that run and lack members."""
        if not bookings:
            return self
        mapped = self.now.counted.mapped
        held = _state(self.snapshot.with_bookings(bookings), self.physical, mapped)
        return replace(self, held=held, holds=tuple(holds), promises=Promises(held.careful.fleet.allocated))


def _state(snapshot: Snapshot, physical: Physical, mapped: Mapped) -> State:
    limited = physical.limited(snapshot.allocated)
    careful = physical.careful(limited)
    counted = Surveyor(Fleet(snapshot, limited), physical.sold_twice, mapped)
    if careful is limited:
        return State(counted, counted)
    return State(counted, Surveyor(Fleet(snapshot, careful), physical.sold_twice, mapped))
