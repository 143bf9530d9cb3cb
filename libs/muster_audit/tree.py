"""One pod in depth: verdict, claims, nodes by class down to each device, node groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from muster_audit.audit import Report, prepare
from muster_audit.cluster import Cluster
from muster_audit.demands import faults_of
from muster_audit.device_answers import answer
from muster_audit.group_reasons import group_reason
from muster_audit.growth import growth
from muster_audit.misses import Miss, misses
from muster_audit.pod_classes import gang_of
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.survey import Spot, Wanted, wanted
from muster_audit.wording import counted, nodes_text
from muster_dra import ClaimSpec, DeviceRequest, Pool, ResourceClaim, UnreadableSelector
from muster_plan import ClusterNode, InvalidGang
from muster_types import ObjectKey

_CLASSES = 6
"""Classes of nodes that are shown down to their devices; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of the explanation; `fits` is None where it is neither a yes nor a no."""

    text: str
    fits: bool | None = None
    children: tuple["Branch", ...] = ()

    def to_json(self) -> dict[str, object]:
        json: dict[str, object] = {"text": self.text}
        if self.fits is not None:
            json["fits"] = self.fits
        if self.children:
            json["children"] = [each.to_json() for each in self.children]
        return json


@dataclass(frozen=True, slots=True)
class Explanation:
    row: Row
    tree: Branch

    def to_json(self) -> dict[str, object]:
        return {**self.row.in_depth(), "tree": self.tree.to_json()}


def explain_pod(cluster: Cluster, report: Report, namespace: str, name: str) -> Explanation | None:
    """The pod's own row in the report on the cluster, and the tree behind it; None if there is no such pod."""
    key = ObjectKey("Pod", namespace, name)
    row = next((each for each in report.rows if each.subject == str(key)), None)
    scene, classes = prepare(cluster)
    mine = next((each for each in classes if key in each.members), None)
    if row is None or mine is None:
        return None if row is None else Explanation(row, _root(row, ()))
    gang = gang_of(str(key), namespace, "audit", {mine.template: 1}, scene.snapshot)
    if isinstance(gang, InvalidGang):
        return Explanation(row, _root(row, (Branch(faults_of(gang, scene.cluster)[1], False),)))
    pod = wanted(gang, scene.snapshot, scene.specs, affinities=scene.affinities)
    spots = scene.now.counted.survey(pod)
    nodes = (*_taking(pod, spots, scene), *_refusing(pod, spots, scene))
    children = (
        Branch("claims", None, tuple(_claim(each) for each in pod.claims)),
        Branch("nodes", None, nodes or (Branch("the cluster has no node", False),)),
        *_groups(pod, scene),
    )
    return Explanation(row, _root(row, children))


def _root(row: Row, children: Sequence[Branch]) -> Branch:
    reason = f" ({row.reason})" if row.reason else ""
    where = f" on {row.node}" if row.node else ""
    remedy = (Branch(f"remedy: {row.remedy}"),) if row.remedy else ()
    fits = row.verdict.value in ("feasible", "placed")
    return Branch(f"{row.subject}: {row.verdict.value}{reason}{where}: {row.why}", fits, (*children, *remedy))


def _claim(claim: ResourceClaim) -> Branch:
    lines: list[Branch] = []
    for request in claim.spec.requests:
        for option in (request.exactly, *request.first_available):
            if option is None:
                continue
            name = request.name if request.exactly is not None else f"{request.name}/{option.name}"
            many = "all devices" if option.mode == "All" else counted(option.count, "device")
            amounts = "".join(f" with {value} {key}" for key, value in sorted((option.capacity or {}).items()))
            admin = ", admin access" if option.admin_access else ""
            selectors = tuple(Branch(f"selector {each}") for each in option.selectors if each)
            lines.append(
                Branch(f"request {name}: {many} of class {option.class_name}{amounts}{admin}", None, selectors)
            )
    for each in claim.spec.constraints:
        kind, attribute = (
            ("same", each.match_attribute) if each.match_attribute else ("distinct", each.distinct_attribute)
        )
        over = f" over {', '.join(each.requests)}" if each.requests else ""
        lines.append(Branch(f"{kind} {attribute}{over}"))
    return Branch(f"claim {claim.full_name}", None, tuple(lines))


