import io

import pytest
from rich.console import Console

from muster_audit import Branch, Report
from muster_cli.offline import audit_words
from support.audits import audited
from support.cluster_objects import GPU, a_class, a_device, a_group, a_node, a_request, a_slice, a_waiting, gpus


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed on a terminal of 80 columns."""
    written = io.StringIO()
    monkeypatch.setattr(audit_words, "stdout", Console(file=written, width=80, highlight=False))
    return written


def report() -> Report:
    typo = a_request("g", GPU, f'device.attributes["{GPU}"].modle == "a"')
    pods = [each for index in range(20) for each in a_waiting(f"a-pod-with-a-rather-long-name-{index}")]
    devices = [*gpus(2, model="a"), a_device("x", uuid="U"), a_device("y", parentUUID="U")]
    return audited(a_node(), a_class(), a_slice(devices=devices), *pods, *a_waiting("q", typo), a_group("g", gpus(1)))


def test_every_line_fits_in_eighty_columns(page: io.StringIO) -> None:
    audit_words.print_report(report())
    assert max(len(line) for line in page.getvalue().splitlines()) <= 80


def test_rows_that_say_the_same_are_one_and_the_end_counts_them(page: io.StringIO) -> None:
    audit_words.print_report(report())
    text = page.getvalue()
    assert "and" in text
    assert "more  scale-up: shortage" in text
    assert "findings" in text
    assert "1 selector-error" in text.splitlines()[-1]


def test_nothing_pending_is_said(page: io.StringIO) -> None:
    audit_words.print_report(audited(a_node()))
    assert page.getvalue() == "nothing is pending\n"


def test_the_tree_marks_what_fits_and_keeps_brackets(page: io.StringIO) -> None:
    audit_words.print_tree(Branch("root", None, (Branch('device.attributes["x"]', False), Branch("y", True))))
    assert [line[-24:].strip() for line in page.getvalue().splitlines()[1:]] == ['✗ device.attributes["x"]', "└── ✓ y"]
