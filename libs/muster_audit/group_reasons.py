"""Why the next node of a group would not take a pod, in words."""

from muster_audit.facts import Look
from muster_audit.growth import Unfit
from muster_audit.memory import Memory
from muster_audit.scene import Scene
from muster_audit.selector_misses import SelectorMiss, selector_miss
from muster_audit.words import Cause
from muster_dra import ReasonCode
from muster_dra.selectors import environment_of


def group_reason(unfit: Unfit, scene: Scene) -> tuple[Cause, str, SelectorMiss | None]:
    """Why the next node of a group does not take a pod; of selectors, what the template's devices publish."""
    judged = unfit.judged
    codes = (ReasonCode.SELECTOR_MATCHES_NOTHING, ReasonCode.CLASS_MATCHES_NOTHING, ReasonCode.ALL_OF_NONE)
    if judged is None or judged.reason.code not in codes:
        return unfit.cause, unfit.text, None
    potential = scene.potentials.by_group[unfit.group.name]
    looks = [
        Look(id_, each, (id_,))
        for slice_ in potential.promise.slices
        for each in slice_.devices
        for id_ in (slice_.pool.device(each.name),)
    ]
    found = selector_miss(judged.reason.subject, looks, Memory(), environment_of(scene.snapshot.features))
    cause = Cause.TOPOLOGY_MISMATCH if found.about_topology else unfit.cause
    lacks = found.mention is not None and not found.published
    text = (
        f"template devices do not carry attribute {found.mention.name}" if found.mention and lacks else found.sentence()
    )
    return cause, text, found
