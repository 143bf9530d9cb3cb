"""Cutting a YAML stream at its markers: no byte is lost, and the cut is where YAML has it."""

import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster_kube.documents import split_documents

LINES = st.lists(
    st.sampled_from(["---", "--- a", "---a", " ---", "...", "", "x: 1", "# c", "%YAML 1.1", "- |", "  ---", "---\t#"]),
    max_size=12,
)


class Trickle(io.BytesIO):
    """Gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size if size is not None and size >= 0 else 3, 3))


def _split(data: bytes, stream: io.BytesIO | None = None, size: int = 7) -> list[bytes]:
    documents: list[bytes] = []
    for document in split_documents(stream or io.BytesIO(data)):
        parts: list[bytes] = []
        while part := document.read(size):
            parts.append(part)
        documents.append(b"".join(parts))
    return documents


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_the_documents_put_together_are_the_stream(lines: list[str], newline: str, ended: bool) -> None:
    data = (newline.join(lines) + (newline if ended else "")).encode()
    assert b"".join(_split(data)) == data
    assert _split(data, Trickle(data)) == _split(data)


@given(LINES)
def test_every_document_but_the_first_begins_at_a_marker(lines: list[str]) -> None:
    data = ("\n".join(lines) + "\n").encode()
    assert all(document.startswith((b"---\n", b"--- a", b"---\t")) for document in _split(data)[1:])


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"a: 1\n---\nb: 1\n", 2),
        (b"---\na: 1\n---\n", 2),
        (b"%YAML 1.1\n# c\n---\na: 1\n---\nb: 1\n", 2),
        (b"a: |\n  ---\n  x\n", 1),
        (b"a: 1\n---", 2),
        (b"a: 1\n---b: 2\n", 1),
        (b"", 0),
    ],
)
def test_a_marker_stands_at_the_beginning_of_a_line(data: bytes, count: int) -> None:
    assert len(_split(data)) == count


def test_each_document_knows_its_first_line() -> None:
    lines = [document.first_line for document in split_documents(io.BytesIO(b"a: 1\nb: 2\n---\nc: 1\n---\n"))]
    assert lines == [1, 3, 5]


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.text(max_size=8), max_size=3), max_size=4))
def test_what_yaml_writes_is_cut_into_the_same_documents(values: list[dict[str, str]]) -> None:
    data = yaml.safe_dump_all(values, explicit_start=True, allow_unicode=True).encode()
    assert [yaml.safe_load(document) for document in _split(data)] == list(yaml.safe_load_all(data))
