"""Turns a checked expression into nested Python functions, one a node (the plan)."""

from collections.abc import Callable

from muster_dra.cel import access, closures, fast, folds, lists
from muster_dra.cel.checker import Checked
from muster_dra.cel.constants import Constants, unhashable_types
from muster_dra.cel.cost import ACCESS, LIST, MAP, rule_of
from muster_dra.cel.device import FIELDS
from muster_dra.cel.functions import GLOBAL, METHODS, Implementation, unavailable
from muster_dra.cel.metering import charged, charged_call, charged_optional
from muster_dra.cel.plan import FIRST_SLOT, Evaluate, Frame, Plan
from muster_dra.cel.shapes import Bind, Collect, CollectEntries, Quantifier, opt_map_of, shape_of
from muster_dra.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, MessageExpr, Select
from muster_dra.cel.types import DOUBLE, DURATION, UINT, Type
from muster_dra.cel.values import Duration, Key, Uint, Value

DEVICE = "device"
_CHANGES_QUANTITIES = frozenset(("add", "sub"))
_LOGIC: dict[str, Callable[..., Evaluate]] = {
    "_&&_": closures.both,
    "_||_": closures.either,
}
_OPERATORS: dict[str, Implementation] = {
    "!_": closures.negation,
    "_==_": closures.equal,
    "_!=_": closures.unequal,
}


_ZEROS: dict[Type, Value] = {UINT: Uint(0), DOUBLE: 0.0, DURATION: Duration(0)}


def build(checked: Checked, *, metered: bool) -> Plan:
    """The plan of a checked expression, counting its cost or not. Raises ConstantFailed."""
    builder = _Builder(checked, metered=metered)
    run = builder.build(checked.root)
    return Plan(run, builder.slots, metered, builder.changes_quantities)