def _taking(pod: Wanted, spots: Sequence[Spot], scene: Scene) -> Iterator[Branch]:
    nodes = scene.now.counted.fleet.nodes
    for spot in (each for each in spots if each.fits):
        names = [nodes[place].name for place in spot.places]
        node = nodes[spot.places[0]]
        yield Branch(f"{nodes_text(names)}: fits", True, tuple(_pools(pod, spot, node, scene)))


def _refusing(pod: Wanted, spots: Sequence[Spot], scene: Scene) -> Iterator[Branch]:
    surveyor = scene.now.counted
    nodes = surveyor.fleet.nodes
    others = [each for each in spots if not each.fits]
    found = misses(pod, others, surveyor, surveyor.fleet.allocated, scene.cluster).all if others else ()
    for miss in found[:_CLASSES]:
        yield _miss(pod, miss, nodes, scene)
    rest = sum(len(miss.places) for miss in found[_CLASSES:])
    if rest:
        yield Branch(f"{counted(rest, 'further node')}, less near", False)


def _miss(pod: Wanted, miss: Miss, nodes: Sequence[ClusterNode], scene: Scene) -> Branch:
    names = [nodes[place].name for place in miss.places]
    spot = miss.spot
    children = (
        tuple(_pools(pod, spot, nodes[miss.places[0]], scene)) if spot is not None and spot.barrier is None else ()
    )
    return Branch(f"{nodes_text(names)}: {miss.cause.value}: {miss.text}", False, children)


def _pools(pod: Wanted, spot: Spot, node: ClusterNode, scene: Scene) -> Iterator[Branch]:
    pools = scene.snapshot.catalog.pools_of(node.node)
    if isinstance(pools, UnreadableSelector):
        yield Branch(pools.sentence(), False)
        return
    options = [
        (option, claim.spec, request.name)
        for claim in pod.claims_on(spot.by_claim)
        for request in claim.spec.requests
        for option in (request.exactly, *request.first_available)
        if option is not None
    ]
    for pool in pools:
        if not pool.usable:
            yield Branch(f"pool {pool.id}: {_defect(pool, scene)}", False)
        elif options:
            yield Branch(f"pool {pool.id}", None, tuple(_devices(pool, options, node, scene)))


def _defect(pool: Pool, scene: Scene) -> str:
    contradiction = scene.cluster.inconsistent.get(pool.id)
    if contradiction is not None:
        return contradiction.sentence()
    return pool.reason.sentence(pool.id) if pool.reason is not None else pool.state.value


def _devices(
    pool: Pool, options: Sequence[tuple[DeviceRequest, ClaimSpec, str]], node: ClusterNode, scene: Scene
) -> Iterator[Branch]:
    """A line for each device: what it answers to each request; equal answers of several requests are one."""
    allocated = scene.now.counted.fleet.allocated
    for _, device in pool.devices():
        told: dict[tuple[bool, str], list[str]] = {}
        for option, spec, name in options:
            found = answer(device, pool, replace(option, name=name), spec, node.node, allocated, scene)
            told.setdefault((found.fits, found.text), []).append(name)
        if len(told) == 1:
            ((fits, text), _), *_ = told.items()
            yield Branch(f"{device.name}: {text}", fits)
        else:
            lines = tuple(Branch(f"for {', '.join(names)}: {text}", fits) for (fits, text), names in told.items())
            yield Branch(device.name, any(line.fits for line in lines), lines)


def _groups(pod: Wanted, scene: Scene) -> Iterator[Branch]:
    if not scene.potentials.by_group:
        yield Branch("no node group: no number of further nodes can be asked for", False)
        return
    found = growth(pod, 1, scene.potentials, scene.snapshot, scene.cluster.learned)
    lines = [
        Branch(f"group {each.name}: a new node would take it; room for {each.room}", each.room >= each.group.step)
        for each in found.options
    ]
    lines += [Branch(f"group {each.group.name}: {group_reason(each, scene)[1]}", False) for each in found.unfit]
    yield Branch("node groups", None, tuple(lines))
