"""Whether the input of `muster allocate` is problems as JSON lines or a dump of Kubernetes objects."""

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from muster_cli.exits import UserError

STDIN = "-"
_ROW_SUFFIXES = frozenset((".jsonl", ".ndjson"))
_DUMP_SUFFIXES = frozenset((".yaml", ".yml"))
_OBJECT = re.compile(rb'\{\s*(\n|$|"(apiVersion|kind|metadata|items|spec|status)"\s*:)')
_YAML = re.compile(rb"(\xef\xbb\xbf)?(#|---|%YAML|- |[A-Za-z][\w ()]*:)")


def are_rows(sources: Sequence[str], stdin: io.BufferedReader | None) -> bool:
    """JSON lines: by the name (`.jsonl`), else by how the file or standard input begins. Raises UserError: both kinds.

    A row is a JSON object in one line that is no Kubernetes object. Nothing of standard input is consumed.
    """
    found = {source: _is_rows(source, stdin) for source in sources}
    if len(set(found.values())) > 1:
        rows = next(source for source, is_rows in found.items() if is_rows)
        other = next(source for source, is_rows in found.items() if not is_rows)
        raise UserError(f"{rows} holds JSON lines and {other} Kubernetes objects; give one kind of input at a time")
    return all(found.values())


def peekable_stdin() -> io.BufferedReader:
    """Standard input, of which the beginning can be looked at."""
    stream = sys.stdin.buffer
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(io.BytesIO(stream.read()))


def begins_like_rows(start: bytes) -> bool:
    """From the first bytes of an input, which may end within a line."""
    start = start.lstrip()
    if not start.startswith(b"{"):
        return _YAML.match(start) is None
    line, ended, _ = start.partition(b"\n")
    if ended:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            pass
        else:
            return not (isinstance(row, dict) and ("kind" in row or "apiVersion" in row))
    return _OBJECT.match(start) is None


def _is_rows(source: str, stdin: io.BufferedReader | None) -> bool:
    if source == STDIN and stdin is not None:
        return begins_like_rows(stdin.peek())
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in _ROW_SUFFIXES or suffix in _DUMP_SUFFIXES or not path.is_file():
        return suffix in _ROW_SUFFIXES
    with open_rows(source) as file:
        return begins_like_rows(file.peek())


def open_rows(source: str) -> io.BufferedReader:
    """A file of rows. Raises UserError: it cannot be read, or is compressed."""
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}; check path and rights") from error
    if file.peek()[:2] == b"\x1f\x8b":
        file.close()
        raise UserError(f"{source} is compressed; read it with `gzip -dc {source} | muster allocate -`")
    return file
