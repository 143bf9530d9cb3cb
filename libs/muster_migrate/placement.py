"""Node selector and required node affinity of a pod: which conditions on product labels move into the claim.

A claim can say "and"; of alternatives over whole nodes it can say only those in which nothing else differs.
"""

from dataclasses import dataclass, field

from muster_migrate.catalogue import Query
from muster_migrate.edits import Cut, Edit, Json, Path, items_at, mapping_at, shown
from muster_migrate.evidence import Evidence
from muster_migrate.remarks import Cause, Remark, Saying
from muster_migrate.selectors import Condition, Stays, Turned, is_product_label, label_driver, turn

_REQUIRED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_PREFERRED = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")


@dataclass(frozen=True, slots=True)
class Found:
    """A condition and where it stands."""

    condition: Condition
    path: Path


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The queries by resource with what moved into them, and the edits that take it out of the pod."""

    queries: dict[str, Query]
    edits: tuple[Edit, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(slots=True)
class _Work:
    obj: Json
    subject: str
    evidence: Evidence
    queries: dict[str, Query]
    edits: list[Edit] = field(default_factory=list[Edit])
    remarks: list[Remark] = field(default_factory=list[Remark])

    def say(self, saying: Saying, cause: Cause, path: Path, text: str, remedy: str = "") -> None:
        self.remarks.append(Remark(self.subject, saying, cause, shown(path), text, remedy))

    def meant(self, condition: Condition) -> list[str]:
        """The resources whose devices a condition is about; none where no claim of the pod is."""
        driver = label_driver(condition.key)
        drivers = {query.driver for query in self.queries.values()}
        if driver:
            return [name for name, query in self.queries.items() if query.driver == driver]
        return list(self.queries) if len(drivers) == 1 else []


def required_conditions(obj: Json, spec: Path) -> tuple[Found, ...]:
    """The conditions that hold for the pod in any case: its node selector and the affinity's only term."""
    found = [
        Found(Condition(key, "In", (value,)), (*spec, "nodeSelector", key))
        for key, value in mapping_at(obj, (*spec, "nodeSelector")).items()
        if isinstance(value, str)
    ]
    terms = items_at(obj, (*spec, *_REQUIRED))
    if len(terms) == 1:
        found += _of_term(obj, (*spec, *_REQUIRED, 0))
    return tuple(found)


def narrow(obj: Json, spec: Path, subject: str, queries: dict[str, Query], evidence: Evidence) -> Narrowing:
    """Move into the queries what they can say; `queries` are those of the resources that become claims."""
    work = _Work(obj, subject, evidence, dict(queries))
    selector = mapping_at(obj, (*spec, "nodeSelector"))
    gone = [
        each for each in required_conditions(obj, spec) if each.path[len(spec)] == "nodeSelector" and _moved(work, each)
    ]
    if gone and len(gone) == len(selector):
        work.edits.append(Cut((*spec, "nodeSelector")))
    else:
        work.edits += [Cut(each.path) for each in gone]
    terms = items_at(obj, (*spec, *_REQUIRED))
    if len(terms) == 1:
        _one_term(work, spec)
    elif len(terms) > 1:
        _alternatives(work, spec, len(terms))
    for index, _ in enumerate(items_at(obj, (*spec, *_PREFERRED))):
        path = (*spec, *_PREFERRED, index, "preference")
        for each in _of_term(obj, path):
            if is_product_label(each.condition.key) and work.meant(each.condition):
                why = f"the wish for {each.condition} stays: a claim has no wishes for nodes"
                work.say(Saying.KEPT, Cause.PREFERENCE, each.path, why)
    return Narrowing(work.queries, tuple(work.edits), tuple(work.remarks))


