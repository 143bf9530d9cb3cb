"""JSON lines in, JSON lines out, in order: the form of shared/corpus for `allocate -`, `cel -` and `plan -`."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO

import orjson

from muster_cli.exits import ExitStatus

Row = Mapping[str, object]
MAX_LINE_BYTES = 64 * 1024 * 1024


class RowError(ValueError):
    """A line is no valid problem; the reason names object and field."""


def answer_rows(solve: Callable[[Row], Mapping[str, object]], lines: Iterable[bytes], out: BinaryIO) -> ExitStatus:
    """Write one answer a line; a line that is no valid problem gives `{"id"?, "error"}` and the run goes on."""
    status = ExitStatus.YES
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        answer = _answer(solve, line, number)
        if "error" in answer:
            status = ExitStatus.BAD_INPUT
        out.write(orjson.dumps(answer) + b"\n")
        out.flush()
    return status


def _answer(solve: Callable[[Row], Mapping[str, object]], line: bytes, number: int) -> Mapping[str, object]:
    if len(line) > MAX_LINE_BYTES:
        return {"error": f"line {number}: longer than {MAX_LINE_BYTES} bytes"}
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return {"error": f"line {number}: no JSON: {error}"}
    if not isinstance(row, dict):
        return {"error": f"line {number}: want a JSON object, got {type(row).__name__}"}
    known = {"id": row["id"]} if "id" in row else {}
    try:
        if _may_repeat_keys(line, row):
            json.loads(line, object_pairs_hook=_distinct_keys)
        return solve(row)
    except ValueError as error:
        return {**known, "error": f"line {number}: {error}"}
    except RecursionError:
        return {**known, "error": f"line {number}: nested too deeply"}


def _may_repeat_keys(line: bytes, row: Row) -> bool:
    """Whether the line could name a key twice in one object: a key that was lost takes its quotation marks along.

    Never False for a line that does; written again and counted, a row costs a fraction of its reading.
    """
    try:
        kept = orjson.dumps(row).count(b'"')
    except orjson.JSONEncodeError:  # nested deeper than it writes, though not than it reads
        return True
    return kept != line.count(b'"') or b"\\u0022" in line


def _distinct_keys(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        doubled = sorted(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise RowError(f"key {doubled[0]!r} is there twice in one object; leave one of them out")
    return found


def stdin_lines() -> Iterable[bytes]:
    """The lines of standard input as bytes."""
    return sys.stdin.buffer
