"""Figures of `muster audit` on a generated dump: seconds by part, peak memory: `python -m bench.audit.measure`."""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rich.console import Console

from bench.audit.dumps import write
from muster_audit import Cluster, audit_cluster
from muster_cli.offline.audit import read_audit_input

_TARGET_SECONDS, _TARGET_GIB = 60, 2.0


def main() -> int:
    """Exit status 1 where a target is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=5000)
    options.add_argument("--pending", type=int, default=2000)
    options.add_argument("--json", action="store_true", help="a JSON dump instead of YAML")
    options.add_argument("--keep", type=Path, help="write the dump here and keep it")
    chosen = options.parse_args()
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.keep or Path(folder) / f"dump.{'json' if chosen.json else 'yaml'}"
        count = write(path, chosen.nodes, chosen.pending)
        size = path.stat().st_size / 2**20
        console.print(f"{count} objects, {chosen.nodes} nodes, {chosen.pending} pending pods, {size:.0f} MiB")
        began, worked = time.perf_counter(), time.process_time()
        given = read_audit_input([str(path)], [])
        read = time.perf_counter()
        cluster = Cluster.from_dumps(given.dumps)
        built = time.perf_counter()
        report = audit_cluster(cluster)
        judged, worked = time.perf_counter(), time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    pending = [row for row in report.rows if row.verdict.value not in ("placed", "usage", "idle")]
    told = Counter(f"{row.verdict.value} {row.reason}".strip() for row in pending)
    console.print(f"read {read - began:.1f} s, objects {built - read:.1f} s, verdicts {judged - built:.1f} s")
    console.print(
        f"in all {judged - began:.1f} s (target {_TARGET_SECONDS}), {worked:.1f} s of it at work, "
        f"peak {peak:.2f} GiB (target {_TARGET_GIB:g})"
    )
    console.print(", ".join(f"{count} {text}" for text, count in told.most_common()), markup=False)
    return int(judged - began > _TARGET_SECONDS or peak > _TARGET_GIB)


sys.exit(main())
