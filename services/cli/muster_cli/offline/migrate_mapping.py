"""What the user declares of resources that nobody else knows (`muster migrate --map FILE`)."""

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from muster_cli.exits import UserError
from muster_dra.cel import CelError, compile_selector
from muster_migrate import Query


class _Declared(BaseModel):
    """One resource: its class, and CEL selectors besides those of the class."""

    model_config = ConfigDict(extra="forbid")
    resource: Annotated[str, Field(pattern=r"^[^/\s]+/[^/\s]+$")]
    deviceClassName: Annotated[str, Field(min_length=1)]  # noqa: N815 - spelled as in a claim
    selectors: tuple[str, ...] = ()
    driver: str = ""
    noun: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$")] = "device"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    resources: tuple[_Declared, ...]


def read_mapping(path: Path | None) -> dict[str, Query]:
    """Queries by resource. Raises UserError naming file, field and reason."""
    if path is None:
        return {}
    try:
        declared = _File.model_validate(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise UserError(f"--map {path}: it cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        raise UserError(f"--map {path}: it is no YAML: {str(error).splitlines()[0]}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise UserError(
            f"--map {path}: {where}: {first['msg']}; write for example\n"
            "  resources: [{resource: example.com/npu, deviceClassName: npu.example.com, selectors: []}]"
        ) from error
    for each in declared.resources:
        for expression in each.selectors:
            found = compile_selector(expression)
            if isinstance(found, CelError):
                raise UserError(f"--map {path}: {each.resource}: selector {expression!r}: {found.message}")
    return {
        each.resource: Query(each.deviceClassName, each.driver, each.noun, f"{path.name} says so", each.selectors)
        for each in declared.resources
    }
