"""Streams as data, on a real server."""

from muster_eventstore import Change, JetStreamStore, apply_streams, load_specs


async def test_applying_twice_changes_nothing(store: JetStreamStore) -> None:
    again = await apply_streams(store.client)
    assert [stream.change for stream in again] == [Change.UNCHANGED] * len(load_specs())


async def test_a_changed_file_is_brought_to_the_server_with_its_fields_named(store: JetStreamStore) -> None:
    (commands,) = [spec for spec in load_specs() if spec.name == "commands"]
    changed = commands.model_copy(update={"duplicate_window": 60, "description": "Other words."})
    (applied,) = await apply_streams(store.client, [changed])
    assert (applied.name, applied.change) == ("commands", Change.UPDATED)
    assert applied.fields == ("description", "duplicate_window")
    info = await store.client.jetstream().stream_info("commands")
    assert info.config.duplicate_window == 60


async def test_a_missing_stream_is_created_and_others_are_left_alone(store: JetStreamStore) -> None:
    js = store.client.jetstream()
    await js.delete_stream("gangs")
    await js.add_stream(name="foreign", subjects=["foreign.>"])
    applied = {stream.name: stream.change for stream in await apply_streams(store.client)}
    assert applied["gangs"] is Change.CREATED
    assert "foreign" not in applied
    await js.delete_stream("foreign")
