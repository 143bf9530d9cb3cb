"""A Kubernetes API server as raw JSON: lists that are followed, objects that are changed, credentials that rotate."""

from muster_kubeapi.access import Access, InCluster, KubeConfig, describe, find_access
from muster_kubeapi.backoff import Backoff
from muster_kubeapi.client import KubeClient, Timeouts
from muster_kubeapi.discovery import Found, Lacking, Served, Unsure, Wanted, discover
from muster_kubeapi.errors import AccessInvalid, Expired, KubeError, NotServed, Refused, Unreachable
from muster_kubeapi.following import Pace, Trouble, follow
from muster_kubeapi.listing import Page, list_pages
from muster_kubeapi.objects import Conflict, Missing, PatchForm, apply, create, delete, get, patch, replace
from muster_kubeapi.parsing import collector_paused
from muster_kubeapi.resources import Json, Resource, Target
from muster_kubeapi.settings import KubeSettings
from muster_kubeapi.watching import Change, Changes, watch_changes

__all__ = [
    "Access",
    "AccessInvalid",
    "Backoff",
    "Change",
    "Changes",
    "Conflict",
    "Expired",
    "Found",
    "InCluster",
    "Json",
    "KubeClient",
    "KubeConfig",
    "KubeError",
    "KubeSettings",
    "Lacking",
    "Missing",
    "NotServed",
    "Pace",
    "Page",
    "PatchForm",
    "Refused",
    "Resource",
    "Served",
    "Target",
    "Timeouts",
    "Trouble",
    "Unreachable",
    "Unsure",
    "Wanted",
    "apply",
    "collector_paused",
    "create",
    "delete",
    "describe",
    "discover",
    "find_access",
    "follow",
    "get",
    "list_pages",
    "patch",
    "replace",
    "watch_changes",
]
