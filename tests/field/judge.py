"""Whether an audit says what a case records: verdict, reason, node or group, number of nodes, devices, findings."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from field.cases import Case
from field.subjects import Meant, Names, expanded
from muster_audit import Report, Row

_NOW = {"scale-up": "infeasible"}
_PERMUTATIONS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Judged:
    """One recorded entry beside what was said. `wrong` is empty for agreement; `passed_over`: not for an audit."""

    case: str
    subject: str
    recorded: str
    said: str
    wrong: str = ""
    passed_over: bool = False


def judge(case: Case, reports: Mapping[int, Report] | None = None) -> list[Judged]:
    """All entries of a case, in order; by the audit's own replay of its steps, or by other reports after each step."""
    reports = reports or case.reports()
    last = reports[max(reports)]
    pods = [row.subject for row in last.rows if row.subject.startswith("Pod/") and row.verdict.value != "placed"]
    names = Names(pods)
    taken: set[str] = set()
    found: list[Judged] = []
    for entry in case.expected:
        meant = names.read(str(entry["subject"]))
        if meant.other:
            found.append(_other(case, meant, entry, last))
        elif meant.node:
            found.append(_on_node(case, meant, entry, last))
        else:
            steps = sorted(reports) if meant.every_step else meant.steps or (max(reports),)
            found.append(_rows(case, meant, entry, [reports[step] for step in steps if step in reports], taken))
    return found


def _said(rows: Iterable[Row]) -> str:
    told = Counter(
        " ".join(part for part in (row.verdict.value, row.reason, row.node, row.group) if part) for row in rows
    )
    return "; ".join(f"{count} x {text}" if count > 1 else text for text, count in told.items()) or "nothing"


def _result(
    case: Case, entry: Mapping[str, object], said: str, wrong: Sequence[str], *, passed: bool = False
) -> Judged:
    keys = ("verdict", "reason", "node", "group", "nodes", "object")
    recorded = " ".join(f"{entry[key]}" for key in keys if key in entry)
    return Judged(case.id, str(entry["subject"]), recorded, said, "; ".join(wrong), passed)


def _rows(case: Case, meant: Meant, entry: Mapping[str, object], reports: Sequence[Report], taken: set[str]) -> Judged:
    wrong: list[str] = []
    rows: list[Row] = []
    for report in reports:
        known = {row.subject: row for row in report.rows}
        absent = [name for name in meant.subjects if name not in known]
        if absent:
            wrong.append(f"no row for {', '.join(absent)}")
        rows = [known[name] for name in meant.subjects if name in known]
        if meant.rest:
            rows = [row for row in rows if row.subject not in taken]
        if entry["verdict"] == "exactly-one-feasible":
            wrong += _exactly_one(rows, entry)
            continue
        right = [row for row in rows if not _mismatch(row, entry, meant)]
        wanted = len(rows) if meant.count is None else meant.count
        if len(right) < wanted or not rows:
            first = next((text for row in rows for text in _mismatch(row, entry, meant)), "no row is left")
            wrong.append(f"{len(right)} of {wanted} as recorded: {first}")
        chosen = right[:wanted]
        taken.update(row.subject for row in chosen)
        wrong += _places(chosen, entry) + _devices(chosen, entry)
    return _result(case, entry, _said(rows), wrong)


def _exactly_one(rows: Sequence[Row], entry: Mapping[str, object]) -> list[str]:
    fitting = [row for row in rows if row.verdict.value == "feasible"]
    if len(fitting) != 1:
        return [f"{len(fitting)} are feasible"]
    return _places(fitting, entry) + _devices(fitting, entry)


def _mismatch(row: Row, entry: Mapping[str, object], meant: Meant) -> list[str]:
    """What of verdict, reason, group and number of nodes is otherwise than recorded."""
    verdict = _NOW.get(row.verdict.value, row.verdict.value) if meant.now else row.verdict.value
    wrong: list[str] = []
    if verdict != entry["verdict"]:
        wrong.append(f"{row.subject} is {verdict}")
    if "reason" in entry and row.reason != entry["reason"]:
        wrong.append(f"{row.subject} is so by {row.reason or 'no reason'}")
    if "group" in entry and row.group != entry["group"]:
        wrong.append(f"{row.subject} is for group {row.group or 'none'}")
    if "nodes" in entry and row.nodes != entry["nodes"]:
        wrong.append(f"{row.subject} says {row.nodes} nodes")
    if entry.get("scaleUp") == "never" and row.scale_up.value != "never":
        wrong.append(f"{row.subject} says more nodes: {row.scale_up.value or 'nothing'}")
    return wrong


