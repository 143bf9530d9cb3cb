"""The answer as values: one row for each subject, one finding for each thing that is wrong beyond pods."""

from dataclasses import dataclass

from muster_audit.words import Cause, ScaleUp, Word

FINDING = "finding"

Document = dict[str, object]
"""JSON of one answer."""


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """What one class of equal nodes says about a subject. `nodes` are sorted; `reason` is None where it fits."""

    nodes: tuple[str, ...]
    reason: Cause | None
    why: str
    devices: tuple[str, ...] = ()

    def to_json(self) -> Document:
        return {
            "nodes": list(self.nodes),
            "verdict": (Word.FEASIBLE if self.reason is None else Word.INFEASIBLE).value,
            "reason": self.reason.value if self.reason is not None else "",
            "devices": list(self.devices),
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """About one subject. `reason` of a scale-up says why what exists does not serve. What does not apply is empty.

    `node`: one name, or several joined by ", " (a gang's, sorted). `nodes`: how many to add of `group`.
    """

    subject: str
    verdict: Word
    reason: str = ""
    node: str = ""
    devices: tuple[str, ...] = ()
    group: str = ""
    nodes: int = 0
    why: str = ""
    remedy: str = ""
    scale_up: ScaleUp = ScaleUp.NOT_NEEDED
    on: tuple[NodeAnswer, ...] = ()

    def to_json(self) -> Document:
        """The nine fields by their public names."""
        return {
            "subject": self.subject,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "node": self.node,
            "devices": list(self.devices),
            "group": self.group,
            "nodes": self.nodes,
            "why": self.why,
            "remedy": self.remedy,
        }

    def in_depth(self) -> Document:
        """With whether more nodes help, and what classes of nodes say."""
        return {**self.to_json(), "scale_up": self.scale_up.value, "on": [each.to_json() for each in self.on]}


def no_row(subject: object, cause: Cause, why: str, remedy: str, scale_up: ScaleUp = ScaleUp.NEVER) -> Row:
    """An infeasible subject."""
    return Row(str(subject), Word.INFEASIBLE, cause.value, why=why, remedy=remedy, scale_up=scale_up)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an audit must say. `kind` is a fixed word such as overlap-without-counters.

    `object` is a device (driver/pool/device), a pool (driver/pool), an identity (a uuid) or `Kind/[namespace/]name`.
    """

    kind: str
    object: str
    why: str
    remedy: str = ""
    devices: tuple[str, ...] = ()

    @property
    def about_object(self) -> bool:
        """Whether `object` is a Kubernetes object rather than a device, pool or identity."""
        return self.object.split("/", 1)[0] in _KINDS

    def row(self) -> Row:
        return Row(
            FINDING,
            Word.FINDING,
            reason=self.kind,
            devices=self.devices,
            why=self.why,
            remedy=self.remedy,
        )

    def to_json(self) -> Document:
        """A row whose verdict is the kind of finding, with the `object` that it is about."""
        return {**self.row().to_json(), "verdict": self.kind, "reason": "", "object": self.object}


_KINDS = frozenset(
    {
        "DeviceClass",
        "DeviceTaintRule",
        "Node",
        "NodeGroup",
        "Pod",
        "PodGroup",
        "ProvisioningRequest",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
    }
)
