"""The gang planner: the cheapest placement of all pods of a gang, or a proof that there is none.

Pure: no I/O, no clock, no chance. Build a `Snapshot` from Kubernetes objects, read a `Gang` from a
ProvisioningRequest, and ask `plan(snapshot, gang, policy)`.
"""

from muster_plan.booking import BookedPod, Booking
from muster_plan.claims import ClaimTemplate
from muster_plan.claims import read_claim_template as parse_claim_template
from muster_plan.gang import Gang, InvalidGang, OwnClaim, PodSet, RunningMember, SharedClaim, SharedEntry
from muster_plan.node_groups import NodeGroup, NodeTemplate, parse_node_group
from muster_plan.nodes import ClusterNode, Taint, Toleration, parse_cluster_node
from muster_plan.plan_json import from_json, to_json
from muster_plan.plan_types import (
    Alternative,
    Broken,
    ChosenDomain,
    ExistingNode,
    GroupOrder,
    Help,
    HelpKind,
    Lost,
    NewNode,
    NoPlan,
    NoPlanKind,
    Pin,
    PinKind,
    Placement,
    Plan,
    PlannedClaim,
    PlannedDevice,
    PlanReason,
    ReasonCode,
    Spare,
    Survival,
    Target,
    Verified,
)
from muster_plan.planner import plan
from muster_plan.pod_groups import PodGroup, parse_pod_group
from muster_plan.pods import Pod, PodSpec, PodTemplate, parse_pod, parse_pod_template
from muster_plan.policy import (
    CHEAPEST,
    FEWEST_NODES,
    LEAST_FRAGMENTATION,
    PREFER_EXISTING,
    Arrangement,
    FirstFit,
    Limit,
    Objective,
    Policy,
)
from muster_plan.problem import solve_plan_problem
from muster_plan.requests import ProvisioningRequest, RequestedPodSet, parse_provisioning_request
from muster_plan.running import remaining
from muster_plan.shape import ShapeMismatch, compare_shape, domain_mismatches
from muster_plan.snapshot import Snapshot
from muster_plan.verifying import verify

__all__ = [
    "CHEAPEST",
    "FEWEST_NODES",
    "LEAST_FRAGMENTATION",
    "PREFER_EXISTING",
    "Alternative",
    "Arrangement",
    "BookedPod",
    "Booking",
    "Broken",
    "ChosenDomain",
    "ClaimTemplate",
    "ClusterNode",
    "ExistingNode",
    "FirstFit",
    "Gang",
    "GroupOrder",
    "Help",
    "HelpKind",
    "InvalidGang",
    "Limit",
    "Lost",
    "NewNode",
    "NoPlan",
    "NoPlanKind",
    "NodeGroup",
    "NodeTemplate",
    "Objective",
    "OwnClaim",
    "Pin",
    "PinKind",
    "Placement",
    "Plan",
    "PlanReason",
    "PlannedClaim",
    "PlannedDevice",
    "Pod",
    "PodGroup",
    "PodSet",
    "PodSpec",
    "PodTemplate",
    "Policy",
    "ProvisioningRequest",
    "ReasonCode",
    "RequestedPodSet",
    "RunningMember",
    "ShapeMismatch",
    "SharedClaim",
    "SharedEntry",
    "Snapshot",
    "Spare",
    "Survival",
    "Taint",
    "Target",
    "Toleration",
    "Verified",
    "compare_shape",
    "domain_mismatches",
    "from_json",
    "parse_claim_template",
    "parse_cluster_node",
    "parse_node_group",
    "parse_pod",
    "parse_pod_group",
    "parse_pod_template",
    "parse_provisioning_request",
    "plan",
    "remaining",
    "solve_plan_problem",
    "to_json",
    "verify",
]
