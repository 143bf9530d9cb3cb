"""The cluster as the audit judges it: the last frame, mended where its own contradictions would mislead the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster_audit.essence import essential
from muster_audit.frames import Dump, Frame, Refused, frames_of
from muster_audit.gates import features_of
from muster_audit.groups import Learned, learned_groups
from muster_audit.memory import Memory, remember
from muster_audit.mending import (
    Ghost,
    Inconsistent,
    RepairedTemplate,
    ghosts_of,
    inconsistent_pools,
    mended_slices,
    one_domain_groups,
    repaired_groups,
)
from muster_audit.parts import Json, key_of
from muster_dra import Features, PoolId
from muster_plan import Snapshot
from muster_types import DeviceId, ObjectKey


@dataclass(frozen=True, slots=True)
class Cluster:
    """`full` holds what can be placed on, `snapshot` the same without what no claim looks at; `frame` the objects as
    given. `ghosts` are devices that claims hold and no slice publishes; `inconsistent` pools count as being updated;
    `repaired` templates are judged as if mended; `learned` are groups without a template, by what their nodes show."""

    frame: Frame
    memory: Memory
    full: Snapshot
    snapshot: Snapshot
    ghosts: Mapping[DeviceId, Ghost] = field(default_factory=dict[DeviceId, Ghost])
    inconsistent: Mapping[PoolId, Inconsistent] = field(default_factory=dict[PoolId, Inconsistent])
    repaired: Mapping[str, RepairedTemplate] = field(default_factory=dict[str, RepairedTemplate])
    learned: Mapping[str, Learned] = field(default_factory=dict[str, Learned])

    @classmethod
    def from_dumps(cls, dumps: Sequence[Dump], *, features: Features | None = None) -> "Cluster":
        """The last moment of the dumps, with what the earlier ones showed remembered."""
        return cls.at(frames_of(dumps), features=features)

    @classmethod
    def at(cls, frames: Sequence[Frame], *, features: Features | None = None) -> "Cluster":
        """The moment of the last frame; the frames before it are what is remembered."""
        frame, memory = frames[-1], remember(frames)
        repaired = repaired_groups(frame)
        objects = {**frame.objects, **{each.key: each.obj for each in repaired.values()}}
        groups = [obj for key, obj in objects.items() if key.kind == "NodeGroup"]
        objects |= {key_of(obj): obj for obj in one_domain_groups(groups)}
        snapshot = Snapshot.build(objects.values(), features=features or features_of(frame))
        inconsistent = inconsistent_pools(snapshot)
        ghosts = ghosts_of(snapshot, memory)
        mended = mended_slices(frame, snapshot, inconsistent, ghosts)
        learned = learned_groups(snapshot, frame)
        shapes = [each.obj for each in learned.values() if each.obj is not None]
        full = snapshot.apply([*mended, *shapes])
        return cls(frame, memory, full, essential(full), ghosts, inconsistent, repaired, learned)

    def raw(self, kind: str, namespace: str, name: str) -> Json:
        """An object as given, empty if there is none."""
        return self.frame.objects.get(ObjectKey(kind, namespace, name), {})

    def refusals(self) -> tuple[Refused, ...]:
        """What the reader refused and what the snapshot could not read, by object."""
        own = [
            Refused(key, problem.field, problem.reason, self.frame.objects.get(key))
            for key, problem in self.snapshot.problems.items()
        ]
        found = {(each.key, each.field): each for each in (*own, *self.frame.refused)}
        return tuple(found[each] for each in sorted(found))

    def with_snapshot(self, snapshot: Snapshot) -> "Cluster":
        return replace(self, snapshot=snapshot)
