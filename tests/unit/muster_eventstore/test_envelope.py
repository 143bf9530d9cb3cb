"""Metadata in headers: CloudEvents, causes, trace context."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_eventstore.envelope import Cause, EventMeta, InvalidEnvelope, caused, derived_id, from_headers, to_headers

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXT = st.text(min_size=1, max_size=30)
META = EventMeta("id", "t", "/s", "g", NOON, "story", "cause", "00-ab-cd-01")


@given(
    st.builds(
        EventMeta,
        id=TEXT,
        type=TEXT,
        source=TEXT,
        subject=st.text(max_size=30),
        time=st.datetimes(timezones=st.just(UTC)),
        correlation_id=TEXT,
        causation_id=TEXT,
        traceparent=st.text(max_size=10),
    )
)
def test_metadata_survives_headers_of_printable_ascii(meta: EventMeta) -> None:
    headers = to_headers(meta)
    assert from_headers(headers) == meta
    for value in headers.values():
        assert value
        assert value.isascii()
        assert value.isprintable()
        assert value == value.strip()


def test_the_headers_are_those_of_cloudevents_in_binary_mode() -> None:
    assert to_headers(META) == {
        "Nats-Msg-Id": "id",
        "ce-specversion": "1.0",
        "ce-id": "id",
        "ce-type": "t",
        "ce-source": "/s",
        "ce-subject": "g",
        "ce-time": "2026-05-01T12:00:00.000000Z",
        "datacontenttype": "application/protobuf",
        "muster-correlation-id": "story",
        "muster-causation-id": "cause",
        "traceparent": "00-ab-cd-01",
    }


def test_a_time_of_another_zone_is_the_same_moment() -> None:
    headers = to_headers(META) | {"ce-time": "2026-05-01T14:00:00+02:00"}
    meta = from_headers(headers)
    assert isinstance(meta, EventMeta)
    assert meta.time == datetime(2026, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ce-id": ""}, "header ce-id is missing"),
        ({"ce-type": ""}, "header ce-type is missing"),
        ({"ce-time": "noon"}, "ce-time"),
        ({"ce-time": "2026-05-01T12:00:00"}, "time zone"),
        ({"ce-subject": "%ff"}, "encoding"),
    ],
)
def test_headers_that_are_not_ours_are_named_with_the_reason(change: dict[str, str], reason: str) -> None:
    answer = from_headers(to_headers(META) | change)
    assert isinstance(answer, InvalidEnvelope)
    assert reason in answer.reason


def test_a_naive_time_is_refused_when_written() -> None:
    with pytest.raises(ValueError, match="time zone"):
        to_headers(EventMeta("id", "t", "/s", "g", NOON.replace(tzinfo=None), "c", "c"))


def test_a_message_without_causes_is_its_own_story() -> None:
    headers = {name: value for name, value in to_headers(META).items() if name.startswith("ce-")}
    meta = from_headers(headers)
    assert isinstance(meta, EventMeta)
    assert (meta.correlation_id, meta.causation_id) == ("id", "id")


@given(st.lists(TEXT, min_size=1, max_size=4), st.lists(TEXT, min_size=1, max_size=4))
def test_derived_ids_are_equal_exactly_when_their_parts_are(one: list[str], other: list[str]) -> None:
    assert (derived_id(*one) == derived_id(*other)) == (one == other)


def test_a_story_keeps_its_first_cause_and_names_the_nearest() -> None:
    request = Cause.first("request-1", "00-ab-cd-01")
    first = caused(request, derived_id(request.id, "x"), type="t", source="/s", subject="g", time=NOON)
    second = caused(Cause.of(first).step(0), "second", type="t", source="/s", subject="g", time=NOON)
    assert second.correlation_id == "request-1"
    assert second.causation_id == derived_id(first.id, 0)
    assert second.traceparent == "00-ab-cd-01"
