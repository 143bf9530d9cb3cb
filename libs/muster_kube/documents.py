"""A YAML stream cut at its `---` lines, so that a broken document leaves the others whole.

A line that begins with `---` and a blank is a document marker in every context of YAML 1.1 (chapter 9), so the cut is
sound. Nothing but the current block is kept in memory.
"""

import re
from collections.abc import Iterator
from typing import Protocol

_BLOCK = 1 << 16
_MARKER = re.compile(rb"\n---(?=[ \t\r\n])")
_LAST_MARKER = re.compile(rb"\n---(?=[ \t\r\n]|\Z)")
_HELD = len(b"\n--- ")
# Directives (%YAML 1.1) stand before the marker that opens their document.
_PROLOGUE = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*%")


class ByteStream(Protocol):
    """What is read: `read(size)` gives at most `size` bytes, b"" at the end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        ...


class Document:
    """One document as a stream of bytes for a YAML parser; `first_line` counts from 1."""

    def __init__(self, cutter: "_Cutter", index: int, first_line: int) -> None:
        self.index = index
        self.first_line = first_line
        self._cutter = cutter

    def read(self, size: int) -> bytes:
        """The next bytes of this document, b"" at its end."""
        return self._cutter.take(size)

    def skip(self) -> None:
        """Go to the end of this document."""
        while self._cutter.take(_BLOCK):
            pass


def split_documents(stream: ByteStream) -> Iterator[Document]:
    """The documents of a stream; each must be read or skipped before the next one is asked for."""
    cutter = _Cutter(stream)
    index = 0
    while cutter.open():
        index += 1
        document = Document(cutter, index, cutter.line)
        yield document
        document.skip()


class _Cutter:
    """Hands out bytes up to the next marker. `line` is the line of the next byte, from 1."""

    def __init__(self, stream: ByteStream) -> None:
        self.line = 1
        self._stream = stream
        self._buffer = b""
        self._ended = False
        self._at_marker = True
        self._own_marker_end = 0

    def open(self) -> bool:
        """Begin the next document; False when the stream is used up."""
        self._at_marker = False
        self._fill(_BLOCK)
        own_marker = _MARKER.search(self._buffer) if _PROLOGUE.match(self._buffer) else None
        self._own_marker_end = own_marker.end() if own_marker else 0
        return bool(self._buffer)

    def take(self, size: int) -> bytes:
        if self._at_marker:
            return b""
        self._fill(size + _HELD)
        last = self._ended and len(self._buffer) <= size + _HELD
        marker = (_LAST_MARKER if last else _MARKER).search(self._buffer, self._own_marker_end, size + _HELD)
        if marker is not None and marker.start() < size:
            taken = self._buffer[: marker.start() + 1]
            self._at_marker = True
        else:
            held = 0 if last else _HELD
            taken = self._buffer[: min(size, len(self._buffer) - held)]
        self._buffer = self._buffer[len(taken) :]
        self._own_marker_end = max(self._own_marker_end - len(taken), 0)
        self.line += taken.count(b"\n")
        return taken

    def _fill(self, size: int) -> None:
        while not self._ended and len(self._buffer) < size:
            block = self._stream.read(_BLOCK)
            if block:
                self._buffer += block
            else:
                self._ended = True
