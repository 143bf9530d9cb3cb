"""Manifests as they stand in files: text, form and documents, and the same text with a migration carried out."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from muster_cli.offline.migrate_yaml import DocumentPlan, edit_text
from muster_cli.offline.migrate_yaml_text import dump
from muster_cli.offline.migrate_yaml_tree import YamlDocument, YamlFault, read_documents
from muster_kube import STDIN, Rejected, Source
from muster_kube.manifests import manifest_files
from muster_migrate import ObjectMigration

_MOST_BYTES = 64 * 2**20
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """One file. `documents` are Kubernetes objects; `yaml` is None for JSON. `place` is where --out writes it."""

    name: str
    place: Path
    text: str
    documents: tuple[Json, ...]
    yaml: tuple[YamlDocument, ...] | None

    def migrated(self, objects: Sequence[ObjectMigration]) -> str | Rejected:
        """The text afterwards; `objects` are the plans of its documents in order."""
        if not any(each.edits or each.before for each in objects):
            return self.text
        if self.yaml is None:
            return _json_text(self.text, objects)
        plans = iter(objects)
        whole = [_plan_of(next(plans) if _is_object(each.value) else None) for each in self.yaml]
        edited = edit_text(self.text, self.yaml, whole)
        if isinstance(edited, YamlFault):
            return Rejected(Source(self.name, edited.line), "", "", edited.reason)
        return edited


def read_manifest_files(paths: Sequence[str]) -> tuple[list[ManifestFile], list[Rejected]]:
    """Every file, those of directories by path, or `-`; whatever can't be read is named and the rest goes on."""
    files: list[ManifestFile] = []
    rejected: list[Rejected] = []
    for path in paths:
        if path == STDIN:
            _take("<stdin>", Path("stdin.yaml"), sys.stdin.buffer.read(), files, rejected)
            continue
        root = Path(path)
        inside = manifest_files(root) if root.is_dir() else [root]
        if not inside:
            rejected.append(Rejected(Source(path), "", "", "it holds no .yaml, .yml or .json file"))
        for file in inside:
            try:
                data = file.read_bytes()
            except OSError as error:
                reason = f"it cannot be read ({error.strerror or error}); check path and rights"
                rejected.append(Rejected(Source(str(file)), "", "", reason))
                continue
            place = file.relative_to(root) if root.is_dir() else Path(file.name)
            _take(str(file), place, data, files, rejected)
    return files, rejected


def _take(name: str, place: Path, data: bytes, files: list[ManifestFile], rejected: list[Rejected]) -> None:
    if len(data) > _MOST_BYTES:
        rejected.append(Rejected(Source(name), "", "", f"it has {len(data) >> 20} MiB, at most 64 MiB are read"))
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        rejected.append(Rejected(Source(name), "", "", "it is no UTF-8 text; save it as UTF-8"))
        return
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        try:
            value = orjson.loads(text.lstrip("\ufeff"))
        except orjson.JSONDecodeError:
            value = None  # `{a: b}` is YAML that only looks like JSON
        if isinstance(value, dict):
            if _is_object(value):
                files.append(ManifestFile(name, place, text, (cast("Json", value),), None))
            else:
                rejected.append(_no_object(name, 1))
            return
    found = read_documents(text)
    if isinstance(found, YamlFault):
        rejected.append(Rejected(Source(name, found.line), "", "", found.reason))
        return
    rejected += [_no_object(name, each.node.start_mark.line + 1) for each in found if not _is_object(each.value)]
    objects = tuple(cast("Json", each.value) for each in found if _is_object(each.value))
    files.append(ManifestFile(name, place, text, objects, tuple(found)))


def _plan_of(migration: ObjectMigration | None) -> DocumentPlan:
    """What is no object stays as it is."""
    return DocumentPlan((), ()) if migration is None else DocumentPlan(migration.edits, migration.before)


def _is_object(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    fields = cast("Json", value)
    return isinstance(fields.get("kind"), str) and isinstance(fields.get("apiVersion"), str)


def _no_object(name: str, line: int) -> Rejected:
    return Rejected(Source(name, line), "", "", "it is no Kubernetes object: it has no kind or apiVersion")


def _json_text(text: str, objects: Sequence[ObjectMigration]) -> str:
    results: list[object] = []
    for each in objects:
        results += [*each.before, each.result]
    value = results[0] if len(results) == 1 else {"apiVersion": "v1", "kind": "List", "items": results}
    option = orjson.OPT_INDENT_2 if "\n" in text.strip() else 0
    return orjson.dumps(value, option=option).decode() + ("\n" if text.endswith("\n") else "")


def documents_text(objects: Sequence[Json]) -> str:
    """New objects as one YAML text."""
    return "---\n".join(dump(each) for each in objects)
