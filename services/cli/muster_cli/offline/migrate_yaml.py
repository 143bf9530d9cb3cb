"""Edits made in the text of a YAML file, by the places that the parser reports: what is not edited keeps every byte.

A parser's tree would lose comments next to what goes, and indent anew (docs/decisions/0006-yaml-edits.md). The edited
text is parsed again and compared with what was meant, so an edit that the text can't take is refused, not written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from muster_cli.offline.migrate_yaml_text import Change, Source, Style, dump
from muster_cli.offline.migrate_yaml_tree import (
    YamlDocument,
    YamlFault,
    aliases,
    entry_at,
    indents_lists,
    last_line,
    merges,
    read_documents,
)
from muster_migrate import Cut, Edit, Put, apply_edits

_ALIAS = re.compile(r"\s*\*[^\s,\]}]+")


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """What becomes of a document: edits, and objects to write in front of it."""

    edits: tuple[Edit, ...]
    before: tuple[Mapping[str, object], ...]


def edit_text(text: str, documents: Sequence[YamlDocument], plans: Sequence[DocumentPlan]) -> str | YamlFault:
    """The text with all plans carried out, one for each document; untouched text is the same, byte for byte."""
    if not any(plan.edits or plan.before for plan in plans):
        return text
    if text.lstrip("\ufeff").startswith("%"):
        return YamlFault(1, "it begins with a directive; take it away, edits need plain documents")
    changes: list[Change] = []
    style = Style(indented=any(indents_lists(each.node, set()) for each in documents))
    source = Source(text)
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

    def __init__(self, source: Source, root: yaml.Node, result: object, style: Style) -> None:
        self._source, self._root, self._result, self._style = source, root, result, style
        self._anchored = aliases(root)

    def changes(self, edits: Sequence[Edit]) -> list[Change]:
        rewritten: set[tuple[str | int, ...]] = set()
        done: list[Change] = []
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

    def _steps(self, path: Sequence[str | int], *, adds: bool = False) -> list[_Step]:
        """The steps as far as they exist in the text. Raises _NeedsRewrite at a flow container, an alias, a merge."""
        node, found = self._root, list[_Step]()
        for depth, step in enumerate(path):
            if isinstance(node, yaml.CollectionNode) and node.flow_style:
                raise _NeedsRewrite(depth)
            entry = entry_at(node, step)
            if entry is None:
                # A key of its own outweighs a merged one, so a new key may be appended; but what is merged can't go.
                if isinstance(node, yaml.MappingNode) and merges(node) and not (adds and depth + 1 == len(path)):
                    raise _NeedsRewrite(depth)
                return found
            key, value, index = entry
            alias = (id(node), index) in self._anchored
            if alias and depth + 1 < len(path):
                raise _NeedsRewrite(depth + 1 if key is not None else depth)
            found.append(_Step(node, key, value, index, alias))
            node = value
        return found

    def _change(self, edit: Edit) -> Change:
        steps = self._steps(edit.path, adds=isinstance(edit, Put))
        parent = self._root if len(edit.path) == 1 else steps[len(edit.path) - 2].value
        if isinstance(parent, yaml.CollectionNode) and (parent.flow_style or not parent.value):
            raise _NeedsRewrite(len(edit.path) - 1)
        if isinstance(edit, Cut):
            return self._cut(steps[-1], len(edit.path))
        if len(steps) == len(edit.path):
            raise _NeedsRewrite(len(edit.path))
        return self._put(parent, edit)

    def _cut(self, step: _Step, depth: int) -> Change:
        start = (step.key or step.value).start_mark
        if step.key is None:
            line = self._source.line(start.line)[: start.column]
            if line.strip() != "-" or step.alias:
                raise _NeedsRewrite(depth - 1)
        elif self._source.line(start.line)[: start.column].strip():
            raise _NeedsRewrite(depth - 1)
        last = self._last_line(step)
        return Change(self._source.offset(start.line), self._source.offset(last + 1), "")

    def _put(self, parent: yaml.Node, edit: Put) -> Change:
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
        return Change(at, at, text)

    def _last_alias(self, parent: yaml.CollectionNode) -> bool:
        return (id(parent), len(parent.value) - 1) in self._anchored

    def _rewritten(self, prefix: tuple[str | int, ...]) -> Change:
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
            return Change(colon + 1, end, f" {self._style.flow(value)}")
        start = self._source.offset(node.start_mark.line, node.start_mark.column)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = last_line(self._source, node, self._anchored)
            column = self._source.text.rfind("\n", 0, start) + 1
            lead = self._source.text[column:start]
            block = self._style.block(value, len(lead))
            if isinstance(value, list):
                block = self._style.items(cast("list[object]", value), len(lead))
            return Change(start, self._source.offset(last + 1), block.removeprefix(" " * len(lead)))
        end = self._source.offset(node.end_mark.line, node.end_mark.column)
        blank = "" if start == 0 or self._source.text[start - 1] in " \n" else " "
        return Change(start, end, blank + self._style.flow(value))

    def _last_line(self, step: _Step) -> int:
        if step.alias and step.key is not None:
            return step.key.end_mark.line
        own = step.key.end_mark.line if step.key is not None else step.value.start_mark.line
        return max(own, last_line(self._source, step.value, self._anchored))


def _added(source: Source, node: yaml.Node, objects: Sequence[Mapping[str, object]], style: Style) -> Change:
    """New documents in front of one: after its `---`, so that its own leading comments stay with it."""
    line = node.start_mark.line
    text = "---\n".join(dump(each, indented=style.indented) for each in objects)
    while line >= 0:
        written = source.line(line)
        if written.startswith("---"):
            if line == node.start_mark.line:  # the document begins on the marker's own line
                first = not source.text[: source.offset(line)].strip()
                at = source.offset(line)
                return Change(at, at, text if first else f"---\n{text}")
            at = source.offset(line + 1)
            return Change(at, at, f"{text}---\n")
        line -= 1
    return Change(0, 0, f"{text}---\n")
