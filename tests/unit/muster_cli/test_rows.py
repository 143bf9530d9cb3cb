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
