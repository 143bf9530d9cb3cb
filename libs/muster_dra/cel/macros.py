"""The macros: calls that the parser turns into loops, bindings and presence tests.

They expand as in cel-go `parser/macro.go`, `cel/library.go`, `ext/bindings`, `ext/comprehensions`, `ext/lists`. Where
upstream copies an operand (`optMap`), the same node is used twice: a chain of macros stays as small as its text.
"""

from collections.abc import Iterator

from muster_dra.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, Select

ACCUMULATOR = "@result"
UNUSED = "#unused"
_SORT_INPUT = "@__sortBy_input__"
_LOOPS = {
    ("all", 2), ("exists", 2), ("existsOne", 2), ("exists_one", 2), ("map", 2), ("map", 3), ("filter", 2),
    ("all", 3), ("exists", 3), ("existsOne", 3), ("exists_one", 3), ("transformList", 3), ("transformList", 4),
    ("transformMap", 3), ("transformMap", 4), ("transformMapEntry", 3), ("transformMapEntry", 4),
}  # fmt: skip
_TWO_VARIABLES = frozenset(("all", "exists", "existsOne", "exists_one"))


class MacroMisused(Exception):
    """A macro has arguments that it can't take."""


class Expander:
    """Expands the calls that are macros; new nodes get their ids from the parser's supply."""

    def __init__(self, ids: Iterator[int]) -> None:
        self._ids = ids

    def expand(self, call: Call) -> Expr:
        """What a call stands for; itself if it is no macro. Raises MacroMisused."""
        form = (call.function, len(call.args))
        if call.target is None:
            return self._has(call) if form == ("has", 1) else call
        if form in _LOOPS:
            return self._loop(call, call.target)
        match form:
            case ("optMap", 2) | ("optFlatMap", 2):
                return self._opt_map(call, call.target)
            case ("sortBy", 2):
                return self._sort_by(call, call.target)
            case ("bind", 3) if isinstance(call.target, Ident) and call.target.name == "cel":
                return self._bind(call.id, self._variable(call, call.args[0]), call.args[1], call.args[2])
            case _:
                return call

    def _has(self, call: Call) -> Select:
        operand = call.args[0]
        if not isinstance(operand, Select):
            raise MacroMisused("invalid argument to has() macro: it takes a selection such as a.b")
        return Select(call.id, operand.operand, operand.field, test=True)

    def _variable(self, call: Call, node: Expr) -> str:
        if not isinstance(node, Ident) or node.name.startswith("."):
            raise MacroMisused(f"{call.function}(): argument must be a simple name")
        if node.name in (ACCUMULATOR, "__result__"):
            raise MacroMisused(f"{call.function}(): iteration variable overwrites accumulator variable")
        return node.name

    def _literal(self, value: bool | int) -> Literal:
        return Literal(next(self._ids), value)

    def _name(self, name: str = ACCUMULATOR) -> Ident:
        return Ident(next(self._ids), name)

    def _apply(self, function: str, *args: Expr) -> Call:
        return Call(next(self._ids), function, None, args)

    def _list(self, *elements: Expr) -> ListExpr:
        return ListExpr(next(self._ids), elements, frozenset())

    def _bind(self, at: int, name: str, value: Expr, result: Expr) -> Fold:
        """A loop that never runs: its accumulator is the variable."""
        return Fold(at, self._list(), UNUSED, "", name, value, self._literal(False), self._name(name), result)

    def _opt_map(self, call: Call, target: Expr) -> Call:
        name = self._variable(call, call.args[0])
        value = Call(next(self._ids), "value", target, ())
        mapped: Expr = self._bind(next(self._ids), name, value, call.args[1])
        if call.function == "optMap":
            mapped = self._apply("optional.of", mapped)
        present = Call(next(self._ids), "hasValue", target, ())
        return Call(call.id, "_?_:_", None, (present, mapped, self._apply("optional.none")))

    def _sort_by(self, call: Call, target: Expr) -> Fold:
        if isinstance(target, (Literal, MapExpr)):
            raise MacroMisused(
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
            )
        variable = self._variable(call, call.args[0])
        keys = self._collect(next(self._ids), self._name(_SORT_INPUT), (variable, ""), None, call.args[1])
        result = Call(next(self._ids), "@sortByAssociatedKeys", self._name(_SORT_INPUT), (keys,))
        return self._bind(call.id, _SORT_INPUT, target, result)

    def _loop(self, call: Call, over: Expr) -> Fold:
        two = call.function.startswith("transform") or (call.function in _TWO_VARIABLES and len(call.args) == 3)
        first = self._variable(call, call.args[0])
        second = self._variable(call, call.args[1]) if two else ""
        if first == second:
            raise MacroMisused(f"{call.function}(): duplicate variable name: {first}")
        names = (first, second)
        rest = call.args[2:] if two else call.args[1:]
        match call.function:
            case "all" | "exists":
                return self._quantify(call, over, names, rest[0])
            case "existsOne" | "exists_one":
                return self._exists_one(call, over, names, rest[0])
            case "filter":
                return self._collect(call.id, over, names, rest[0], call.args[0])
            case "map" | "transformList":
                return self._collect(call.id, over, names, rest[0] if len(rest) == 2 else None, rest[-1])
            case _:
                return self._collect_entries(call, over, names, rest)

    def _quantify(self, call: Call, over: Expr, names: tuple[str, str], predicate: Expr) -> Fold:
        every = call.function == "all"
        go_on: Expr = self._name() if every else self._apply("!_", self._name())
        step = self._apply("_&&_" if every else "_||_", self._name(), predicate)
        condition = self._apply("@not_strictly_false", go_on)
        return Fold(call.id, over, *names, ACCUMULATOR, self._literal(every), condition, step, self._name())

    def _exists_one(self, call: Call, over: Expr, names: tuple[str, str], predicate: Expr) -> Fold:
        more = self._apply("_+_", self._name(), self._literal(1))
        step = self._apply("_?_:_", predicate, more, self._name())
        result = self._apply("_==_", self._name(), self._literal(1))
        return Fold(call.id, over, *names, ACCUMULATOR, self._literal(0), self._literal(True), step, result)

    def _filtered(self, predicate: Expr | None, step: Call) -> Call:
        return step if predicate is None else self._apply("_?_:_", predicate, step, self._name())

    def _collect(self, at: int, over: Expr, names: tuple[str, str], predicate: Expr | None, item: Expr) -> Fold:
        step = self._filtered(predicate, self._apply("_+_", self._name(), self._list(item)))
        return Fold(at, over, *names, ACCUMULATOR, self._list(), self._literal(True), step, self._name())

    def _collect_entries(self, call: Call, over: Expr, names: tuple[str, str], rest: tuple[Expr, ...]) -> Fold:
        key = (self._name(names[0]),) if call.function == "transformMap" else ()
        insert = self._apply("cel.@mapInsert", self._name(), *key, rest[-1])
        step = self._filtered(rest[0] if len(rest) == 2 else None, insert)
        empty = MapExpr(next(self._ids), ())
        return Fold(call.id, over, *names, ACCUMULATOR, empty, self._literal(True), step, self._name())
