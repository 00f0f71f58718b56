"""Checks the effect of a mesh's links on consumers with selectors, and that one setting prevents it."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]


@pytest.mark.parametrize("conduit", [True, False])
def test_unselected_messages_remain_only_without_selectors_on_links(tmp_path: Path, conduit: bool) -> None:
    # With this seed, producers also connect to broker-1. At other brokers, each message has a matching consumer.
    arguments = ("--topology", f"mesh(conduit={conduit})", "--seed", "7")
    outcome = make_run("scenarios/message_selectors.py", *arguments, runs=tmp_path / "runs")
    messages = outcome.summary["messages"]
    assert (messages["lost"], messages["unselected"], messages["unselected_yet_received"]) == (0, 0, 0)
    assert messages["received"] + messages["stranded"] == messages["sent"]
    assert bool(messages["stranded"]) is conduit, outcome.output
    assert outcome.summary["verdict"] == ("fail" if conduit else "pass"), outcome.output
