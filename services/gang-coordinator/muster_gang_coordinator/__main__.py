"""`python -m muster_gang_coordinator`: the service as its own process."""

from muster_gang_coordinator.bootstrap import SERVICE, build_on
from muster_gang_coordinator.settings import Settings
from muster_servicekit.runtime import Runtime, run_service
from muster_servicekit.settings import read_settings
from muster_servicekit.telemetry import serve_metrics, set_up_logging


def main() -> None:
    """Run until SIGTERM or SIGINT; the exit status is 0 after a stop, 1 after a failure, 2 for bad settings."""
    settings = read_settings(Settings)
    set_up_logging(SERVICE, format=settings.log_format, level=settings.log_level)
    if settings.metrics_port:
        serve_metrics(settings.metrics_port)

    async def wire(runtime: Runtime) -> None:
        await build_on(runtime, settings)

    raise SystemExit(run_service(SERVICE, wire, grace=settings.stop_grace))


if __name__ == "__main__":
    main()
