"""From the nearest miss to the reason of a verdict: shortage told apart from fragmentation, shape and the rest."""

from dataclasses import dataclass, replace

from muster_audit.amount_reasons import capacity_why, counters_why
from muster_audit.expressions import mentions_of
from muster_audit.facts import Look
from muster_audit.fleet import free_counts
from muster_audit.grounds import EMPTY_TRIALS, Grounds, Why
from muster_audit.group_reasons import group_reason
from muster_audit.growth import Unfit
from muster_audit.lifting import binding
from muster_audit.misses import Miss
from muster_audit.selector_misses import selector_miss
from muster_audit.wording import counted, holders_text
from muster_audit.words import Cause
from muster_dra import (
    AllocatedState,
    Fatal,
    Reason,
    ReasonCode,
    UnreadableSelector,
)
from muster_dra.attributes import lookup
from muster_dra.selectors import environment_of
from muster_types import ObjectKey, format_quantity


@dataclass(slots=True)
class Explainer:
    """Puts the nearest miss into a reason; asks again where one answer is not enough."""

    grounds: Grounds

    def why(self) -> Why:
        miss = self.grounds.found.nearest
        if miss is None:
            return Why(Cause.NO_INVENTORY, "the cluster has no node")
        reason = miss.reason
        if reason is None:
            return self._room(miss)
        match reason.code:
            case ReasonCode.REQUESTS_COMPETE | ReasonCode.CLAIMS_COMPETE | ReasonCode.NO_COMBINATION:
                return self._apart(miss, reason)
            case ReasonCode.HELD | ReasonCode.TOO_FEW_MATCH:
                return self._short(miss, reason)
            case ReasonCode.COUNTERS_USED:
                return counters_why(self.grounds, miss, reason)
            case ReasonCode.CAPACITY_USED:
                return capacity_why(self.grounds, miss, reason)
            case ReasonCode.CLASS_MATCHES_NOTHING if miss.cause is Cause.NO_INVENTORY:
                return self._nothing(miss)
            case ReasonCode.SELECTOR_MATCHES_NOTHING | ReasonCode.CLASS_MATCHES_NOTHING:
                return self._selector(miss, reason)
            case ReasonCode.ATTRIBUTE_MISSING:
                return replace(self._plain(miss), text=self._missing_attribute(miss, reason))
            case ReasonCode.CAPACITY_POLICY:
                text = f"{self.grounds.where(miss)}{miss.text}; another identical node would not help"
                return Why(miss.cause, text, miss)
            case ReasonCode.NO_DEVICES:
                return self._nothing(miss)
            case _:
                return self._plain(miss)

    def _plain(self, miss: Miss) -> Why:
        return Why(miss.cause, f"{self.grounds.where(miss)}{miss.text}", miss)

    def _room(self, miss: Miss) -> Why:
        """Room or a rule of the node is in the way, or the search itself."""
        spot = miss.spot
        short = spot.short if spot is not None else None
        if short is None or miss.cause is not Cause.SHORTAGE:
            return self._plain(miss)
        mapped = self.grounds.scene.now.counted.mapped.on_node
        left = most = 0
        large = False
        for each in self.grounds.spots:
            if each.barrier is not None:
                continue
            for place in each.places:
                node = self.grounds.fleet.nodes[place]
                used = self.grounds.fleet.snapshot.usage(node.name).requests.get(short.resource, 0)
                used += mapped.get(node.name, {}).get(short.resource, 0)
                here = max(node.allocatable.get(short.resource, 0) - used, 0)
                left, most = left + here, max(most, here)
                large = large or node.allocatable.get(short.resource, 0) >= short.wanted
        wanted = format_quantity(short.wanted)
        if large and most < short.wanted <= left:
            text = (
                f"{format_quantity(left)} {short.resource} left in total, at most {format_quantity(most)} on one node, "
                f"{wanted} wanted"
            )
            return Why(Cause.FRAGMENTATION, text, miss)
        return Why(Cause.SHORTAGE, f"{self.grounds.where(miss)}{miss.text}", miss)

    def _apart(self, miss: Miss, reason: Reason) -> Why:
        """Requests that fit one by one: what they compete for."""
        grounds = self.grounds
        claims = grounds.pod.claims_on(grounds.mode())
        cause = binding(grounds.fleet.nodes[miss.places[0]].node, claims, grounds.fleet.catalog, grounds.allocated)
        if cause is None:
            return self._short(miss, reason)
        what = {
            Cause.COUNTERS_EXHAUSTED: "the devices draw more from their shared counters than there is",
            Cause.CAPACITY_EXHAUSTED: "the devices have too little capacity for all of them",
        }.get(cause, "the constraints keep them apart")
        return Why(cause, f"{grounds.where(miss)}{miss.text}: {what}", miss)

    def _short(self, miss: Miss, reason: Reason) -> Why:
        """By number: does enough exist, free or at all, and would an empty node take the pod."""
        index = self._index(reason)
        free, most = (
            self.grounds.found.free[index] if index is not None and index < len(self.grounds.found.free) else (0, 0)
        )
        if reason.code is not ReasonCode.HELD and self.grounds.found.free and index is None:
            free, most = max(self.grounds.found.free)
        wanted = reason.wanted
        empty = self.grounds.fits_empty()
        holders = f"; held by {holders_text(reason.holders, self.grounds.scene.cluster)}" if any(reason.holders) else ""
        holders += self._outranked(reason)
        if not empty:
            total = self._exist(index)
            if total >= wanted > 1:
                text = f"{counted(wanted, 'device')} wanted on one node, none has so many ({total} in all)"
                return Why(Cause.TOPOLOGY_MISMATCH, f"{text}: {self.grounds.where(miss)}{miss.text}", miss)
            if reason.code is ReasonCode.TOO_FEW_MATCH:
                return Why(
                    Cause.SHORTAGE, f"{counted(wanted, 'device')} wanted, {total} of the kind exist{holders}", miss
                )
        if empty and wanted > 1 and free >= wanted:
            text = f"{free} free, largest free set on one node is {most}, {wanted} wanted"
            return Why(Cause.FRAGMENTATION, text + holders, miss)
        elsewhere = f", {free} free on all nodes" if free else ", none is free"
        if reason.code is ReasonCode.HELD:
            return Why(Cause.SHORTAGE, f"{counted(wanted, 'device')} wanted{elsewhere}{holders}", miss)
        return Why(Cause.SHORTAGE, f"{self.grounds.where(miss)}{miss.text}{elsewhere}{holders}", miss)

    def _outranked(self, reason: Reason) -> str:
        """Pods of lower priority that hold what is wanted: the scheduler does not preempt them for devices."""
        snapshot, own = self.grounds.scene.snapshot, self.grounds.pod.kind.spec.priority
        for holder in reason.holders:
            namespace, _, name = holder.partition("/")
            claim = snapshot.claim(namespace, name)
            for each in claim.reserved_for if claim is not None else ():
                pod = snapshot.tables.pods.get(ObjectKey("Pod", namespace, each.name))
                if pod is not None and pod.spec.priority < own:
                    return "; pods of lower priority hold some of it, and the scheduler preempts nobody for devices"
        return ""

    def _index(self, reason: Reason) -> int | None:
        """The place of the reason's request among all requests of the pod's claims."""
        place = 0
        claims = self.grounds.pod.claims_on(self.grounds.mode())
        for claim in claims:
            for request in claim.spec.requests:
                if claim.full_name == reason.claim and reason.request.split("/")[0] == request.name:
                    return place
                place += 1
        return None

    def _exist(self, index: int | None) -> int:
        """How many devices of the kind the open nodes have, used or not."""
        claims = self.grounds.pod.claims_on(self.grounds.mode())
        plans = self.grounds.fleet.catalog.plans(claims)
        if isinstance(plans, Fatal):
            return 0
        nothing, total = AllocatedState.empty(), 0
        for each in self.grounds.spots:
            if not each.open:
                continue
            for place in each.places:
                counts = free_counts(self.grounds.fleet.nodes[place].node, plans, self.grounds.fleet.catalog, nothing)
                if counts:
                    total += counts[index] if index is not None and index < len(counts) else max(counts)
        return total

    def _selector(self, miss: Miss, reason: Reason) -> Why:
        devices = self._devices_before(miss, reason)
        if not devices:
            return self._plain(miss)
        found = selector_miss(
            reason.subject,
            devices,
            self.grounds.scene.cluster.memory,
            environment_of(self.grounds.fleet.catalog.features),
        )
        cause = Cause.TOPOLOGY_MISMATCH if found.about_topology else miss.cause
        return Why(cause, f"{self.grounds.where(miss)}{found.sentence()}", miss, found)

    def _devices_before(self, miss: Miss, reason: Reason) -> list[Look]:
        """Devices of the nodes of the miss, of the drivers that the selector speaks of where it names some."""
        published = self.grounds.scene.published.devices
        found: list[Look] = []
        domains = {each.domain for each in mentions_of(reason.subject)}
        for place in miss.places[:EMPTY_TRIALS]:
            pools = self.grounds.fleet.catalog.pools_of(self.grounds.fleet.nodes[place].node)
            if isinstance(pools, UnreadableSelector):
                continue
            for pool in pools:
                ids = [pool.id.device(device.name) for _, device in pool.devices()] if pool.usable else []
                found += [Look(id_, published[id_], (id_,)) for id_ in ids if id_ in published]
        own = [each for each in found if each.id.driver in domains]
        return own or found

    def _missing_attribute(self, miss: Miss, reason: Reason) -> str:
        """The drivers on the nearest node of which no device has the attribute."""
        lacking: list[str] = []
        pools = self.grounds.fleet.catalog.pools_of(self.grounds.fleet.nodes[miss.places[0]].node)
        for pool in () if isinstance(pools, UnreadableSelector) else pools:
            devices = [device for _, device in pool.devices()]
            if devices and not any(lookup(device.attributes, pool.id.driver, reason.subject) for device in devices):
                lacking.append(pool.id.driver)
        if not lacking:
            return f"{self.grounds.where(miss)}{miss.text}"
        names = " and ".join(sorted(set(lacking)))
        return f"{self.grounds.where(miss)}{names} devices do not have {reason.subject}"

    def _nothing(self, miss: Miss) -> Why:
        """No device of the kind on any node: what the wanted drivers publish, or fail to."""
        if miss.rank == 0:
            others = [each for each in self.grounds.found.all if each is not miss and each.reason is not None]
            parts = [f"{self.grounds.where(each)}{each.text}" for each in others[:2]]
            return Why(Cause.NO_INVENTORY, "; ".join([miss.text, *parts]), miss)
        drivers = sorted(self.grounds.drivers())
        refused = [each for each in self.grounds.scene.cluster.refusals() if each.key.kind == "ResourceSlice"]
        named = f" of {' or '.join(drivers)}" if drivers else ""
        if refused:
            text = f"no valid slice{named}: {refused[0].key.name} was refused ({refused[0].field}: {refused[0].reason})"
            return Why(Cause.NO_INVENTORY, text, miss)
        return Why(Cause.NO_INVENTORY, f"no node publishes a device{named} that the pod could use", miss)

    def of_group(self, unfit: Unfit) -> Why:
        """The reason that a group's template gives, where the cluster itself has nothing of the kind."""
        cause, text, selector = group_reason(unfit, self.grounds.scene)
        return Why(cause, f"group {unfit.group.name}: {text}", None, selector)
