"""`muster cel`: does a selector match a device?"""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stderr
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.dumps import Dump, read_dump
from muster_cli.options import OutputOption
from muster_cli.rows import answer_rows, stdin_lines
from muster_dra import parse_slice
from muster_dra.cel import CelError, Selector, compile_selector
from muster_dra.selectors import device_view

Arguments = Annotated[
    list[str], typer.Argument(metavar="- | EXPRESSION DUMP...", help="`-` for JSON lines, or an expression and dumps")
]


def cel(arguments: Arguments, output: OutputOption = Output.TABLE) -> None:
    """Evaluate a DRA selector on every device of a dump, as the scheduler does.

    Exit status 0: it is true for some device; 1: it is false for all of them; 2: bad input: it does not compile, it
    fails on a device and is true for none, or part of the dump was refused. Where it fails the scheduler ends
    its attempt for the pod, so the reason is said on standard error whatever the status.

    JSON lines (`-`): expression, driver, device in; id and result out: true, false, compile error or runtime error.
    Exit status 2 if a line is no such row, else 0.

    Examples:

      muster cel 'device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100")' examples/fleet

      gzip -dc cel.jsonl.gz | muster cel -
    """
    if arguments == ["-"]:
        raise typer.Exit(answer_rows(solve_cel_row, stdin_lines(), sys.stdout.buffer))
    expression, *paths = arguments
    if not paths:
        raise UserError("name a dump to evaluate the expression on, or give `-` for JSON lines on standard input")
    selector = compile_selector(expression)
    if isinstance(selector, CelError):
        raise UserError(f"the expression does not compile: {selector.message}")
    dump = read_dump(paths)
    answers = _evaluate(selector, dump)
    if output is Output.TABLE:
        rows = [(device, _table_word(found)) for device, found in answers]
        print_table(("DEVICE", "RESULT"), rows, empty="the dump has no device; it needs the ResourceSlices")
    else:
        print_document([_json(device, found) for device, found in answers], output)
    failed = [(device, found) for device, found in answers if isinstance(found, CelError)]
    if failed:
        device, error = failed[0]
        text = f"the expression fails on {len(failed)} of {len(answers)} devices, first on {device}: {error.message}"
        stderr.print(f"warning  {text}", markup=False, soft_wrap=True)
    if dump.rejected:
        raise typer.Exit(ExitStatus.BAD_INPUT)
    if any(found is True for _, found in answers):
        raise typer.Exit(ExitStatus.YES)
    raise typer.Exit(ExitStatus.BAD_INPUT if failed else ExitStatus.NO)


def _evaluate(selector: Selector, dump: Dump) -> list[tuple[str, bool | CelError]]:
    """Every device of the dump with what the selector says of it, by name."""
    answers: list[tuple[str, bool | CelError]] = []
    for manifest in dump.manifests:
        if manifest.key.kind != "ResourceSlice":
            continue
        found = parse_slice(manifest.obj)
        for device in found.devices:
            answer = selector.matches(device_view(found.pool.driver, device))
            answers.append((str(found.pool.device(device.name)), answer))
    return sorted(answers, key=lambda answer: answer[0])


def _table_word(found: bool | CelError) -> str:
    return f"{found.kind.value}: {found.message}" if isinstance(found, CelError) else _word(found)


def _json(device: str, found: bool | CelError) -> dict[str, str]:
    if isinstance(found, CelError):
        return {"device": device, "result": found.kind.value, "message": found.message}
    return {"device": device, "result": _word(found)}


def solve_cel_row(row: Mapping[str, object]) -> Mapping[str, object]:
    """The answer to one row of shared/corpus/cel: `true`, `false`, `compile error` or `runtime error`."""
    expression, driver, device = row.get("expression"), row.get("driver"), row.get("device")
    if not isinstance(expression, str):
        raise ValueError("expression: want text")
    if not isinstance(driver, str):
        raise ValueError("driver: want text")
    if not isinstance(device, dict):
        raise ValueError("device: want an object as in ResourceSlice spec.devices")
    selector = compile_selector(expression)
    if isinstance(selector, CelError):
        return {"id": row.get("id"), "result": selector.kind.value}
    (published,) = parse_slice(_slice(driver, device)).devices
    answer = selector.matches(device_view(driver, published))
    return {"id": row.get("id"), "result": answer.kind.value if isinstance(answer, CelError) else _word(answer)}


def _slice(driver: str, device: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "row"},
        "spec": {
            "driver": driver,
            "allNodes": True,
            "pool": {"name": "row", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "device", **device}],
        },
    }


def _word(answer: bool) -> str:
    return "true" if answer else "false"
