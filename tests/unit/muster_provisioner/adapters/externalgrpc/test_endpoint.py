from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from muster_provisioner.adapters.externalgrpc.endpoint import BadEndpoint, Endpoint, read_endpoint


def test_a_cloud_config_of_the_autoscaler_is_read_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "cloud-config"
    file.write_text(
        'address: "provider.example.com:8086"\nkey: /k.pem\ncert: /c.pem\ncacert: /ca.pem\ngrpc_timeout: 1m2.5s\n'
    )
    assert read_endpoint(file) == Endpoint(
        address="provider.example.com:8086",
        key=Path("/k.pem"),
        cert=Path("/c.pem"),
        cacert=Path("/ca.pem"),
        grpc_timeout=timedelta(seconds=62.5),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("address: nowhere", "address: String should match pattern"),
        ("{}", "address: Field required"),
        ("address: h:1\ncert: /c", "with cert, key and cacert are needed too"),
        ("address: h:1\nkey: /k", "key or cacert without cert would connect without TLS"),
        ("address: h:1\ngrpc_timeout: 0s", "grpc_timeout: write a time above 0"),
        ("address: h:1\ngrpc_timeout: soon", "grpc_timeout: Input should be a valid timedelta"),
        ("address: h:1\ntoken: x", "token: Extra inputs are not permitted"),
        ("address: [", "no YAML"),
        ("- a", "the file: Input should be a valid dictionary"),
    ],
)
def test_a_config_that_is_not_usable_says_where_and_why(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "cloud-config"
    file.write_text(text)
    with pytest.raises(BadEndpoint) as error:
        read_endpoint(file)
    assert str(error.value).startswith(f"{file}: ")
    assert reason in str(error.value)


def test_a_config_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadEndpoint, match="No such file"):
        read_endpoint(tmp_path / "none")


@pytest.mark.parametrize("address", ["h:1", "10.0.0.1:8086", "[::1]:8086", "[fe80::1%eth0]:1"])
def test_addresses_are_host_and_port(address: str) -> None:
    assert Endpoint(address=address).address == address


@pytest.mark.parametrize("address", ["h", ":1", "http://h:1", "h:port", "h:123456"])
def test_anything_else_is_no_address(address: str) -> None:
    with pytest.raises(ValidationError):
        Endpoint(address=address)
