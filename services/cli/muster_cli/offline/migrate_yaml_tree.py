"""YAML texts as the parser sees them: documents, and where in the text each part of a document stands."""

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from muster_cli.offline.migrate_yaml_text import Source

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"


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


def last_line(source: Source, node: yaml.Node, shared: set[tuple[int, int]]) -> int:
    """The last line of a node's own text: comments and blank lines after it belong to what follows.

    `shared` are the entries that are aliases (`aliases`): their nodes stand elsewhere.
    """
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = len(node.value) - 1
        entry = node.value[-1]
        if isinstance(node, yaml.MappingNode):
            key, value = entry
            if (id(node), last) in shared:
                return key.end_mark.line
            return max(key.end_mark.line, last_line(source, value, shared))
        if (id(node), last) in shared:
            return last_line(source, node.value[-2], shared) + 1 if last else node.start_mark.line
        return last_line(source, entry, shared)
    end = node.end_mark
    line = end.line if end.column > 0 or end.line == node.start_mark.line else end.line - 1
    while line > node.start_mark.line and not source.line(line).strip():
        line -= 1
    return line


def entry_at(node: yaml.Node, step: str | int) -> tuple[yaml.Node | None, yaml.Node, int] | None:
    """Key (None in a list), value and position of what a step leads to."""
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        for index, (key, value) in enumerate(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return key, value, index
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step], step
    return None


def merges(node: yaml.MappingNode) -> bool:
    """Whether a map takes entries of another one by `<<`."""
    return any(key.tag == _MERGE for key, _ in node.value)


def aliases(root: yaml.Node) -> set[tuple[int, int]]:
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
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in keys:
                    return YamlFault(key.start_mark.line + 1, f"key {key.value!r} occurs twice in one map")
                keys.add(key.value)
        else:
            value = entry
        fault = _repeated_key(value, met)
        if fault is not None:
            return fault
    return None


def indents_lists(node: yaml.Node, met: set[int]) -> bool:
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
        if indents_lists(value, met):
            return True
    return False
