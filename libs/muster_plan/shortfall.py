"""How far a node is from taking one pod of a kind: the nearest miss over all stocks, with its figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster_dra import Allocation, ClaimRequest, ClaimSpec, DeviceConstraint, DeviceRequest, Outcome, ResourceClaim
from muster_plan.fitter import Fitter
from muster_plan.kinds import Kind
from muster_plan.patterns import Asked
from muster_plan.plan_types import ReasonCode
from muster_plan.stocks import Stock
from muster_plan.wording import CODES, refusal_text
from muster_types import format_quantity

_LOOKED_AT = 24  # stocks whose devices are examined for an explanation


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why one pod of a kind does not fit a stock. The lower `distance`, the nearer the miss."""

    distance: tuple[int, float]
    stock: str
    code: ReasonCode
    need: str  # what the pod asks for, empty where the stock says it all
    lack: str  # what the stock has or is instead
    data: Mapping[str, str | int | float]


def nearest_miss(fitter: Fitter, kind: Kind, stocks: Iterable[Stock]) -> Shortfall | None:
    """The nearest of all misses, None when there is no stock at all. Of many nodes with room, those with most free
    devices are looked at."""
    counts = tuple(kind.slice_size if each is kind else 0 for each in fitter.scene.kinds)
    candidates = list(stocks)
    open_ones = [each for each in candidates if each.blocked[kind.index] is None and fitter.room_fits(each, counts)]
    if open_ones:
        open_ones.sort(key=lambda each: (each.group is None, -fitter.free_devices(each), each.label))
        candidates = open_ones[:_LOOKED_AT]
    found = [shortfall_of(fitter, kind, stock) for stock in candidates]
    return min(found, key=lambda each: (each.distance, each.stock), default=None)


def shortfall_of(fitter: Fitter, kind: Kind, stock: Stock) -> Shortfall:
    blocked = stock.blocked[kind.index]
    if blocked is not None:
        return Shortfall((3, 0.0), stock.label, CODES[blocked.barrier], "", blocked.detail, {})
    counts = tuple(kind.slice_size if each is kind else 0 for each in fitter.scene.kinds)
    for resource, wanted, free in fitter.short_of(stock, counts):
        text = f"{format_quantity(free)} {resource} left"
        data = {"resource": resource, "wanted": format_quantity(wanted), "free": format_quantity(free)}
        need = f"a node with {format_quantity(wanted)} {resource}"
        return Shortfall((2, 1 - free / wanted), stock.label, ReasonCode.RESOURCES, need, text, data)
    return _device_shortfall(fitter, kind, stock, counts)


def _device_shortfall(fitter: Fitter, kind: Kind, stock: Stock, counts: tuple[int, ...]) -> Shortfall:
    asked = fitter.asked(stock, counts, fitter.flags.of_kind[kind.index])
    template = None if stock.group is None else stock.group.template
    if template is not None and template.slices is None:
        lack = "has no device template: nobody said what its nodes publish"
        return Shortfall((1, 1.0), stock.label, ReasonCode.NO_TEMPLATE, _needs(asked), lack, {})
    if stock.potential is not None and stock.potential.fault:
        lack = f"has an invalid template: {stock.potential.fault}"
        return Shortfall((1, 1.0), stock.label, ReasonCode.NO_TEMPLATE, _needs(asked), lack, {})
    probe = _Probe(fitter, stock, asked)
    for index, each in enumerate(asked):
        if not each.daemon and not probe.fits(probe.only(index)):
            return _claim_shortfall(probe, index, each)
    whole = fitter.allocate(stock, asked)
    lack = "cannot serve all of them together" if isinstance(whole, Allocation) else refusal_text(whole)
    return Shortfall((1, 0.0), stock.label, ReasonCode.SHAPE, _needs(asked), lack, {})


