"""Why a selector matches nothing: the part of it that fails, the values that are published, what changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from muster_audit.expressions import ATTRIBUTES, Comparison, Mention, comparisons_of, conjuncts, mentions_of
from muster_audit.facts import Look, attribute_text
from muster_audit.memory import AttributeChange, Memory
from muster_audit.wording import counted, listed
from muster_dra import Device
from muster_dra.cel import CelEnvironment, CelError, compile_selector
from muster_dra.selectors import device_view
from muster_types import DeviceId, InvalidQuantity, parse_quantity

_NEAR = 0.03
"""A board that reports this much less than asked is meant all the same: 80Gi against 81559Mi."""


@dataclass(frozen=True, slots=True)
class SelectorMiss:
    """The first part that no device passes. `published` are the values that exist of what it compares, most first."""

    part: str
    comparison: Comparison | None
    mention: Mention | None
    devices: int
    published: tuple[str, ...]
    nearest_name: str
    changes: tuple[tuple[DeviceId, AttributeChange], ...]

    @property
    def about_topology(self) -> bool:
        """Whether a shape is asked for by its name: an attribute such as topology."""
        return self.mention is not None and "topology" in self.mention.name.lower()

    @property
    def nearly(self) -> str:
        """The largest published amount that is only a little less than the one asked for."""
        if (
            self.comparison is None
            or self.comparison.maker != "quantity"
            or self.comparison.operator not in (">=", ">", "==")
        ):
            return ""
        wanted = _quantity(str(self.comparison.literal))
        amounts = [(amount, text) for text in self.published if (amount := _quantity(text)) is not None]
        if wanted is None or not amounts:
            return ""
        most, text = max(amounts)
        return text if wanted * (1 - _NEAR) <= most < wanted else ""

    def sentence(self) -> str:
        what = str(self.comparison) if self.comparison is not None else self.part
        text = f"0 of {counted(self.devices, 'device')} match {what}"
        if self.changes:
            change = self.changes[0][1]
            names = [each.device for each, _ in self.changes]
            span = names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}"
            before, after = attribute_text(change.before) or "absent", attribute_text(change.after) or "absent"
            short = change.name.rpartition("/")[2]
            return f"{text}; attribute {short} changed {before} -> {after} on {span} at generation {change.generation}"
        if self.published:
            noun = "published value" if len(self.published) == 1 else "published values"
            text += f"; {noun}: {listed(self.published, 5)}"
            if self.nearly and self.comparison is not None:
                text += f" (a little less than {self.comparison.literal})"
        elif self.mention is not None:
            text += f"; no device publishes {self.mention.full_name}"
            if self.nearest_name:
                text += f", the nearest name is {self.nearest_name}"
        return text


def selector_miss(expression: str, looks: Sequence[Look], memory: Memory, environment: CelEnvironment) -> SelectorMiss:
    """`looks` are those that passed everything before the selector."""
    left = list(looks)
    failing = expression
    for part in conjuncts(expression):
        selector = compile_selector(part, environment)
        if isinstance(selector, CelError):
            continue
        passed = [each for each in left if selector.matches(device_view(each.id.driver, each.device)) is True]
        if not passed:
            failing = part
            break
        left = passed
    comparisons = comparisons_of(failing)
    comparison = comparisons[0] if len(comparisons) == 1 else None
    mentions = mentions_of(failing)
    mention = comparison.mention if comparison is not None else (mentions[0] if len(mentions) == 1 else None)
    published = _values(mention, left) if mention is not None else ()
    nearest = "" if mention is None or published else nearest_name(mention, left)
    changes = _changes(mention, left, memory) if mention is not None else ()
    count = sum(len(each.ids) for each in left)
    return SelectorMiss(failing, comparison, mention, count, published, nearest, changes)


def _values(mention: Mention, looks: Iterable[Look]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for look in looks:
        text = value_of(mention, look.id.driver, look.device)
        if text:
            counts[text] = counts.get(text, 0) + len(look.ids)
    return tuple(sorted(counts, key=lambda text: (-counts[text], text)))


def value_of(mention: Mention, driver: str, device: Device) -> str:
    """What a device publishes of a mentioned attribute or capacity, as written; "" if it does not."""
    if mention.part == ATTRIBUTES:
        found = device.attributes.get(mention.full_name)
        if found is None and mention.domain == driver:
            found = device.attributes.get(mention.name)
        return attribute_text(found)
    capacity = device.capacity.get(mention.full_name)
    if capacity is None and mention.domain == driver:
        capacity = device.capacity.get(mention.name)
    return capacity.value.written if capacity is not None else ""


def names_of(part: str, driver: str, device: Device) -> list[str]:
    """Fully qualified names of what a device publishes."""
    found = device.attributes if part == ATTRIBUTES else device.capacity
    return [name if "/" in name else f"{driver}/{name}" for name in found]


def nearest_name(mention: Mention, looks: Iterable[Look]) -> str:
    """A published name that was probably meant: other letters, case or domain."""
    known = sorted({name for each in looks for name in names_of(mention.part, each.id.driver, each.device)})
    return closest(mention.full_name, known)


def closest(name: str, known: Sequence[str]) -> str:
    """The known qualified name that differs from the given one by case, a letter or two, or its domain alone."""
    domain, _, own = name.rpartition("/")
    same = [each for each in known if each.rpartition("/")[2].lower() == own.lower()]
    if same:
        return min(same, key=lambda each: (each.rpartition("/")[0] != domain, each))
    mine = {each.rpartition("/")[2].lower(): each for each in known if each.rpartition("/")[0] == domain}
    close = get_close_matches(own.lower(), sorted(mine), n=1, cutoff=0.75)
    return mine[close[0]] if close else ""


def _changes(mention: Mention, looks: Iterable[Look], memory: Memory) -> tuple[tuple[DeviceId, AttributeChange], ...]:
    found: list[tuple[DeviceId, AttributeChange]] = []
    for id_ in sorted(id_ for look in looks for id_ in look.ids) if memory.changes else ():
        for change in memory.changes.get(id_, ()):
            full = change.name if "/" in change.name else f"{id_.driver}/{change.name}"
            if full == mention.full_name:
                found.append((id_, change))
                break
    return tuple(found)


def _quantity(text: str) -> int | None:
    try:
        return parse_quantity(text)
    except InvalidQuantity:
        return None
