"""Edits in YAML texts that people wrote: line by line, what moves and what does not."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from muster_cli.offline.migrate_yaml import DocumentPlan, edit_text
from muster_cli.offline.migrate_yaml_tree import YamlFault, read_documents
from muster_migrate import Cut, Edit, Put

NEW: Mapping[str, object] = {"kind": "New"}


def _edited(text: str, edits: Sequence[Edit] = (), before: Sequence[Mapping[str, object]] = ()) -> str | YamlFault:
    documents = read_documents(text)
    assert not isinstance(documents, YamlFault)
    nothing = DocumentPlan((), ())
    plans = [DocumentPlan(tuple(edits), tuple(before)), *[nothing] * (len(documents) - 1)]
    return edit_text(text, documents, plans)


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [
        ("a: 1\nb: 2 # two\n# about c\nc: 3\n", Cut(("b",)), "a: 1\n# about c\nc: 3\n"),
        ("a: 1\n\n# end\n", Put(("b",), 2), "a: 1\nb: 2\n\n# end\n"),
        (
            "a:\n  s: |\n    x\n\n  # about t\n\nz: 1\n",
            Put(("a", "t"), 2),
            "a:\n  s: |\n    x\n  t: 2\n\n  # about t\n\nz: 1\n",
        ),
        ("a: [x, y]\n", Put(("a", 2), "z"), "a: [x, y, z]\n"),
        ("a:\n- x # first\n# next\nb: 1\n", Put(("a", 1), "y"), "a:\n- x # first\n- y\n# next\nb: 1\n"),
        ("a:\n  - x\n  - y\n  - z\n", Cut(("a", 1)), "a:\n  - x\n  - z\n"),
        ("a:\n- b: 1\n  c: 2\n", Cut(("a", 0, "c")), "a:\n- b: 1\n"),
        ("a: {}\n", Put(("a", "b"), "1"), "a: {b: '1'}\n"),
        ("a:\nb: 1\n", Put(("a",), {"c": 1}), "a: {c: 1}\nb: 1\n"),
        ("a: 1", Put(("b",), 2), "a: 1\nb: 2\n"),
        ("a: 1\r\nb: 2\r\n", Put(("c",), 3), "a: 1\r\nb: 2\r\nc: 3\r\n"),
        ("x: &x {p: 1, q: 2}\na: *x\n", Cut(("a", "p")), "x: &x {p: 1, q: 2}\na: {q: 2}\n"),
        (
            "x: &x {p: 1}\na:\n  <<: *x\n  q: 2 # two\n",
            Put(("a", "r"), 3),
            "x: &x {p: 1}\na:\n  <<: *x\n  q: 2 # two\n  r: 3\n",
        ),
        ("ä: é\nb: [ü, {c: 1}]\n", Cut(("b", 1)), "ä: é\nb: [ü]\n"),
    ],
)
def test_an_edit_moves_nothing_but_itself(text: str, edit: Edit, wanted: str) -> None:
    assert _edited(text, [edit]) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# head\nkind: A\n", "kind: New\n---\n# head\nkind: A\n"),
        ("---\n# head\nkind: A\n", "---\nkind: New\n---\n# head\nkind: A\n"),
        ("--- # first\nkind: A\n", "--- # first\nkind: New\n---\nkind: A\n"),
        ("--- {kind: A}\n", "kind: New\n--- {kind: A}\n"),
        ("kind: A\n---\nkind: B\n", "kind: New\n---\nkind: A\n---\nkind: B\n"),
        ("---\n---\nkind: A\n", "---\n---\nkind: New\n---\nkind: A\n"),
    ],
)
def test_a_new_document_stands_before_the_comments_of_the_one_that_needs_it(text: str, wanted: str) -> None:
    assert _edited(text, before=[NEW]) == wanted


def test_an_anchor_that_goes_while_something_refers_to_it_is_refused() -> None:
    fault = _edited("a:\n  x: &x 1\n  y: 2\nb: *x\n", [Cut(("a", "x"))])
    assert isinstance(fault, YamlFault)
    assert "anchors" in fault.reason


def test_a_shared_map_is_not_changed_under_those_who_only_refer_to_it() -> None:
    """Only the second user is to change: its definition stands with the first."""
    edited = _edited("a: &a\n  x: 1\n  y: 2\nb: *a\n", [Cut(("b", "x"))])
    assert edited == "a: &a\n  x: 1\n  y: 2\nb: {y: 2}\n"
    fault = _edited("a: &a\n  x: 1\n  y: 2\nb: *a\n", [Cut(("a", "x"))])
    assert isinstance(fault, YamlFault)


def test_a_directive_is_refused_with_its_line() -> None:
    fault = _edited("%YAML 1.1\n---\na: 1\n", [Cut(("a",))])
    assert isinstance(fault, YamlFault)
    assert fault.line == 1


@pytest.mark.parametrize("text", ["a: 2024-01-01\n", "a: 2024-01-01T00:00:00Z\n"])
def test_a_date_is_text_as_for_the_api_server(text: str) -> None:
    documents = read_documents(text)
    assert not isinstance(documents, YamlFault)
    assert isinstance(cast("Mapping[str, object]", documents[0].value)["a"], str)
