"""The streams file."""

from pathlib import Path

import pytest

from muster_eventstore import PermanentError, load_specs
from muster_eventstore.subjects import LEASE_STREAM, stream_of


def test_the_shipped_file_names_every_stream_after_its_subjects() -> None:
    specs = {spec.name: spec for spec in load_specs()}
    assert set(specs) == {
        "observed",
        "inventory",
        "claims",
        "gangs",
        "provisioning",
        "commands",
        "timers",
        "parked",
        "replays",
        LEASE_STREAM,
    }
    for name, spec in specs.items():
        assert {stream_of(subject) for subject in spec.subjects} == {name}


def test_the_deployment_applies_the_same_file() -> None:
    root = Path(__file__).parents[3]
    deployed = root / "deploy" / "streams" / "streams.yaml"
    assert deployed.read_bytes() == (root / "libs" / "muster_eventstore" / "streams.yaml").read_bytes()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("streams: [", "while parsing"),
        ("streams: []\nmore: 1", "more"),
        ("streams: [{name: a b, description: x, subjects: [m.>]}]", "streams.0.name"),
        ("streams: [{name: a, description: x, subjects: []}]", "streams.0.subjects"),
        ("streams: [{name: a, description: x, subjects: [m.>], retention: forever}]", "streams.0.retention"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_field(tmp_path: Path, text: str, wanted: str) -> None:
    path = tmp_path / "streams.yaml"
    path.write_text(text)
    with pytest.raises(PermanentError) as refused:
        load_specs(path)
    assert refused.value.reason == "BAD_STREAMS_FILE"
    assert str(path) in str(refused.value)
    assert wanted in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match=r"absent\.yaml"):
        load_specs(tmp_path / "absent.yaml")
