"""Edits made in the text of a YAML file, by the places that the parser reports: what is not edited keeps every byte.

A parser's tree would lose comments next to what goes, and indent anew (docs/decisions/0006-yaml-edits.md). The edited
text is parsed again and compared with what was meant, so an edit that the text can't take is refused, not written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from muster_migrate import Cut, Edit, Put, apply_edits

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_WIDE = 1_000_000
_ALIAS = re.compile(r"\s*\*[^\s,\]}]+")


class _Loader(yaml.CSafeLoader):
    """As the API server reads YAML: a date is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class YamlFault:
    """Why a text can't be read or edited; `line` counts from 1, 0 where none is to blame."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document: its value and the parser's tree of it."""

    value: object
    node: yaml.Node


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """What becomes of a document: edits, and objects to write in front of it."""

    edits: tuple[Edit, ...]
    before: tuple[Mapping[str, object], ...]


def read_documents(text: str) -> list[YamlDocument] | YamlFault:
    """All documents of a text that hold anything."""
    try:
        found: list[YamlDocument] = []
        # Constructing merges `<<` into the tree, which edits need as it is written: so the text is composed twice.
        for node, merged in zip(_nodes(text), _nodes(text), strict=True):
            fault = _repeated_key(node, set())
            if fault is not None:
                return fault
            value = _Loader("").construct_document(merged)
            if value is not None:
                found.append(YamlDocument(value, node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 0
        template = "{{" in text and "}}" in text
        hint = "; a template must be rendered first (helm template)" if template else ""
        return YamlFault(line, f"it is no YAML: {error.problem or error.context or 'syntax error'}{hint}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return YamlFault(0, f"it is no YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    return found


def _nodes(text: str) -> Iterator[yaml.Node]:
    loader = _Loader(text)
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            yield node


def edit_text(text: str, documents: Sequence[YamlDocument], plans: Sequence[DocumentPlan]) -> str | YamlFault:
    """The text with all plans carried out, one for each document; untouched text is the same, byte for byte."""
    if not any(plan.edits or plan.before for plan in plans):
        return text
    if text.lstrip("\ufeff").startswith("%"):
        return YamlFault(1, "it begins with a directive; take it away, edits need plain documents")
    changes: list[_Change] = []
    style = _Style(indented=any(_indents_lists(each.node, set()) for each in documents))
    source = _Source(text)
    meant: list[object] = []
    for document, plan in zip(documents, plans, strict=True):
        value = cast("Mapping[str, object]", document.value)
        result = apply_edits(value, plan.edits) if plan.edits else value
        editor = _Editor(source, document.node, result, style)
        changes += editor.changes(plan.edits)
        if plan.before:
            changes.append(_added(source, document.node, plan.before, style))
        meant += [*plan.before, result]
    edited = source.with_changes(changes)
    again = read_documents(edited)
    if isinstance(again, YamlFault) or [each.value for each in again] != meant:
        return YamlFault(
            documents[0].node.start_mark.line + 1,
            "its anchors or its layout don't allow the edit in place; write the repeated parts out and try again",
        )
    return edited


def dump(value: object, *, indented: bool = False) -> str:
    """A value as block YAML, keys in their order."""
    dumper = _Indented if indented else _Dumper
    return yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, width=_WIDE, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Without anchors: what is written stands alone."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class _Indented(_Dumper):
    """Items of a list stand deeper than its key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, indentless=False)


@dataclass(frozen=True, slots=True)
class _Style:
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
        text = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, default_flow_style=True, width=_WIDE, allow_unicode=True
        )
        return text.removesuffix("...\n").strip()


@dataclass(frozen=True, slots=True)
class _Change:
    """Text between two offsets becomes another; what is put in at one place keeps its order."""

    start: int
    end: int
    text: str


class _Source:
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
        return self.text[self.offset(number) : self.offset(number + 1)]

    def with_changes(self, changes: Iterable[_Change]) -> str:
        newline = "\r\n" if "\r\n" in self.text else "\n"
        text = self.text
        ordered = sorted(enumerate(changes), key=lambda each: (each[1].start, each[1].end, each[0]))
        for _, change in reversed(ordered):
            new = change.text.replace("\n", newline)
            if new and change.start == len(self.text) and not self.text.endswith(("\n", "\r")):
                new = newline + new
            text = text[: change.start] + new + text[change.end :]
        return text


class _NeedsRewrite(Exception):
    """A place that can't be edited by lines; `depth` says which part of the path must be written anew."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a path: the container, and the entry in it. `alias`: the entry's value stands elsewhere."""

    container: yaml.Node
    key: yaml.Node | None
    value: yaml.Node
    index: int
    alias: bool


class _Editor:
    """Edits of one document."""

    def __init__(self, source: _Source, root: yaml.Node, result: object, style: _Style) -> None:
        self._source, self._root, self._result, self._style = source, root, result, style
        self._anchored = _aliases(root)

    def changes(self, edits: Sequence[Edit]) -> list[_Change]:
        rewritten: set[tuple[str | int, ...]] = set()
        done: list[_Change] = []
        while True:
            done = []
            try:
                for edit in edits:
                    if any(edit.path[: len(prefix)] == prefix for prefix in rewritten):
                        continue
                    depth = len(edit.path)
                    try:
                        done.append(self._change(edit))
                    except _NeedsRewrite as needed:
                        depth = needed.depth
                        prefix = edit.path[:depth]
                        rewritten = {each for each in rewritten if each[: len(prefix)] != prefix} | {prefix}
                        raise
            except _NeedsRewrite:
                continue
            break
        return [*done, *(self._rewritten(prefix) for prefix in sorted(rewritten, key=str))]

    def _steps(self, path: Sequence[str | int]) -> list[_Step]:
        """The steps as far as they exist in the text. Raises _NeedsRewrite at a flow container, an alias, a merge."""
        node, found = self._root, list[_Step]()
        for depth, step in enumerate(path):
            if isinstance(node, yaml.CollectionNode) and node.flow_style:
                raise _NeedsRewrite(depth)
            entry = _entry(node, step)
            if entry is None:
                if isinstance(node, yaml.MappingNode) and _merges(node):
                    raise _NeedsRewrite(depth)
                return found
            key, value, index = entry
            alias = (id(node), index) in self._anchored
            if alias and depth + 1 < len(path):
                raise _NeedsRewrite(depth + 1 if key is not None else depth)
            found.append(_Step(node, key, value, index, alias))
            node = value
        return found

    def _change(self, edit: Edit) -> _Change:
        steps = self._steps(edit.path)
        parent = self._root if len(edit.path) == 1 else steps[len(edit.path) - 2].value
        if isinstance(parent, yaml.CollectionNode) and (parent.flow_style or not parent.value):
            raise _NeedsRewrite(len(edit.path) - 1)
        if isinstance(edit, Cut):
            return self._cut(steps[-1], len(edit.path))
        if len(steps) == len(edit.path):
            raise _NeedsRewrite(len(edit.path))
        return self._put(parent, edit)

    def _cut(self, step: _Step, depth: int) -> _Change:
        start = (step.key or step.value).start_mark
        if step.key is None:
            line = self._source.line(start.line)[: start.column]
            if line.strip() != "-" or step.alias:
                raise _NeedsRewrite(depth - 1)
        elif self._source.line(start.line)[: start.column].strip():
            raise _NeedsRewrite(depth - 1)
        last = self._last_line(step)
        return _Change(self._source.offset(start.line), self._source.offset(last + 1), "")

    def _put(self, parent: yaml.Node, edit: Put) -> _Change:
        depth = len(edit.path)
        if isinstance(parent, yaml.MappingNode):
            key = parent.value[-1][0]
            last = self._last_line(
                _Step(parent, key, parent.value[-1][1], len(parent.value) - 1, self._last_alias(parent))
            )
            column = parent.value[0][0].start_mark.column
            text = self._style.block({edit.path[-1]: edit.value}, column)
        elif isinstance(parent, yaml.SequenceNode):
            item = parent.value[-1]
            first = parent.value[0].start_mark
            if self._last_alias(parent) or (id(parent), 0) in self._anchored:
                raise _NeedsRewrite(depth - 1)
            column = self._source.line(first.line).rfind("-", 0, first.column)
            if column < 0:
                raise _NeedsRewrite(depth - 1)
            last = self._last_line(_Step(parent, None, item, len(parent.value) - 1, alias=False))
            text = self._style.items([edit.value], column)
        else:
            raise _NeedsRewrite(depth - 1)
        at = self._source.offset(last + 1)
        return _Change(at, at, text)

    def _last_alias(self, parent: yaml.CollectionNode) -> bool:
        return (id(parent), len(parent.value) - 1) in self._anchored

    def _rewritten(self, prefix: tuple[str | int, ...]) -> _Change:
        """The value at a path written anew: in the line where it stood in flow style, else as a block."""
        value: object = self._result
        for step in prefix:
            value = cast("Mapping[str | int, object]", value)[step]
        steps = self._steps(prefix)
        node = steps[-1].value if steps else self._root
        if steps and steps[-1].alias:
            key = cast("yaml.Node", steps[-1].key)
            colon = self._source.text.index(":", self._source.offset(key.end_mark.line, key.end_mark.column))
            match = _ALIAS.match(self._source.text, colon + 1)
            end = match.end() if match else colon + 1
            return _Change(colon + 1, end, f" {self._style.flow(value)}")
        start = self._source.offset(node.start_mark.line, node.start_mark.column)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = _last_line(self._source, node, self._anchored)
            column = self._source.text.rfind("\n", 0, start) + 1
            lead = self._source.text[column:start]
            block = self._style.block(value, len(lead))
            if isinstance(value, list):
                block = self._style.items(cast("list[object]", value), len(lead))
            return _Change(start, self._source.offset(last + 1), block.removeprefix(" " * len(lead)))
        end = self._source.offset(node.end_mark.line, node.end_mark.column)
        blank = "" if start == 0 or self._source.text[start - 1] in " \n" else " "
        return _Change(start, end, blank + self._style.flow(value))

    def _last_line(self, step: _Step) -> int:
        if step.alias and step.key is not None:
            return step.key.end_mark.line
        own = step.key.end_mark.line if step.key is not None else step.value.start_mark.line
        return max(own, _last_line(self._source, step.value, self._anchored))


def _last_line(source: _Source, node: yaml.Node, aliases: set[tuple[int, int]]) -> int:
    """The last line of a node's own text: comments and blank lines after it belong to what follows."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = len(node.value) - 1
        entry = node.value[-1]
        if isinstance(node, yaml.MappingNode):
            key, value = entry
            if (id(node), last) in aliases:
                return key.end_mark.line
            return max(key.end_mark.line, _last_line(source, value, aliases))
        if (id(node), last) in aliases:
            return _last_line(source, node.value[-2], aliases) + 1 if last else node.start_mark.line
        return _last_line(source, entry, aliases)
    end = node.end_mark
    line = end.line if end.column > 0 or end.line == node.start_mark.line else end.line - 1
    while line > node.start_mark.line and not source.line(line).strip():
        line -= 1
    return line


def _entry(node: yaml.Node, step: str | int) -> tuple[yaml.Node | None, yaml.Node, int] | None:
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        for index, (key, value) in enumerate(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return key, value, index
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step], step
    return None


def _merges(node: yaml.MappingNode) -> bool:
    return any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value)


def _aliases(root: yaml.Node) -> set[tuple[int, int]]:
    """Entries, as (container, position), whose value is an alias: its node was met before."""
    found: set[tuple[int, int]] = set()
    met: set[int] = set()

    def visit(node: yaml.Node) -> None:
        if not isinstance(node, yaml.CollectionNode):
            return
        for index, entry in enumerate(node.value):
            value = entry[1] if isinstance(node, yaml.MappingNode) else entry
            if id(value) in met:
                found.add((id(node), index))
                continue
            met.add(id(value))
            visit(value)

    visit(root)
    return found


def _repeated_key(node: yaml.Node, met: set[int]) -> YamlFault | None:
    if not isinstance(node, yaml.CollectionNode) or id(node) in met:
        return None
    met.add(id(node))
    keys: set[str] = set()
    for entry in node.value:
        if isinstance(node, yaml.MappingNode):
            key, value = entry
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in keys:
                    return YamlFault(key.start_mark.line + 1, f"key {key.value!r} occurs twice in one map")
                keys.add(key.value)
        else:
            value = entry
        fault = _repeated_key(value, met)
        if fault is not None:
            return fault
    return None


def _indents_lists(node: yaml.Node, met: set[int]) -> bool:
    """Whether the first list of the text that a key holds stands deeper than the key."""
    if not isinstance(node, yaml.CollectionNode) or id(node) in met:
        return False
    met.add(id(node))
    for entry in node.value:
        if isinstance(node, yaml.MappingNode):
            key, value = entry
            if isinstance(value, yaml.SequenceNode) and not value.flow_style and value.value and not node.flow_style:
                return bool(value.start_mark.column > key.start_mark.column)
        else:
            value = entry
        if _indents_lists(value, met):
            return True
    return False


def _added(source: _Source, node: yaml.Node, objects: Sequence[Mapping[str, object]], style: _Style) -> _Change:
    """New documents in front of one: after its `---`, so that its own leading comments stay with it."""
    line = node.start_mark.line
    text = "---\n".join(dump(each, indented=style.indented) for each in objects)
    while line >= 0:
        written = source.line(line)
        if written.startswith("---"):
            if line == node.start_mark.line:  # the document begins on the marker's own line
                first = not source.text[: source.offset(line)].strip()
                at = source.offset(line)
                return _Change(at, at, text if first else f"---\n{text}")
            at = source.offset(line + 1)
            return _Change(at, at, f"{text}---\n")
        line -= 1
    return _Change(0, 0, f"{text}---\n")
