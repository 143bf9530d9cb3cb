"""Why is it pending, and would more nodes help: verdicts on pods, gangs and requests, and findings about a cluster.

Pure: Kubernetes objects in, values out; no I/O, no clock, no chance. One function serves every door: a command that
read dump files, one that listed a live cluster, and one that asked a running service all give `audit` the same `Dump`
and put the same `Report` into words, JSON or messages of their own.
"""

from muster_audit.audit import Progress, Report, audit, audit_cluster, audit_steps
from muster_audit.cluster import Cluster
from muster_audit.frames import Dump, Frame, Refused, frames_of
from muster_audit.rows import Finding, NodeAnswer, Row
from muster_audit.tree import Branch, Explanation, explain_pod
from muster_audit.words import Cause, ScaleUp, Word

__all__ = [
    "Branch",
    "Cause",
    "Cluster",
    "Dump",
    "Explanation",
    "Finding",
    "Frame",
    "NodeAnswer",
    "Progress",
    "Refused",
    "Report",
    "Row",
    "ScaleUp",
    "Word",
    "audit",
    "audit_cluster",
    "audit_steps",
    "explain_pod",
    "frames_of",
]
