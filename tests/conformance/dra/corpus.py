"""The recorded allocations: outcome, and for a yes devices, requests, amounts, shares and node selectors.

`python -m conformance.dra.corpus [names...]` with `tests` on the path prints the figures; exit status 1 if a row is
wrong, 2 if there is no corpus. The corpus is found through MUSTER_CORPUS or beside the project.
"""

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster_dra import solve_problem

NAMES = ("allocator-cases", "allocator-traps", "allocator-random")
COMPARED = ("request", "driver", "pool", "device", "shared", "consumedCapacity", "adminAccess")
"""Fields of a result that must be the same."""
RECORDED = ("bindingConditions", "bindingFailureConditions", "tolerations")
"""Fields of a result that must be the same where the corpus records them."""


def corpus_path() -> Path:
    beside = Path(__file__).parents[3].parent / "shared" / "corpus"
    return Path(os.environ.get("MUSTER_CORPUS", beside))


def missing(name: str) -> str | None:
    """Why the corpus cannot be read, or None."""
    path = corpus_path() / f"{name}.jsonl.gz"
    return None if path.exists() else f"{path} is not there; set MUSTER_CORPUS to the folder of the corpora"


def rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(corpus_path() / f"{name}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


def differences(row: Mapping[str, Any]) -> list[str]:
    """What the engine answers otherwise than recorded, node by node."""
    answers = solve_problem(row)["nodes"]
    assert isinstance(answers, list)
    found: list[str] = []
    for answer, expected in zip(answers, row["expected"], strict=True):
        node = expected["node"]
        if answer["status"] != expected["status"]:
            why = f" ({answer['message']})" if "message" in answer else ""
            found.append(f"node {node}: {answer['status']}{why}, recorded {expected['status']}")
            continue
        wanted = _compared(expected.get("claims"), expected.get("claims"))
        given = _compared(answer.get("claims"), expected.get("claims"))
        if given != wanted:
            found.append(f"node {node}: {given}, recorded {wanted}")
    return found


def _compared(claims: Any, recorded: Any) -> list[Any]:
    """What is compared of the claims; `recorded` says which of the fields that not every corpus has."""
    known = {key for claim in recorded or [] for result in claim["results"] or [] for key in result}
    fields = (*COMPARED, *(field for field in RECORDED if field in known))
    return [
        {
            "results": [{key: result[key] for key in fields if key in result} for result in claim["results"] or []],
            "nodeSelector": claim["nodeSelector"],
        }
        for claim in claims or []
    ]


@dataclass(frozen=True, slots=True)
class Score:
    """`slowest`: processor seconds a node of the slowest row, reading and reasons included, with its identity."""

    name: str
    right: int
    total: int
    seconds: float
    slowest: tuple[float, str]
    faults: tuple[tuple[str, str], ...]


def score(name: str) -> Score:
    right, total, slowest = 0, 0, (0.0, "")
    faults: list[tuple[str, str]] = []
    began = time.perf_counter()
    for row in rows(name):
        started = time.process_time()
        found = differences(row)
        slowest = max(slowest, ((time.process_time() - started) / max(len(row["nodes"]), 1), row["id"]))
        total += 1
        right += not found
        faults += [(row["id"], fault) for fault in found]
    return Score(name, right, total, time.perf_counter() - began, slowest, tuple(faults))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    status = 0
    for name in names or NAMES:
        reason = missing(name)
        if reason is not None:
            say(f"{name}: {reason}")
            status = max(status, 2)
            continue
        found = score(name)
        for identity, fault in found.faults:
            say(f"  {identity}: {fault}")
        say(
            f"{name}: {found.right} of {found.total} rows ({found.right / max(found.total, 1):.2%}) in "
            f"{found.seconds:.1f} s; slowest node {found.slowest[0] * 1000:.0f} ms ({found.slowest[1]})"
        )
        if found.faults or not found.total:
            status = max(status, 1)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