class _Builder:
    def __init__(self, checked: Checked, *, metered: bool) -> None:
        self._checked = checked
        self._metered = metered
        self._constants = Constants(checked)
        self._scopes: list[tuple[str, Evaluate]] = []
        self.slots = 0
        self.changes_quantities = False

    def build(self, node: Expr) -> Evaluate:
        """The function that evaluates a node."""
        known = self._constants.value_of(node, fold_calls=not self._metered)
        if known is not None:
            return closures.constant(known.value)
        match node:
            case Ident() | Select():
                run = self._attribute(node)
                return run if isinstance(node, Select) and node.test else self._charge(run, ACCESS)
            case Call():
                return self._call(node)
            case ListExpr():
                elements = [self.build(element) for element in node.elements]
                return self._charge(closures.make_list(elements, node.optional), LIST)
            case MapExpr():
                entries = [(self.build(one.key), self.build(one.value), one.optional) for one in node.entries]
                return self._charge(closures.make_map(entries), MAP)
            case Fold():
                return self._fold(node)
            case Literal() | MessageExpr():
                raise AssertionError(f"the checker lets no {node} through")

    def _charge(self, run: Evaluate, cost: int) -> Evaluate:
        return charged(run, cost) if self._metered else run

    def _new_slot(self) -> int:
        self.slots += 1
        return FIRST_SLOT + self.slots - 1

    def _local(self, name: str) -> Evaluate | None:
        return next((read for scoped, read in reversed(self._scopes) if scoped == name), None)

    # Names, selections and choices are one kind of step upstream: only the whole chain costs the first access.

    def _attribute(self, node: Expr) -> Evaluate:
        """A link of a chain of selections, without the cost of the access that the chain as a whole has."""
        match node:
            case Ident():
                return self._local(node.name) or _whole_device
            case Select():
                return self._select(node)
            case Call(function="_[_]" | "_[?_]" | "_?._"):
                return self._index(node)
            case Call(function="_?_:_"):
                return self._choice(node)
            case _:
                return self.build(node)

    def _choice(self, node: Call) -> Evaluate:
        macro = opt_map_of(node)
        if macro is None:
            condition, yes, no = node.args
            return closures.choose(self.build(condition), self._attribute(yes), self._attribute(no))
        target = self.build(macro.target)
        places = (self._new_slot(), self._new_slot())
        read = folds.opt_map_variable(places) if self._metered else closures.slot(places[0])
        self._scopes.append((macro.variable, read))
        result = self.build(macro.result)
        self._scopes.pop()
        return folds.opt_map(target, places, result, wraps=macro.wraps, metered=self._metered)

    def _is_device(self, node: Expr) -> bool:
        if not isinstance(node, Ident) or node.name.removeprefix(".") != DEVICE:
            return False
        return node.name.startswith(".") or self._local(DEVICE) is None

    def _select(self, node: Select) -> Evaluate:
        field = node.field
        if self._is_device(node.operand):
            run = closures.constant(True) if node.test else closures.slot(FIELDS[field])
            return self._charge(run, ACCESS)
        if not self._metered and not node.test:
            path = fast.path_of(node, self._is_device)
            if path is not None:
                return fast.lookup(path)
        operand = self._attribute(node.operand)
        if node.test:
            return self._charge(lambda frame: access.has(operand(frame), field), ACCESS)
        if not self._metered:
            return fast.get(operand, field)
        return self._get(operand, closures.constant(field), optional=False)

    def _index(self, node: Call) -> Evaluate:
        if not self._metered and node.function == "_[_]":
            path = fast.path_of(node, self._is_device)
            if path is not None:
                return fast.lookup(path)
        operand, key = node.args
        return self._get(self._attribute(operand), self._attribute(key), optional=node.function != "_[_]")

    def _get(self, operand: Evaluate, key: Evaluate, *, optional: bool) -> Evaluate:
        implementation = access.get_optional if optional else access.get
        if self._metered:
            return charged_optional(implementation, operand, key)
        return closures.apply(implementation, [operand, key])

    def _call(self, node: Call) -> Evaluate:
        match node.function:
            case "_&&_" | "_||_":
                return _LOGIC[node.function](*map(self.build, node.args))
            case "_?_:_":
                return self._choice(node)
            case "_[_]" | "_[?_]" | "_?._":
                return self._charge(self._attribute(node), ACCESS)
            case "@not_strictly_false":
                return self._charge(closures.not_strictly_false(self.build(node.args[0])), 1)
            case "@in":
                members = self._constants.members(node)
                if members is not None:
                    return self._membership(node.args[0], members)
                return self._function(node)
            case _:
                return self._function(node)

    def _membership(self, element: Expr, members: frozenset[Key]) -> Evaluate:
        if not members:
            return closures.constant(False)
        return closures.membership(self.build(element), members, unhashable_types())

    def _function(self, node: Call) -> Evaluate:
        full = self._checked.names.get(node.id)
        method = node.target is not None and full is None
        operands = (node.target, *node.args) if method and node.target is not None else node.args
        name = full or node.function.removeprefix(".")
        if not self._metered and method and name == "orValue" and len(operands) == 2:
            path = fast.path_of(operands[0], self._is_device, optional=True)
            if path is not None:
                return fast.lookup_or(path, self.build(operands[1]))
        args = [self.build(operand) for operand in operands]
        if method and name in ("or", "orValue") and len(args) == 2:
            return closures.first_present(*args, unwrap=name == "orValue")
        if method and name in _CHANGES_QUANTITIES:
            self.changes_quantities = True
        self._constants.check_pattern(name, node.args)
        if method and name == "sum":
            implementation: Implementation = lists.total_from(_ZEROS.get(self._checked.type_at(node), 0))
        elif method:
            implementation = METHODS.get(name, unavailable)
        else:
            implementation = _OPERATORS.get(name) or GLOBAL[name]
        if self._metered:
            taken = [overload.id for overload in self._checked.overloads.get(node.id, ())]
            return charged_call(implementation, args, rule_of(name, taken, method=method))
        return fast.comparison(name, args, operands, self._constants) or closures.apply(implementation, args)

    def _fold(self, node: Fold) -> Evaluate:
        shape = shape_of(node)
        init = self.build(node.init)
        over = self.build(node.over)
        accu = self._new_slot()
        scoped = len(self._scopes)
        if isinstance(shape, Bind):
            self._scopes.append((node.accu, folds.bound(accu, init)))
            run = folds.bind(accu, self.build(node.result))
            self._scopes.pop()
            return run
        self._scopes.append((node.accu, folds.accumulator(accu, init)))
        variables = tuple((name, self._new_slot()) for name in (node.var, node.var2) if name)
        self._scopes.extend((name, closures.slot(at)) for name, at in variables)
        places = tuple(at for _, at in variables)
        metered = self._metered
        match shape:
            case Quantifier():
                predicate = self.build(shape.predicate)
                run = folds.quantifier(over, places, predicate, ends_with=shape.ends_with, metered=metered)
            case Collect():
                keep = None if shape.predicate is None else self.build(shape.predicate)
                run = folds.collect(over, places, keep, self.build(shape.item), metered=metered)
            case CollectEntries():
                keep = None if shape.predicate is None else self.build(shape.predicate)
                entry = (None if shape.key is None else self.build(shape.key), self.build(shape.value))
                run = folds.collect_entries(over, places, keep, entry, metered=metered)
            case _:
                condition, step = self.build(node.condition), self.build(node.step)
                del self._scopes[scoped + 1 :]
                run = folds.fold(over, accu, places, (condition, step, self.build(node.result)))
        del self._scopes[scoped:]
        return run


def _whole_device(frame: Frame) -> Value:
    return dict(zip(FIELDS, frame, strict=False))
