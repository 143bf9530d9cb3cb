"""The functions of the environment as the checker sees them: their overloads, by name and by form."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster_dra.cel.signatures import FORMATS, SIGNATURES
from muster_dra.cel.types import Kind, Type, parse_type

_COMPARABLE = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_SORTABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMERIC_PAIRS = (
    ("int", "double"), ("int", "uint"), ("uint", "double"), ("uint", "int"), ("double", "int"), ("double", "uint"),
)  # fmt: skip


def _generated() -> list[str]:
    lines: list[str] = []
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        lines += [f"{operator}({kind}, {kind}) -> bool" for kind in _COMPARABLE]
        lines += [f"{operator}({left}, {right}) -> bool" for left, right in _NUMERIC_PAIRS]
    for kind in _SORTABLE:
        lines += [f"list({kind}):{name}() -> {kind}" for name in ("min", "max")]
        lines += [f"list({kind}):isSorted() -> bool", f"list({kind}):sort() -> list({kind})"]
        lines.append(f"list(T):@sortByAssociatedKeys(list({kind})) -> list(T)")
    lines += [f"list({kind}):sum() -> {kind}" for kind in ("int", "uint", "double", "duration")]
    for part in (
        "FullYear",
        "Month",
        "DayOfYear",
        "DayOfMonth",
        "Date",
        "DayOfWeek",
        "Hours",
        "Minutes",
        "Seconds",
        "Milliseconds",
    ):
        lines += [f"timestamp:get{part}() -> int", f"timestamp:get{part}(string) -> int"]
    lines += [f"format.{name}() -> kubernetes.NamedFormat" for name in FORMATS]
    return lines


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function; of a method the target is the first argument."""

    id: str
    method: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[str, ...]


def _parameters(subject: Type) -> frozenset[str]:
    if subject.kind is Kind.PARAM:
        return frozenset((subject.name,))
    return frozenset[str]().union(*map(_parameters, subject.params))


def _split(text: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _read(line: str) -> tuple[str, Overload]:
    signature, result = line.rsplit(" -> ", 1)
    operator = signature[0] in "_!-@"
    head, _, tail = ("", "", signature) if operator or ":" not in signature else signature.partition(":")
    opening = tail.index("(")
    name, args = tail[:opening], tail[opening + 1 : -1]
    types = tuple(map(parse_type, [*([head] if head else []), *_split(args)]))
    returned = parse_type(result)
    params = frozenset[str]().union(*map(_parameters, (*types, returned)))
    return name, Overload(signature, bool(head), types, returned, tuple(sorted(params)))


def _collect() -> Mapping[str, tuple[Overload, ...]]:
    found: dict[str, tuple[Overload, ...]] = {}
    for line in [*(line for block in SIGNATURES for line in block.strip().splitlines()), *_generated()]:
        name, overload = _read(line)
        found[name] = (*found.get(name, ()), overload)
    return found


FUNCTIONS = _collect()


def _by_form() -> Mapping[tuple[str, bool, int], tuple[Overload, ...]]:
    found: dict[tuple[str, bool, int], tuple[Overload, ...]] = {}
    for name, overloads in FUNCTIONS.items():
        for overload in overloads:
            form = (name, overload.method, len(overload.args))
            found[form] = (*found.get(form, ()), overload)
    return found


BY_FORM = _by_form()
"""The overloads by name, whether they are methods, and how many arguments they take, a method's target included."""

TYPE_NAMES: Mapping[str, str] = {
    "bool": "bool", "bytes": "bytes", "double": "double", "int": "int", "uint": "uint", "string": "string",
    "list": "list(A)", "map": "map(A, B)", "null_type": "null", "type": "type(A)",
    "google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp", "optional_type": "optional(A)",
    "net.IP": "net.IP", "net.CIDR": "net.CIDR",
}  # fmt: skip
