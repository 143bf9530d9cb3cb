"""An audit for people, in 80 columns: a line for each subject, why and what to do below it; and the tree of one pod."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from rich.padding import Padding
from rich.text import Text
from rich.tree import Tree

from muster_audit import Branch, Finding, Report, Row, Word
from muster_cli.console import stdout

_QUIET = frozenset({Word.PLACED, Word.IDLE, Word.USAGE, Word.OPTION, Word.KEEPS_ALLOCATION})
"""What is left out: nothing has to be done about it."""
_COLORS = {
    Word.FEASIBLE: "green",
    Word.PROVISIONED: "green",
    Word.SCALE_UP: "yellow",
    Word.REMOVAL_CANDIDATE: "yellow",
    Word.UNSAFE: "magenta",
}


def print_report(report: Report) -> None:
    """Rows that say the same of several subjects are one."""
    rows = [row for row in report.rows if row.verdict not in _QUIET and not _said_as_finding(row, report)]
    if not rows:
        stdout.print("nothing is pending")
    for same in _alike(rows):
        _print_rows(same)
    if report.findings:
        stdout.print(Text("\nfindings" if rows else "findings", style="bold"))
    for finding in report.findings:
        _print_finding(finding)
    _print_summary(rows, report.findings)


def _said_as_finding(row: Row, report: Report) -> bool:
    """The list of findings says it."""
    return row.verdict in (Word.FINDING, Word.INVALID_INPUT) and any(
        each.object == row.subject for each in report.findings
    )


def _alike(rows: Iterable[Row]) -> list[list[Row]]:
    """In the order of the first of each."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        kind, _, name = row.subject.partition("/")
        namespace = name.rpartition("/")[0]
        told = (kind, namespace, row.verdict, row.reason, row.why, row.remedy, row.group, row.nodes)
        found.setdefault(told, []).append(row)
    return list(found.values())


def _print_rows(rows: Sequence[Row]) -> None:
    first = rows[0]
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    style = _COLORS.get(first.verdict, "red")
    line = Text.assemble((first.subject + more, "bold"), "  ", (_word(first), style))
    where = _where(rows)
    if where:
        line.append(f"  {where}")
    stdout.print(line)
    _print_below(first.why, first.remedy)


def _print_below(why: str, remedy: str) -> None:
    if why:
        stdout.print(Padding(Text(why), (0, 0, 0, 4)))
    if remedy:
        stdout.print(Padding(Text(f"-> {remedy}"), (0, 0, 0, 4)))


def _word(row: Row) -> str:
    return f"{row.verdict}: {row.reason}" if row.reason and row.reason != row.verdict else row.verdict.value


def _where(rows: Sequence[Row]) -> str:
    nodes = sorted({row.node for row in rows if row.node})
    parts = [nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} other nodes"] if nodes else []
    if rows[0].nodes:
        parts.append(f"+{rows[0].nodes} of {rows[0].group}")
    return ", ".join(parts)


def _print_finding(finding: Finding) -> None:
    stdout.print(Text.assemble((finding.object, "bold"), "  ", (finding.kind, "red")))
    _print_below(finding.why, finding.remedy)


def _print_summary(rows: Sequence[Row], findings: Sequence[Finding]) -> None:
    pending = Counter(
        row.verdict.value for row in rows if row.subject.startswith(("Pod/", "PodGroup/", "ProvisioningRequest/"))
    )
    told = [f"{count} {word}" for word, count in pending.most_common()]
    if findings:
        told.append(f"{len(findings)} finding{'s' if len(findings) != 1 else ''}")
    if told:
        stdout.print(Text(f"\n{', '.join(told)}"))


def print_tree(branch: Branch) -> None:
    """The explanation of one pod."""
    stdout.print(_tree(branch))


def _tree(branch: Branch, parent: Tree | None = None) -> Tree:
    mark = {True: ("✓ ", "green"), False: ("✗ ", "red"), None: ("", "")}[branch.fits]
    text = Text.assemble(mark, branch.text)
    tree = Tree(text) if parent is None else parent.add(text)
    for child in branch.children:
        _tree(child, tree)
    return tree
