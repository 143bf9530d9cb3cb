"""What of a Kueue ProvisioningRequestConfig does not work with Muster (group-capacity §2.1, §2.4)."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from muster_gang_coordinator.domain.details import is_detail
from muster_gang_coordinator.wire.manifests import Json
from muster_gang_coordinator.wire.specs import PARAMETERS
from muster_kube.parts import at, mapping, sequence, text


def config_problems(config: Json, classes: tuple[str, ...]) -> tuple[str, ...]:
    """One sentence each; none for a config of another class."""
    if not any(fnmatchcase(text(at(config, "spec", "provisioningClassName")), each) for each in classes):
        return ()
    return tuple(_problems(mapping(config.get("spec")), f"ProvisioningRequestConfig {at(config, 'metadata', 'name')}"))


def _problems(spec: Json, name: str) -> Iterator[str]:
    managed = [text(each) for each in sequence(spec.get("managedResources"))]
    if managed:
        yield (
            f"{name}: spec.managedResources lists {', '.join(managed)}, so Kueue makes no request for pod sets that "
            "ask for their devices by claims alone: take the field out"
        )
    for update in map(mapping, sequence(at(spec, "podSetUpdates", "nodeSelector"))):
        detail = text(update.get("valueFromProvisioningClassDetail"))
        if not is_detail(detail):
            yield (
                f"{name}: spec.podSetUpdates.nodeSelector[{update.get('key')}] takes the detail {detail!r}, which "
                "Muster never writes, so Kueue leaves the selector out: see examples/kueue"
            )
    for parameter in sorted(mapping(spec.get("parameters")).keys() - PARAMETERS):
        yield (
            f"{name}: spec.parameters[{parameter}] means nothing to Muster; it knows {', '.join(sorted(PARAMETERS))}"
        )
