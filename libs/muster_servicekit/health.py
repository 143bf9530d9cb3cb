"""The standard gRPC health service: serving once everything has started, not serving from the start of a stop."""

from grpc_health.v1 import health, health_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Health:
    """Health of a process ("") and of each of its services by full name."""

    def __init__(self, services: tuple[str, ...] = ()) -> None:
        self.servicer = health.aio.HealthServicer()  # pyright: ignore[reportAttributeAccessIssue] -- missing in the stubs
        self._services = ("", *services)

    async def serving(self) -> None:
        """Ready for requests."""
        await self._set(SERVING)

    async def not_serving(self) -> None:
        """Not ready, or about to stop; callers go elsewhere."""
        await self._set(NOT_SERVING)

    async def _set(self, status: "health_pb2.HealthCheckResponse.ServingStatus.ValueType") -> None:
        for name in self._services:
            await self.servicer.set(name, status)
