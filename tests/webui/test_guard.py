"""Checks that only the web UI's page, at its own host name, can change state, and that no reply quotes a file."""

import logging
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from locust.log import LogReader

from harness.live.guard import listens_on_loopback_only
from harness.options import run_options
from harness.web.form import OWN_FIELDS
from tests.webui.conftest import SCENARIO, Making, Ui, start

HERE = {"Host": "127.0.0.1:8089"}
FOREIGN = {**HERE, "Origin": "http://127.0.0.1:9000"}
SECRET = "s3cret-of-another-file"


# -- pages of other sites ----------------------------------------------------------------------------------------------


def changing_routes(ui: Ui) -> set[str]:
    rules = ui.environment.web_ui.app.url_map.iter_rules()
    return {rule.rule for rule in rules if rule.methods - {"GET", "HEAD", "OPTIONS"}}


def test_no_route_that_changes_something_answers_a_foreign_page(ui: Ui) -> None:
    ui.environment.web_ui.app.add_url_rule("/of-a-locustfile", "own", lambda: ui.bench.stop() or "", methods=["PUT"])
    ui.bench.busy = True
    routes = changing_routes(ui)
    assert routes == {"/swarm", "/stop", "/stats/reset", "/user", "/of-a-locustfile"}
    for route in routes:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            answer = ui.client.open(route, method=method, headers=FOREIGN, data={"user_count": "8"})
            assert (answer.status_code, route in answer.text, "9000" in answer.text) == (403, True, True)
    assert (ui.bench.started, ui.bench.stops) == ([], 0)


def test_a_question_whether_a_request_may_come_neither_starts_nor_stops_a_run(ui: Ui) -> None:
    for headers in (HERE, {**HERE, "Origin": "http://127.0.0.1:8089"}):
        for ui.bench.busy in (True, False):
            for route in ("/swarm", "/stop", "/user"):
                assert ui.client.open(route, method="OPTIONS", headers=headers).status_code == 200
    assert (ui.bench.started, ui.bench.stops) == ([], 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://localhost:8089"},
        {"Origin": "http://127.0.0.1:8089.evil.example"},
        {"Origin": "http://127.0.0.1:port"},
        {"Origin": "file://"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8089"},
    ],
)
def test_a_foreign_or_hidden_origin_is_refused(ui: Ui, headers: dict[str, str]) -> None:
    answer = ui.client.post("/swarm", headers=HERE | headers, data={"user_count": "8", "spawn_rate": "100"})
    assert (answer.status_code, answer.content_type) == (403, "text/plain; charset=utf-8")
    assert ui.bench.started == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://127.0.0.1:8089"},
        {"Origin": "HTTP://127.0.0.1:8089".lower(), "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://bench.example", "Host": "127.0.0.1:8089", "Sec-Fetch-Site": "same-origin"},  # by a proxy
        {"Origin": "http://localhost:9999", "Host": "localhost:9999"},  # by a tunnel
    ],
)
def test_the_uis_own_page_and_scripts_start_runs(ui: Ui, headers: dict[str, str]) -> None:
    answer = ui.client.post("/swarm", headers=HERE | headers, data={"user_count": "8", "spawn_rate": "100"})
    assert answer.get_json()["success"], answer.text
    assert len(ui.bench.started) == 1