class _Probe:
    """Asks a stock for changed claims."""

    def __init__(self, fitter: Fitter, stock: Stock, asked: Sequence[Asked]) -> None:
        self._fitter, self._stock = fitter, stock
        self._daemons = [each.claim for each in asked if each.daemon]
        self._asked = asked

    def only(self, index: int) -> ClaimSpec:
        return self._asked[index].claim.spec

    def fits(self, spec: ClaimSpec) -> bool:
        return isinstance(self._answer(spec), Allocation)

    def refusal(self, spec: ClaimSpec) -> str:
        answer = self._answer(spec)
        return "" if isinstance(answer, Allocation) else refusal_text(answer)

    def value(self, spec: ClaimSpec, attribute: str) -> str:
        """The value of an attribute on the first device that a claim gets, empty if it has none."""
        answer = self._answer(spec)
        if not isinstance(answer, Allocation) or not answer.claims[-1].results:
            return ""
        return self._fitter.attribute(self._stock, answer.claims[-1].results[0].device, attribute)

    def holders(self, spec: ClaimSpec) -> str:
        """Who holds what the claim would get on the empty stock: up to three names, "" if it would not fit either."""
        answer = self._fitter.answer(self._stock, self._claims(spec), empty=True)
        if not isinstance(answer, Allocation):
            return ""
        names = {
            holder or "somebody"
            for result in answer.claims[-1].results
            for holder in self._stock.allocated.holders(result.device)
        }
        return ", ".join(sorted(names)[:3])

    @property
    def label(self) -> str:
        return self._stock.label

    def _answer(self, spec: ClaimSpec) -> Outcome:
        return self._fitter.answer(self._stock, self._claims(spec))

    def _claims(self, spec: ClaimSpec) -> list[ResourceClaim]:
        return [*self._daemons, ResourceClaim(name="probe", spec=spec)]


def _claim_shortfall(probe: _Probe, index: int, asked: Asked) -> Shortfall:
    """The nearest change of one claim that would fit: fewer devices of a request, or one constraint less."""
    spec = probe.only(index)
    need = f"claim {asked.entry or asked.shared} needs {need_text(spec)}"
    for place, request in enumerate(spec.requests):
        exact = request.exactly
        if exact is None or exact.count <= 1:
            continue
        most = _most(probe, spec, place, exact)
        if most:
            attribute = _match_of(spec, request.name)
            less = _with_count(spec, place, exact, most)
            where = ""
            if attribute:
                value = probe.value(less, attribute)
                where = f" on {short(attribute)}={value}" if value else f" sharing {short(attribute)}"
            data = {"request": request.name, "wanted": exact.count, "found": most}
            lack = f"has {most}{where}"
            return Shortfall((1, 1 - most / exact.count), probe.label, ReasonCode.SHAPE, need, lack, data)
    if len(spec.requests) > 2 and (fitting := _prefix(probe, spec)):
        total = sum(_devices_of(each) for each in spec.requests)
        found = sum(_devices_of(each) for each in spec.requests[:fitting])
        lack = f"has {found} of these {total} devices: request {spec.requests[fitting].name} finds none any more"
        return Shortfall(
            (1, 1 - found / total), probe.label, ReasonCode.SHAPE, need, lack, {"wanted": total, "found": found}
        )
    for place, constraint in enumerate(spec.constraints):
        rest = (*spec.constraints[:place], *spec.constraints[place + 1 :])
        if probe.fits(replace(spec, constraints=rest)):
            lack = f"has the devices, but not {constraint_text(constraint)}"
            data = {"constraint": constraint_text(constraint)}
            return Shortfall((1, 0.5), probe.label, ReasonCode.SHAPE, need, lack, data)
    for request in spec.requests:
        one = ClaimSpec((request,))
        if not probe.fits(one):
            lack = _request_lack(probe, request, one)
            return Shortfall((1, 1.0), probe.label, ReasonCode.SHAPE, need, lack, {"request": request.name})
    held = probe.holders(spec)
    lack = f"has them, but held by {held}" if held else f"cannot serve its requests together: {probe.refusal(spec)}"
    return Shortfall((1, 0.7), probe.label, ReasonCode.SHAPE, need, lack, {})


def _request_lack(probe: "_Probe", request: ClaimRequest, one: ClaimSpec) -> str:
    """What stands between a stock and a single request: who holds the devices, or which selector refuses them."""
    held = probe.holders(one)
    if held:
        return f"has them for request {request.name}, but held by {held}"
    exact = request.exactly
    if exact is not None and exact.selectors:
        for place, selector in enumerate(exact.selectors):
            rest = (*exact.selectors[:place], *exact.selectors[place + 1 :])
            if probe.fits(ClaimSpec((replace(request, exactly=replace(exact, selectors=rest)),))):
                return f"has {exact.class_name} devices, but none with {selector}"
        if probe.fits(ClaimSpec((replace(request, exactly=replace(exact, selectors=())),))):
            return f"has {exact.class_name} devices, but none that all selectors of request {request.name} accept"
    return f"has none for request {request.name}: {probe.refusal(one)}"


