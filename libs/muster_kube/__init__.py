"""Kubernetes objects at Muster's edge: reading manifests, judging them, and a cluster that is a directory."""

from muster_kube.directory import ClusterDirectory, ReadOnlyCluster, VersionConflict, overlay_path
from muster_kube.keys import object_key
from muster_kube.kinds import KINDS, Kind, UnknownVersion, kind_of
from muster_kube.layers import Listing
from muster_kube.manifests import STDIN, read_file, read_path
from muster_kube.readings import (
    DEFAULT_LIMITS,
    Limits,
    Manifest,
    Problem,
    Reading,
    Rejected,
    Severity,
    Skipped,
    Source,
)
from muster_kube.trimmed import trimmed, trimmed_json
from muster_kube.validate import validate

__all__ = [
    "DEFAULT_LIMITS",
    "KINDS",
    "STDIN",
    "ClusterDirectory",
    "Kind",
    "Limits",
    "Listing",
    "Manifest",
    "Problem",
    "ReadOnlyCluster",
    "Reading",
    "Rejected",
    "Severity",
    "Skipped",
    "Source",
    "UnknownVersion",
    "VersionConflict",
    "kind_of",
    "object_key",
    "overlay_path",
    "read_file",
    "read_path",
    "trimmed",
    "trimmed_json",
    "validate",
]
