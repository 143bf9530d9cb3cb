"""Structured-parameters allocation of Kubernetes (resource.k8s.io): the scheduler's answers, device for device.

Pure: no I/O, no clock, no chance. Start with `parse_slice`, `parse_class`, `parse_claim`, build a `Catalog`, and ask
`allocate(node, claims, catalog, allocated)`.
"""

from muster_dra.allocate import DEFAULT_BUDGET, SearchBudget, allocate
from muster_dra.allocated import AllocatedState, Committed, PoolUse, SharedUse
from muster_dra.amounts import Amount
from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.catalog import Catalog
from muster_dra.explain import explain, pool_reason
from muster_dra.extended_resources import (
    ContainerRequests,
    ExtendedResourceClaim,
    RequestMapping,
    Treatment,
    classes_by_resource,
    extended_resource_claim,
    is_candidate,
    treatment,
)
from muster_dra.features import GATES, KUBERNETES_GATES, Features, Meaning, Release, UnknownGate
from muster_dra.node_classes import node_class_key
from muster_dra.objects.claims import (
    AllocatedDevice,
    AllocationStatus,
    ClaimConfig,
    ClaimRequest,
    ClaimSpec,
    ConsumerReference,
    Defaults,
    DeviceConstraint,
    DeviceRequest,
    ResourceClaim,
    parse_claim,
    parse_claim_spec,
    parse_claim_template,
)
from muster_dra.objects.classes import DeviceClass, DeviceTaintRule, parse_class, parse_taint_rule
from muster_dra.objects.node_selectors import (
    InvalidSelector,
    NodeSelector,
    NodeSelectorTerm,
    Operator,
    Requirement,
    parse_node_selector,
)
from muster_dra.objects.nodes import Node, parse_node
from muster_dra.objects.slices import (
    CounterConsumption,
    CounterSet,
    Device,
    DeviceCapacity,
    NodePlace,
    PoolId,
    RequestPolicy,
    ResourceSlice,
    ValidRange,
    parse_slice,
)
from muster_dra.objects.taints import DeviceTaint, DeviceToleration
from muster_dra.outcome import (
    AllocatedConfig,
    Allocation,
    ClaimAllocation,
    ConfigSource,
    DeviceResult,
    Fatal,
    FatalKind,
    NodeError,
    NoFit,
    Outcome,
)
from muster_dra.persistent import PersistentMap
from muster_dra.pools import Pool, PoolDefect, PoolReason, PoolState, UnreadableSelector
from muster_dra.problem import answer_json, solve_problem
from muster_dra.reading import Fields, InvalidObject
from muster_dra.reasons import Reason, ReasonCode
from muster_dra.validation import Violation, check_slice

__all__ = [
    "DEFAULT_BUDGET",
    "GATES",
    "KUBERNETES_GATES",
    "AllocatedConfig",
    "AllocatedDevice",
    "AllocatedState",
    "Allocation",
    "AllocationStatus",
    "Amount",
    "Attribute",
    "AttributeKind",
    "Catalog",
    "ClaimAllocation",
    "ClaimConfig",
    "ClaimRequest",
    "ClaimSpec",
    "Committed",
    "ConfigSource",
    "ConsumerReference",
    "ContainerRequests",
    "CounterConsumption",
    "CounterSet",
    "Defaults",
    "Device",
    "DeviceCapacity",
    "DeviceClass",
    "DeviceConstraint",
    "DeviceRequest",
    "DeviceResult",
    "DeviceTaint",
    "DeviceTaintRule",
    "DeviceToleration",
    "ExtendedResourceClaim",
    "Fatal",
    "FatalKind",
    "Features",
    "Fields",
    "InvalidObject",
    "InvalidSelector",
    "Meaning",
    "NoFit",
    "Node",
    "NodeError",
    "NodePlace",
    "NodeSelector",
    "NodeSelectorTerm",
    "Operator",
    "Outcome",
    "PersistentMap",
    "Pool",
    "PoolDefect",
    "PoolId",
    "PoolReason",
    "PoolState",
    "PoolUse",
    "Reason",
    "ReasonCode",
    "Release",
    "RequestMapping",
    "RequestPolicy",
    "Requirement",
    "ResourceClaim",
    "ResourceSlice",
    "SearchBudget",
    "SharedUse",
    "Treatment",
    "UnknownGate",
    "UnreadableSelector",
    "ValidRange",
    "Violation",
    "allocate",
    "answer_json",
    "check_slice",
    "classes_by_resource",
    "explain",
    "extended_resource_claim",
    "is_candidate",
    "node_class_key",
    "parse_claim",
    "parse_claim_spec",
    "parse_claim_template",
    "parse_class",
    "parse_node",
    "parse_node_selector",
    "parse_slice",
    "parse_taint_rule",
    "pool_reason",
    "solve_problem",
    "treatment",
]