def _most(probe: _Probe, spec: ClaimSpec, place: int, exact: DeviceRequest) -> int:
    """The largest count of one request that fits, 0 if not even one does."""
    low, high = 0, exact.count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if probe.fits(_with_count(spec, place, exact, middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _prefix(probe: _Probe, spec: ClaimSpec) -> int:
    """How many of the first requests fit together, rules among them kept."""
    low, high = 0, len(spec.requests) - 1
    while low < high:
        middle = (low + high + 1) // 2
        names = {each.name for each in spec.requests[:middle]}
        rules = tuple(
            replace(each, requests=kept)
            for each in spec.constraints
            if (kept := tuple(name for name in each.requests if name.split("/")[0] in names)) or not each.requests
        )
        if probe.fits(replace(spec, requests=spec.requests[:middle], constraints=rules, config=())):
            low = middle
        else:
            high = middle - 1
    return low


def _devices_of(request: ClaimRequest) -> int:
    return (request.exactly or request.first_available[0]).count


def _with_count(spec: ClaimSpec, place: int, exact: DeviceRequest, count: int) -> ClaimSpec:
    request = replace(spec.requests[place], exactly=replace(exact, count=count))
    return replace(spec, requests=(*spec.requests[:place], request, *spec.requests[place + 1 :]))


def _match_of(spec: ClaimSpec, request: str) -> str:
    for each in spec.constraints:
        if each.match_attribute and (not each.requests or request in each.requests):
            return each.match_attribute
    return ""


def _needs(asked: Sequence[Asked]) -> str:
    texts = [f"claim {each.entry or each.shared} {need_text(each.claim.spec)}" for each in asked if not each.daemon]
    return f"{', '.join(texts)} on one node" if texts else "devices"


def need_text(spec: ClaimSpec) -> str:
    """What a claim asks for, in words: "8 gpu devices sharing numa"; like requests and like rules are added up."""
    plain: dict[str, int] = {}
    others: list[str] = []
    for request in spec.requests:
        exact = request.exactly
        if exact is not None and exact.mode != "All" and not exact.capacity:
            plain[exact.class_name] = plain.get(exact.class_name, 0) + exact.count
        else:
            choices = [exact] if exact is not None else list(request.first_available)
            others.append(" or ".join(_request_text(each) for each in choices))
    parts = [f"{count} {name} device{'s' if count != 1 else ''}" for name, count in plain.items()]
    rules = _rules_text(spec)
    return " and ".join((*parts, *others)) + (f" {rules}" if rules else "")


def _rules_text(spec: ClaimSpec) -> str:
    alike: dict[tuple[bool, str, int], list[DeviceConstraint]] = {}
    for each in spec.constraints:
        attribute = each.match_attribute or each.distinct_attribute
        alike.setdefault((bool(each.match_attribute), attribute, len(each.requests)), []).append(each)
    texts: list[str] = []
    for (match, attribute, size), rules in alike.items():
        if len(rules) == 1:
            texts.append(constraint_text(rules[0]))
        else:
            what = f"sharing {short(attribute)}" if match else f"with distinct {short(attribute)}"
            texts.append(f"in {len(rules)} sets of {size} requests {what}")
    return ", ".join(texts)


def _request_text(request: DeviceRequest) -> str:
    if request.mode == "All":
        return f"all {request.class_name} devices"
    amount = "".join(f" with {value} {name}" for name, value in sorted((request.capacity or {}).items()))
    return f"{request.count} {request.class_name} device{'s' if request.count != 1 else ''}{amount}"


def constraint_text(constraint: DeviceConstraint) -> str:
    among = f" among {', '.join(constraint.requests)}" if len(constraint.requests) > 1 else ""
    if constraint.match_attribute:
        return f"sharing {short(constraint.match_attribute)}{among}"
    return f"with distinct {short(constraint.distinct_attribute)}{among}"


def short(attribute: str) -> str:
    """Readable: the domain only where it is not the driver's own."""
    return attribute.rpartition("/")[2] if not attribute.startswith("resource.kubernetes.io/") else attribute