def _places(rows: Sequence[Row], entry: Mapping[str, object]) -> list[str]:
    """Nodes: `a`, `a or b`, `any of a..b`, `a (2) and b (2)`, `a, b (one pod each)`, `both pods on a, or both on b`."""
    written = str(entry.get("node", ""))
    if not written or not rows:
        return []
    said = [name for row in rows for name in row.node.split(", ") if name]
    counts = dict(re.findall(r"(\S+) \((\d+)\)", written))
    if counts:
        wanted = Counter({name: int(count) for name, count in counts.items()})
        return [] if Counter(said) == wanted else [f"nodes are {', '.join(said)}"]
    choices = _names(re.sub(r"\(.*?\)|\b(both|pods|pod|on|any|of|or|and|each)\b", " ", written))
    together = "both" in written
    every = "," in written and not together
    if every and sorted(set(said)) != sorted(choices):
        return [f"nodes are {', '.join(said)}"]
    if together and len(set(said)) != 1:
        return [f"they are on {', '.join(sorted(set(said)))}"]
    strange = [name for name in said if name not in choices]
    return [f"node is {', '.join(strange)}"] if strange or not said else []


def _devices(rows: Sequence[Row], entry: Mapping[str, object]) -> list[str]:
    """Devices by their last name, as a set where several are named together, as alternatives where "or" is written."""
    written = str(entry.get("devices", ""))
    if not written or not rows or "in use" in written or written.startswith("one device"):
        return []
    choices = [part for part in re.split(r"\bor\b", re.sub(r"[()]", " ", written)) if part.strip()]
    wrong: list[str] = []
    for row in rows:
        said = Counter(device.rpartition("/")[2] for device in row.devices)
        if not any(said == _listed(choice) for choice in choices):
            wrong.append(f"{row.subject} has {', '.join(row.devices)}")
    return wrong


def _listed(text: str) -> Counter[str]:
    twice = 2 if re.search(r"\btwice\b", text) else 1
    words = _names(
        re.sub(r"\b(twice|shared|by|and)\b.*?(?=\s|$)|\bshared by \d+", " ", re.sub(r"shared by \d+", " ", text))
    )
    return Counter({word.rpartition("/")[2]: twice for word in words})


def _names(text: str) -> list[str]:
    return [name for word in re.split(r"[\s,+]+", text.strip()) if word for name in expanded(word)]


def _on_node(case: Case, meant: Meant, entry: Mapping[str, object], report: Report) -> Judged:
    """What the row says of one node: that it is the chosen one, or what that node answers."""
    known = {row.subject: row for row in report.rows}
    row = known.get(meant.subjects[0])
    if row is None:
        return _result(case, entry, "nothing", [f"no row for {meant.subjects[0]}"])
    answer = next((each for each in row.on if meant.node in each.nodes), None)
    if entry["verdict"] == "feasible":
        pinned = _pinned(case, meant)
        wrong = [] if pinned.verdict.value == "feasible" and pinned.node == meant.node else [f"it is {pinned.verdict}"]
        return _result(case, entry, _said([pinned]), wrong + _devices([pinned], entry))
    if answer is None or answer.reason is None:
        return _result(case, entry, _said([row]), [f"nothing is said about {meant.node}"])
    wrong = [] if answer.reason.value == entry.get("reason") else [f"{meant.node} answers {answer.reason.value}"]
    return _result(case, entry, f"infeasible {answer.reason.value}", wrong)


def _pinned(case: Case, meant: Meant) -> Row:
    """The pod with a node selector for the one node."""
    from muster_audit import Dump, audit

    dump = case.dump()
    name = meant.subjects[0].rpartition("/")[2]
    objects: list[Mapping[str, object]] = []
    for given in dump.objects:
        obj = given
        metadata, spec = obj.get("metadata"), obj.get("spec")
        pinned = obj.get("kind") == "Pod" and isinstance(metadata, dict) and metadata.get("name") == name
        if pinned and isinstance(spec, dict):
            obj = {**obj, "spec": {**spec, "nodeSelector": {"kubernetes.io/hostname": meant.node}}}
        objects.append(obj)
    report = audit([Dump(tuple(objects), dump.refused)])
    return next(row for row in report.rows if row.subject == meant.subjects[0])


def _other(case: Case, meant: Meant, entry: Mapping[str, object], report: Report) -> Judged:
    if meant.other == "finding":
        same = [each for each in report.findings if each.kind == entry["verdict"]]
        said = ", ".join(f"{each.kind} {each.object}" for each in report.findings) or "no finding"
        right = any(each.object == entry.get("object") for each in same)
        return _result(case, entry, said, [] if right else ["it is not said"])
    if meant.other.startswith("any permutation"):
        first = _signature(report)
        unlike = [
            seed
            for seed, each in zip(_PERMUTATIONS, case.reordered(_PERMUTATIONS), strict=True)
            if _signature(each) != first
        ]
        return _result(case, entry, f"{len(_PERMUTATIONS)} orders tried", [f"order {seed} differs" for seed in unlike])
    return _result(case, entry, "a matter of muster fragmentation", [], passed=True)


def _signature(report: Report) -> list[tuple[str, str, str, str, str, int]]:
    return [(row.subject, row.verdict.value, row.reason, row.node, row.group, row.nodes) for row in report.rows]
