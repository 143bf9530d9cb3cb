"""The recorded subjects, as people wrote them: which rows they mean, after which step, and how many of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_NUMBERS = {"one": 1, "two": 2, "three": 3}
_KIND = r"(?:Pod|PodGroup|ProvisioningRequest|NodeGroup|Node|ResourceSlice|DeviceClass)"
_STEPS = re.compile(r"steps? (\d+)(?:-(\d+))?: ")
_COUNT = re.compile(r"(\d+|one|two|three) of ")
_FULL = re.compile(rf"{_KIND}/\S+")
_RANGE = re.compile(r"^(.*?)(\d+)\.\.(?:.*?)(\d+)$")


@dataclass(frozen=True, slots=True)
class Meant:
    """`subjects` are full names, patterns with a star at the end among them. `count`: so many of them; None: all.

    `rest`: what an earlier entry of the file left over. `node`: as seen on that node alone. `steps`: after these; empty
    for the last. `other` is a subject that is no row of an audit.
    """

    subjects: tuple[str, ...] = ()
    count: int | None = None
    rest: bool = False
    node: str = ""
    steps: tuple[int, ...] = ()
    every_step: bool = False
    now: bool = False
    other: str = ""


@dataclass(slots=True)
class Names:
    """Reads subjects of one file; remembers the pods that "the other" and "the remaining" refer to."""

    pods: Sequence[str]
    _counted: list[str] = field(default_factory=list[str])

    def read(self, written: str) -> Meant:
        text, steps = _steps(written)
        every = text.endswith(" at every step")
        text = text.removesuffix(" at every step")
        if text == "finding" or text.startswith(("any permutation", "report", "after ")):
            return Meant(other=text)
        if text in ("a third pod", "the other") or text.startswith("the remaining"):
            return Meant(tuple(self._counted) if text != "a third pod" else tuple(self.pods), 1, rest=True, steps=steps)
        count = _COUNT.match(text)
        if count is not None:
            number = _NUMBERS.get(count.group(1)) or int(count.group(1))
            self._counted = list(self._names(text[count.end() :]))
            return Meant(tuple(self._counted), number, steps=steps)
        text, _, node = text.partition(" on ")
        now = text.endswith(" now")
        names = self._names(text.removesuffix(" now"))
        return Meant(names, None, node=node, steps=steps, every_step=every, now=now)

    def _names(self, text: str) -> tuple[str, ...]:
        """`Pod/ns/a and Pod/ns/b`, `Pod/ns/a, b`, `Pod/ns/s-0..7`, `Pod/ns/p-*`."""
        prefix, found = "", list[str]()
        for word in re.split(r",\s*|\s+and\s+", text):
            name = word if _FULL.fullmatch(word) else f"{prefix}{word}"
            prefix = name[: name.rfind("/") + 1]
            found += self._matching(expanded(name))
        return tuple(found)

    def _matching(self, names: Iterable[str]) -> list[str]:
        found: list[str] = []
        for name in names:
            if name.endswith("*"):
                found += [pod for pod in self.pods if pod.startswith(name[:-1])]
            else:
                found.append(name)
        return found


def expanded(name: str) -> list[str]:
    """`small-0..6` and `cpu-004..cpu-009` spelled out."""
    found = _RANGE.match(name)
    if found is None:
        return [name]
    start, first, last = found.groups()
    return [f"{start}{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]


def _steps(written: str) -> tuple[str, tuple[int, ...]]:
    found = _STEPS.match(written)
    if found is None:
        return written, ()
    first = int(found.group(1))
    return written[found.end() :], tuple(range(first, int(found.group(2) or first) + 1))
