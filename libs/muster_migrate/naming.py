"""Names of what a migration adds: valid, short enough, and none twice."""

import re

_LABEL = 63
_BASE = 200  # a generated claim is named after pod and entry; a template needs no more


class Names:
    """Names that are taken, and the next free one for a wish. One for all objects of a run, so it remembers."""

    def __init__(self) -> None:
        self._templates: set[tuple[str, str]] = set()

    def take_template(self, namespace: str, name: str) -> None:
        """A ResourceClaimTemplate that exists."""
        self._templates.add((namespace, name))

    def template(self, namespace: str, wish: str) -> str:
        """A free name for a template, from now on taken."""
        name = free_name(_plain(wish, ".-")[:_BASE], {known for where, known in self._templates if where == namespace})
        self._templates.add((namespace, name))
        return name


def free_name(wish: str, taken: set[str]) -> str:
    """The wish, or with the first number that makes it free."""
    name, number = wish, 2
    while name in taken:
        name, number = f"{wish}-{number}", number + 1
    return name


def label(wish: str) -> str:
    """A DNS label near to a wish."""
    return _plain(wish, "-")[:_LABEL].strip("-") or "device"


def _plain(text: str, kept: str) -> str:
    return re.sub(rf"[^a-z0-9{re.escape(kept)}]+", "-", text.lower()).strip("-.")
