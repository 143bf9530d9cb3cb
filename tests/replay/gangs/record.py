"""`python tests/replay/gangs/record.py` records the stories that have no file yet and rewrites none."""

import sys
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from replay.gangs.folding import HISTORIES, outcome, to_json
from unit.muster_gang_coordinator.stories import STORIES

if __name__ == "__main__":
    for name, make in STORIES.items():
        file = HISTORIES / f"{name}.json"
        if not file.exists():
            events = make().history
            recorded = {"events": to_json(events), **outcome(events)}
            file.write_bytes(orjson.dumps(recorded, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")
