"""Streams that older code wrote fold to the same state and ask for the same: file by file."""

from pathlib import Path

import orjson
import pytest

from replay.gangs.folding import HISTORIES, from_json, outcome, to_json

FILES = sorted(HISTORIES.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_history_still_folds_to_its_state_and_asks_for_the_same(file: Path) -> None:
    recorded = orjson.loads(file.read_bytes())
    events = from_json(recorded["events"])
    again = outcome(events)
    assert covers(again["state"], recorded["state"])
    assert again["asked"] == recorded["asked"]
    assert to_json(events) == recorded["events"]


def covers(now: object, recorded: object) -> bool:
    """Everything recorded is as it was; a newer state may say more."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        return all(key in now and covers(now[key], value) for key, value in recorded.items())
    if isinstance(recorded, list) and isinstance(now, list):
        return len(now) == len(recorded) and all(map(covers, now, recorded))
    return now == recorded


def test_there_are_recorded_histories() -> None:
    assert len(FILES) >= 6
