"""Manifests of files, directories and standard input: YAML or JSON, any mix of objects and lists (architecture §8)."""

import io
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from muster_kube.json_objects import read_json
from muster_kube.keys import DEFAULT_NAMESPACE, object_key
from muster_kube.kinds import Kind, UnknownVersion, kind_of
from muster_kube.parsed import Broken, Parsed
from muster_kube.parts import mapping, text
from muster_kube.readings import (
    DEFAULT_LIMITS,
    MIB,
    Json,
    Limits,
    Manifest,
    Problem,
    Reading,
    Rejected,
    Severity,
    Skipped,
    Source,
)
from muster_kube.validate import validate
from muster_kube.yaml_objects import read_yaml

STDIN = "-"
SUFFIXES = frozenset((".yaml", ".yml", ".json"))
_NO_KINDS: frozenset[str] = frozenset()
_LONGEST = 600  # characters of a quoted text
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_path(
    path: str | Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    stdin: BinaryIO | None = None,
    also: frozenset[str] = _NO_KINDS,
) -> Iterator[Reading]:
    """Everything under a file, a directory (its .yaml, .yml and .json files, by path), or `-` for standard input.

    Whatever is wrong comes as a Rejected in its place, and the rest goes on; nothing is raised for bad input. Objects
    of kinds that Muster does not read come as one Skipped for each file and kind, after the file's objects; those of
    the kinds in `also` as they are, unjudged.
    """
    if str(path) == STDIN:
        yield from _read_stream(stdin if stdin is not None else sys.stdin.buffer, "<stdin>", limits, also)
        return
    path = Path(path)
    if path.is_dir():
        for file in manifest_files(path):
            yield from read_file(file, limits=limits, also=also)
    else:
        yield from read_file(path, limits=limits, also=also)


def manifest_files(directory: Path) -> list[Path]:
    """The files of a directory that hold manifests, sorted by path; names that begin with a dot are left out."""
    found: list[Path] = []
    for root, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files = (Path(root) / name for name in names if not name.startswith("."))
        found.extend(file for file in files if file.suffix.lower() in SUFFIXES and file.is_file())
    return sorted(found)


def read_file(path: Path, *, limits: Limits = DEFAULT_LIMITS, also: frozenset[str] = _NO_KINDS) -> Iterator[Reading]:
    """The manifests of one file."""
    name = str(path)
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            if size > limits.file_bytes:
                yield Rejected(Source(name), "", "", _too_large(size, limits))
            elif not path.is_file():  # a pipe: its size is known at its end
                yield from _read_stream(stream, name, limits, also)
            elif path.suffix.lower() == ".json":
                yield from _readings(read_json(stream.read(limits.file_bytes)), name, limits, also)
            else:
                yield from _read_yaml(stream, name, limits, also)
    except OSError as error:
        yield Rejected(Source(name), "", "", f"it cannot be read ({error.strerror or error}); check path and rights")


