"""The text of a YAML file by lines, changes of it, and new parts in the style of what is there."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import yaml

_WIDE = 1_000_000


def dump(value: object, *, indented: bool = False) -> str:
    """A value as block YAML, keys in their order."""
    dumper = _Indented if indented else _Dumper
    text = yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, width=_WIDE, allow_unicode=True)
    return text.removesuffix("...\n")  # which ends a document that is a bare scalar


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is written stands alone."""

    def ignorealiases(self, data: object) -> bool:
        return True


class _Indented(_Dumper):
    """Items of a list stand deeper than its key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, indentless=False)


@dataclass(frozen=True, slots=True)
class Style:
    """How the text writes lists: `indented` when their items stand deeper than their key."""

    indented: bool

    def block(self, value: object, column: int) -> str:
        """Lines, indented to a column."""
        lines = dump(value, indented=self.indented).splitlines()
        return "".join(f"{' ' * column}{line}\n" for line in lines)

    def items(self, values: Sequence[object], column: int) -> str:
        """Items of a list whose dashes stand in a column."""
        rest = " " * (column + 2)
        return "".join(f"{' ' * column}- {self.block(value, column + 2).removeprefix(rest)}" for value in values)

    def flow(self, value: object) -> str:
        """In one line."""
        text = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=_WIDE, allow_unicode=True
        )
        return text.removesuffix("...\n").strip()


@dataclass(frozen=True, slots=True)
class Change:
    """Text between two offsets becomes another; what is put in at one place keeps its order."""

    start: int
    end: int
    text: str


class Source:
    """The text with its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        for match in re.finditer(r"\r\n|\n|\r|\x85|\u2028|\u2029", text):
            self._starts.append(match.end())

    def offset(self, line: int, column: int = 0) -> int:
        """Where a line (from 0) has a column; the end of the text for lines beyond it."""
        if line >= len(self._starts):
            return len(self.text)
        return min(self._starts[line] + column, len(self.text))

    def line(self, number: int) -> str:
        """A line with its end."""
        return self.text[self.offset(number) : self.offset(number + 1)]

    def with_changes(self, changes: Iterable[Change]) -> str:
        """The text after all changes, with the line ends that it has."""
        newline = "\r\n" if "\r\n" in self.text else "\n"
        text = self.text
        ordered = sorted(enumerate(changes), key=lambda each: (each[1].start, each[1].end, each[0]))
        for _, change in reversed(ordered):
            new = change.text.replace("\n", newline)
            if new and change.start == len(self.text) and not self.text.endswith(("\n", "\r")):
                new = newline + new
            text = text[: change.start] + new + text[change.end :]
        return text
