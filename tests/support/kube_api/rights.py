"""Users of an API server in another process: what they may, and a record of what they did.

A directory holds `<user>.rights`, a JSON list of [verb, group, resource]; the server appends to `<user>.used` in the
same form, each once. A user's token is `token-of-<user>`.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from support.kube_api.calls import Call, Permission, Users
from support.kube_api.kubeconfig import write_kubeconfig


def allow(folder: Path, user: str, permissions: Iterable[Permission]) -> None:
    """Before the server starts."""
    folder.mkdir(exist_ok=True)
    rows = [[each.verb, each.group, each.resource] for each in sorted(permissions)]
    (folder / f"{user}.rights").write_text(json.dumps(rows))


def used(folder: Path, user: str) -> frozenset[Permission]:
    """What the user has called so far, allowed or not."""
    file = folder / f"{user}.used"
    lines = file.read_text().splitlines() if file.exists() else []
    return frozenset(Permission(*json.loads(line)) for line in lines)


def kubeconfig_of(folder: Path, user: str, url: str) -> Path:
    """A kubeconfig of the user."""
    path = folder / f"{user}.kubeconfig"
    write_kubeconfig(path, {"fake": (url, token_of(user))})
    return path


def token_of(user: str) -> str:
    """How the server knows the user."""
    return f"token-of-{user}"


def restrict(users: Users, folder: Path) -> None:
    """On the server's side."""
    seen: set[tuple[str, Permission]] = set()
    for file in sorted(folder.glob("*.rights")):
        users.issue(file.stem, token_of(file.stem))
        users.grant(file.stem, (Permission(*row) for row in json.loads(file.read_text())))

    def note(call: Call) -> None:
        key = call.user, call.permission
        if call.user in users.grants and key not in seen:
            seen.add(key)
            with (folder / f"{call.user}.used").open("a") as out:
                out.write(json.dumps([call.permission.verb, call.permission.group, call.permission.resource]) + "\n")

    users.told = note
