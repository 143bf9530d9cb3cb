"""The five invariants of the architecture (§3), watched while the system runs and once more at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from muster.api.capacity.v1 import capacity_service_pb2 as capacity_api
from muster.api.inventory.v1 import inventory_service_pb2 as inventory_api
from muster.api.matcher.v1 import matcher_service_pb2 as matcher_api
from muster.api.provisioner.v1 import provisioner_service_pb2 as provisioner_api
from muster.events.claims.v1 import claims_pb2 as claims
from muster.events.gangs.v1 import gangs_pb2 as gangs
from muster.events.provisioning.v1 import provisioning_pb2 as provisioning
from muster.type.v1.gang_pb2 import GangState
from muster_claim_matcher import bootstrap as claim_matcher
from muster_eventstore import StoredMessage
from muster_gang_coordinator import bootstrap as gang_coordinator
from muster_inventory import bootstrap as inventory_service
from muster_kube.parts import at, mapping, sequence, text
from muster_kube.readings import Json
from muster_provisioner import bootstrap as provisioner
from muster_provisioner.adapters.simulated.state import Machine, Phase
from muster_types import ClusterId, ObjectKey
from simulation import objects
from simulation.promises import broken_offer, double_promises, unfit_confirmation
from simulation.scenario import GangPlan
from simulation.system import System

_DECIDED = ("WAITING", "CONSUMED", "FAILED", "CANCELLED", "EXPIRED", "REVOKED")


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that did not hold: which, when (virtual seconds), and what was seen."""

    law: str
    at: float
    what: str

    def __str__(self) -> str:
        return f"[{self.law}] at {self.at:.3f} s: {self.what}"


