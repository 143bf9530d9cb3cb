"""Make the source folders importable in .venv and put `muster` beside its Python; no build step, no network.

The folders are those of `[tool.hatch.build] dev-mode-dirs` in pyproject.toml, so an editable install and this agree.
"""

import stat
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write one .pth file and one script."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = [str(ROOT / folder) for folder in project["tool"]["hatch"]["build"]["dev-mode-dirs"]]
    site = Path(sysconfig.get_path("purelib"))
    (site / "_muster.pth").write_text("\n".join(folders) + "\n")
    for name, target in project["project"]["scripts"].items():
        module, function = target.split(":")
        script = Path(sys.executable).parent / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\n\nfrom {module} import {function}\n\nsys.exit({function}())\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


main()
