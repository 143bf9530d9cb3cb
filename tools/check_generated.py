"""Fails when libs/muster is not what proto/ generates: generated code is committed and never edited by hand."""

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def differences(left: Path, right: Path) -> list[str]:
    """Relative paths that exist on one side only or differ in content."""
    names = {
        str(path.relative_to(side))
        for side in (left, right)
        for path in side.rglob("*_pb2*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    return sorted(
        name
        for name in names
        if not (left / name).exists()
        or not (right / name).exists()
        or not filecmp.cmp(left / name, right / name, shallow=False)
    )


def main() -> None:
    """Generate into a temporary folder and compare."""
    with tempfile.TemporaryDirectory() as folder:
        template = (ROOT / "proto" / "buf.gen.yaml").read_text().replace("../libs", f"{folder}/libs")
        path = Path(folder) / "buf.gen.yaml"
        path.write_text(template)
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            [Path(sys.executable).parent / "buf", "generate", "--template", path],
            cwd=ROOT / "proto",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"buf generate failed:\n{done.stderr}")
        generated = Path(folder) / "libs"
        changed = [
            f"{package}/{name}"
            for package in ("muster", "clusterautoscaler")
            for name in differences(generated / package, ROOT / "libs" / package)
        ]
    if changed:
        sys.exit("generated code is stale, say `make proto`:\n  " + "\n  ".join(changed))


main()
