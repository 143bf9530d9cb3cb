"""The identity of an object in its cluster."""

from collections.abc import Mapping

from muster_kube.kinds import KINDS
from muster_kube.parts import mapping, text
from muster_types import ObjectKey

DEFAULT_NAMESPACE = "default"


def object_key(obj: Mapping[str, object]) -> ObjectKey:
    """Kind, namespace and name. A namespaced object without namespace is in `default`, as for kubectl; kinds that
    Muster does not read keep what they say."""
    kind, metadata = text(obj.get("kind")), mapping(obj.get("metadata"))
    known = KINDS.get(kind)
    if known is None:
        namespace = text(metadata.get("namespace"))
    elif known.namespaced:
        namespace = text(metadata.get("namespace")) or DEFAULT_NAMESPACE
    else:
        namespace = ""
    return ObjectKey(kind, namespace, text(metadata.get("name")))
