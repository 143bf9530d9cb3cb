"""Every recorded answer of shared/corpus/cel*, where that folder is at hand."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from muster_dra.attributes import Attribute, AttributeKind
from muster_dra.cel import DeviceView
from unit.muster_dra.cel.outcomes import written_outcome

CORPUS = Path(__file__).parents[4].parent / "shared" / "corpus"


def _attribute(published: Mapping[str, Any]) -> Attribute:
    for kind in AttributeKind:
        if kind.value in published:
            value = published[kind.value]
            return Attribute(kind, tuple(value) if isinstance(value, list) else value)
    return Attribute(AttributeKind.UNKNOWN, None)


def _device(row: Mapping[str, Any]) -> DeviceView:
    device = row["device"]
    attributes = {name: _attribute(one) for name, one in (device.get("attributes") or {}).items()}
    capacity = {name: str(one["value"]) for name, one in (device.get("capacity") or {}).items()}
    return DeviceView(row["driver"], attributes, capacity, bool(device.get("allowMultipleAllocations")))


def _rows(name: str) -> Iterator[Mapping[str, Any]]:
    with gzip.open(CORPUS / f"{name}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="shared/corpus is not at hand")
@pytest.mark.parametrize("name", ["cel", "cel-random", "cel-traps"])
def test_every_recorded_answer_is_given(name: str) -> None:
    wrong = [
        (row["id"], row["expression"], row["expect"], given)
        for row in _rows(name)
        if (given := written_outcome(row["expression"], _device(row))) != row["expect"]
    ]
    assert wrong == []
