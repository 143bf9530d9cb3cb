"""What people and programs see: tables that fit a terminal, or JSON; answers on stdout, all else on stderr."""

from collections.abc import Sequence
from enum import StrEnum

import orjson
import yaml
from rich.console import Console
from rich.table import Table

stdout = Console(highlight=False, soft_wrap=False)
stderr = Console(stderr=True, highlight=False)


class Output(StrEnum):
    """Format of an answer."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def print_json(value: object) -> None:
    """One JSON document, keys in a fixed order, so that two equal answers are equal bytes."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    stdout.file.write(text.decode() + "\n")


def print_document(value: object, output: Output) -> None:
    """A document for programs, as JSON or YAML."""
    if output is Output.YAML:
        stdout.file.write(yaml.safe_dump(orjson.loads(orjson.dumps(value)), sort_keys=True))
    else:
        print_json(value)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """A table without frames: long cells fold, headers stay; `empty` is said when there is no row."""
    if not rows:
        stdout.print(empty, markup=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=index == 0 and len(columns) > 1 and _short(rows))
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    stdout.print(table)


def _short(rows: Sequence[Sequence[str]]) -> bool:
    return max(len(row[0]) for row in rows) <= 48


def _plain(cell: str) -> str:
    return cell.replace("[", "\\[")
