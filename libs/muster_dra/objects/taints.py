"""Device taints and tolerations (dra-semantics §1.7, §3.8)."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster_dra.reading import Fields

_EFFECTIVE = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class DeviceTaint:
    """An unknown effect is kept as written and acts as `None`. `rule`: the DeviceTaintRule it comes from."""

    key: str
    value: str = ""
    effect: str = ""
    rule: str = ""

    @property
    def repels(self) -> bool:
        return self.effect in _EFFECTIVE

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: DeviceTaint) -> bool:
        """An empty key or effect means any; operators other than Exists, Equal and empty tolerate nothing."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (self.operator in ("", "Equal") and self.value == taint.value)

    def to_json(self) -> dict[str, object]:
        json: dict[str, object] = {
            name: value
            for name, value in (
                ("key", self.key),
                ("operator", self.operator),
                ("value", self.value),
                ("effect", self.effect),
            )
            if value
        }
        if self.seconds is not None:
            json["tolerationSeconds"] = self.seconds
        return json


def untolerated(taints: tuple[DeviceTaint, ...], tolerations: tuple[DeviceToleration, ...]) -> DeviceTaint | None:
    """The first taint that keeps a device away from a request, or None. Each taint needs a toleration of its own."""
    for taint in taints:
        if taint.repels and not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def all_untolerated(
    taints: tuple[DeviceTaint, ...], tolerations: tuple[DeviceToleration, ...]
) -> Iterator[DeviceTaint]:
    """Every taint that keeps a device away from a request."""
    for taint in taints:
        if taint.repels and not any(toleration.tolerates(taint) for toleration in tolerations):
            yield taint


def parse_taint(json: Fields) -> DeviceTaint:
    return DeviceTaint(json.text("key"), json.text("value"), json.text("effect"))


def parse_toleration(json: Fields) -> DeviceToleration:
    return DeviceToleration(
        json.text("key"),
        json.text("operator"),
        json.text("value"),
        json.text("effect"),
        json.integer("tolerationSeconds"),
    )
