"""Settings of the inventory; `MUSTER_<FIELD>` in the environment."""

from typing import Annotated

from pydantic import Field
from pydantic_settings import NoDecode

from muster_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    """Alone, the service listens on a port of its own; port 0 asks for any free one."""

    grpc_listen: str = "127.0.0.1:7401"
    clusters: Annotated[tuple[str, ...], NoDecode] = ("local",)
    query_wait: float = Field(default=5.0, gt=0, description="seconds that a query waits for min_sequence")
