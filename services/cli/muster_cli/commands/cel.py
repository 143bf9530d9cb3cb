"""`muster cel`: does a selector match a device?"""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table
from muster_cli.exits import ExitStatus, UserError
from muster_cli.offline.dumps import read_dump
from muster_cli.options import OutputOption
from muster_cli.rows import answer_rows, stdin_lines
from muster_dra import parse_slice
from muster_dra.cel import CelError, Selector, compile_selector
from muster_dra.selectors import device_view

Arguments = Annotated[
    list[str], typer.Argument(metavar="- | EXPRESSION DUMP...", help="`-` for JSON lines, or an expression and dumps")
]


def cel(arguments: Arguments, output: OutputOption = Output.TABLE) -> None:
    """Evaluate DRA selectors as the scheduler does.

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
    rows = _evaluate(selector, paths)
    if output is Output.TABLE:
        print_table(("DEVICE", "RESULT"), rows, empty="the dump has no device")
    else:
        print_document([{"device": device, "result": result} for device, result in rows], output)
    raise typer.Exit(ExitStatus.YES if any(result == "true" for _, result in rows) else ExitStatus.NO)


def _evaluate(selector: Selector, paths: list[str]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for manifest in read_dump(paths).manifests:
        if manifest.key.kind != "ResourceSlice":
            continue
        found = parse_slice(manifest.obj)
        for device in found.devices:
            answer = selector.matches(device_view(found.pool.driver, device))
            rows.append(
                (str(found.pool.device(device.name)), answer.message if isinstance(answer, CelError) else _word(answer))
            )
    return sorted(rows)


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