class Checks:
    """Watches a system. `bugs` are what its services logged as bugs."""

    def __init__(self, system: System, bugs: list[str]) -> None:
        self._system = system
        self._bugs = bugs
        self.violations: list[Violation] = []
        self._lines: list[tuple[float, str]] = []
        self._allocated_at: dict[ObjectKey, float] = {}
        self._answered: dict[str, int] = {}
        system.watchers.append(self._stored)
        system.cluster_watchers.append(self._written)

    def report(self, law: str, what: str) -> None:
        """Note a violation; each law and text once."""
        if not any(each.law == law and each.what == what for each in self.violations):
            self.violations.append(Violation(law, self._system.loop.time(), what))

    # While it runs

    def _stored(self, message: StoredMessage, gang: str, events: Sequence[Any]) -> None:
        now = self._system.loop.time()
        for event in events:
            if message.stream != "observed":
                self._lines.append((now, f"{message.stream:12} {message.subject.split('.')[-1]:22} {_brief(event)}"))
            if isinstance(event, claims.GangBooked | claims.GangNotBooked):
                self._answer(event)
            match event:
                case claims.GangBooked() | claims.GangConfirmed():
                    self._promised(event)
                case gangs.GangReadied():
                    self._offered(gang, event)
                case gangs.GangEnded():
                    self._gone(gang)
                case provisioning.OrderIntended():
                    self._intended(event)
                case _:
                    pass
        if message.stream == "parked":
            self.report("parked", f"{message.subject}: {message.headers.get('muster-parked-reason', '')[:300]}")

    def _answer(self, event: claims.GangBooked | claims.GangNotBooked) -> None:
        """Each attempt of a gang is planned and answered once, whatever comes twice or late."""
        last = self._answered.get(event.gang_id, 0)
        if event.attempt <= last:
            self.report("4 answered twice", f"gang {event.gang_id}: attempt {event.attempt} after {last}")
        self._answered[event.gang_id] = max(last, event.attempt)

    def _promised(self, event: claims.GangBooked | claims.GangConfirmed) -> None:
        record = self._system.record
        cluster = record.cluster_at(event.observed_sequence)
        for found in double_promises(record, event.gang_id, cluster):
            self.report("1 promised twice", found)
        for found in self._taken_by_consumed(event):
            self.report("1 promised twice", found)
        if isinstance(event, claims.GangConfirmed):
            plan = self._plan_of(event.gang_id)
            for found in unfit_confirmation(event.placements, event.gang_id, plan, cluster):
                self.report("2 ready", f"gang {event.gang_id} confirmed: {found}")

    def _taken_by_consumed(self, event: claims.GangBooked | claims.GangConfirmed) -> list[str]:
        """Devices that the cluster has given to pods of a consumed gang whose booking is released: no longer free."""
        record, system = self._system.record, self._system
        if isinstance(event, claims.GangBooked):
            placements = event.plan.placements
        else:
            placements = event.placements
        held = system.allocated_devices()
        released = {
            record.gangs[gang].name: gang
            for gang, booking in record.ledger.items()
            if booking.released == "consumed" and gang in record.gangs and gang != event.gang_id
        }
        found: list[str] = []
        for placement in placements:
            for claim in placement.claims if placement.node else ():
                for result in claim.results:
                    device = (result.device.driver, result.device.pool, result.device.device)
                    owner = held.get(device)
                    if owner is None or claim.existing:
                        continue
                    request = _request_of(system, owner)
                    gang = released.get(request)
                    if gang is not None and self._allocated_at.get(owner, 0.0) < record.ledger[gang].released_at:
                        found.append(f"{device} booked for {event.gang_id} runs pods of {gang}")
        return found

    def _plan_of(self, gang: str) -> GangPlan | None:
        record = self._system.record.gangs.get(gang)
        name = "" if record is None else record.name.split("-")[0]
        return next((plan for plan in self._system.scenario.gangs if plan.name == name), None)

    def _offered(self, gang: str, event: gangs.GangReadied) -> None:
        record = self._system.record
        for found in broken_offer(record.ledger.get(gang), record.gangs[gang], event):
            self.report("2 ready", f"gang {gang}: {found}")
        for node in sorted({placement.node for placement in event.placements}):
            gone = record.gone.get(node)
            if gone is not None and self._coordinator_knows(gone):
                self.report(
                    "2 ready", f"gang {gang} is offered on {node}, of which the coordinator knows that it is gone"
                )

    def _coordinator_knows(self, sequence: int) -> bool:
        """Whether the coordinator has dealt with a message of the inventory's stream."""
        consumer = self._system.server.streams["inventory"].consumers.get("gang-coordinator-inventory-local")
        if consumer is None or sequence >= consumer.cursor:
            return False
        return sequence not in consumer.pending and sequence not in consumer.again

    def _gone(self, gang: str) -> None:
        """At the moment at which an end is written nothing may be left of what could be known by then."""
        record = self._system.record
        booking = record.ledger.get(gang)
        if booking is not None and booking.placements:
            self.report("3 nothing left", f"gang {gang} ended and its booking stands")
        for machine in self._machines():
            if machine.order in record.gangs[gang].orders and machine.phase is not Phase.DELETING:
                closed = record.cancelled_at.get(str(machine.order))
                if closed is None or machine.born_at < closed:
                    self.report("3 nothing left", f"gang {gang} ended and machine {machine.node} is there")

    def _intended(self, event: provisioning.OrderIntended) -> None:
        record = self._system.record
        if len(record.intended[event.order_id]) > 1:
            self.report("4 order twice", f"order {event.order_id} was intended twice")
        gang = record.gangs.get(event.gang_id)
        asked = None if gang is None else gang.orders.get(event.order_id)
        if asked is None or asked[1:] != (event.node_group, event.count):
            self.report("4 order twice", f"order {event.order_id} of {event.count} nodes: the gang asked for {asked}")

    def _written(self, key: ObjectKey, before: Json | None, after: Json | None) -> None:
        """Details are there before Provisioned is True (T31); Failed never stands beside it (T30)."""
        if key.kind == "ResourceClaim":
            if after is None or not at(after, "status", "allocation"):
                self._allocated_at.pop(key, None)
            else:
                self._allocated_at.setdefault(key, self._system.loop.time())
        if key.kind != "ProvisioningRequest" or after is None:
            return
        was, now = _conditions(before), _conditions(after)
        if now.get("Provisioned") == "True" and was.get("Provisioned") != "True":
            if not mapping(at(before or {}, "status", "provisioningClassDetails")):
                self.report("status", f"{key.name} is Provisioned before its details are there")
            uid = text(at(after, "metadata", "uid"))
            served = [gang for gang in self._system.record.gangs.values() if uid in gang.uids]
            if not any(gang.placements for gang in served):
                told = [(gang.id, gang.state) for gang in served]
                self.report("2 ready", f"{key.name} is Provisioned and its gang was never ready: {told}")
        if now.get("Provisioned") == "True" and now.get("Failed") == "True":
            self.report("status", f"{key.name} is Provisioned and Failed")
        for name in ("Provisioned", "Failed", "BookingExpired", "CapacityRevoked"):
            same = before is not None and at(before, "metadata", "uid") == at(after, "metadata", "uid")
            if same and was.get(name) == "True" and now.get(name) != "True":
                self.report("status", f"{key.name}: {name} went back from True")

    # Where it stands

    def decided(self) -> bool:
        """Every gang is over, or waits for capacity; nothing is on its way."""
        return not self.undecided() and self.idle() is None

    def undecided(self) -> str:
        """The gangs that are neither over nor waiting."""
        open_ones = [g for g in self._system.record.gangs.values() if g.state not in _DECIDED]
        return ", ".join(f"{gang.id} {gang.state} (attempt {gang.attempt})" for gang in open_ones)

    def all_over(self) -> bool:
        """Every gang is in an end state."""
        return all(gang.over for gang in self._system.record.gangs.values())

    def idle(self) -> str | None:
        """What is still on its way; None: nothing."""
        system = self._system
        down = [name for name, process in system.processes.items() if not process.up]
        if down:
            return f"down: {down}"
        if system.asking:
            return "a client's call is not answered"
        streams = system.server.streams
        waiting = list(streams["commands"].by_subject)
        if waiting:
            return f"commands: {waiting[:4]}"
        for stream in streams.values():
            for durable, consumer in stream.consumers.items():
                if consumer.pending or consumer.again:
                    return f"{durable} holds {sorted({*consumer.pending, *consumer.again})[:4]}"
                if next(stream.behind(consumer.cursor - 1, consumer.spec.subjects), None) is not None:
                    return f"{durable} is behind"
        return None

    # At the end

    async def at_end(self) -> None:
        """Everything is over and nothing moves."""
        for bug in self._bugs:
            self.report("bug", bug)
        for process in self._system.processes.values():
            for failure in process.exits:
                self.report("bug", f"{process.name} ended itself: {failure}")
        if not self._system.faults.struck_any:
            self._straight()
        self._nothing_left()
        self._orders_once()
        self._statuses()
        await self._replayed()

    def _machines(self) -> list[Machine]:
        state = self._system.cloud_state()
        return [machine for _, group in sorted(state.groups.items()) for machine in group.machines.values()]

    def _nothing_left(self) -> None:
        system, record = self._system, self._system.record
        consumed = {id: gang for id, gang in record.gangs.items() if gang.state == "CONSUMED"}
        for gang, booking in record.ledger.items():
            if booking.placements:
                self.report("3 nothing left", f"gang {gang} is over and its booking stands")
        used = {id: {p.node for p in gang.placements} for id, gang in consumed.items()}  # pyright: ignore
        for machine in self._machines():
            if machine.phase is Phase.EXISTING:
                continue
            if machine.gang not in consumed:
                self.report(
                    "3 nothing left", f"machine {machine.node} of {machine.gang} is left ({machine.phase.value})"
                )
            elif machine.node not in used[machine.gang]:
                self.report("3 nothing left", f"machine {machine.node} of {machine.gang} is used by no member")
        for name, group in sorted(system.cloud_state().groups.items()):
            if group.target != group.existing:
                self.report("3 nothing left", f"group {name} has target {group.target} and {group.existing} machines")
        nodes = {machine.node for machine in self._machines()}
        for key, manifest in system.cluster.objects.items():
            labels = mapping(at(manifest.obj, "metadata", "labels"))
            if key.kind == "Node" and labels.get("muster.dev/order"):
                if key.name not in nodes:
                    self.report("3 nothing left", f"node {key.name} is left without its machine")
                taints = [mapping(t) for t in sequence(at(manifest.obj, "spec", "taints"))]
                if any(taint.get("key") == "muster.dev/gang" for taint in taints):
                    self.report(
                        "3 nothing left", f"node {key.name} is still reserved for {labels.get('muster.dev/gang')}"
                    )

    def _straight(self) -> None:
        """Where nothing goes wrong every gang is served by its first plan, or refused for good."""
        for gang in self._system.record.gangs.values():
            if (
                gang.attempt != 1
                or gang.state not in ("CONSUMED", "FAILED")
                or (gang.state == "FAILED" and gang.orders)
            ):
                self.report("0 straight", f"gang {gang.id} ended {gang.state} in attempt {gang.attempt}")

    def _orders_once(self) -> None:
        for name, group in sorted(self._system.cloud_state().groups.items()):
            for order, times in group.applied.items():
                if times > 1:
                    self.report("4 order twice", f"group {name}: order {order} took effect {times} times")

    def _statuses(self) -> None:
        """Each request that is still there tells how its gang ended."""
        by_uid = {gang.uid: gang for gang in self._system.record.gangs.values()}
        consumed = {uid for gang in by_uid.values() if gang.state == "CONSUMED" for uid in gang.uids}
        for key, manifest in self._system.cluster.objects.items():
            if key.kind != "ProvisioningRequest":
                continue
            gang = by_uid.get(text(at(manifest.obj, "metadata", "uid")))
            conditions = _conditions(manifest.obj)
            if gang is None:
                # A workload that runs under another attempt's request has no more word for the attempts it overtook.
                if text(at(manifest.obj, "metadata", "uid")) not in consumed:
                    self.report("status", f"request {key.name} has no gang")
                continue
            wanted = {
                "CONSUMED": {"Provisioned": "True", "BookingExpired": "True"},
                "EXPIRED": {"BookingExpired": "True"},
                "REVOKED": {"CapacityRevoked": "True"},
            }.get(gang.state)
            if wanted is None:
                shown = {"True"} & {conditions.get(name) for name in ("Failed", "CapacityRevoked")}
                if not shown:
                    self.report("status", f"request {key.name} of {gang.state} {gang.id} shows {conditions}")
            elif any(conditions.get(name) != status for name, status in wanted.items()):
                self.report("status", f"request {key.name} of {gang.state} {gang.id} shows {conditions}")

    async def _replayed(self) -> None:
        """What the services hold is the fold of what is recorded (invariant 5)."""
        messages = self._system.record.messages
        cluster = ClusterId("local")
        exports = (
            ("gang-coordinator", capacity_api.ExportStateRequest(), gang_coordinator.replay),
            ("claim-matcher", matcher_api.ExportStateRequest(), claim_matcher.replay),
            ("inventory", inventory_api.ExportStateRequest(), inventory_service.replay),
            ("provisioner", provisioner_api.ExportStateRequest(), provisioner.replay),
        )
        for name, request, replay in exports:
            answer = await self._system.processes[name].call("ExportState", request)
            if answer.json != replay(messages, cluster):
                self.report("5 replay", f"{name} holds another state than its stream")

    def story(self) -> list[str]:
        """The history, with the faults and what happened in the world."""
        notes = [(at, f"-- {text}") for at, text in self._system.notes]
        faults = [(f.at, f"** {f.kind.value}: {f.name}") for f in self._system.faults.struck]
        return [f"{at:9.3f} {line}" for at, line in sorted((*self._lines, *notes, *faults), key=lambda each: each[0])]


