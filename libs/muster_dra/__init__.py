"""Structured-parameters allocation of Kubernetes (resource.k8s.io): the scheduler's answers, device for device.

Pure: no I/O, no clock, no chance. Read objects as JSON, build a `Catalog` of what is published and an `AllocatedState`
of what is held, and ask `allocate` for one node and all claims of one pod:

>>> from muster_dra import AllocatedState, Allocation, Catalog, allocate
>>> from muster_dra import parse_claim, parse_class, parse_node, parse_slice
>>> node = parse_node({"metadata": {"name": "node-1"}})
>>> gpu = parse_class(
...     {
...         "metadata": {"name": "gpu"},
...         "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
...     }
... )
>>> gpus = parse_slice(
...     {
...         "metadata": {"name": "node-1-gpu"},
...         "spec": {
...             "driver": "gpu.example.com",
...             "nodeName": "node-1",
...             "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
...             "devices": [{"name": f"gpu-{i}", "attributes": {"numa": {"int": i % 2}}} for i in range(4)],
...         },
...     }
... )
>>> def pair(name, count):
...     return parse_claim(
...         {
...             "metadata": {"name": name, "namespace": "team"},
...             "spec": {
...                 "devices": {
...                     "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}],
...                     "constraints": [{"matchAttribute": "gpu.example.com/numa"}],
...                 }
...             },
...         }
...     )
>>> catalog, nobody = Catalog.build([gpus], [gpu]), AllocatedState.from_claims(())
>>> yes = allocate(node, [pair("two", 2)], catalog, nobody)
>>> isinstance(yes, Allocation)
True
>>> [result.device.device for result in yes.claims[0].results]
['gpu-0', 'gpu-2']
>>> yes.claims[0].to_json()["devices"]["results"][0]
{'request': 'r', 'driver': 'gpu.example.com', 'pool': 'node-1', 'device': 'gpu-0'}
>>> held = nobody.plus(yes.claims[0].results, "team/two")
>>> no = allocate(node, [pair("all", 3)], catalog, held)
>>> print(no.reasons[0].sentence())
claim team/all, request r, pool gpu.example.com/node-1: 3 devices wanted, 2 free, the others are held by claim team/two

`docs/dra.md` says how the search stays fast and what is not covered.
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

__all__ = [  # noqa: RUF022 - grouped for the reader
    # ask: one node, all claims of one pod
    "DEFAULT_BUDGET",
    "SearchBudget",
    "allocate",
    "explain",
    "pool_reason",
    # answers
    "AllocatedConfig",
    "Allocation",
    "ClaimAllocation",
    "ConfigSource",
    "DeviceResult",
    "Fatal",
    "FatalKind",
    "NoFit",
    "NodeError",
    "Outcome",
    "Reason",
    "ReasonCode",
    # what is published and what is held
    "AllocatedState",
    "Catalog",
    "Committed",
    "PersistentMap",
    "PoolUse",
    "SharedUse",
    # which release, which gates
    "Features",
    "GATES",
    "KUBERNETES_GATES",
    "Meaning",
    "Release",
    "UnknownGate",
    # reading Kubernetes JSON
    "Defaults",
    "Fields",
    "InvalidObject",
    "parse_claim",
    "parse_claim_spec",
    "parse_claim_template",
    "parse_class",
    "parse_node",
    "parse_node_selector",
    "parse_slice",
    "parse_taint_rule",
    # nodes, pools, slices, devices
    "Amount",
    "Attribute",
    "AttributeKind",
    "CounterConsumption",
    "CounterSet",
    "Device",
    "DeviceCapacity",
    "DeviceTaint",
    "DeviceTaintRule",
    "InvalidSelector",
    "Node",
    "NodePlace",
    "NodeSelector",
    "NodeSelectorTerm",
    "Operator",
    "Pool",
    "PoolDefect",
    "PoolId",
    "PoolReason",
    "PoolState",
    "RequestPolicy",
    "Requirement",
    "ResourceSlice",
    "UnreadableSelector",
    "ValidRange",
    "Violation",
    "check_slice",
    "node_class_key",
    # claims and classes
    "AllocatedDevice",
    "AllocationStatus",
    "ClaimConfig",
    "ClaimRequest",
    "ClaimSpec",
    "ConsumerReference",
    "DeviceClass",
    "DeviceConstraint",
    "DeviceRequest",
    "DeviceToleration",
    "ResourceClaim",
    # extended resources backed by classes
    "ContainerRequests",
    "ExtendedResourceClaim",
    "RequestMapping",
    "Treatment",
    "classes_by_resource",
    "extended_resource_claim",
    "is_candidate",
    "treatment",
    # problems as JSON lines
    "answer_json",
    "solve_problem",
]
