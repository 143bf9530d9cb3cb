"""`muster asyncapi`."""

import orjson
import pytest
from typer.testing import CliRunner

from muster_cli.app import app
from muster_cli.commands.asyncapi import Service


@pytest.mark.parametrize("service", Service)
def test_the_document_of_one_service_is_printed(service: Service) -> None:
    told = CliRunner().invoke(app, ["asyncapi", service.value])
    assert told.exit_code == 0
    document = orjson.loads(told.stdout)
    assert (document["asyncapi"], document["info"]["title"]) == ("3.0.0", service.value)


def test_without_a_service_the_documents_of_all_are_printed_by_name() -> None:
    told = CliRunner().invoke(app, ["asyncapi"])
    assert told.exit_code == 0
    assert set(orjson.loads(told.stdout)) == {service.value for service in Service}


def test_an_unknown_service_is_refused() -> None:
    told = CliRunner().invoke(app, ["asyncapi", "scheduler"])
    assert told.exit_code == 2