def _request_of(system: System, claim: ObjectKey) -> str:
    """The request that the pod with a claim consumes; empty for none."""
    for consumer in sequence(at(system.cluster.get(claim) or {}, "status", "reservedFor")):
        pod = system.cluster.get(ObjectKey("Pod", claim.namespace, text(mapping(consumer).get("name"))))
        if pod is not None:
            return text(mapping(at(pod, "metadata", "annotations")).get(objects.CONSUME))
    return ""


def _conditions(request: Json | None) -> dict[str, str]:
    found = sequence(at(request or {}, "status", "conditions"))
    return {text(mapping(each).get("type")): text(mapping(each).get("status")) for each in found}


def _brief(event: Message) -> str:
    """An event on one line, without what is long or a time."""
    name = event.DESCRIPTOR.name
    shown: list[str] = []
    for field, value in event.ListFields():
        if field.name.endswith(("_time", "_deadline", "json")) or field.name in ("spec", "details", "mismatches"):
            continue
        if field.name in ("plan", "placements"):
            placements = value.placements if field.name == "plan" else value
            shown.append(f"on {[p.node or f'{p.new_node.node_group}:{p.new_node.ordinal}' for p in placements]}")
        elif field.name == "reasons":
            shown.append("; ".join(f"{reason.code} {reason.sentence}" for reason in value)[:200])
        elif field.name == "end_state":
            shown.append(GangState.Name(value).removeprefix("GANG_STATE_"))
        else:
            shown.append(f"{field.name}={' '.join(str(value).split())[:160]}")
    return f"{name} {' '.join(shown)}"
