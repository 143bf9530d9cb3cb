"""Every container of docker-compose.yml as a process of its own, from the command line that the image has."""

import importlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from muster_cli.app import app
from muster_cli.live.addresses import ServiceName
from muster_servicekit.settings import ServiceSettings
from support.deployment import COMPOSE, Container, containers
from support.processes import SCHEDULER, SERVICES, MusterProcesses, ServiceProcess, wait_for

COMMANDS_OF_PEOPLE = "cli"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcesses]:
    """A server with empty streams, and no service."""
    running = MusterProcesses(tmp_path_factory.mktemp("alone"))
    running.start_nats()
    yield running
    running.stop()


@pytest.fixture
def process(server: MusterProcesses, request: pytest.FixtureRequest) -> Iterator[ServiceProcess]:
    """One service, not started yet, gone at the end; its log begins anew."""
    alone = server.service(request.param)
    alone.log.unlink(missing_ok=True)
    yield alone
    if alone.pid:
        alone.kill()


def test_the_compose_file_starts_every_service_and_the_scheduler() -> None:
    assert set(containers()) == {*SERVICES, SCHEDULER, "streams", COMMANDS_OF_PEOPLE}
    assert set(SERVICES) == {name.value for name in ServiceName}


@pytest.mark.parametrize("process", SERVICES, indirect=True)
def test_a_service_starts_alone_answers_health_and_stops_with_status_zero(process: ServiceProcess) -> None:
    process.start()
    process.wait_serving()
    assert process.stop() == 0
    assert not (process.state / "run" / f"{process.name}.json").exists(), "nobody is sent to a service that stopped"
    assert "Traceback" not in process.text()


@pytest.mark.parametrize("process", [SCHEDULER], indirect=True)
def test_the_simulated_scheduler_starts_alone_and_stops_with_status_zero(process: ServiceProcess) -> None:
    process.start()
    wait_for(lambda: "service is ready" in process.text(), "the scheduler says that it is ready")
    assert process.stop() == 0
    assert "Traceback" not in process.text()


@pytest.mark.parametrize("name", [*SERVICES, SCHEDULER, "streams", COMMANDS_OF_PEOPLE])
def test_every_variable_of_a_container_is_one_that_its_program_reads(name: str) -> None:
    container = containers()[name]
    ours = {variable for variable in container.environment if variable.startswith("MUSTER_")}
    assert ours <= _read_by(container)


def _read_by(container: Container) -> set[str]:
    if container.command[0] == "muster":
        addresses = {f"MUSTER_{name.value.replace('-', '_').upper()}_ADDRESS" for name in ServiceName}
        return addresses | _fields(ServiceSettings) | _options(container.command[1:])
    module = importlib.import_module(f"{container.command[-1]}.settings")
    return _fields(module.Settings)


def _options(words: tuple[str, ...]) -> set[str]:
    """Variables that stand for options of a `muster` command."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    return {str(parameter.envvar) for parameter in command.params}


def _fields(settings: type[ServiceSettings]) -> set[str]:
    return {f"MUSTER_{field.upper()}" for field in settings.model_fields}


def test_containers_mount_the_directories_that_their_variables_name() -> None:
    for container in containers().values():
        for variable, value in container.environment.items():
            if value.startswith("/"):
                assert any(Path(value).is_relative_to(mount) for mount in container.mounts) or (
                    variable == "MUSTER_STATE_DIR" and container.name == "streams"
                ), f"{container.name}: {variable}={value}"


def test_containers_find_one_another_by_the_ports_they_listen_on() -> None:
    listening = {
        f"{name}:{container.environment['MUSTER_GRPC_LISTEN'].rpartition(':')[2]}"
        for name, container in containers().items()
        if "MUSTER_GRPC_LISTEN" in container.environment
    }
    called = {
        value
        for container in containers().values()
        for variable, value in container.environment.items()
        if variable.endswith("_ADDRESS")
    }
    assert called == listening == {f"{name}:{7401 + index}" for index, name in enumerate(SERVICES)}
    published = {
        port for each in yaml.safe_load(COMPOSE.read_text())["services"].values() for port in each.get("ports", [])
    }
    assert published == {f"127.0.0.1:{7401 + index}:{7401 + index}" for index in range(len(SERVICES))}


BAD_SETTINGS = [
    ("inventory", "MUSTER_NATS_URL", "localhost", "nats"),
    ("claim-matcher", "MUSTER_PLAN_POLICY", "luckiest", "cheapest"),
    ("gang-coordinator", "MUSTER_TEMPLATE_WAIT", "soon", "number"),
    ("provisioner", "MUSTER_GRPC_LISTEN", "127.0.0.1:70000", "65535"),
    ("cluster-watcher", "MUSTER_CLUSTER_DIRS", "moon=/dumps/moon", "add it there"),
    (SCHEDULER, "MUSTER_LOG_LEVEL", "loud", "warning"),
]


@pytest.mark.parametrize(
    ("process", "variable", "value", "reason"), BAD_SETTINGS, indirect=["process"], ids=[row[0] for row in BAD_SETTINGS]
)
def test_a_bad_setting_stops_the_start_with_one_readable_line_and_status_two(
    process: ServiceProcess, variable: str, value: str, reason: str
) -> None:
    process.environment = {**process.environment, variable: value}
    process.start()
    assert process.wait_exit() == 2
    (line,) = process.text().splitlines()
    assert variable in line
    assert reason in line


@pytest.mark.parametrize("process", ["cluster-watcher"], indirect=True)
def test_an_address_that_is_taken_stops_the_start_with_a_line_that_names_it(process: ServiceProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process.environment = {**process.environment, "MUSTER_GRPC_LISTEN": address}
        process.start()
        assert process.wait_exit() == 1
    assert f"cluster-watcher cannot start: cannot listen on {address}" in process.text()
    assert "Traceback" not in process.text()


@pytest.mark.parametrize("process", ["provisioner"], indirect=True)
def test_without_an_event_store_the_start_ends_with_a_line_that_says_where_it_was_looked_for(
    process: ServiceProcess,
) -> None:
    process.environment = {**process.environment, "MUSTER_NATS_URL": "nats://127.0.0.1:1"}
    process.start()
    assert process.wait_exit() == 1
    assert "no NATS server answers at nats://127.0.0.1:1" in process.text().splitlines()[-1]
    assert len(process.text().splitlines()) < 5
    assert "Traceback" not in process.text()


@pytest.mark.parametrize("process", ["inventory"], indirect=True)
@pytest.mark.skipif(not Path("/proc/version").exists(), reason="wants a place where nobody, root included, can write")
def test_a_state_directory_that_cannot_be_made_ends_the_service_with_a_line_that_names_it(
    process: ServiceProcess,
) -> None:
    process.environment = {**process.environment, "MUSTER_STATE_DIR": "/proc/nowhere"}
    process.start()
    assert process.wait_exit() == 1
    assert "/proc/nowhere" in process.text().splitlines()[-1]
    assert "Traceback" not in process.text()
