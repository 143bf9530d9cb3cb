"""Objects of a YAML stream, built from parser events one object at a time.

PyYAML's loader keeps a node with two marks for every scalar of a document: 2.5 GB and 31 s for a `List` of 50 MB.
Here an item of a `List` is handed out as soon as it ends, so memory holds one object, whatever the file's size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from sys import intern
from typing import cast

import yaml
from yaml._yaml import CParser
from yaml.reader import ReaderError

from muster_kube.documents import ByteStream, Document, split_documents
from muster_kube.parsed import Broken, Parsed
from muster_kube.parts import text
from muster_kube.readings import Limits
from muster_kube.scalars import plain_scalar

_ITEMS = "items"
_MERGE = "<<"
_CORE_TAG = "tag:yaml.org,2002:"
_COLLECTION_TAGS = frozenset((None, "!", _CORE_TAG + "map", _CORE_TAG + "seq"))
_TEXT_TAGS = frozenset(("!", _CORE_TAG + "str"))
_PLAIN_TAGS = frozenset(_CORE_TAG + name for name in ("int", "float", "bool", "null"))


@dataclass(slots=True)
class _AliasBudget:
    """Nodes that the aliases of one file may still add."""

    left: int


def read_yaml(stream: ByteStream, limits: Limits) -> Iterator[Parsed | Broken]:
    """The objects of a stream in order: each item of a top-level `items` list for itself, other documents whole."""
    budget = _AliasBudget(limits.alias_nodes)
    for document in split_documents(stream):
        if document.index > limits.documents:
            reason = f"the file has more than {limits.documents} documents; what follows is not read: split it"
            yield Broken(document.first_line, document.index, "", reason)
            return
        builder = _Builder(document, limits, budget)
        try:
            yield from builder.run()
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            yield builder.broken(*_explain(error))


def _explain(error: yaml.YAMLError | UnicodeDecodeError) -> tuple[int, str]:
    """Line in the document (from 0) and reason of a parser's complaint."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        return (mark.line if mark else 0), f"malformed YAML ({said}); mend the indentation or the quotes"
    if isinstance(error, ReaderError):
        return 0, f"it is no UTF-8 text ({error.reason}); save it as UTF-8 encoded YAML or JSON"
    return 0, f"it cannot be parsed ({error}); save it as UTF-8 encoded YAML or JSON"


@dataclass(slots=True)
class _Open:
    """A map or list that has not ended. `height` is the nesting below it, `start` the node count before it."""

    container: dict[str, object] | list[object]
    is_map: bool
    is_items: bool
    anchor: str | None
    line: int
    start: int
    key: str | None = None
    height: int = 0


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: object
    size: int
    height: int


class _TooMuch(Exception):
    """The document breaks a limit; nothing more of it is read."""


