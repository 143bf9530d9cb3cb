"""The examples of the documentation run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

import muster_dra

ROOT = Path(__file__).parents[3]


def test_the_example_of_the_package_runs() -> None:
    found = doctest.testmod(muster_dra)
    assert found.attempted > 5
    assert found.failed == 0


@pytest.mark.parametrize("document", ["docs/dra.md", "libs/muster_dra/README.md"])
def test_the_first_example_of_a_document_runs_and_prints_what_it_says(
    document: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / document).read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    told = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert told is not None
    monkeypatch.chdir(ROOT)
    exec(compile(code[1], document, "exec"), {})  # noqa: S102 - our own document
    assert capsys.readouterr().out == told[1]


def test_every_kind_of_fatal_end_is_documented() -> None:
    text = (ROOT / "docs/dra.md").read_text()
    assert [kind.name for kind in muster_dra.FatalKind if f"`{kind.name}`" not in text] == []
