"""Settings: defaults for the embedded mode, and readable refusals."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from muster_servicekit.settings import ServiceSettings, read_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("MUSTER_")]:
        monkeypatch.delenv(name)


def test_the_defaults_suit_the_embedded_mode() -> None:
    settings = read_settings(ServiceSettings)
    assert settings.nats.url == "nats://127.0.0.1:4222"
    assert settings.grpc_listen == "127.0.0.1:0"
    assert settings.clusters == ("local",)
    assert settings.redis_url is None


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "MUSTER_NATS_URL": "tls://nats:4222",
        "MUSTER_CLUSTERS": "east, west",
        "MUSTER_STATE_DIR": str(tmp_path),
        "MUSTER_REDIS_URL": "redis://redis:6379",
        "MUSTER_GRPC_LISTEN": "[::]:8080",
        "MUSTER_SOMETHING_ELSE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    settings = read_settings(ServiceSettings)
    assert settings.clusters == ("east", "west")
    assert settings.state_dir == tmp_path
    assert settings.grpc_listen == "[::]:8080"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("MUSTER_NATS_URL", "localhost", "pattern"),
        ("MUSTER_GRPC_LISTEN", "8080", "pattern"),
        ("MUSTER_CLUSTERS", " , ", "name at least one cluster"),
        ("MUSTER_METRICS_PORT", "70000", "65535"),
        ("MUSTER_LOG_LEVEL", "loud", "pattern"),
        ("MUSTER_NATS_CREDENTIALS", "/no/such/file", "no file at /no/such/file"),
    ],
)
def test_a_bad_value_stops_the_start_with_its_name_value_and_reason(
    name: str, value: str, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        read_settings(ServiceSettings)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert name in line
    assert value in line
    assert wanted in line
    assert "Traceback" not in line


def test_settings_are_frozen() -> None:
    settings = ServiceSettings()
    with pytest.raises(ValidationError):
        settings.log_level = "debug"
