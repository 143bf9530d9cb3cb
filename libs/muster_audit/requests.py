"""Findings about what is asked for: names that no device has, selectors that match nothing, amounts just missed."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster_audit.expressions import CAPACITY, comparisons_of, guarded_by, mentions_of
from muster_audit.facts import Look
from muster_audit.pod_classes import is_pending
from muster_audit.rows import Finding
from muster_audit.scene import Scene
from muster_audit.selector_misses import closest, names_of, selector_miss
from muster_dra import ClaimSpec, DeviceClass, DeviceRequest
from muster_dra.cel import CelError, compile_selector
from muster_dra.selectors import device_view, environment_of
from muster_types import ObjectKey


@dataclass(frozen=True, slots=True)
class _Written:
    """A spec of a claim with where it stands."""

    key: ObjectKey
    spec: ClaimSpec


def request_findings(scene: Scene) -> Iterator[Finding]:
    """About classes, and the claims and templates of pods that are pending."""
    known = _Known(scene)
    for key in sorted(scene.snapshot.tables.classes):
        device_class = scene.snapshot.tables.classes[key]
        for expression in device_class.selectors:
            if expression:
                yield from known.names(key, expression)
    for written in _pending_specs(scene):
        for request in written.spec.requests:
            for option in (request.exactly, *request.first_available):
                if option is not None:
                    yield from known.request(written.key, option)
        for constraint in written.spec.constraints:
            attribute = constraint.match_attribute or constraint.distinct_attribute
            yield from known.attribute(written.key, attribute)


def _pending_specs(scene: Scene) -> Iterator[_Written]:
    """Claims and templates that pending pods name, each once, in order."""
    tables = scene.snapshot.tables
    seen: dict[ObjectKey, ClaimSpec] = {}
    for key, obj in scene.cluster.frame.of_kind("Pod"):
        pod = tables.pods.get(key)
        if pod is None or not is_pending(obj):
            continue
        for entry in pod.spec.claims:
            if entry.template:
                template_key = ObjectKey("ResourceClaimTemplate", pod.namespace, entry.template)
                template = tables.claim_templates.get(template_key)
                if template is not None:
                    seen.setdefault(template_key, template.spec)
            elif (claim := scene.snapshot.claim(pod.namespace, entry.claim)) is not None and claim.allocation is None:
                seen.setdefault(ObjectKey("ResourceClaim", pod.namespace, entry.claim), claim.spec)
    for key in sorted(seen):
        yield _Written(key, seen[key])


class _Known:
    """Names that devices publish, and answers about expressions; each worked out once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._environment = environment_of(scene.snapshot.features)
        self._names: dict[str, set[str]] = {"attributes": set(), CAPACITY: set()}
        self._drivers: set[str] = set()
        seen: set[tuple[str, tuple[str, ...], tuple[str, ...]]] = set()
        for id_, device in scene.published.devices.items():
            look = (id_.driver, tuple(device.attributes), tuple(device.capacity))
            if look not in seen:
                seen.add(look)
                self._drivers.add(id_.driver)
                for part, names in self._names.items():
                    names.update(names_of(part, id_.driver, device))
        self._of_class: dict[str, list[Look]] = {}

    def names(self, key: ObjectKey, expression: str) -> Iterator[Finding]:
        """Names in an expression that no device publishes although its driver does others."""
        for mention in mentions_of(expression):
            known = self._names[mention.part]
            if mention.full_name in known or mention.domain not in self._drivers:
                continue
            nearest = closest(mention.full_name, sorted(known))
            if nearest or mention not in guarded_by(expression):
                yield _unknown(key, mention.full_name, nearest)

    def attribute(self, key: ObjectKey, attribute: str) -> Iterator[Finding]:
        """A constraint's attribute that no device has."""
        known = self._names["attributes"]
        if attribute and known and attribute not in known:
            yield _unknown(key, attribute, closest(attribute, sorted(known)))

    def request(self, key: ObjectKey, option: DeviceRequest) -> Iterator[Finding]:
        for expression in option.selectors:
            if expression:
                yield from self.names(key, expression)
        device_class = self._scene.snapshot.catalog.classes.get(option.class_name)
        if device_class is None or not option.selectors:
            return
        left = self._looks(device_class)
        for expression in option.selectors:
            selector = compile_selector(expression, self._environment) if expression else None
            if not expression or selector is None or isinstance(selector, CelError) or not left:
                return
            passed = [each for each in left if selector.matches(device_view(each.id.driver, each.device)) is True]
            if not passed:
                yield from self._nothing(key, option, expression, left)
                return
            left = passed

    def _looks(self, device_class: DeviceClass) -> list[Look]:
        found = self._of_class.get(device_class.name)
        if found is None:
            found = self._of_class[device_class.name] = self._scene.published.looks_of(device_class)
        return found

    def _nothing(self, key: ObjectKey, option: DeviceRequest, expression: str, looks: list[Look]) -> Iterator[Finding]:
        miss = selector_miss(expression, looks, self._scene.cluster.memory, self._environment)
        if miss.nearly and miss.comparison is not None:
            wanted, most = miss.comparison.literal, miss.nearly
            yield Finding(
                "amount-just-missed",
                str(key),
                f"request {option.name} asks for {miss.comparison.mention.name} {miss.comparison.operator} {wanted}, "
                f"the largest device reports {most}: boards report less than the size they are sold by",
                f"ask for at most {most}, or for the decimal amount ({str(wanted).replace('Gi', 'G')})",
            )
            return
        if miss.mention is not None and not miss.published:
            return  # the name itself is unknown: that is said already
        comparisons = comparisons_of(expression)
        hint = (
            f"published: {', '.join(miss.published[:4])}" if miss.published and comparisons else "change the selector"
        )
        yield Finding(
            "selector-matches-nothing",
            str(key),
            f"request {option.name} of class {option.class_name}: {miss.sentence()}",
            hint,
        )


def _unknown(key: ObjectKey, name: str, nearest: str) -> Finding:
    return Finding(
        "attribute-unknown",
        str(key),
        f"no device publishes {name}" + (f"; the nearest name is {nearest}" if nearest else ""),
        f"write {nearest}" if nearest else "use a name that the driver publishes",
    )