def _read_stream(stream: BinaryIO, name: str, limits: Limits, also: frozenset[str]) -> Iterator[Reading]:
    """A stream of unknown size and form: read to its end or the limit, JSON if it looks like it."""
    data = stream.read(limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        yield Rejected(Source(name), "", "", _too_large(len(data), limits))
        return
    if data.lstrip()[:1] in (b"{", b"["):
        readings = list(_readings(read_json(data), name, limits, also))
        if not _is_syntax_error(readings):
            yield from readings
            return
    yield from _read_yaml(io.BytesIO(data), name, limits, also)


def _is_syntax_error(readings: list[Reading]) -> bool:
    """`{a: b}` is YAML that only looks like JSON."""
    return bool(readings) and isinstance(readings[-1], Rejected) and readings[-1].reason.startswith("malformed JSON")


def _read_yaml(stream: BinaryIO, name: str, limits: Limits, also: frozenset[str]) -> Iterator[Reading]:
    start = stream.read(2)
    stream.seek(0)
    if start in _UTF16:
        try:
            stream = io.BytesIO(stream.read().decode("utf-16").encode())
        except UnicodeDecodeError as error:
            yield Rejected(Source(name), "", "", f"it is no UTF-16 text ({error.reason}); save it as UTF-8")
            return
    yield from _readings(read_yaml(stream, limits), name, limits, also)


def _too_large(size: int, limits: Limits) -> str:
    return (
        f"it has {size / MIB:.1f} MiB or more, at most {limits.file_bytes / MIB:g} MiB are read; "
        "split it, for example one file for each kind"
    )


def _readings(parsed: Iterator[Parsed | Broken], file: str, limits: Limits, also: frozenset[str]) -> Iterator[Reading]:
    """What a file holds; of very many refusals the first ones and their number."""
    skipped: Counter[tuple[str, str]] = Counter()
    refused = 0
    for each in parsed:
        for reading in _read_one(each, file, limits, skipped, also):
            if isinstance(reading, Rejected):
                refused += 1
                if refused > limits.file_problems:
                    continue
            yield reading
    if refused > limits.file_problems:
        more = refused - limits.file_problems
        yield Rejected(Source(file), "", "", f"{more} more problems of this file are not listed; mend these first")
    for (api_version, name), count in sorted(skipped.items()):
        yield Skipped(file, api_version, name, count)


def _read_one(
    each: Parsed | Broken, file: str, limits: Limits, skipped: Counter[tuple[str, str]], also: frozenset[str]
) -> Iterator[Manifest | Rejected]:
    source = Source(file, each.line, each.document)
    if isinstance(each, Broken):
        yield _rejected(source, _title(each.value), each.field, each.reason, each.value)
        return
    obj = _as_object(each)
    if obj is None:
        yield _rejected(source, "", "", _no_object(each.value), None)
        return
    api_version, name = text(obj.get("apiVersion")), text(obj.get("kind"))
    kind = kind_of(api_version, name)
    if _is_empty_list(obj):
        return
    if kind is None and name in also and object_key(obj).name:
        yield Manifest(source, object_key(obj), obj)
        return
    if kind is None and name and api_version:
        skipped[api_version[:_LONGEST], name[:_LONGEST]] += 1
        return
    yield from judge(source, obj, kind, limits)


def _rejected(source: Source, title: str, field: str, reason: str, obj: Json | None) -> Rejected:
    """What somebody wrote is quoted in part only: a text of a file may be as long as the file."""
    return Rejected(source, _cut(title), _cut(field), _cut(reason), obj)


def _cut(written: str) -> str:
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"


def judge(
    source: Source, obj: dict[str, object], kind: Kind | UnknownVersion | None, limits: Limits
) -> Iterator[Manifest | Rejected]:
    """An object of a kind that Muster reads: a Manifest, or a Rejected for each of its faults."""
    title = _title(obj)
    if kind is None:
        missing = "kind" if not text(obj.get("kind")) else "apiVersion"
        reason = _kubectl_message(next(iter(obj), "")) or f"it is missing; write it, for example {_EXAMPLE[missing]}"
        yield _rejected(source, title, missing, reason, obj)
        return
    if isinstance(kind, UnknownVersion):
        yield _rejected(source, title, "apiVersion", kind.reason, obj)
        return
    problems = validate(obj)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    for error in errors[: limits.problems]:
        yield _rejected(source, title, error.field, error.reason, obj)
    if len(errors) > limits.problems:
        more = len(errors) - limits.problems
        yield _rejected(source, title, "", f"{more} more problems of this object are not listed; mend these first", obj)
    if not errors:
        warnings: list[Problem] = problems[: limits.problems]
        yield Manifest(source, object_key(obj), _placed(obj, kind), tuple(warnings))


_EXAMPLE = {"kind": "kind: Node", "apiVersion": "apiVersion: resource.k8s.io/v1"}


def _placed(obj: dict[str, object], kind: Kind) -> Json:
    """The object in its namespace: `default` when it names none; none for a cluster-scoped kind."""
    metadata = dict(mapping(obj.get("metadata")))
    if kind.namespaced:
        metadata["namespace"] = text(metadata.get("namespace")) or DEFAULT_NAMESPACE
    else:
        metadata.pop("namespace", None)
    obj["metadata"] = metadata
    return obj


def _as_object(parsed: Parsed) -> dict[str, object] | None:
    """An item of a NodeList, as the API serves it, has neither kind nor apiVersion: the list has them."""
    if not isinstance(parsed.value, dict):
        return None
    obj: dict[str, object] = dict(mapping(parsed.value))
    item_kind = parsed.list_kind.removesuffix("List")
    if item_kind and item_kind != parsed.list_kind and "kind" not in obj:
        obj = {"apiVersion": parsed.list_version, "kind": item_kind, **obj}
    return obj


def _is_empty_list(obj: Json) -> bool:
    return text(obj.get("kind")).endswith("List") and "items" in obj


def _no_object(value: object) -> str:
    message = _kubectl_message(value) if isinstance(value, str) else ""
    return message or "it is no Kubernetes object; an object is a map with apiVersion, kind and metadata"


def _kubectl_message(written: str) -> str:
    """What kubectl prints in place of a dump, which often ends up in the file."""
    if written.startswith(("Error from server", "error", "No resources found", "Unable to connect")):
        return f"it is a message of kubectl ({written[:80]!r}); run the dump again"
    return ""


def _title(obj: Json | None) -> str:
    """Kind/namespace/name as far as known."""
    if obj is None:
        return ""
    key = object_key(obj)
    return str(key) if key.kind and key.name else key.kind or key.name
