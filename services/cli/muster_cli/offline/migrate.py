"""A migration of files: evidence from dumps or a cluster, the plan, the new texts, and the report."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster_cli.exits import UserError
from muster_cli.offline.migrate_files import ManifestFile, documents_text
from muster_kube import Rejected
from muster_migrate import Check, Evidence, Fit, Migration, PodCheck, Query, check_migration
from muster_migrate import migrate_extended as plan_extended
from muster_migrate import migrate_objects as plan_claims
from muster_plan import Snapshot

CLASSES_FILE = "device-classes.yaml"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Output:
    """One text of the result; `file` is None for what is new."""

    name: str
    place: Path
    old: str
    new: str
    file: ManifestFile | None

    @property
    def changed(self) -> bool:
        """Whether anything in it is different."""
        return self.old != self.new

    def diff(self) -> str:
        """A unified diff, "" where nothing changed."""
        before = self.name if self.file is not None else "/dev/null"
        lines = difflib.unified_diff(
            self.old.splitlines(keepends=True), self.new.splitlines(keepends=True), before, self.name
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Result:
    """A migration with its texts, refusals, and the check if one was asked for."""

    migration: Migration
    outputs: tuple[Output, ...]
    rejected: tuple[Rejected, ...]
    check: Check | None


def migrate_files(
    files: Sequence[ManifestFile],
    objects: Sequence[Mapping[str, object]] | None,
    mapped: Mapping[str, Query],
    *,
    extended: bool,
    classes: bool,
) -> Result:
    """Plan and carry out. `objects` are those of a dump, None without one."""
    evidence = Evidence.none(mapped) if objects is None else Evidence.of(Snapshot.build(objects), mapped)
    documents = [document for file in files for document in file.documents]
    if extended:
        migration = plan_extended(documents, evidence)
    else:
        migration = plan_claims(documents, evidence, classes=classes)
    outputs: list[Output] = []
    rejected: list[Rejected] = []
    if migration.classes:
        text = documents_text(migration.classes)
        outputs.append(Output(CLASSES_FILE, Path(CLASSES_FILE), "", text, None))
    start = 0
    for file in files:
        plans = migration.objects[start : start + len(file.documents)]
        start += len(file.documents)
        new = file.migrated(plans)
        if isinstance(new, Rejected):
            rejected.append(new)
            new = file.text
        outputs.append(Output(file.name, file.place, file.text, new, file))
    check = check_migration(migration, evidence) if objects is not None else None
    return Result(migration, tuple(outputs), tuple(rejected), check)


def write_outputs(outputs: Sequence[Output], out: Path | None) -> list[Path]:
    """Write into the files themselves, or all of them under a directory. Raises UserError."""
    written: list[Path] = []
    seen: dict[Path, str] = {}
    for each in outputs:
        if out is None:
            if not each.changed:
                continue
            target = Path(each.name)
        else:
            target = out / each.place
            if seen.setdefault(target, each.name) != each.name:
                raise UserError(f"--out {out}: {seen[target]} and {each.name} would both be written to {target}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            part.write_bytes(each.new.encode())
            part.replace(target)
        except OSError as error:
            raise UserError(f"{target} cannot be written: {error.strerror or error}") from error
        written.append(target)
    return written


def report(result: Result) -> dict[str, object]:
    """The whole answer for programs."""
    document: dict[str, object] = {
        "remarks": [
            {
                "subject": each.subject,
                "saying": each.saying.value,
                "cause": each.cause.value,
                "field": each.field,
                "text": each.text,
                "remedy": each.remedy,
            }
            for each in result.migration.remarks
        ],
        "changed_files": [each.name for each in result.outputs if each.changed],
        "rejected": [each.sentence() for each in result.rejected],
    }
    if result.check is not None:
        document["check"] = {
            "passed": result.check.passed,
            "proven": result.check.proven,
            "pods": [_pod_document(each) for each in result.check.pods],
            "sold_twice": [
                {
                    "node": each.node,
                    "resource": each.resource,
                    "integers": each.integers,
                    "devices": each.devices,
                    "pods": list(each.pods),
                }
                for each in result.check.sold_twice
            ],
        }
    return document


def _pod_document(check: PodCheck) -> dict[str, object]:
    return {
        "subject": check.subject,
        "role": check.role,
        "proven": check.proven,
        "nodes": {fit.value: [each.node for each in check.of(fit)] for fit in Fit},
        "differences": [
            {"node": each.node, "fit": each.fit.value, "why": each.why}
            for each in check.of(Fit.ONLY_OLD, Fit.ONLY_NEW, Fit.NOT_PUBLISHED)
        ],
    }


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def fit_line(check: PodCheck) -> str:
    """One pod's comparison in a line."""
    words = {
        Fit.BOTH: "both forms fit on {}",
        Fit.SWITCHED: "the new form fits on {} without integers",
        Fit.ONLY_OLD: "only the OLD form fits on {}",
        Fit.ONLY_NEW: "only the NEW form fits on {} that offers the integers",
        Fit.NOT_PUBLISHED: "the old form fits on {} where no devices are published yet",
    }
    parts: list[str] = []
    for fit, word in words.items():
        found = check.of(fit)
        if found:
            names = ", ".join(each.node for each in found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
            why = f" ({found[0].node}: {found[0].why})" if found[0].why else ""
            parts.append(f"{word.format(_nodes(len(found)))}: {names}{why}")
    return "; ".join(parts) or "neither form fits on any node"
