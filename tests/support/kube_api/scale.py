"""The `scale` subresource (autoscaling/v1 Scale) of what has `spec.replicas`."""

from support.kube_api.answers import Json, invalid, part


def shown(obj: Json) -> Json:
    """An object's Scale."""
    metadata = part(obj, "metadata")
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": part(obj, "spec").get("replicas", 0)},
        "status": {"replicas": part(obj, "status").get("replicas", 0)},
    }


def written(obj: Json, scale: Json) -> Json:
    """The object with the replicas of a Scale, at the version that the Scale names. Raises StatusError 422."""
    replicas = part(scale, "spec").get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
        raise invalid(f"spec.replicas: Invalid value: {replicas!r}: must be greater than or equal to 0")
    version = part(scale, "metadata").get("resourceVersion")
    metadata = {**part(obj, "metadata"), **({"resourceVersion": version} if version else {})}
    return {**obj, "metadata": metadata, "spec": {**part(obj, "spec"), "replicas": replicas}}
