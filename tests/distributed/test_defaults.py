"""Checks where Locust listens by default, and that the user's addresses are kept."""

import pytest
from locust.argument_parser import get_empty_argument_parser, setup_parser_arguments

from harness.distributed import listen_on_loopback
from harness.distributed.runners import ASKED


def parsed(*arguments: str) -> dict[str, object]:
    parser = get_empty_argument_parser(default_config_files=[])
    setup_parser_arguments(parser)
    listen_on_loopback(parser)
    return vars(parser.parse_args(list(arguments)))


def test_master_and_web_interface_listen_on_loopback_by_default() -> None:
    options = parsed()
    assert (options["master_bind_host"], options["web_host"]) == ("127.0.0.1", "127.0.0.1")
    assert options["master_bind_port"] is None


def test_addresses_that_the_user_names_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    options = parsed("--master-bind-host", "*", "--master-bind-port", "6000", "--web-host", "10.0.0.5")
    named = ("master_bind_host", "master_bind_port", "web_host")
    assert [options[name] for name in named] == ["*", 6000, "10.0.0.5"]
    monkeypatch.setenv("LOCUST_MASTER_BIND_HOST", "10.0.0.6")
    monkeypatch.setenv("LOCUST_MASTER_BIND_PORT", "6001")
    monkeypatch.setenv("LOCUST_WEB_HOST", "*")
    options = parsed()
    assert [options[name] for name in named] == ["10.0.0.6", 6001, "*"]


def test_a_worker_that_the_user_asked_for_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locust sets the same option in a process that it forks, but that worker already has the secret."""
    assert not parsed()["worker"]
    assert parsed("--worker")["worker"] == ASKED
    monkeypatch.setenv("LOCUST_MODE_WORKER", "true")
    assert parsed()["worker"] == ASKED
