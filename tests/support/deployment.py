"""What docker-compose.yml and the Dockerfile start: command lines and environments, read from those files."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import orjson
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "deploy" / "images" / "Dockerfile"
EXAMPLES = ROOT / "examples"
MUSTER = str(Path(sys.executable).with_name("muster"))
_PROGRAMS = {"python": sys.executable, "muster": MUSTER}


@dataclass(frozen=True, slots=True)
class Container:
    """One service of the compose file that runs Muster's image. `command` is entry point and arguments as the image has
    them, `environment` what the image and the compose file set, `mounts` the targets of its volumes."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[str, ...]

    @property
    def local_command(self) -> tuple[str, ...]:
        """The same command line with the programs of this environment."""
        program, *arguments = self.command
        return (_PROGRAMS[program], *arguments)


@cache
def containers() -> Mapping[str, Container]:
    """Every container of Muster's own image, by its name in the compose file."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    found: dict[str, Container] = {}
    for name, service in services.items():
        target = service.get("build", {}).get("target")
        if target is None:
            continue
        found[name] = Container(
            name=name,
            command=(*_entry_point(target), *service.get("command", [])),
            environment={**_image_environment(), **{key: str(value) for key, value in service["environment"].items()}},
            mounts=tuple(volume.split(":")[1] for volume in service.get("volumes", [])),
        )
    return found


def _entry_point(target: str) -> list[str]:
    stage = re.search(rf"^FROM \S+ AS {re.escape(target)}\n(.*?)(?=^FROM |\Z)", DOCKERFILE.read_text(), re.M | re.S)
    assert stage is not None, f"{DOCKERFILE} has no stage {target}"
    entry = re.search(r"^ENTRYPOINT (\[.*\])$", stage[1], re.M)
    assert entry is not None, f"{DOCKERFILE}: stage {target} has no ENTRYPOINT in its list form"
    return orjson.loads(entry[1])


def _image_environment() -> dict[str, str]:
    return dict(re.findall(r"\b(MUSTER_[A-Z_]+)=(\S+)", DOCKERFILE.read_text()))


def plain_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without its MUSTER_ settings, and with `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    return {**kept, "PYTHONUNBUFFERED": "1", **variables}
