"""Checks the container files as far as that goes without an engine: Dockerfile lint, compose schema, targets.

Both files must agree on the services.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DOCKERFILE = ROOT / "deploy" / "images" / "Dockerfile"
COMPOSE = ROOT / "docker-compose.yml"


def run(*command: str | Path) -> None:
    """Run a checker; its own words are the error."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} found:\n{done.stdout}{done.stderr}")


def main() -> None:
    """Exit with a message at the first thing that is wrong."""
    run(BIN / "hadolint", DOCKERFILE)
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE.read_text(), re.MULTILINE))
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name, service in services.items():
        target = service.get("build", {}).get("target")
        if target and target not in targets:
            sys.exit(f"docker-compose.yml: service {name} builds target {target}, which the Dockerfile does not have")
    deployables = {path.name for path in (ROOT / "services").iterdir() if path.is_dir()}
    if missing := deployables - targets:
        sys.exit(f"deploy/images/Dockerfile has no target for {', '.join(sorted(missing))}")
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0:
        run(docker, "compose", "-f", COMPOSE, "config", "--quiet")


main()
