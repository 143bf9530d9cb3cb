"""Each capability against the components that are here: the best any of them offers, and why not more."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_evaluate.capabilities import OFFERS, Capability, Offer
from muster_evaluate.components import Component, ConfigFile, Part
from muster_evaluate.conditions import Level

_JUDGED = (Part.SCHEDULER, Part.AUTOSCALER, Part.KARPENTER, Part.KUEUE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one component offers. `read_from`: objects and fields, empty where a default or the release decides."""

    part: Part
    level: Level
    why: str
    read_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """`verdicts` are of all components, best first; the first one is the cluster's."""

    capability: Capability
    verdicts: tuple[Verdict, ...]

    @property
    def level(self) -> Level:
        return self.verdicts[0].level


def judge(
    components: Sequence[Component], files: Sequence[ConfigFile], *, shows_workloads: bool
) -> tuple[CapabilityRow, ...]:
    """One row for each capability. `shows_workloads`: the input has Deployments, so what it lacks is not installed.

    Among components of one answer those that are here come first, then those that could offer more."""
    here = {each.part for each in components}
    return tuple(
        CapabilityRow(
            capability,
            tuple(
                sorted(
                    (_verdict(which, offers[which], components, files, shows_workloads) for which in _JUDGED),
                    key=lambda each: (-each.level, each.part not in here, -offers[each.part].level, each.part),
                )
            ),
        )
        for capability, offers in OFFERS.items()
    )


def _verdict(
    which: Part, offer: Offer, components: Sequence[Component], files: Sequence[ConfigFile], shows_workloads: bool
) -> Verdict:
    mine = [each for each in components if each.part is which]
    if not mine:
        if offer.level is Level.NO:
            return Verdict(which, Level.NO, offer.why, ())
        if which is Part.SCHEDULER:
            why = f"not in the input (a managed control plane hides it); it could: {offer.why}"
            return Verdict(which, Level.UNKNOWN, why, ())
        if shows_workloads:
            return Verdict(which, Level.NO, "not installed", ())
        return Verdict(which, Level.UNKNOWN, "the input shows no Deployments; is it installed?", ())
    # Any of several may be the one that answers: the worst of them counts.
    return min((_of_component(each, offer, files) for each in mine), key=lambda each: each.level)


def _of_component(component: Component, offer: Offer, files: Sequence[ConfigFile]) -> Verdict:
    if offer.level is Level.NO:
        return Verdict(component.part, Level.NO, offer.why, (str(component.where),))
    met = [condition.judge(component, files) for condition in offer.conditions]
    failed = [each for each in met if each.met is False]
    if failed:
        read = tuple(each.read_from for each in failed if each.read_from)
        return Verdict(
            component.part, Level.NO, "; ".join(each.why for each in failed), read or (str(component.where),)
        )
    open_ = [each for each in met if each.met is None]
    if open_:
        read = tuple(each.read_from for each in open_ if each.read_from)
        return Verdict(component.part, Level.UNKNOWN, "; ".join(each.why for each in open_), read)
    read = tuple(dict.fromkeys(each.read_from for each in met if each.read_from)) or (str(component.where),)
    return Verdict(
        component.part, offer.level, "; ".join(dict.fromkeys((offer.why, *(each.why for each in met)))), read
    )
