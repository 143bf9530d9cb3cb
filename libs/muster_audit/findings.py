"""What an audit must say beyond pods: about hardware, pools, objects and groups."""

from collections.abc import Iterator

from muster_audit.gangs import consumed_by
from muster_audit.requests import request_findings
from muster_audit.rows import Finding
from muster_audit.scene import Scene
from muster_audit.uniform import mixed_class
from muster_audit.wording import counted, listed
from muster_dra import Pool, PoolDefect, PoolId, PoolState
from muster_types import NodeName, ObjectKey


def findings_of(scene: Scene) -> tuple[Finding, ...]:
    """Sorted by kind and object."""
    found = [
        *_not_published(scene),
        *_overlaps(scene),
        *_twins(scene),
        *_sold_twice(scene),
        *_pools(scene),
        *_slices_without_node(scene),
        *_classes(scene),
        *_templates(scene),
        *_refused(scene),
        *_orphans(scene),
        *_unused_claims(scene),
        *request_findings(scene),
    ]
    unique = {(each.kind, each.object, each.why): each for each in found}
    return tuple(unique[each] for each in sorted(unique))


def _not_published(scene: Scene) -> Iterator[Finding]:
    for device, ghost in scene.cluster.ghosts.items():
        drawn = ""
        if ghost.known is not None and ghost.known.consumes:
            drawn = "; what it draws from shared counters still counts as taken"
        yield Finding(
            "allocated-device-not-published",
            str(device),
            f"held by claim {listed(ghost.claims)}, and no slice lists it any more{drawn}",
            "end the claim, or find out why the driver dropped the device",
            (str(device),),
        )


def _overlaps(scene: Scene) -> Iterator[Finding]:
    for overlap in scene.physical.overlaps:
        partitions = listed([each.device for each in overlap.partitions], 4)
        yield Finding(
            "overlap-without-counters",
            str(overlap.parent),
            f"it is the parent ({overlap.by}) of {counted(len(overlap.partitions), 'partition')} in the same pool "
            f"({partitions}), and no shared counter ties them: both can be sold",
            "publish shared counters, or only one of the two views",
            tuple(str(each) for each in (overlap.parent, *overlap.partitions)),
        )


def _twins(scene: Scene) -> Iterator[Finding]:
    for twins in scene.physical.twins:
        yield Finding(
            "same-device-in-two-pools",
            twins.identity,
            f"{' and '.join(str(each) for each in twins.devices)} are one piece of hardware, counted twice",
            "publish it in one pool only",
            tuple(str(each) for each in twins.devices),
        )


def _sold_twice(scene: Scene) -> Iterator[Finding]:
    for node in scene.physical.sold_twice:
        yield Finding(
            "integers-and-devices",
            f"Node/{node.node}",
            f"{node.resource}: {node.offered} and {counted(len(node.devices), 'device')} of {node.driver} "
            f"describe the same hardware; {node.integers} handed out as integers, {node.claimed} held by claims",
            "offer them in one way: stop the device plugin on this node, or the driver",
        )


def _pools(scene: Scene) -> Iterator[Finding]:
    """Pools that some node sees and cannot use."""
    seen: set[PoolId] = set()
    for node in scene.now.counted.fleet.nodes:
        pools = scene.snapshot.catalog.pools_of(node.node)
        for pool in pools if isinstance(pools, tuple) else ():
            if pool.usable or pool.id in seen:
                continue
            seen.add(pool.id)
            yield _pool(pool, scene)


def _pool(pool: Pool, scene: Scene) -> Finding:
    contradiction = scene.cluster.inconsistent.get(pool.id)
    if contradiction is not None:
        return Finding(
            "pool-inconsistent",
            str(pool.id),
            contradiction.sentence(),
            f"{pool.id.driver} must publish one resourceSliceCount in all slices of the pool",
        )
    kind = "pool-invalid" if pool.state is PoolState.INVALID else "pool-incomplete"
    reason = pool.reason
    why = reason.sentence(pool.id) if reason is not None else f"pool {pool.id} cannot be used"
    waits = reason is not None and reason.defect in (PoolDefect.MISSING_SLICES, PoolDefect.SURPLUS_SLICES)
    remedy = "wait for the driver; restart it if this lasts" if waits else f"mend what {pool.id.driver} publishes"
    return Finding(kind, str(pool.id), f"{why}; none of its devices counts", remedy)


