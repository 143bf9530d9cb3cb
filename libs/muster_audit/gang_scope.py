"""Which nodes a gang's question has to be put to: in a large cluster most of them cannot matter to the answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster_audit.fleet import busy_devices
from muster_audit.gang_planning import Members, Planning, domain_keys, domains_of, without_topology
from muster_audit.gangs import Subject
from muster_dra import UnreadableSelector
from muster_dra.views import exclusive_use
from muster_plan import NoPlan, Plan
from muster_plan.labels import HOSTNAME
from muster_types import NodeName

_FEW = 64
"""Clusters up to this size are always asked as a whole."""
_NEAREST = 4
"""Domains that stand for all where none can hold the gang."""
_TOLD = 16
_UNBOUNDED = 1 << 30


@dataclass(frozen=True, slots=True)
class Domain:
    """`places` of the fleet where a member fits by itself; `most`: more members than this cannot be there."""

    value: str
    places: tuple[int, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The domains that a gang must choose one of, those that could hold most first; one without a name where no rule
    keeps it together. None of `whole` clusters is ever looked at in part."""

    needed: int
    domains: tuple[Domain, ...]
    planning: Planning
    members: Members
    whole: bool

    @classmethod
    def of(cls, subject: Subject, planning: Planning, members: Members) -> "Scope":
        fleet = planning.surveyor.fleet
        gang = subject.gang
        keys = [key for key in domain_keys(gang) if key != HOSTNAME]
        if len(fleet.nodes) <= _FEW or len(keys) > 1 or not _independent(subject, members):
            return cls(0, (), planning, members, whole=True)
        fitting = sorted({place for spots in members.spots for spot in spots if spot.fits for place in spot.places})
        bounds = _Bounds(members, planning)
        together = domains_of(keys[0], fleet) if keys else {"": frozenset(range(len(fleet.nodes)))}
        domains: list[Domain] = []
        for value, places in together.items():
            inside = tuple(place for place in fitting if place in places)
            domains.append(Domain(value, inside, sum(bounds.of(place) for place in inside)))
        domains.sort(key=lambda each: (-min(each.most, _UNBOUNDED), each.value))
        return cls(_least(subject), tuple(domains), planning, members, whole=False)

    def now(self) -> Plan | NoPlan:
        """A plan on what exists; of no plan the reasons are those of the domains that come nearest."""
        gang = self.members.gang
        if self.whole:
            return self.planning.now(gang)
        able = [each for each in self.domains if each.most >= self.needed]
        tight = self._tightest(able)
        if tight:
            found = self._asked(tight)
            if isinstance(found, Plan):
                return found
        places = [place for each in able for place in each.places]
        return self._asked(places or [place for each in self.domains[:_NEAREST] for place in each.places[:_FEW]])

    def later(self) -> Plan | NoPlan:
        """A plan with nodes that groups could add. Of what exists only a domain that new nodes can join matters."""
        gang = self.members.gang
        if self.whole:
            return self.planning.later(gang)
        keys = [key for key in domain_keys(gang) if key != HOSTNAME]
        if keys:
            groups = self.planning.growing.tables.groups.values()
            joined = {each.template.labels.get(keys[0]) for each in groups if each.domain_label != keys[0]}
            places = [place for each in self.domains if each.value in joined for place in each.places]
        else:
            places = [place for each in self.domains for place in self._seats(each)]
        return self.planning.among(self._names(places)).later(gang)

    def apart(self) -> bool:
        """Whether what exists would take it if it need not be together."""
        free = without_topology(self.members.gang)
        if self.whole:
            return isinstance(self.planning.now(free), Plan)
        seats = self.members.seats(self.planning)
        if len(seats) >= sum(count for _, count in self.members.wanted):
            return True
        if sum(each.most for each in self.domains) < self.needed:
            return False
        places = [place for each in self.domains for place in each.places]
        return isinstance(self.planning.among(self._names(places)).now(free), Plan)

    def empty(self) -> bool:
        """Whether what exists would take it if nobody held anything."""
        gang = self.members.gang
        if self.whole:
            return self.planning.empty(gang)
        unbarred = {
            place for spots in self.members.spots for spot in spots if spot.barrier is None for place in spot.places
        }
        keys = [key for key in domain_keys(gang) if key != HOSTNAME]
        together = domains_of(keys[0], self.planning.surveyor.fleet) if keys else {"": frozenset(unbarred)}
        ranked = sorted(
            (sorted(places & unbarred) for places in together.values()), key=lambda each: (-len(each), each)
        )
        some = [place for places in ranked[:_NEAREST] for place in places[: _FEW * 2]]
        if self.planning.among(self._names(some)).empty(gang):
            return True
        return self.planning.among(self._names(unbarred)).empty(gang)

    def could_gain(self, place: int | None, devices: int) -> bool:
        """Whether so many devices more on a node could make room in its domain: each serves one member at most."""
        return self.whole or (place is not None and self._domain(place).most + devices >= self.needed)

    def around(self, planning: Planning, place: int | None) -> Planning:
        """A state that differs on one node, with its domain alone."""
        if self.whole or place is None:
            return planning
        domain = self._domain(place)
        places = domain.places if domain.value else self._seats(domain)
        return planning.among(self._names([*places, place]))

    def with_room(self, planning: Planning, devices: int) -> Planning:
        """A state with the first nodes alone that have so many devices free."""
        if self.whole:
            return planning
        fleet = self.planning.surveyor.fleet
        found: list[int] = []
        for place, node in enumerate(fleet.nodes):
            busy, total = busy_devices(node.node, fleet.catalog, planning.present.allocated, frozenset())
            if total - busy >= devices:
                found.append(place)
            if len(found) == _FEW:
                break
        return planning.among(self._names(found))

    def _domain(self, place: int) -> Domain:
        keys = [key for key in domain_keys(self.members.gang) if key != HOSTNAME]
        value = self.planning.surveyor.fleet.nodes[place].labels.get(keys[0], "") if keys else ""
        return next((each for each in self.domains if each.value == value), Domain(value, (), 0))

    def known(self) -> tuple[tuple[str, frozenset[int]], ...]:
        """The domains that a sentence can speak of: all, or those that could hold most."""
        keys = domain_keys(self.members.gang)
        if not keys:
            return ()
        if self.whole:
            return tuple(domains_of(keys[0], self.planning.surveyor.fleet).items())
        return tuple((each.value, frozenset(each.places)) for each in self.domains[:_TOLD])

    def _tightest(self, able: Sequence[Domain]) -> list[int]:
        """Places in the domain with least to spare of which members taken one after the other find all seats."""
        for each in sorted(able[-_NEAREST:], key=lambda each: (each.most, each.value)):
            seats = self._seats(each)
            if len(seats) >= sum(count for _, count in self.members.wanted):
                return sorted(set(seats))
        return []

    def _seats(self, domain: Domain) -> list[int]:
        return self.members.seats(self.planning, frozenset(domain.places))

    def _asked(self, places: Iterable[int]) -> Plan | NoPlan:
        return self.planning.among(self._names(places)).now(self.members.gang)

    def _names(self, places: Iterable[int]) -> frozenset[NodeName]:
        nodes = self.planning.surveyor.fleet.nodes
        running = {each.node for each in self.members.gang.running}
        return frozenset({nodes[place].name for place in places} | running)


