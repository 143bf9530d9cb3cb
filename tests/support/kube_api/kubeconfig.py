"""Kubeconfigs that lead to fake servers."""

from collections.abc import Mapping
from pathlib import Path

import yaml


def write_kubeconfig(path: Path, contexts: Mapping[str, tuple[str, str]], ca: Path | None = None) -> None:
    """A kubeconfig with a context for each (url, token); the first is the current one."""
    authority = {"certificate-authority": str(ca)} if ca else {}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url, **authority}} for name, (url, _) in contexts.items()],
        "users": [{"name": name, "user": {"token": token}} for name, (_, token) in contexts.items()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
        "current-context": next(iter(contexts)),
    }
    temporary = path.with_suffix(".tmp")
    temporary.write_text(yaml.safe_dump(config))
    temporary.replace(path)
