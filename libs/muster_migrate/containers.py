"""Integer requests of a pod's containers, as the API server takes them (core/v1: validation of extended resources)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster_dra import is_candidate
from muster_migrate.edits import Json, Path, items_at, mapping_at, shown
from muster_migrate.needs import Asking, Role
from muster_migrate.remarks import Cause, Remark, Saying
from muster_types import NANO, InvalidQuantity, parse_quantity

SECTIONS = ("limits", "requests")
_IMPLICIT = "deviceclass.resource.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Container:
    """One container. `counts` are whole numbers by resource, zeros included; `faulty` are names with a fault."""

    path: Path
    name: str
    role: Role
    counts: Mapping[str, int]
    faulty: frozenset[str] = field(default=frozenset())

    @property
    def asking(self) -> Asking:
        return Asking(self.name, self.role, self.counts)


def is_extended(resource: str) -> bool:
    """Whether a name is an integer resource of a device plugin."""
    return is_candidate(resource) and not resource.startswith(_IMPLICIT)


def read_containers(obj: Json, spec: Path, subject: str) -> tuple[tuple[Container, ...], tuple[Remark, ...]]:
    """The containers in pod order, and what the API server would refuse about their integers."""
    found: list[Container] = []
    remarks: list[Remark] = []
    for part in ("initContainers", "containers"):
        for index, item in enumerate(items_at(obj, (*spec, part))):
            fields = mapping_at(item, ())
            name = fields.get("name")
            role = Role.APP
            if part == "initContainers":
                role = Role.SIDECAR if fields.get("restartPolicy") == "Always" else Role.INIT
            path = (*spec, part, index)
            counts, faulty = _counts(fields, path, subject, remarks)
            text = name if isinstance(name, str) else f"{part}-{index}"
            found.append(Container(path, text, role, counts, faulty))
    for section in SECTIONS:
        for resource in mapping_at(obj, (*spec, "resources", section)):
            if is_extended(resource):
                remarks.append(
                    Remark(
                        subject,
                        Saying.INVALID,
                        Cause.POD_LEVEL,
                        shown((*spec, "resources", section, resource)),
                        "resources of the whole pod can't hold integers of a device plugin",
                        "ask for them in the container that uses them",
                    )
                )
    return tuple(found), tuple(remarks)


def _counts(
    container: Json, path: Path, subject: str, remarks: list[Remark]
) -> tuple[Mapping[str, int], frozenset[str]]:
    sections = {section: mapping_at(container, ("resources", section)) for section in SECTIONS}
    names = {name for section in sections.values() for name in section if is_extended(name)}
    counts: dict[str, int] = {}
    faulty: set[str] = set()
    for name in sorted(names):
        written: dict[str, int] = {}
        for section, values in sections.items():
            if name not in values:
                continue
            amount = _whole(values[name])
            if amount is None:
                field_path = shown((*path, "resources", section, name))
                text = f"{values[name]!r} is no whole number of devices"
                remarks.append(Remark(subject, Saying.INVALID, Cause.NOT_WHOLE, field_path, text, "write 0, 1, 2 …"))
                faulty.add(name)
            else:
                written[section] = amount
        if name in faulty:
            continue
        limit, request = written.get("limits"), written.get("requests")
        if limit is None or (request is not None and request != limit):
            said = "it has no limit" if limit is None else f"its limit is {limit} and its request {request}"
            remarks.append(
                Remark(
                    subject,
                    Saying.INVALID,
                    Cause.LIMITS_DIFFER,
                    shown((*path, "resources", "requests" if limit is None else "limits", name)),
                    f"{said}; the API server takes integers of devices only with equal limit and request",
                    f"write limits: {{{name}: {request if limit is None else limit}}} and no other request",
                )
            )
            faulty.add(name)
        else:
            counts[name] = limit
    return counts, frozenset(faulty)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        nano = parse_quantity(str(value))
    except InvalidQuantity:
        return None
    return nano // NANO if nano >= 0 and nano % NANO == 0 else None
