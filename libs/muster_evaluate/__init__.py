"""Is a cluster's autoscaling fit for DRA gangs?

Pure. `evaluate(objects, snapshot, files)` reads versions, flags and gates of kube-scheduler, Cluster Autoscaler,
Karpenter and Kueue, judges the capabilities of group-capacity §9, and serves the pending work twice: pod by pod, and by
Muster's plans.
"""

from muster_evaluate.capabilities import OFFERS, Capability
from muster_evaluate.comparison import Compared, Comparison, Outcome, Share, Side, Terms, compare
from muster_evaluate.components import Component, ConfigFile, Part, Setting, Version, Where, find_components
from muster_evaluate.conditions import Level
from muster_evaluate.evaluation import Evaluation, evaluate, hours_of
from muster_evaluate.gates import GateRow, State, gate_rows
from muster_evaluate.judging import CapabilityRow, Verdict, judge
from muster_evaluate.needing import needed_by
from muster_evaluate.served import ServedVersion, served_versions
from muster_evaluate.work import Pending, Work, pending_work

__all__ = [
    "OFFERS",
    "Capability",
    "CapabilityRow",
    "Compared",
    "Comparison",
    "Component",
    "ConfigFile",
    "Evaluation",
    "GateRow",
    "Level",
    "Outcome",
    "Part",
    "Pending",
    "ServedVersion",
    "Setting",
    "Share",
    "Side",
    "State",
    "Terms",
    "Verdict",
    "Version",
    "Where",
    "Work",
    "compare",
    "evaluate",
    "find_components",
    "gate_rows",
    "hours_of",
    "judge",
    "needed_by",
    "pending_work",
    "served_versions",
]
