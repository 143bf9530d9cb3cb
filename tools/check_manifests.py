"""Builds deploy/ as kustomize does and validates every object against the schemas of each supported release."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import kubernetes_validate
import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
RELEASES = ("1.35", "1.36", "1.37")


def main() -> None:
    """Exit with a message at the first object that is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--verbose", action="store_true", help="a line for each directory and release")
    verbose = arguments.parse_args().verbose
    deploy = ROOT / "deploy"
    directories = [deploy / "base", *sorted(each for each in (deploy / "overlays").iterdir() if each.is_dir())]
    for directory in directories:
        objects = list(build(directory))
        for release in RELEASES:
            for obj in objects:
                validate(obj, release, directory)
            if verbose:
                told = f"{directory.relative_to(ROOT)}: {len(objects)} objects are valid in Kubernetes {release}"
                sys.stdout.write(told + "\n")
    for component in sorted((deploy / "components").iterdir()):
        with TemporaryDirectory() as folder:
            parts = {"resources": [_way(folder, deploy / "base")], "components": [_way(folder, component)]}
            (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(parts))
            for obj in build(Path(folder)):
                validate(obj, RELEASES[-1], component)


def _way(folder: str, directory: Path) -> str:
    return os.path.relpath(directory, Path(folder).resolve())  # kustomize takes no absolute ones


def build(directory: Path) -> Iterator[dict[str, object]]:
    """The objects of a kustomization."""
    command = [str(BIN / "kubectl"), "kustomize", str(directory)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        sys.exit(f"{directory} cannot be built:\n{built.stderr}")
    yield from yaml.safe_load_all(built.stdout)


def validate(obj: dict[str, object], release: str, source: Path) -> None:
    """Against the strict schema: a field that nobody knows is an error."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    try:
        kubernetes_validate.validate(obj, release, strict=True)
    except kubernetes_validate.ValidationError as error:
        sys.exit(f"{source.relative_to(ROOT)}: {obj.get('kind')} {name}, Kubernetes {release}: {error}")
    except kubernetes_validate.SchemaNotFoundError as error:
        sys.exit(f"{source.relative_to(ROOT)}: {obj.get('kind')} {name}: no schema: {error}")


main()
