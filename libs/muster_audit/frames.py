"""A cluster over time: dumps in order, and inside a dump the steps that its annotations give."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster_audit.parts import Json, key_of, part, text
from muster_types import ObjectKey

STEP = "input.example.com/step"
EVENT = "input.example.com/event"
_DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Refused:
    """An object that its reader refused: `field` and `reason` say why, `obj` is what could be parsed of it."""

    key: ObjectKey
    field: str
    reason: str
    obj: Json | None = None


@dataclass(frozen=True, slots=True)
class Dump:
    """The objects of one look at a cluster, as given. Refused ones are judged too: they explain what is missing."""

    objects: tuple[Json, ...]
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """The cluster at one moment: objects by key, in the order in which they were first given."""

    label: str
    objects: Mapping[ObjectKey, Json]
    refused: tuple[Refused, ...] = ()

    def of_kind(self, kind: str) -> list[tuple[ObjectKey, Json]]:
        return [(key, obj) for key, obj in self.objects.items() if key.kind == kind]


def frames_of(dumps: Sequence[Dump]) -> tuple[Frame, ...]:
    """One frame for each dump, or for each step of it; at least one.

    A later dump replaces what earlier ones showed: what it lacks is gone. A kind that it lacks altogether stays if it
    lacks Nodes too (it is a dump of some kinds only). A dump of nothing but events is applied to the frame before it.
    """
    frames: list[Frame] = []
    for number, dump in enumerate(dumps):
        before = frames[-1].objects if frames else {}
        label = f"dump {number + 1}" if len(dumps) > 1 else ""
        frames += _steps(dump, before, label)
    return tuple(frames)


def _steps(dump: Dump, before: Mapping[ObjectKey, Json], label: str) -> list[Frame]:
    by_step: dict[int, list[Json]] = {}
    for obj in dump.objects:
        by_step.setdefault(step_of(obj), []).append(obj)
    only_events = bool(before) and all(_event(obj) for obj in dump.objects)
    objects = dict(before) if only_events else _whole(by_step.pop(0, []), before)
    many = any(step for step in by_step)
    frames = [] if only_events else [Frame(_label(label, 0, many=many), dict(objects), dump.refused)]
    for step in sorted(by_step):
        for obj in by_step[step]:
            key = key_of(obj)
            if _event(obj) == _DELETED:
                objects.pop(key, None)
            else:
                objects[key] = obj
        frames.append(Frame(_label(label, step, many=many), dict(objects), dump.refused))
    return frames or [Frame(label, objects, dump.refused)]


def _whole(given: Iterable[Json], before: Mapping[ObjectKey, Json]) -> dict[ObjectKey, Json]:
    found: dict[ObjectKey, Json] = {}
    for obj in given:
        found[key_of(obj)] = obj
    kinds = {key.kind for key in found}
    if before and "Node" not in kinds:
        found = {**{key: obj for key, obj in before.items() if key.kind not in kinds}, **found}
    return found


def _label(label: str, step: int, *, many: bool) -> str:
    return ", ".join(each for each in (label, f"step {step}" if many else "") if each)


def step_of(obj: Json) -> int:
    written = text(part(obj, "metadata", "annotations").get(STEP))
    return int(written) if written.isascii() and written.isdigit() else 0


def _event(obj: Json) -> str:
    return text(part(obj, "metadata", "annotations").get(EVENT))
