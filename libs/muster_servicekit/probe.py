"""`python -m muster_servicekit.probe NAME`: whether the service of this container serves, where a probe needs TLS.

Asks gRPC health at the port of MUSTER_GRPC_LISTEN on this host, with the certificates of the environment; NAME is the
name that the service's certificate shows. Exit status 0 when it serves, 1 when not, with the reason.
"""

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muster_servicekit.grpc_client import settings_client_tls
from muster_servicekit.settings import ServiceSettings, read_settings

_DEADLINE = 3.0
_USAGE = "usage: python -m muster_servicekit.probe NAME\n"


def main(arguments: list[str]) -> int:
    """The exit status; the reason of a failure goes to standard error."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write(_USAGE)
        return 2
    settings = read_settings(ServiceSettings)
    address = f"127.0.0.1:{settings.grpc_listen.rpartition(':')[2]}"
    tls = settings_client_tls(settings)
    try:
        channel = (
            grpc.insecure_channel(address)
            if tls is None
            else grpc.secure_channel(
                address, tls.credentials(), options=[("grpc.ssl_target_name_override", arguments[0])]
            )
        )
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}\n")
        return 1
    with channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=_DEADLINE)  # pyright: ignore[reportAttributeAccessIssue] -- not in the stubs
        except grpc.RpcError as error:
            code = error.code().name if isinstance(error, grpc.Call) else str(error)
            sys.stderr.write(f"no answer at {address}: {code}\n")
            return 1
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return 0
    sys.stderr.write(f"{address} answers that it does not serve yet\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
