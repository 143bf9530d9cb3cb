"""Edits in the text of YAML files: they mean the plan, and nothing else moves, in whatever style it is written."""

from collections.abc import Mapping
from typing import cast

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_cli.offline.migrate_yaml import DocumentPlan, edit_text
from muster_cli.offline.migrate_yaml_tree import YamlFault, read_documents
from muster_migrate import Evidence, migrate_objects
from property.migrate.fleets import pods

Json = Mapping[str, object]
some = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


class _Indented(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """One to three documents in one of many styles, with comments of their own on lines of their own."""
    indented, comments = draw(st.booleans()), list[str]()
    parts: list[str] = []
    for document in draw(st.lists(pods(), min_size=1, max_size=3)):
        written = yaml.dump(
            document,
            Dumper=_Indented if indented else yaml.SafeDumper,
            sort_keys=False,
            default_flow_style=draw(st.sampled_from((False, False, None))),
            indent=draw(st.sampled_from((2, 4))),
            width=draw(st.sampled_from((40, 100))),
        )
        lines: list[str] = []
        for line in written.splitlines():
            plain = not line.strip().startswith(("-", "{", "[")) and "{" not in line and line.endswith(":")
            if plain and draw(st.integers(0, 3)) == 0:
                comments.append(f"# note {len(comments)}")
                lines.append(f"{' ' * (len(line) - len(line.lstrip()))}{comments[-1]}")
            lines.append(line)
        parts.append("\n".join(lines) + draw(st.sampled_from(("\n", "\n\n"))))
    text = draw(st.sampled_from(("", "---\n", "# head\n"))) + "---\n".join(parts)
    if draw(st.booleans()):
        text = text.rstrip("\n")
    return (text.replace("\n", "\r\n") if draw(st.booleans()) else text), comments


@some
@given(texts())
def test_an_edited_text_means_what_was_planned_and_keeps_its_comments(written: tuple[str, list[str]]) -> None:
    text, comments = written
    documents = read_documents(text)
    assert not isinstance(documents, YamlFault), documents
    migration = migrate_objects([cast("Json", each.value) for each in documents], Evidence.none())
    plans = [DocumentPlan(each.edits, each.before) for each in migration.objects]
    edited = edit_text(text, documents, plans)
    assert not isinstance(edited, YamlFault), (edited, text)
    again = read_documents(edited)
    assert not isinstance(again, YamlFault)
    wanted: list[object] = []
    for each in migration.objects:
        wanted += [*each.before, each.result]
    assert [each.value for each in again] == wanted
    if not any(plan.edits for plan in plans):
        assert edited == text
    untouched = [line for line in comments if _outside(text, line)]
    assert [line for line in untouched if line not in edited] == []


_TAKEN_OUT = ("resources:", "limits:", "requests:", "affinity:", "nodeAffinity:", "nodeSelector", "matchExpressions:")
_DEEPER = ("requiredDuring", "nodeSelectorTerms:", "values:")


def _outside(text: str, comment: str) -> bool:
    """Whether the line below a comment is none that may go as a whole with what is around it."""
    lines = text.splitlines()
    place = next(index for index, line in enumerate(lines) if line.strip() == comment)
    return not lines[place + 1].strip().removeprefix("- ").startswith((*_TAKEN_OUT, *_DEEPER))


@some
@given(texts())
def test_a_text_without_edits_stays_byte_for_byte(written: tuple[str, list[str]]) -> None:
    documents = read_documents(written[0])
    assert not isinstance(documents, YamlFault)
    assert edit_text(written[0], documents, [DocumentPlan((), ())] * len(documents)) == written[0]
