"""An object of an API server as a fact: named, trimmed, in the one shape that readers know."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from muster_cluster_watcher.domain.facts import Fact, Issue, IssueId
from muster_cluster_watcher.wire.observed import digest_of
from muster_cluster_watcher.wire.scheduling import in_current_shape
from muster_kube import Severity, trimmed_json, validate
from muster_kube.kinds import MUSTER
from muster_kube.parts import mapping, text
from muster_kubeapi import Resource
from muster_types import ObjectKey

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Unfit:
    """An object that cannot be told, and why."""

    key: ObjectKey
    issues: tuple[Issue, ...]


def key_of(resource: Resource, obj: Json) -> ObjectKey:
    """Its identity; the server has given it a name, and a namespace where it has one."""
    metadata = mapping(obj.get("metadata"))
    return ObjectKey(resource.kind, text(metadata.get("namespace")), text(metadata.get("name")))


def read_object(resource: Resource, obj: Json, *, fact_bytes: int) -> Fact | Unfit:
    """The fact of an object. Fields that nobody knows stay in it.

    The server has validated its own kinds by its own version's rules; only Muster's kind is judged here, for nothing
    may be known of it to the server but its name. `fact_bytes`: a larger object does not fit a message of the store.
    """
    key = key_of(resource, obj)
    named = in_current_shape({**obj, "apiVersion": resource.api_version, "kind": resource.kind})
    if resource.group == MUSTER:
        problems = [each for each in validate(named) if each.severity is Severity.ERROR]
        if problems:
            return Unfit(key, tuple(_issue(resource, key, each.field, each.reason) for each in problems))
    json = trimmed_json(named)
    if len(json) > fact_bytes:
        reason = f"it has {len(json)} bytes as JSON, a message holds {fact_bytes}; take large annotations out"
        return Unfit(key, (_issue(resource, key, "", reason),))
    metadata = mapping(obj.get("metadata"))
    return Fact(
        key,
        text(named.get("apiVersion")),
        text(metadata.get("uid")),
        text(metadata.get("resourceVersion")),
        json,
        digest_of(json),
    )


def _issue(resource: Resource, key: ObjectKey, field: str, reason: str) -> Issue:
    id = IssueId(sha256(f"{resource.group}/{key}/{field}/{reason}".encode()).hexdigest()[:16])
    return Issue(id, resource.path, str(key), field, reason)
