"""A list of faults being collected, and the checks that every kind needs."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from muster_kube.names import dns_subdomain, label_key, label_value
from muster_kube.parts import mapping, sequence, text
from muster_kube.readings import Problem, Severity

Rule = Callable[[str], str]


class Faults:
    """Collects problems; `add` is an error, `warn` leaves the object in."""

    __slots__ = ("problems",)

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, field: str, reason: str) -> None:
        """An error."""
        self.problems.append(Problem(field, reason))

    def warn(self, field: str, reason: str) -> None:
        """A warning."""
        self.problems.append(Problem(field, reason, Severity.WARNING))

    def name(self, field: str, value: object, rule: Rule) -> str:
        """A required text that follows `rule`; gives the text."""
        written = text(value)
        if not written:
            self.add(field, "it is missing; write it")
        elif reason := rule(written):
            self.add(field, reason)
        return written

    def optional_name(self, field: str, value: object, rule: Rule) -> None:
        """A text that follows `rule` where it is given and not empty."""
        if text(value) and (reason := rule(text(value))):
            self.add(field, reason)

    def at_most(self, field: str, values: Sequence[object] | Mapping[str, object], most: int) -> None:
        """A limit of the API on the number of entries."""
        if len(values) > most:
            self.add(field, f"it has {len(values)} entries, at most {most} are allowed; split it")

    def unique(self, field: str, names: Iterable[str], what: str) -> None:
        """No two entries of one name."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.add(field, f"the {what} {name!r} stands twice; rename one of them")
                return
            seen.add(name)

    def one_of(self, field: str, value: str, allowed: Sequence[str]) -> None:
        """A closed set of words."""
        if value not in allowed:
            self.add(field, f"{value!r} is not known; use one of {', '.join(allowed)}")


def check_metadata(faults: Faults, field: str, metadata: Mapping[str, object], *, named: bool = True) -> None:
    """Name, namespace, labels and annotation keys."""
    if named:
        faults.name(f"{field}.name", metadata.get("name"), dns_subdomain)
    faults.optional_name(f"{field}.namespace", metadata.get("namespace"), dns_subdomain)
    check_labels(faults, f"{field}.labels", metadata.get("labels"))
    for key in mapping(metadata.get("annotations")):
        if reason := label_key(key):
            faults.add(f"{field}.annotations", reason)


def check_labels(faults: Faults, field: str, labels: object) -> None:
    """Keys and values of labels."""
    for key, value in mapping(labels).items():
        if reason := label_key(key) or label_value(text(value)):
            faults.add(f"{field}[{key}]", reason)


def given(value: object) -> bool:
    """Whether a field says anything: not absent, null, empty text or empty list."""
    return value not in (None, "", [], {})


def numbered(values: object, field: str) -> Iterable[tuple[str, Mapping[str, object]]]:
    """The maps of a list with their paths."""
    for index, each in enumerate(sequence(values)):
        yield f"{field}[{index}]", mapping(each)
