"""The recorded CEL answers: true, false, compile error, runtime error; `main` prints the figures of each corpus."""

import gzip
import json
import time

from conformance.dra.corpus import corpus_path, missing, say
from muster_cli.commands.cel import solve_cel_row

NAMES = ("cel", "cel-random", "cel-traps")


def main() -> int:
    """Exit status 1 if a row is answered otherwise than recorded, 2 if a corpus is not there."""
    status = 0
    for name in NAMES:
        reason = missing(name)
        if reason is not None:
            say(f"{name}: {reason}")
            status = max(status, 2)
            continue
        began, right, total = time.perf_counter(), 0, 0
        with gzip.open(corpus_path() / f"{name}.jsonl.gz", "rt") as lines:
            for row in map(json.loads, lines):
                answer = solve_cel_row(row)["result"]
                total += 1
                right += answer == row["expect"]
                if answer != row["expect"]:
                    say(f"  {row['id']}: {answer}, recorded {row['expect']}")
        say(f"{name}: {right} of {total} rows ({right / total:.2%}) in {time.perf_counter() - began:.1f} s")
        status = max(status, int(right != total))
    return status
