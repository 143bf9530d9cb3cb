"""The capabilities of group-capacity §9, and what each component can offer of them at best, on which conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from muster_evaluate.components import Part, Version
from muster_evaluate.conditions import Condition, FlagIs, FlagOrSince, GateOn, Level, OwnGate, Plugin, Since


class Capability(StrEnum):
    TEMPLATES = "DRA-aware template simulation"
    FROM_ZERO = "DRA scale from zero with true attributes"
    PARTITIONS = "partitionable devices in templates"
    CONSUMABLE = "consumable capacity in templates"
    MULTI_NODE = "multi-node or shared devices in scale-up"
    GROUP_CLAIMS = "PodGroup-level claims"
    ATOMIC = "gang-atomic scale-up over several groups"
    MIXED = "existing and new capacity mixed for a gang"
    HETEROGENEOUS = "heterogeneous gang on existing nodes"
    BACKTRACKING = "device choice across the gang"
    TOPOLOGY_GROWING = "topology domain in scale-up"
    TOPOLOGY_PLACING = "topology domain in placement"
    VERIFICATION = "verification of the arrived shape"
    ROLLBACK = "rollback of partial capacity"
    FALLBACK = "stockout fallback"
    EXPLANATION = "explanation of pending"
    FRAGMENTATION = "fragmentation metrics"
    BOOKING = "booking visible to the scheduler"
    BOOKING_TIME = "configurable booking time"
    AUDIT = "audit trail and replay"
    PROVISIONABLE = "provisionable capacity seen by the scheduler"
    NEVER = "infeasibility signal (never)"
    PREEMPTION = "preemption awareness"
    REPAIR = "repair after node loss"
    MULTI_CLUSTER = "multi-cluster"


@dataclass(frozen=True, slots=True)
class Offer:
    """At best this level. `unless`: a condition that is not met costs the whole; `why` says what is offered or not."""

    level: Level
    why: str
    conditions: tuple[Condition, ...] = ()


def _no(why: str) -> Offer:
    return Offer(Level.NO, why)


def _part(why: str, *conditions: Condition) -> Offer:
    return Offer(Level.PARTIAL, why, conditions)


def _yes(why: str, *conditions: Condition) -> Offer:
    return Offer(Level.YES, why, conditions)


_CA_DRA = FlagOrSince("enable-dynamic-resource-allocation", Version(1, 35))
_KARPENTER_DRA = FlagIs("ignore-dra-requests", wanted=False, default=True)
_PROVREQ = FlagIs("enable-provisioning-requests", wanted=True, default=False)
_DRA = (Plugin("DynamicResources"), GateOn("DynamicResourceAllocation"))
_TAS = OwnGate("TopologyAwareScheduling", Version(0, 14), default=True)
_GANG = GateOn("GenericWorkload")

OFFERS: Mapping[Capability, Mapping[Part, Offer]] = {
    Capability.TEMPLATES: {
        Part.AUTOSCALER: _part("node-local devices, copied from a live node of the group", _CA_DRA),
        Part.KARPENTER: _part("provider templates", _KARPENTER_DRA),
        Part.KUEUE: _no("it counts quota, not devices"),
        Part.SCHEDULER: _no("it sees existing nodes only"),
    },
    Capability.FROM_ZERO: {
        Part.AUTOSCALER: _no("an empty group has no live node to copy, providers invent type=gpu at most (L1)"),
        Part.KARPENTER: _part("if the provider fills DynamicResources", _KARPENTER_DRA),
        Part.KUEUE: _no("it makes no nodes"),
        Part.SCHEDULER: _no("it makes no nodes"),
    },
    Capability.PARTITIONS: {
        Part.AUTOSCALER: _part("copied from a live node; utilisation is wrong", _CA_DRA, Since(1, 36)),
        Part.KARPENTER: _part("in its allocator", _KARPENTER_DRA),
        Part.KUEUE: _part(
            "counter quota",
            OwnGate("KueueDRAIntegration", Version(0, 18), default=True),
            Since(0, 19),
        ),
        Part.SCHEDULER: _no("none in templates; on nodes by gate DRAPartitionableDevices"),
    },
    Capability.CONSUMABLE: {
        Part.AUTOSCALER: _part("runs through the scheduler's plugin, undocumented", _CA_DRA),
        Part.KARPENTER: _part("in its allocator", _KARPENTER_DRA),
        Part.KUEUE: _no("quota of it is alpha and off"),
        Part.SCHEDULER: _no("none in templates; on nodes by gate DRAConsumableCapacity"),
    },
    Capability.MULTI_NODE: {
        Part.AUTOSCALER: _no("devices that are not node-local are never added (L3)"),
        Part.KARPENTER: _no("in-flight devices must be node-local"),
        Part.KUEUE: _no("multi-host devices are unsupported"),
        Part.SCHEDULER: _no("it makes no nodes"),
    },
    Capability.GROUP_CLAIMS: {
        Part.AUTOSCALER: _no("PodGroup listers are an error in its simulator (L11)"),
        Part.KARPENTER: _no("no PodGroup logic"),
        Part.KUEUE: _no("ResourceClaimTemplates of pods only"),
        Part.SCHEDULER: _yes("one claim for a PodGroup", *_DRA, _GANG, GateOn("DRAWorkloadResourceClaims")),
    },
    Capability.ATOMIC: {
        Part.AUTOSCALER: _no("one option: one group, or groups that are alike (§4.8)"),
        Part.KARPENTER: _no("pod by pod"),
        Part.KUEUE: _no("it delegates to the ProvisioningRequest's class"),
        Part.SCHEDULER: _no("autoscaling is no goal of gang scheduling"),
    },
    Capability.MIXED: {
        Part.AUTOSCALER: _part("what fits is taken, the rest must fit one option (§1.6)", _PROVREQ),
        Part.KARPENTER: _part("per pod, without gangs"),
        Part.KUEUE: _part("a second pass over what exists by then", _TAS),
        Part.SCHEDULER: _no("it sees existing nodes only"),
    },
    Capability.HETEROGENEOUS: {
        Part.AUTOSCALER: _part("in its simulation", _CA_DRA),
        Part.KARPENTER: _no("pod by pod"),
        Part.KUEUE: _yes("pod sets and topology-aware scheduling, devices not modelled", _TAS),
        Part.SCHEDULER: _part("member after member, without looking back", *_DRA, _GANG),
    },
    Capability.BACKTRACKING: {
        Part.AUTOSCALER: _no("first fit"),
        Part.KARPENTER: _no("per pod, 5 s of search"),
        Part.KUEUE: _no("devices are not modelled"),
        Part.SCHEDULER: _no("first fit, member after member (k/k#138765)"),
    },
    Capability.TOPOLOGY_GROWING: {
        Part.AUTOSCALER: _no("rack and fabric labels of one node are copied onto all (§4.2)"),
        Part.KARPENTER: _no("spread and affinity over zone and hostname only"),
        Part.KUEUE: _no("a required domain may fail after the nodes are paid for (KEP-2724)"),
        Part.SCHEDULER: _no("it makes no nodes"),
    },
    Capability.TOPOLOGY_PLACING: {
        Part.AUTOSCALER: _no("it places nothing"),
        Part.KARPENTER: _no("it places nothing"),
        Part.KUEUE: _yes("topology-aware scheduling, devices not modelled", _TAS),
        Part.SCHEDULER: _part("one required key", _GANG, GateOn("TopologyAwareWorkloadScheduling")),
    },
    Capability.VERIFICATION: {
        Part.AUTOSCALER: _part("numbers of pools; a mismatch is a metric only (§4.5)", _CA_DRA),
        Part.KARPENTER: _part("one complete pool per driver", _KARPENTER_DRA),
        Part.KUEUE: _no("it sees no devices"),
        Part.SCHEDULER: _no("it promises nothing"),
    },
    Capability.ROLLBACK: {
        Part.AUTOSCALER: _part("failed instances and zero-or-max groups (§4.9); a first group stays (§4.8)"),
        Part.KARPENTER: _no("idle nodes are consolidated later"),
        Part.KUEUE: _no("it evicts the workload, the nodes stay"),
        Part.SCHEDULER: _part("of its own state only", _GANG),
    },
    Capability.FALLBACK: {
        Part.AUTOSCALER: _part("back-off, another group in the next loop"),
        Part.KARPENTER: _yes("the next offering, per node"),
        Part.KUEUE: _part("a new attempt, another flavor"),
        Part.SCHEDULER: _no("it makes no nodes"),
    },
    Capability.EXPLANATION: {
        Part.AUTOSCALER: _part("NotTriggerScaleUp; texts of requests are generic"),
        Part.KARPENTER: _part("events"),
        Part.KUEUE: _part("conditions, check messages, visibility API"),
        Part.SCHEDULER: _part("messages of pods and groups"),
    },
    Capability.FRAGMENTATION: {
        Part.AUTOSCALER: _no("none"),
        Part.KARPENTER: _no("the cost of consolidation only"),
        Part.KUEUE: _no("none"),
        Part.SCHEDULER: _no("none"),
    },
    Capability.BOOKING: {
        Part.AUTOSCALER: _no("10 minutes, in its own simulation (§1.7)"),
        Part.KARPENTER: _no("in memory"),
        Part.KUEUE: _no("quota, not nodes"),
        Part.SCHEDULER: _no("future work (KEP-4671)"),
    },
    Capability.BOOKING_TIME: {
        Part.AUTOSCALER: _no("fixed (KA#6555)"),
        Part.KARPENTER: _no("no booking"),
        Part.KUEUE: _no("no booking of nodes"),
        Part.SCHEDULER: _no("no booking"),
    },
    Capability.AUDIT: {
        Part.AUTOSCALER: _no("events and metrics"),
        Part.KARPENTER: _no("events and metrics"),
        Part.KUEUE: _no("conditions and events"),
        Part.SCHEDULER: _no("events and metrics"),
    },
    Capability.PROVISIONABLE: {
        Part.AUTOSCALER: _no("a proposal (KA#10000)"),
        Part.KARPENTER: _no("none"),
        Part.KUEUE: _no("a proposal (KU#14700)"),
        Part.SCHEDULER: _no("existing nodes only"),
    },
    Capability.NEVER: {
        Part.AUTOSCALER: _no("retried for ever"),
        Part.KARPENTER: _no("retried for ever (KP#3223)"),
        Part.KUEUE: _part("Rejected after its retries"),
        Part.SCHEDULER: _no("retried for ever"),
    },
    Capability.PREEMPTION: {
        Part.AUTOSCALER: _part("a priority cut-off; not with DRA (L5)"),
        Part.KARPENTER: _no("none"),
        Part.KUEUE: _yes("by quota, before the request"),
        Part.SCHEDULER: _yes("by group; not for devices", _GANG),
    },
    Capability.REPAIR: {
        Part.AUTOSCALER: _no("consumers of a request are ignored (§1.10)"),
        Part.KARPENTER: _part("node repair", OwnGate("NodeRepair", Version(1, 0), default=False)),
        Part.KUEUE: _yes("failed nodes are replaced among existing ones", _TAS),
        Part.SCHEDULER: _no("none"),
    },
    Capability.MULTI_CLUSTER: {
        Part.AUTOSCALER: _no("one cluster"),
        Part.KARPENTER: _no("one cluster"),
        Part.KUEUE: _yes("MultiKueue", OwnGate("MultiKueue", Version(0, 9), default=True)),
        Part.SCHEDULER: _no("one cluster"),
    },
}
