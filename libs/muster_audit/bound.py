"""Pods that run: whether they keep their devices, whatever happens to slices, nodes and taints around them."""

from collections.abc import Mapping

from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.wording import listed
from muster_audit.words import Word
from muster_dra import DeviceTaint, PoolId, ResourceClaim
from muster_dra.objects.taints import untolerated
from muster_types import DeviceId, NodeName, ObjectKey

_EVICTS = "NoExecute"


def bound_rows(scene: Scene) -> list[Row]:
    """A row for each bound pod with devices from claims."""
    claims = _claims_by_pod(scene)
    rows: list[Row] = []
    for node, pods in sorted(scene.snapshot.pods_by_node.items()):
        for key in sorted(pods):
            mine = claims.get(key, [])
            if mine:
                rows.append(_row(key, node, mine, scene))
    return rows


def _claims_by_pod(scene: Scene) -> Mapping[ObjectKey, list[ResourceClaim]]:
    found: dict[ObjectKey, list[ResourceClaim]] = {}
    for key in sorted(scene.snapshot.tables.claims):
        claim = scene.snapshot.tables.claims[key]
        if claim.allocation is None:
            continue
        for consumer in claim.reserved_for:
            if consumer.resource == "pods":
                found.setdefault(ObjectKey("Pod", claim.namespace, consumer.name), []).append(claim)
    return found


def _row(key: ObjectKey, node: str, claims: list[ResourceClaim], scene: Scene) -> Row:
    results = [(claim, each) for claim in claims if claim.allocation is not None for each in claim.allocation.devices]
    devices = tuple(str(each.device) for _, each in results)
    for claim, result in results:
        taint = untolerated(evicting_taints(result.device, scene), result.tolerations)
        if taint is not None:
            through = _through(key, claim, scene)
            why = f"uses {result.device.device} {through}; {taint} is not tolerated: the pod is evicted"
            return Row(
                str(key),
                Word.AFFECTED,
                "taint",
                node,
                devices,
                why=why,
                remedy=f"tolerate {taint}, or take the taint away",
            )
    gone = [each.device for _, each in results if each.device in scene.cluster.ghosts and not each.admin_access]
    if gone:
        names = listed([each.device for each in gone])
        why = f"{names} is published no more; the claim's status is the source of truth, the pod keeps it"
        return Row(str(key), Word.KEEPS_ALLOCATION, "", node, devices, why=why)
    found = scene.snapshot.node(NodeName(node))
    state = ""
    if found is None or not found.ready:
        state = "; the node is not ready: the pod stays booked there until it is deleted"
    elif node in scene.cluster.memory.unready:
        state = "; the node was not ready for a while, the booking held"
    return Row(str(key), Word.PLACED, "", node, devices, why=f"bound to {node} with {listed(devices, 4)}{state}")


def _through(key: ObjectKey, claim: ResourceClaim, scene: Scene) -> str:
    pod = scene.snapshot.tables.pods.get(key)
    if claim.annotations.get("resource.kubernetes.io/extended-resource-claim") == "true":
        return "through status.extendedResourceClaimStatus"
    made = pod is not None and claim.name in pod.claim_names.values()
    return "through a template claim" if made else f"through claim {claim.name}"


def evicting_taints(device: DeviceId, scene: Scene) -> tuple[DeviceTaint, ...]:
    """NoExecute taints that the driver or a rule sets on a device."""
    published = scene.published.devices.get(device)
    own = published.taints if published is not None else ()
    pool = PoolId(device.driver, device.pool)
    rules = [
        rule.taint
        for rule in scene.snapshot.tables.taint_rules.values()
        if rule.selects and rule.meant(pool, device.device)
    ]
    return tuple(taint for taint in (*own, *rules) if taint.effect == _EVICTS)