def _one_term(work: _Work, spec: Path) -> None:
    term = (*spec, *_REQUIRED, 0)
    conditions = _of_term(work.obj, term)
    gone = [each for each in conditions if _moved(work, each)]
    if not gone:
        return
    rest = len(items_at(work.obj, (*term, "matchExpressions"))) - len(gone)
    if rest:
        work.edits += [Cut(each.path) for each in gone]
    elif items_at(work.obj, (*term, "matchFields")):
        work.edits.append(Cut((*term, "matchExpressions")))
    else:
        work.edits.append(Cut(_emptied(work.obj, spec)))


def _emptied(obj: Json, spec: Path) -> Path:
    """The highest field that holds nothing but the required terms: an empty selector would match no node."""
    path = (*spec, *_REQUIRED[:3])
    while len(path) > len(spec) + 1 and len(mapping_at(obj, path[:-1])) == 1:
        path = path[:-1]
    return path


def _alternatives(work: _Work, spec: Path, count: int) -> None:
    """Terms are ORed: they move only together, and only where each says nothing but what devices say."""
    terms = [_of_term(work.obj, (*spec, *_REQUIRED, index)) for index in range(count)]
    flat = [each for term in terms for each in term]
    relevant = [each for each in flat if is_product_label(each.condition.key) and work.meant(each.condition)]
    if not relevant:
        return
    whole = (*spec, *_REQUIRED)
    parts: list[str] = []
    names = work.meant(relevant[0].condition)
    alone = all(term for term in terms) and not any(
        items_at(work.obj, (*whole, index, "matchFields")) for index in range(count)
    )
    if len(relevant) == len(flat) and alone and all(work.meant(each.condition) == names for each in flat):
        for term in terms:
            answers = [turn(each.condition, work.queries[name], work.evidence) for each in term for name in names[:1]]
            said = [answer.expression for answer in answers if isinstance(answer, Turned) and answer.expression]
            if len(said) != len(answers):
                break
            joined = " && ".join(f"({each})" if "||" in each and len(said) > 1 else each for each in said)
            parts.append(f"({joined})" if "&&" in joined else joined)
    if len(parts) != count or len(names) != 1:
        text = "alternatives over nodes stay as they are: besides devices they differ in the nodes"
        work.say(Saying.KEPT, Cause.ALTERNATIVES, whole, text)
        return
    expression = " || ".join(parts)
    work.queries[names[0]] = work.queries[names[0]].narrowed(expression)
    work.edits.append(Cut(_emptied(work.obj, spec)))
    work.say(Saying.CHANGED, Cause.SELECTOR, whole, f"the alternatives became the selector {expression}")


def _moved(work: _Work, found: Found) -> bool:
    """Whether a condition moves into every query that it is about."""
    condition = found.condition
    if not is_product_label(condition.key):
        return False
    names = work.meant(condition)
    if not names:
        return False
    answers = [turn(condition, work.queries[name], work.evidence) for name in names]
    for answer in answers:
        if isinstance(answer, Stays):
            work.say(Saying.KEPT, answer.cause, found.path, f"{condition} stays a condition on the node: {answer.why}")
            return False
    turned = [answer for answer in answers if isinstance(answer, Turned)]
    for name, answer in zip(names, turned, strict=True):
        if answer.expression:
            work.queries[name] = work.queries[name].narrowed(answer.expression)
    first = turned[0]
    if first.expression:
        text = f"{condition} became the selector {first.expression}: {first.why}"
        work.say(Saying.CHANGED, Cause.SELECTOR, found.path, text)
    else:
        work.say(Saying.CHANGED, Cause.REDUNDANT, found.path, f"{condition} went: {first.why}")
    return True


def _of_term(obj: Json, path: Path) -> list[Found]:
    found: list[Found] = []
    for index, item in enumerate(items_at(obj, (*path, "matchExpressions"))):
        fields = mapping_at(item, ())
        key, operator = fields.get("key"), fields.get("operator")
        values = tuple(str(value) for value in items_at(item, ("values",)))
        if isinstance(key, str) and isinstance(operator, str):
            found.append(Found(Condition(key, operator, values), (*path, "matchExpressions", index)))
    return found
