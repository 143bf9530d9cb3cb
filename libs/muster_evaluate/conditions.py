"""What a capability hangs on: a release, a gate, a flag, a plugin; each says what it found and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from muster_evaluate.components import Component, ConfigFile, Part, Version, is_config_of
from muster_evaluate.fields import Json, part, parts, text
from muster_evaluate.gates import State, gate_row


class Level(IntEnum):
    """Ordered: the best of all components is the cluster's."""

    NO = 0
    UNKNOWN = 1
    PARTIAL = 2
    YES = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Met:
    """`met` is None where nobody can tell."""

    met: bool | None
    why: str
    read_from: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """A release of the component."""

    major: int
    minor: int

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        wanted = Version(self.major, self.minor)
        if component.version is None:
            return Met(None, f"it needs {wanted} and no tag or label says the version", str(component.version_where))
        why = f"version {component.version}" + ("" if component.version >= wanted else f", it comes with {wanted}")
        return Met(component.version >= wanted, why, str(component.version_where))


@dataclass(frozen=True, slots=True)
class GateOn:
    """A gate of the control plane, as the scheduler has it."""

    name: str

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        row = gate_row(self.name, component)
        met = None if row.state is State.UNKNOWN else row.state is State.ON
        return Met(met, f"gate {self.name} is {row.state} ({row.why})", row.read_from)


@dataclass(frozen=True, slots=True)
class OwnGate:
    """A gate of Kueue or Karpenter: on from a release on, unless set."""

    name: str
    since: Version
    default: bool

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        found = component.gates.get(self.name)
        if found is not None:
            return Met(found.on, f"gate {self.name} is set to {found.value}", str(found.where))
        if not self.default:
            return Met(met=False, why=f"gate {self.name} is off by default")
        if component.version is None:
            return Met(None, f"gate {self.name} is on from {self.since}, the version is unknown")
        met = component.version >= self.since
        return Met(met, f"gate {self.name} is {'on' if met else 'off'} in {component.version}")


@dataclass(frozen=True, slots=True)
class FlagIs:
    """A flag has this truth value, `default` where it is not given."""

    name: str
    wanted: bool
    default: bool

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        found = component.flags.get(self.name)
        on = self.default if found is None else found.on
        value = str(on).lower()
        how = f"--{self.name} is {value}" + (" by default" if found is None else "")
        return Met(on is self.wanted, how, "" if found is None else str(found.where))


@dataclass(frozen=True, slots=True)
class FlagOrSince:
    """A flag of older releases that newer ones have locked on."""

    name: str
    locked: Version

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        if component.version is not None and component.version >= self.locked:
            return Met(met=True, why=f"version {component.version}", read_from=str(component.version_where))
        found = component.flags.get(self.name)
        if found is not None:
            return Met(found.on, f"--{self.name} is {found.value}", str(found.where))
        if component.version is None:
            return Met(None, f"--{self.name} is not given, from {self.locked} on it needs not be; version unknown")
        return Met(False, f"--{self.name} is not given in {component.version}", str(component.where))


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of the scheduler that no profile switches off (KubeSchedulerConfiguration)."""

    name: str

    def judge(self, component: Component, files: Sequence[ConfigFile]) -> Met:
        for file in files:
            if not is_config_of(Part.SCHEDULER, file):
                continue
            for index, profile in enumerate(parts(file.body, "profiles")):
                if self._is_off(profile):
                    field = f"{file.where.field} profiles[{index}].plugins"
                    return Met(False, f"plugin {self.name} is switched off", f"{file.where.object} {field}")
        return Met(met=True, why=f"plugin {self.name} is on by default")

    def _is_off(self, profile: Json) -> bool:
        plugins = part(profile, "plugins")
        enabled = {text(each.get("name")) for point in plugins for each in parts(plugins, point, "enabled")}
        if self.name in enabled:
            return False
        named = {text(each.get("name")) for point in plugins for each in parts(plugins, point, "disabled")}
        every = {text(each.get("name")) for each in parts(plugins, "multiPoint", "disabled")}
        return self.name in named or "*" in every


Condition = Since | GateOn | OwnGate | FlagIs | FlagOrSince | Plugin
