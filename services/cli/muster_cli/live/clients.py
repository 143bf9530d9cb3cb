"""gRPC clients of the services, with errors as sentences."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

import grpc

from muster.api.capacity.v1.capacity_service_pb2_grpc import CapacityServiceStub
from muster.api.inventory.v1.inventory_service_pb2_grpc import InventoryServiceStub
from muster.api.matcher.v1.matcher_service_pb2_grpc import MatcherServiceStub
from muster.api.provisioner.v1.provisioner_service_pb2_grpc import ProvisionerServiceStub
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, ServiceName
from muster_cli.live.identity import client_tls

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_OPTIONS = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)]
_STATUS = {
    grpc.StatusCode.NOT_FOUND: ExitStatus.NO,
    grpc.StatusCode.FAILED_PRECONDITION: ExitStatus.NO,
    grpc.StatusCode.UNAVAILABLE: ExitStatus.UNREACHABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: ExitStatus.UNREACHABLE,
}

Stub_co = TypeVar("Stub_co", covariant=True)


class StubFactory(Protocol[Stub_co]):
    """A generated stub class."""

    def __call__(self, channel: grpc.Channel) -> Stub_co: ...


@contextmanager
def _client(addresses: Addresses, service: ServiceName, stub: StubFactory[Stub_co]) -> Generator[Stub_co]:
    address = addresses.grpc(service)
    with _channel(address) as channel:
        try:
            yield stub(channel)
        except grpc.RpcError as error:
            raise _sentence(error, service, address, addresses) from error


def _channel(address: str) -> grpc.Channel:
    tls = client_tls()
    if tls is None:
        return grpc.insecure_channel(address, options=_OPTIONS)
    try:
        return grpc.secure_channel(address, tls.credentials(), options=_OPTIONS)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}; MUSTER_GRPC_CA and its kin name it") from error


def _sentence(error: grpc.RpcError, service: ServiceName, address: str, addresses: Addresses) -> UserError:
    if not isinstance(error, grpc.Call):
        return UserError(f"{service.value} at {address}: {error}", ExitStatus.UNREACHABLE)
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE:
        return UserError(
            f"{service.value} does not answer at {address}; start it with `muster up`, "
            f"name its state directory by --state or MUSTER_STATE_DIR (now {addresses.state}), or its address by "
            f"MUSTER_{service.value.replace('-', '_').upper()}_ADDRESS; "
            "where services ask for TLS, set MUSTER_GRPC_CA, MUSTER_GRPC_CERTIFICATE and MUSTER_GRPC_KEY",
            ExitStatus.UNREACHABLE,
        )
    return UserError(f"{service.value}: {error.details()}", _STATUS.get(code, ExitStatus.BAD_INPUT))


def capacity(addresses: Addresses) -> AbstractContextManager[CapacityServiceStub]:
    """The gang-coordinator."""
    return _client(addresses, ServiceName.GANG_COORDINATOR, CapacityServiceStub)


def inventory(addresses: Addresses) -> AbstractContextManager[InventoryServiceStub]:
    """The inventory."""
    return _client(addresses, ServiceName.INVENTORY, InventoryServiceStub)


def matcher(addresses: Addresses) -> AbstractContextManager[MatcherServiceStub]:
    """The claim-matcher."""
    return _client(addresses, ServiceName.CLAIM_MATCHER, MatcherServiceStub)


def provisioner(addresses: Addresses) -> AbstractContextManager[ProvisionerServiceStub]:
    """The provisioner."""
    return _client(addresses, ServiceName.PROVISIONER, ProvisionerServiceStub)
