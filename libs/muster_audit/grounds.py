"""What a reason is drawn from: a pod, what all nodes say of it, the state they say it in."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster_audit.fleet import Fleet
from muster_audit.misses import Miss, Misses, wanted_drivers
from muster_audit.scene import Scene
from muster_audit.selector_misses import SelectorMiss
from muster_audit.survey import Spot, Wanted
from muster_audit.wording import nodes_text
from muster_audit.words import Cause
from muster_dra import AllocatedState, Allocation, allocate
from muster_dra.node_classes import node_class_key

EMPTY_TRIALS = 24
"""Classes of nodes that are tried for one question."""


@dataclass(frozen=True, slots=True)
class Why:
    """The reason for a class of pods, in a word and a sentence, with the miss it is drawn from."""

    cause: Cause
    text: str
    miss: Miss | None = None
    selector: SelectorMiss | None = None


@dataclass(frozen=True, slots=True)
class Grounds:
    """`allocated` is the state that the misses are of."""

    pod: Wanted
    spots: Sequence[Spot]
    found: Misses
    fleet: Fleet
    allocated: AllocatedState
    scene: Scene

    def where(self, miss: Miss) -> str:
        names = [self.fleet.nodes[place].name for place in miss.places]
        return f"{nodes_text(names)}: " if names else ""

    def mode(self) -> frozenset[str]:
        miss = self.found.nearest
        return miss.spot.by_claim if miss is not None and miss.spot is not None else frozenset()

    def fits_empty(self) -> bool:
        """Whether some open node would take the pod if nobody held a device."""
        nothing = AllocatedState.empty()
        seen: set[object] = set()
        for spot in self.spots:
            if not spot.open:
                continue
            claims = self.pod.claims_on(spot.by_claim)
            for place in spot.places:
                node = self.fleet.nodes[place].node
                key = node_class_key(node, self.fleet.catalog, nothing, claims) if claims else None
                if key in seen:
                    continue
                seen.add(key)
                if isinstance(allocate(node, claims, self.fleet.catalog, nothing), Allocation):
                    return True
                if len(seen) >= EMPTY_TRIALS:
                    return False
        return False

    def drivers(self) -> frozenset[str]:
        """Drivers that the pod's claims name."""
        return wanted_drivers(self.pod.claims_on(self.mode()), self.fleet.catalog.classes)
