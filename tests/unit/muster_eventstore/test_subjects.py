"""Subjects: every token survives, and no token can be mistaken for structure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster_eventstore.subjects import (
    CommandSubject,
    EventSubject,
    InvalidSubject,
    ParkedSubject,
    TimerSubject,
    command_filter,
    command_subject,
    escape,
    event_filter,
    event_subject,
    fired_filter,
    lease_subject,
    matches,
    parked_filter,
    parse_command,
    parse_event,
    parse_parked,
    parse_timer,
    replayed_filter,
    sole_filter,
    stream_of,
    unescape,
)

TOKENS = st.text(max_size=20) | st.text(alphabet=".%*> \t\r\n-$_", max_size=8)
CONTEXTS = st.sampled_from(["observed", "inventory", "claims", "gangs", "provisioning"])


@given(TOKENS)
def test_a_token_survives_and_is_one_token(token: str) -> None:
    escaped = escape(token)
    assert unescape(escaped) == token
    assert escaped
    assert escaped.isascii()
    assert not set(escaped) & set(". *>\t\r\n")


@given(TOKENS, TOKENS)
def test_different_tokens_stay_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(CONTEXTS, TOKENS, TOKENS, st.lists(TOKENS, max_size=4))
def test_an_event_subject_is_parsed_to_what_made_it(context: str, cluster: str, kind: str, ids: list[str]) -> None:
    subject = event_subject(context, cluster, kind, *ids)
    assert parse_event(subject) == EventSubject(context, cluster, kind, tuple(ids))
    assert str(parse_event(subject)) == subject
    assert stream_of(subject) == context
    assert matches(event_filter(context), subject)
    assert matches(event_filter(context, cluster), subject)
    assert matches(event_filter(context, cluster, kind), subject) == bool(ids)
    assert matches(sole_filter(context, kind), subject) == (not ids)
    assert not matches(event_filter(context, cluster + "x"), subject)


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_command_and_timer_subjects_are_parsed_to_what_made_them(
    service: str, cluster: str, kind: str, key: str
) -> None:
    command = command_subject(service, cluster, kind, key)
    assert parse_command(command) == CommandSubject(service, cluster, kind, key)
    assert matches(command_filter(service, cluster), command)
    assert stream_of(command) == "commands"
    timer = TimerSubject(service, cluster, kind, key)
    assert parse_timer(timer.scheduled) == parse_timer(timer.fired) == timer
    assert matches(fired_filter(service, cluster), timer.fired)
    assert not matches(fired_filter(service), timer.scheduled)
    assert stream_of(timer.scheduled) == stream_of(timer.fired) == "timers"


@given(TOKENS, TOKENS, st.integers(0), st.integers(0, 9))
def test_a_parked_subject_is_parsed_to_what_made_it(consumer: str, stream: str, sequence: int, round: int) -> None:
    place = ParkedSubject(consumer, stream, sequence, round)
    assert parse_parked(place.parked) == parse_parked(place.replayed) == place
    assert matches(parked_filter(consumer), place.parked)
    assert matches(replayed_filter(consumer), place.replayed)


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "muster",
        "muster.gangs",
        "other.gangs.c.gang.g",
        "muster.gangs.c..g",
        "muster.gangs.c.gang.a%zz",
        "muster.gangs.c.k.a%2fb",
    ],
)
def test_a_foreign_subject_is_named_invalid(subject: str) -> None:
    assert isinstance(parse_event(subject), InvalidSubject)


def test_subjects_of_other_kinds_are_not_events_or_commands() -> None:
    assert isinstance(parse_event(command_subject("s", "c", "k", "x")), InvalidSubject)
    assert isinstance(parse_command(event_subject("gangs", "c", "gang", "g")), InvalidSubject)
    assert isinstance(parse_timer(command_subject("s", "c", "k", "x")), InvalidSubject)
    assert isinstance(parse_parked("muster.parked.c.s.x.0"), InvalidSubject)
    with pytest.raises(ValueError, match="no subject of this system"):
        stream_of("$JS.API.STREAM.LIST")


def test_a_lease_lies_in_its_bucket() -> None:
    assert lease_subject("claims/c.1") == "$KV.leases.claims.c%2E1"
    assert stream_of(lease_subject("x")) == "KV_leases"


def test_wildcards_match_as_on_the_server() -> None:
    assert matches("a.*.c", "a.b.c")
    assert not matches("a.*.c", "a.b.c.d")
    assert matches("a.>", "a.b.c")
    assert not matches("a.>", "a")
    assert not matches("a.b", "a.b.c")
