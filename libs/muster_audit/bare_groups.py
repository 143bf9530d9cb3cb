"""PodGroups whose pods do not exist yet: only what the group itself names can be judged."""

from collections.abc import Sequence

from muster_audit.pod_classes import PodClass
from muster_audit.rows import Row
from muster_audit.scene import Scene
from muster_audit.wording import listed
from muster_audit.words import Cause, ScaleUp, Word
from muster_dra import Allocation, Catalog, Fatal, Node, Outcome, ResourceClaim, allocate
from muster_plan import PodGroup
from muster_types import NodeName, ObjectKey


def bare_rows(classes: Sequence[PodClass], scene: Scene) -> list[Row]:
    """A row for each PodGroup with a gang policy and without a single pod, in the order of the dump."""
    used = {(pod.namespace, pod.spec.pod_group) for pod in scene.snapshot.tables.pods.values()}
    used |= {(each.namespace, each.pod.spec.pod_group) for each in classes}
    found: list[Row] = []
    for key, _ in scene.cluster.frame.of_kind("PodGroup"):
        group = scene.snapshot.tables.pod_groups.get(key)
        if group is not None and group.min_count is not None and (key.namespace, key.name) not in used:
            found.append(_judged(key, group, scene))
    return found


def _judged(key: ObjectKey, group: PodGroup, scene: Scene) -> Row:
    """The group's own claims, together, on the first node that takes them; without nodes, on what names no node."""
    claims: list[ResourceClaim] = []
    waiting = f"the gang is incomplete: 0 of {group.min_count} pods exist"
    for entry in group.claims:
        name = group.claim_names.get(entry.name, "") or entry.claim
        claim = scene.snapshot.claim(key.namespace, name) if name else None
        template = scene.snapshot.tables.claim_templates.get(
            ObjectKey("ResourceClaimTemplate", key.namespace, entry.template)
        )
        if claim is None and template is None:
            missing = (
                f"ResourceClaim {key.namespace}/{name}"
                if name
                else f"ResourceClaimTemplate {key.namespace}/{entry.template}"
            )
            return Row(
                str(key),
                Word.INFEASIBLE,
                Cause.TEMPLATE_MISSING.value,
                why=f"{missing} not found",
                remedy=f"create {missing}",
                scale_up=ScaleUp.NEVER,
            )
        if claim is not None and claim.allocation is None:
            claims.append(ResourceClaim(claim.name, key.namespace, scene.specs.one(claim.spec)))
        elif claim is None and template is not None:
            claims.append(ResourceClaim(entry.name, key.namespace, scene.specs.one(template.spec)))
    names = listed([each.name for each in claims])
    shared = (
        f"claim {names} is reserved for the group: 1 entry whatever the number of pods"
        if claims
        else "it names no claim"
    )
    outcome, node = _anywhere(claims, scene)
    if isinstance(outcome, Allocation):
        devices = tuple(str(result.device) for each in outcome.claims for result in each.results)
        return Row(str(key), Word.FEASIBLE, node=node, devices=devices, why=f"{shared}; {waiting}")
    why = outcome.message if isinstance(outcome, Fatal) else outcome.reasons[0].sentence()
    return Row(str(key), Word.INFEASIBLE, Cause.SHORTAGE.value, why=f"{why}; {waiting}", scale_up=ScaleUp.NEVER)


def _anywhere(claims: Sequence[ResourceClaim], scene: Scene) -> tuple[Outcome, str]:
    fleet = scene.held.careful.fleet
    catalog: Catalog = fleet.catalog
    answers = fleet.answers(claims) if claims else None
    for place, node in enumerate(fleet.nodes):
        outcome = answers.of(place) if answers is not None else Allocation(())
        if isinstance(outcome, Allocation):
            return outcome, node.name if claims else ""
    nowhere = Node(NodeName("no-node"), {})
    return allocate(nowhere, claims, catalog, fleet.allocated), ""
