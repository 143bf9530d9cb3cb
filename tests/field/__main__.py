"""`make field`: what an audit says of every recorded case beside what is recorded; exit status 1 where they differ."""

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as `python -m tests.field` too

from field.cases import cases, missing
from field.judge import judge


def main() -> int:
    """Exit status 1 if an entry is answered otherwise than recorded, 2 if there are no cases."""
    console = Console(highlight=False)
    absent = missing()
    if absent:
        console.print(absent, markup=False)
        return 2
    table = Table("CASE", "SUBJECT", "RECORDED", "SAID", "", box=None, pad_edge=False)
    wanted = sys.argv[1:]
    right = wrong = passed = 0
    began = time.perf_counter()
    for case in cases():
        if wanted and case.id not in wanted:
            continue
        for each in judge(case):
            mark = "-" if each.passed_over else "ok" if not each.wrong else f"WRONG: {each.wrong}"
            table.add_row(each.case, each.subject, each.recorded, each.said, mark)
            passed += each.passed_over
            right += not each.wrong and not each.passed_over
            wrong += bool(each.wrong)
    console.print(table)
    seconds = time.perf_counter() - began
    console.print(
        f"{right} of {right + wrong} entries as recorded, {passed} no matter for an audit, in {seconds:.1f} s"
    )
    return 1 if wrong else 0


sys.exit(main())
