"""Logs, metrics and trace context of a process."""

import logging
import re
import sys
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from wsgiref.simple_server import WSGIServer

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import start_http_server

_SECRET = re.compile(r"(password|token|secret|credential|authorization|api_?key)", re.IGNORECASE)
_IN_URL = re.compile(r"(\w+://[^\s:/@]*:)[^\s@/]+@")
_NOT_SECRET = frozenset({"token", "fencing_token"})  # the token of a lease is a counter
_PROPAGATOR = TraceContextTextMapPropagator()


def set_up_logging(service: str, *, format: str = "console", level: str = "info") -> None:
    """Structured lines on standard error, JSON or for people; values that look like secrets are masked."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        mask_secrets,
    ]
    rendered: list[structlog.typing.Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(sort_keys=True)]
        if format == "json"
        else [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
        ]
    )
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
    # Libraries that use the standard logger say only what needs attention.
    logging.basicConfig(
        stream=sys.stderr, level=max(threshold, logging.WARNING), format="%(levelname)s %(name)s %(message)s"
    )


def mask_secrets(_: object, __: str, event: MutableMapping[str, object]) -> MutableMapping[str, object]:
    """A structlog processor: no passwords, also not those in an address."""
    for name, value in event.items():
        if _SECRET.search(name) and name not in _NOT_SECRET:
            event[name] = "***"
        elif isinstance(value, str) and "@" in value:
            event[name] = _IN_URL.sub(r"\1***@", value)
    return event


def serve_metrics(port: int, host: str = "127.0.0.1") -> WSGIServer:
    """Serve Prometheus metrics at `http://host:port/metrics` from a thread; the server, to be shut down at the end.
    A port that is taken ends the process with a line and exit status 1."""
    try:
        server, _ = start_http_server(port, host)
    except OSError as error:
        sys.stderr.write(f"cannot serve metrics at {host}:{port}: {error}; set MUSTER_METRICS_PORT to a free port\n")
        raise SystemExit(1) from error
    return server


def set_up_tracing(service: str, *processors: SpanProcessor) -> None:
    """Let the process take part in traces; spans go to `processors` (an exporter, where one is configured)."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    for processor in processors:
        provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)


@contextmanager
def span(name: str, traceparent: str = "") -> Generator[None, None, None]:
    """Do something as a span of the caller's trace; of a new trace when `traceparent` is empty or not valid."""
    parent = _PROPAGATOR.extract({"traceparent": traceparent}) if traceparent else None
    with trace.get_tracer("muster").start_as_current_span(name, context=parent):
        yield


@contextmanager
def span_of_stream(name: str, traceparent: str = "") -> Generator[None, None, None]:
    """Like `span`, but not the running span: a stream that its caller leaves is closed from another context, where what
    was attached to this one cannot be detached."""
    parent = _PROPAGATOR.extract({"traceparent": traceparent}) if traceparent else None
    begun = trace.get_tracer("muster").start_span(name, context=parent)
    try:
        yield
    finally:
        begun.end()


def current_traceparent() -> str:
    """The W3C trace context of the running span, to be handed to `Cause.first`; "" outside of any."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get("traceparent", "")