def _slices_without_node(scene: Scene) -> Iterator[Finding]:
    if not scene.snapshot.tables.nodes:
        return
    for key in sorted(scene.snapshot.tables.slices):
        name = scene.snapshot.tables.slices[key].place.node_name
        if name and scene.snapshot.node(NodeName(name)) is None:
            yield Finding(
                "slice-without-node",
                f"ResourceSlice/{key.name}",
                f"it is for node {name}, which does not exist",
                "delete the slice if the node is gone for good",
            )


def _classes(scene: Scene) -> Iterator[Finding]:
    for key in sorted(scene.snapshot.tables.classes):
        device_class = scene.snapshot.tables.classes[key]
        mixed = mixed_class(device_class.name, scene) if device_class.extended_resource_name else None
        if mixed is not None:
            yield Finding(
                "extended-resource-not-uniform",
                f"DeviceClass/{device_class.name}",
                f"extendedResourceName {device_class.extended_resource_name} on a class whose devices are not "
                f"equivalent ({mixed.sentence()}): an integer request may get any of them",
                "narrow the class to one kind of device",
            )


def _templates(scene: Scene) -> Iterator[Finding]:
    """Groups of which no node has the shape that the template promises."""
    for name, learned in sorted(scene.cluster.learned.items()):
        if learned.broken:
            yield Finding(
                "template-differs",
                f"NodeGroup/{name}",
                f"{learned.node} arrived otherwise than the template promises: {listed(learned.broken)}; "
                "the group is judged by what its nodes show",
                "correct the template by what the nodes show, or find out what is wrong with them",
            )


def _refused(scene: Scene) -> Iterator[Finding]:
    for each in scene.cluster.refusals():
        if each.key.kind == "NodeGroup":
            continue  # its own row says it
        yield Finding(
            "invalid-object",
            str(each.key),
            f"{each.field}: {each.reason}" if each.field else each.reason,
            "mend the object; until then it is left out",
        )


def _orphans(scene: Scene) -> Iterator[Finding]:
    """Pods that consume a request which does not exist: autoscalers pass them over for ever."""
    missing: dict[tuple[str, str], list[str]] = {}
    for key in sorted(scene.snapshot.tables.pods):
        pod = scene.snapshot.tables.pods[key]
        name = consumed_by(pod.spec.annotations)
        if name and not pod.finished and not scene.cluster.raw("ProvisioningRequest", pod.namespace, name):
            missing.setdefault((pod.namespace, name), []).append(pod.name)
    for (namespace, name), pods in sorted(missing.items()):
        yield Finding(
            "orphan-consumer",
            f"Pod/{namespace}/{pods[0]}",
            f"{counted(len(pods), 'pod')} ({listed(pods)}) consume ProvisioningRequest {namespace}/{name}, "
            "which does not exist",
            "create the request, or take the annotation away",
        )


def _unused_claims(scene: Scene) -> Iterator[Finding]:
    """Claims that hold devices for pods which are gone or finished: nobody uses what they hold."""
    pods = scene.snapshot.tables.pods
    if not pods:
        return  # a dump without pods says nothing about who is gone
    for key in sorted(scene.snapshot.tables.claims):
        claim = scene.snapshot.tables.claims[key]
        users = [each for each in claim.reserved_for if each.resource == "pods"]
        if claim.allocation is None or not claim.allocation.devices or len(users) < len(claim.reserved_for):
            continue
        found = [pods.get(ObjectKey("Pod", claim.namespace, each.name)) for each in users]
        if any(each is not None and not each.finished for each in found):
            continue
        devices = listed([each.device.device for each in claim.allocation.devices])
        who = f"pod {listed([each.name for each in users])}, which is gone or finished" if users else "nobody"
        yield Finding(
            "allocated-claim-unused",
            str(key),
            f"it holds {devices} and is reserved for {who}",
            "delete the claim if nobody will use it again",
            tuple(str(each.device) for each in claim.allocation.devices),
        )
