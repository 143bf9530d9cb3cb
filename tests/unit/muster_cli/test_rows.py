"""JSON lines: every line is answered in order, whatever stands in it."""

import io

import orjson
import pytest

from muster_cli.exits import ExitStatus
from muster_cli.rows import Row, answer_rows


def echo(row: Row) -> Row:
    if row.get("bad"):
        raise ValueError("claims[0].spec: wrong")
    return {"id": row["id"]}


def run(*lines: bytes) -> tuple[ExitStatus, list[dict[str, object]]]:
    out = io.BytesIO()
    status = answer_rows(echo, lines, out)
    return status, [orjson.loads(line) for line in out.getvalue().splitlines()]


def test_rows_are_answered_in_order() -> None:
    assert run(b'{"id": "a"}\n', b"\n", b'{"id": "b"}\n') == (ExitStatus.YES, [{"id": "a"}, {"id": "b"}])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "line 2: no JSON"),
        (b"[]", "line 2: want a JSON object, got list"),
        (b'{"id": "x", "bad": 1}', "claims[0].spec"),
    ],
)
def test_a_broken_line_gives_its_reason_and_the_rest_goes_on(line: bytes, words: str) -> None:
    status, answers = run(b'{"id": "a"}', line, b'{"id": "b"}')
    assert status is ExitStatus.BAD_INPUT
    assert [answers[0], answers[2]] == [{"id": "a"}, {"id": "b"}]
    assert words in str(answers[1]["error"])
    assert answers[1].get("id") == ("x" if b"bad" in line else None)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"id": "x", "id": "x"}', "id"),
        (b'{"id": "x", "nodes": [{"spec": {"count": 1, "count": 2}}]}', "count"),
        (b'{"id": "x", "i\\u0064": "y"}', "id"),
        (b'{"id": "\\u0022\\u0022", "b": 1, "b": 2}', "b"),
        (b'{"id": "x", "deep": ' + b"[" * 300 + b'{"b": 1, "b": 2}' + b"]" * 300 + b"}", "b"),
    ],
)
def test_a_key_given_twice_is_refused_by_name(line: bytes, key: str) -> None:
    status, (answer,) = run(line)
    assert status is ExitStatus.BAD_INPUT
    assert f"line 1: key '{key}' is there twice in one object" in str(answer["error"])


@pytest.mark.parametrize("text", ['"a": "a"', '"a": "\\u0022 \\" \\\\ \\u00e9"', '"a": [{"b": 1}, {"b": 1}]'])
def test_quotation_marks_and_equal_keys_of_different_objects_are_no_fault(text: str) -> None:
    assert run(b'{"id": "x", ' + text.encode() + b"}")[0] is ExitStatus.YES
