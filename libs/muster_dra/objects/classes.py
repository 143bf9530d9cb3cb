"""DeviceClasses and DeviceTaintRules (dra-semantics §1.8, §1.13)."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra.objects.slices import PoolId
from muster_dra.objects.taints import DeviceTaint, parse_taint
from muster_dra.objects.versions import VERSIONS
from muster_dra.reading import Fields


@dataclass(frozen=True, slots=True)
class OpaqueConfig:
    """Parameters for a driver, copied to the result unread. Compared by identity: the engine never looks inside."""

    json: Mapping[str, object]

    def __hash__(self) -> int:
        return hash(len(self.json))


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """`selectors` are CEL expressions; None stands for a selector without `cel`, which is fatal where it is used."""

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[OpaqueConfig, ...] = ()
    extended_resource_name: str = ""
    creation_time: str = ""


@dataclass(frozen=True, slots=True)
class DeviceTaintRule:
    """One taint for every device that all set parts of the selector name. `selects` False: there is none (D11)."""

    name: str
    taint: DeviceTaint
    selects: bool = True
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def concerns(self, pool: PoolId) -> bool:
        """Whether devices of the pool may be meant; the device name is not looked at."""
        return self.driver in (None, pool.driver) and self.pool in (None, pool.name)

    def meant(self, pool: PoolId, device: str) -> bool:
        return self.concerns(pool) and self.device in (None, device)


def parse_class(json: object) -> DeviceClass:
    """A DeviceClass of v1, v1beta2 or v1beta1. Raises InvalidObject."""
    top = Fields.of_object(json, "DeviceClass", VERSIONS)
    spec = top.child("spec")
    return DeviceClass(
        top.name,
        parse_selectors(spec),
        tuple(OpaqueConfig(config.json) for config in spec.children("config")),
        spec.text("extendedResourceName"),
        top.child("metadata").text("creationTimestamp"),
    )


def parse_taint_rule(json: object) -> DeviceTaintRule:
    """A DeviceTaintRule of v1, v1beta2 or v1alpha3; selector fields of 1.33 are ignored. Raises InvalidObject."""
    top = Fields.of_object(json, "DeviceTaintRule", VERSIONS)
    spec = top.child("spec")
    selector = spec.child("deviceSelector")
    return DeviceTaintRule(
        top.name,
        parse_taint(spec.child("taint")),
        spec.has("deviceSelector"),
        *(selector.text(part) if selector.has(part) else None for part in ("driver", "pool", "device")),
    )


def parse_selectors(json: Fields) -> tuple[str | None, ...]:
    return tuple(
        selector.child("cel").text("expression") if selector.has("cel") else None
        for selector in json.children("selectors")
    )
