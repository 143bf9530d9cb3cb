"""The cases of tests/data/migrate: a manifest in `in/`, its new form and what is said in `expected/`.

A first line `# migrate: OPTIONS` names options (`--check` stands for the dump beside). After a change on purpose write
the answers anew with `cd tests && ../.venv/bin/python -m support.migrate_cases`, and read the diff.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster_cli.offline.migrate import Result, migrate_files
from muster_cli.offline.migrate_files import ManifestFile, read_manifest_files
from muster_kube import Manifest, read_path

ROOT = Path(__file__).parents[1] / "data" / "migrate"
_MARK = "# migrate: "


@dataclass(frozen=True, slots=True)
class Case:
    """One input; `options` are those of its first line."""

    path: Path
    options: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def expected(self) -> Path:
        return ROOT / "expected" / self.path.name

    @property
    def said(self) -> Path:
        return ROOT / "expected" / f"{self.path.stem}.txt"


def cases() -> list[Case]:
    """All of them, by name."""
    found: list[Case] = []
    for path in sorted((ROOT / "in").iterdir()):
        first = path.read_text().splitlines()[0]
        found.append(Case(path, tuple(first.removeprefix(_MARK).split()) if first.startswith(_MARK) else ()))
    return found


def dump_objects() -> list[dict[str, object]]:
    """The objects of the dump beside the cases."""
    return [dict(each.obj) for each in read_path(ROOT / "dump.yaml") if isinstance(each, Manifest)]


def run(case: Case, path: Path | None = None) -> Result:
    """Migrate a case, or another file under its options."""
    files, rejected = read_manifest_files([str(path or case.path)])
    assert not rejected, rejected
    return migrate_texts(files, case.options)


def migrate_texts(files: list[ManifestFile], options: tuple[str, ...]) -> Result:
    objects = dump_objects() if "--check" in options else None
    return migrate_files(
        files, objects, {}, extended="--extended-resource" in options, classes="--device-classes" in options
    )


def text_of(result: Result) -> str:
    """All texts, new ones first."""
    return "---\n".join(each.new for each in result.outputs)


def said(result: Result) -> str:
    """The remarks, one a line."""
    lines = [f"{each.saying.value}: {each.cause.value}: {each.sentence()}" for each in result.migration.remarks]
    return "".join(f"{line}\n" for line in lines)


def _write() -> Iterator[str]:
    for case in cases():
        result = run(case)
        case.expected.write_text(text_of(result))
        case.said.write_text(said(result))
        yield case.name


if __name__ == "__main__":
    for _ in _write():
        pass