def test_no_answer_lets_another_origin_read_it_or_frame_it(ui: Ui) -> None:
    preflight = {**FOREIGN, "Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
    for method, path in (("GET", "/"), ("GET", "/stats/requests"), ("GET", "/brokerbench/now"), ("OPTIONS", "/swarm"),
                         ("GET", "/nowhere"), ("POST", "/swarm"), ("GET", "/logs")):  # fmt: skip
        answer = ui.client.open(path, method=method, headers=preflight)
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")], path
        assert answer.status_code == 403 or answer.headers["X-Frame-Options"] == "SAMEORIGIN"


# -- names of this machine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:8089", "localhost:8089", "LOCALHOST", "[::1]:8089", "127.0.0.9:1"])
def test_loopbacks_own_names_reach_a_ui_on_loopback(ui: Ui, host: str) -> None:
    assert ui.client.get("/brokerbench/now", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example:8089", "evil.example", "localhost.evil.example", "10.0.0.1:8089", "]["])
def test_another_name_does_not_reach_a_ui_on_loopback(ui: Ui, host: str) -> None:
    for path in ("/", "/brokerbench/now", "/brokerbench/metrics", "/logs", "/swarm"):
        answer = ui.client.open(path, method="POST" if path == "/swarm" else "GET", headers={"Host": host})
        assert (answer.status_code, "listens on 127.0.0.1 only" in answer.text) == (403, True)
    assert ui.bench.started == []


@pytest.mark.parametrize("web_host", ["0.0.0.0", "", "::"])
def test_a_ui_that_was_opened_is_reached_by_any_name(make_ui: Making, web_host: str) -> None:
    ui = make_ui(web_host=web_host)
    colleague = {"Host": "bench.example:8089", "Origin": "http://bench.example:8089"}
    form = {"user_count": "8", "spawn_rate": "9"}
    assert "brokerbench_running 0" in ui.client.get("/brokerbench/metrics", headers={"Host": "prometheus-job"}).text
    assert ui.client.post("/swarm", headers=colleague, data=form).get_json()["success"]
    assert ui.client.post("/stop", headers={**colleague, "Origin": "http://evil.example"}).status_code == 403


def test_the_name_that_a_ui_was_given_reaches_it(make_ui: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda name, port: [(2, 1, 6, "", ("127.0.1.1", 0))])  # Debian's way
    ui = make_ui(web_host="Workstation")
    assert ui.client.get("/", headers={"Host": "workstation:8089"}).status_code == 200
    assert ui.client.get("/", headers={"Host": "evil.example:8089"}).status_code == 403


def test_loopback_is_told_from_other_addresses() -> None:
    assert listens_on_loopback_only("127.0.0.1")
    assert listens_on_loopback_only("localhost")
    assert not listens_on_loopback_only("0.0.0.0")
    assert not listens_on_loopback_only("")
    assert not listens_on_loopback_only("no-such-host.invalid")


# -- values that a request may set, and error replies ------------------------------------------------------------------


def hidden_options(ui: Ui) -> list[str]:
    """Return the options that Locust's form does not show, including Locust's own."""
    shown = {*ui.environment.web_ui.template_args["extra_options"], *OWN_FIELDS}
    return sorted({*vars(ui.environment.parsed_options)} - shown)


def test_only_fields_that_the_form_shows_are_taken(ui: Ui, tmp_path: Path) -> None:
    hidden = hidden_options(ui)
    assert {"junit", "markdown", "runs", "brokers_file", "ca_file", "spark_master", "dry_run", "headless"} <= {*hidden}
    for name in hidden:
        answer = start(ui, **{name: str(tmp_path / "mine")})
        option = name.replace("_", "-")
        refusal = f"field {name}: not a field of the form; use --{option} when you start Locust"
        assert (answer["success"], answer["message"]) == (False, refusal)
    assert (ui.bench.started, [*tmp_path.iterdir()]) == ([], [])


def test_all_fields_that_the_form_shows_are_taken(ui: Ui) -> None:
    fields = {name: "" for name in ui.environment.web_ui.template_args["extra_options"]}
    assert {"topology", "overlay", "rate", "fault", "check"} <= {*fields}
    assert start(ui, run_time="", host="", profile="", **fields)["success"]


def test_user_classes_are_not_changed_by_a_request(ui: Ui) -> None:
    answer = ui.client.post("/user", json={"user_class_name": "Consumer", "on_start": "mine"})
    assert (answer.status_code, answer.text.partition(";")[0]) == (400, "the scenario defines the user classes")


def read_options(namespace: Namespace) -> Mapping[str, int]:
    run_options.read(namespace, SCENARIO, None)
    return {"Producer": 6, "Consumer": 2}


SECRET_FILES = [
    f"root:{SECRET}:1:0:99999:7:::\n",
    f"password: {SECRET}\n",
    f"{SECRET}: 1\n",
    f"name: {SECRET}\nbrokers: [{SECRET}]\ngroups: {SECRET}\n",
    f"name: one\nbrokers: [one]\ngroups: [{{name: producers, enter_at: [{SECRET}]}}]\n",
    f"name: one\nbrokers: [{SECRET}, {SECRET}]\n",
    f"name: one\nbrokers: [one]\nimpairments: ['{SECRET}:delay=5ms']\n",
    f"brokers: {{{SECRET}: {{}}}}\n",
    f"brokers: {{broker-1: {{memory_percent_of_heap: {SECRET}}}}}\n",
    f"brokers: {{broker-1: {{jvm: {{options: ['{SECRET}\\t']}}}}}}\n",
    f"[{SECRET}\n",
    f"a: !{SECRET} b\n",
    f"a: '{SECRET}\n",
]


@pytest.mark.parametrize("text", SECRET_FILES)
@pytest.mark.parametrize("option", ["topology", "overlay"])
def test_no_answer_quotes_a_file_that_the_form_names(
    ui: Ui, tmp_path: Path, option: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ui.bench, "check", read_options)
    reader = LogReader()
    monkeypatch.setattr(logging.getLogger("brokerbench"), "handlers", [reader])
    path = tmp_path / "secret.yaml"
    path.write_text(text)
    answers: list[Any] = [start(ui, **{option: str(path), "runtime": "processes"})]
    assert not answers[0]["success"]
    answers += [ui.client.get(page).get_json() for page in ("/brokerbench/now", "/stats/requests", "/logs")]
    assert SECRET not in f"{answers} {reader.logs}"
    assert str(path) in answers[0]["message"]
    assert "Locust's terminal shows the reason" in answers[0]["message"]
    assert str(path) in capsys.readouterr().err  # the full sentence, for the user who started Locust