def _independent(subject: Subject, members: Members) -> bool:
    """Whether what a node can take depends on nothing that other nodes hold."""
    scene_alone = all(pod.alone and not pod.spread for pod, _ in members.wanted)
    return scene_alone and not subject.running and not any(each.shared_claims for each in subject.gang.pod_sets)


def _least(subject: Subject) -> int:
    """Members that must find a place: of a PodGroup with a minimum only so many."""
    gang = subject.gang
    beyond = 0
    for name, group in gang.pod_groups.items():
        pods = sum(each.count for each in gang.pod_sets if each.spec.pod_group == name)
        if group.min_count is not None:
            beyond += max(pods - group.min_count, 0)
    return subject.pods - beyond


class _Bounds:
    """More members than this a node cannot take, by what it has free of each thing that they ask for."""

    def __init__(self, members: Members, planning: Planning) -> None:
        self._members, self._fleet = members, planning.surveyor.fleet
        self._modes: list[Mapping[int, frozenset[str]]] = [
            {place: spot.by_claim for spot in spots if spot.fits for place in spot.places} for spots in members.spots
        ]

    def of(self, place: int) -> int:
        return sum(self._of_set(index, place) for index in range(len(self._members.wanted)))

    def _of_set(self, index: int, place: int) -> int:
        mode = self._modes[index].get(place)
        if mode is None:
            return 0
        pod, count = self._members.wanted[index]
        node = self._fleet.nodes[place]
        used = self._fleet.snapshot.usage(node.name).requests
        bounds = [count]
        for resource, amount in pod.kind.requests.items():
            if amount > 0 and resource not in mode:
                bounds.append(max(node.allocatable.get(resource, 0) - used.get(resource, 0), 0) // amount)
        claims = pod.claims_on(mode)
        view = self._fleet.catalog.view(node.node)
        if (
            isinstance(view, UnreadableSelector)
            or view.shape.shared
            or exclusive_use(view, self._fleet.allocated) is None
        ):
            return min(bounds)  # shares and counters: free devices say nothing about how many pods they can serve
        requests = [request for claim in claims for request in claim.spec.requests]
        for request, free in zip(requests, self._fleet.free(claims)[place] if claims else (), strict=False):
            options = [option for option in (request.exactly, *request.first_available) if option is not None]
            if any(option.admin_access for option in options):
                continue
            bounds.append(free // max(min(option.count for option in options), 1))
        return min(bounds)
