"""Checks that docs/ repeats declarations as they are, and that each declaration has the words for it."""

from inspect import get_annotations

import pytest

from brokerbench import api
from brokerbench.documents import ALL, PART, PARTS, answers_table, field_docs, fields_of, options_table
from drivers.failover.uri import OPENWIRE, OPTION_FIELDS, FailoverOptions
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import OPTIONS, Option, Options
from harness.options.user_classes import SHARED
from records.documents import DOCS
from topologies.classic.policies import BridgeFilter

ANY = "updateURIsSupported"  # also honoured by other protocols, if it is false


@pytest.mark.parametrize("document", ALL)
def test_a_document_is_as_declared(document: str) -> None:
    assert (DOCS / document).read_text(encoding="utf-8") == ALL[document](), "write it anew: make docs"


@pytest.mark.parametrize("page", PARTS)
def test_a_page_has_each_of_its_parts_once(page: str) -> None:
    names = [part[2] for part in PART.finditer((DOCS / page).read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(PARTS[page])


def test_the_words_of_a_field_are_the_docstring_below_it() -> None:
    assert field_docs(Options)["prefetch"].startswith(
        "number of messages that a broker sends a consumer ahead of its ack"
    )
    assert "body_bytes" not in field_docs(Options)  # its help says enough


@pytest.mark.parametrize("option", [option for option in OPTIONS.values() if option.choices], ids=lambda it: it.name)
def test_the_words_of_an_option_name_its_choices(option: Option) -> None:
    (row,) = (row for row in options_table(option.section).splitlines() if f"`{option.name}`" in row.split("|")[1])
    assert [choice for choice in option.choices if f"`{choice}`" not in row] == []


@pytest.mark.parametrize("user", [BrokerUser, ProducerUser, ConsumerUser])
def test_an_attribute_of_a_user_has_words_or_is_set_by_the_run(user: type[BrokerUser]) -> None:
    names = {name for name in get_annotations(user) if not name.startswith("_")}
    assert names - {*field_docs(user)} <= {*SHARED, "role"}


def test_each_page_of_a_scenario_says_in_short_what_came_out() -> None:
    pages = {page.stem for page in (DOCS / "scenarios").glob("*.md")}
    assert {row.split("`")[1] for row in answers_table().splitlines()[2:]} == pages


def test_a_failover_option_has_words_unless_only_openwire_takes_it() -> None:
    words = field_docs(FailoverOptions)
    without = {name for name, field in OPTION_FIELDS.items() if field.name not in words}
    assert without == {name for name, field in OPTION_FIELDS.items() if field.metadata["by"] == OPENWIRE} - {ANY}


def test_a_field_of_a_topology_file_keeps_its_words_and_is_listed_without() -> None:
    page = "| field | meaning |\n|---|---|\n| `rate_limit: 7` | messages a second |\n| `gone: 1` | of before |\n"
    table, _, also = fields_of(BridgeFilter, page).partition("\nAlso ")
    assert table.splitlines()[2:] == ["| `rate_limit: 0` | messages a second |"]
    assert "`replay_when_no_consumers: false`" in also


def test_every_public_name_has_one_row_in_its_page() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(api.__all__)