class _Builder:
    """Builds the objects of one document."""

    def __init__(self, document: Document, limits: Limits, budget: _AliasBudget) -> None:
        self._document = document
        self._limits = limits
        self._budget = budget
        self._reset()

    def _reset(self) -> None:
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._fault: tuple[str, str] | None = None
        self._nodes = 0
        self._root: tuple[object, int] | None = None
        self._kindless: list[Parsed] = []
        self._in_items = False

    def broken(self, line: int, reason: str, path: str = "") -> Broken:
        """The rest of the document cannot be read."""
        base = self._base()
        for parent, child in pairwise(self._stack[base:]):
            if parent.is_map and parent.key is not None:
                cast("dict[str, object]", parent.container)[parent.key] = child.container
        known = _as_object(self._stack[base].container) if len(self._stack) > base else None
        return Broken(self._document.first_line + line, self._document.index, path, reason, known)

    def run(self) -> Iterator[Parsed | Broken]:
        """The objects; raises what the parser raises."""
        # CParser takes anything with read(size); its stub asks for text or a file.
        parser = CParser(cast("bytes", self._document))
        line = 0
        try:
            while True:
                event = cast("yaml.Event", parser.get_event())
                done = None
                if isinstance(event, yaml.ScalarEvent):
                    done = self._scalar(event)
                elif isinstance(event, yaml.CollectionStartEvent):
                    line = event.start_mark.line if event.start_mark else 0
                    self._begin(event, line)
                elif isinstance(event, yaml.CollectionEndEvent):
                    done = self._end()
                elif isinstance(event, yaml.AliasEvent):
                    done = self._alias(event)
                elif isinstance(event, yaml.DocumentEndEvent):
                    yield from self._finish()
                    self._reset()
                elif isinstance(event, yaml.StreamEndEvent):
                    return
                if done is not None:
                    yield done
        except _TooMuch as error:
            yield self.broken(line, str(error), self._path())
        finally:
            parser.dispose()

    def _scalar(self, event: yaml.ScalarEvent) -> Parsed | Broken | None:
        self._count(1)
        top = self._stack[-1] if self._stack else None
        written = event.value
        if top is not None and top.is_map and top.key is None:
            if written in top.container:
                self._blame(f"the key {written!r} stands twice; keep one of them", written)
            top.key = intern(written)  # a fleet repeats a few dozen keys a million times
            return None
        tag = event.tag
        value: object = written
        if tag is None:
            if not event.style:
                value = plain_scalar(written)
        elif tag in _PLAIN_TAGS:
            value = plain_scalar(written)
        elif tag not in _TEXT_TAGS:
            self._blame(f"the tag {tag!r} has no meaning in Kubernetes; remove it")
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        return self._attach(value, 0)

    def _begin(self, event: yaml.CollectionStartEvent, line: int) -> None:
        self._count(1)
        depth = len(self._stack)
        if depth >= self._limits.depth:
            raise _TooMuch(f"it is nested more than {self._limits.depth} deep; no Kubernetes object is")
        if event.tag not in _COLLECTION_TAGS:
            self._blame(f"the tag {event.tag!r} has no meaning in Kubernetes; remove it")
        is_map = isinstance(event, yaml.MappingStartEvent)
        is_items = not is_map and depth == 1 and self._stack[0].is_map and self._stack[0].key == _ITEMS
        if is_items:
            self._in_items = True
        container: dict[str, object] | list[object] = {} if is_map else []
        self._stack.append(_Open(container, is_map, is_items, event.anchor, line, self._nodes))

    def _end(self) -> Parsed | Broken | None:
        done = self._stack.pop()
        if done.is_map and _MERGE in done.container:
            self._merge(cast("dict[str, object]", done.container))
        if done.anchor is not None:
            self._anchors[done.anchor] = _Anchored(done.container, max(self._nodes - done.start, 0) + 1, done.height)
        return self._attach(done.container, done.height + 1, done.line)

    def _alias(self, event: yaml.AliasEvent) -> Parsed | Broken | None:
        self._count(1)
        anchored = self._anchors.get(cast("str", event.anchor))
        if anchored is None:
            self._blame(f"the alias *{event.anchor} stands for nothing before it; write the value out")
            return self._attach(None, 0)
        if anchored.size > self._budget.left:
            raise _TooMuch(
                f"the YAML aliases of this file stand for more than {self._limits.alias_nodes} values; write them out"
            )
        self._budget.left -= anchored.size
        self._count(anchored.size)
        if len(self._stack) + anchored.height > self._limits.depth:
            raise _TooMuch(f"its aliases nest more than {self._limits.depth} deep; no Kubernetes object does")
        return self._attach(_copy(anchored.value), anchored.height)

    def _attach(self, value: object, height: int, line: int = 0) -> Parsed | Broken | None:
        """Put a finished value where it belongs; an item of a list of objects is handed out instead."""
        if not self._stack:
            self._root = (value, line)
            return None
        top = self._stack[-1]
        top.height = max(top.height, height)
        if top.is_map:
            if top.key is None:
                self._blame("a key is a map, a list or an alias; keys are text")
                top.key = "?"
            else:
                cast("dict[str, object]", top.container)[top.key] = value
                top.key = None
            return None
        if not top.is_items:
            cast("list[object]", top.container).append(value)
            return None
        return self._item(value, line)

    def _item(self, value: object, line: int) -> Parsed | Broken | None:
        self._nodes = 0
        header = _as_object(self._stack[0].container) or {}
        at = self._document.first_line + line
        if self._fault is not None:
            path, reason = self._fault
            self._fault = None
            return Broken(at, self._document.index, path, reason, _as_object(value))
        item = Parsed(at, self._document.index, value, text(header.get("kind")), text(header.get("apiVersion")))
        if item.list_kind or (isinstance(value, dict) and "kind" in value):
            return item
        self._kindless.append(item)
        return None

    def _finish(self) -> Iterator[Parsed | Broken]:
        value, line = self._root if self._root is not None else (None, 0)
        at, index = self._document.first_line + line, self._document.index
        if self._fault is not None:
            path, reason = self._fault
            yield Broken(at, index, path, reason, _as_object(value))
        elif self._in_items:
            header = _as_object(value) or {}
            kind, version = text(header.get("kind")), text(header.get("apiVersion"))
            yield from (Parsed(each.line, index, each.value, kind, version) for each in self._kindless)
        elif value is not None:
            yield Parsed(at, index, value)

    def _merge(self, into: dict[str, object]) -> None:
        """YAML 1.1 merge key: what `<<` brings does not replace what is written."""
        merged = into.pop(_MERGE)
        for each in cast("list[object]", merged) if isinstance(merged, list) else [merged]:
            source = _as_object(each)
            if source is None:
                self._blame("the merge key << wants a map; write the fields out", _MERGE)
                return
            for key, value in source.items():
                into.setdefault(key, value)

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > self._limits.object_nodes:
            raise _TooMuch(
                f"the object has more than {self._limits.object_nodes} values, more than an API server stores; "
                "split it or leave it out"
            )

    def _blame(self, reason: str, key: str | None = None) -> None:
        """The current object is spoiled; the first fault of it is the one that is told."""
        if self._fault is None:
            path = self._path()
            self._fault = (f"{path}.{key}" if path and key else key or path, reason)

    def _base(self) -> int:
        """Index of the frame that is the current object: an item of a list, or the document's root."""
        return 2 if len(self._stack) > 1 and self._stack[1].is_items else 0

    def _path(self) -> str:
        parts: list[str] = []
        for frame in self._stack[self._base() :]:
            if not frame.is_map:
                parts.append(f"[{len(frame.container)}]")
            elif frame.key is not None:
                parts.append(f".{frame.key}")
        return "".join(parts).removeprefix(".")


def _as_object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _copy(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_copy(each) for each in cast("list[object]", value)]
    return value
