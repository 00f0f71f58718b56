"""Checks the replies of Locust's routes and ours, with Flask's test client and without a run."""

import pytest

from harness.options.declarations import OPTIONS, SECTIONS
from harness.web.fields import arranged, style
from tests.webui.conftest import Making, Ui, start
from tests.webui.snapshots import snapshot
from tests.webui.test_finished import make_run


def test_start_hands_over_the_forms_options_and_the_right_number_of_users(ui: Ui) -> None:
    assert start(ui, topology="single", producers="3", run_time="5s")["success"]
    [(namespace, users)] = ui.bench.started
    assert (users, namespace.topology, namespace.run_time) == (5, "single", 5.0)
    assert vars(ui.environment.parsed_options)["num_users"] == 5


def test_a_second_start_does_not_inherit_the_first_ones_fields(ui: Ui) -> None:
    start(ui, topology="single", run_time="5s")
    start(ui)
    namespace = ui.bench.started[1][0]
    assert (namespace.topology, namespace.run_time) == ("mesh", 30.0)


def test_a_wrong_value_starts_nothing_and_is_said_in_one_line_everywhere(
    ui: Ui, caplog: pytest.LogCaptureFixture
) -> None:
    before = dict(vars(ui.environment.parsed_options))
    answer = start(ui, rate="abc", topology="single")
    assert (answer["success"], answer["message"]) == (False, "--rate abc: must be a number")
    assert ui.bench.started == []
    assert vars(ui.environment.parsed_options) == before
    assert ui.client.get("/brokerbench/now").get_json()["trouble"] == ["--rate abc: must be a number"]
    assert caplog.messages == ["--rate abc: must be a number"]


def test_another_number_of_users_is_refused(ui: Ui) -> None:
    assert "this run has 8" in start(ui, user_count="20")["message"]
    assert ui.bench.started == []


def test_a_run_that_goes_on_cannot_be_started_over_or_edited(ui: Ui) -> None:
    ui.bench.busy, ui.bench.shown = True, snapshot()
    assert start(ui)["message"].startswith("a run is active (load, 7 s of 30 s)")
    assert (ui.bench.started, ui.bench.refusal) == ([], "")


def test_stop_ends_the_run_by_us_and_answers_as_locust_does(ui: Ui) -> None:
    ui.bench.busy = True
    assert ui.client.post("/stop").get_json() == {"success": True, "message": "Test stopped"}
    assert ui.bench.stops == 1


def test_stop_without_a_run_is_left_to_locust(ui: Ui) -> None:
    assert ui.client.post("/stop").get_json()["success"]
    assert (ui.bench.stops, ui.environment.runner.state) == (0, "stopped")


def test_the_line_that_runs_it_again_has_the_forms_fields(ui: Ui) -> None:
    start(ui, topology="single", run_time="5s", producers="")
    line = ui.web.command(("locust", "-f", "x.py"))
    assert line == ("locust", "-f", "x.py", "--headless", "--run-time", "5", "--topology", "single")


def test_locusts_statistics_carry_our_rows_and_stay_busy_until_the_report_is_there(ui: Ui) -> None:
    ui.bench.busy, ui.bench.shown = True, snapshot()
    report = ui.client.get("/stats/requests").get_json()
    [table] = report["extended_stats"]
    assert table["key"] == "brokerbench"
    assert {"what": "Phase", "now": "load, 7 s of 30 s"} in table["data"]
    assert report["state"] == "running"
    ui.bench.busy = False
    assert ui.client.get("/stats/requests").get_json()["state"] == "ready"


def test_locusts_page_has_our_tab_and_our_script_and_no_advice_about_hosts(ui: Ui) -> None:
    page = ui.client.get("/").get_data(as_text=True)
    assert '"extended_tabs": [{"title": "Brokers", "key": "brokerbench"}]' in page
    assert page.count('src="./brokerbench/static/tab.js"') == 1
    assert '"missing_host_warning": false' in page


def test_locusts_downloads_are_as_they_were(ui: Ui) -> None:
    assert ui.client.get("/stats/requests/csv").get_data(as_text=True).startswith("Type,Name,Request Count")
    assert "<html" in ui.client.get("/stats/report?download=1").get_data(as_text=True)


def test_the_page_loads_only_what_is_ours(ui: Ui) -> None:
    answer = ui.client.get("/brokerbench")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
    page = answer.get_data(as_text=True)
    assert "http" not in page
    for name in ("page.css", "page.js", "chart.js"):
        assert f"brokerbench/static/{name}" in page
        assert ui.client.get(f"/brokerbench/static/{name}").status_code == 200


def test_reports_are_listed_newest_first_and_open(ui: Ui) -> None:
    for run_id in ("20261121-1-a", "20261121-2-b"):
        make_run(ui.runs, run_id)
    listed = ui.client.get("/brokerbench/now").get_json()["reports"]
    assert listed == [{"run_id": "20261121-2-b", "verdict": "pass"}, {"run_id": "20261121-1-a", "verdict": "pass"}]
    opened = ui.client.get("/brokerbench/runs/20261121-1-a/report")
    assert opened.get_data(as_text=True) == "<title>20261121-1-a</title>"
    assert "Content-Security-Policy" not in opened.headers


def test_prometheus_is_answered_in_its_format(ui: Ui) -> None:
    ui.bench.shown = snapshot()
    answer = ui.client.get("/brokerbench/metrics")
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    assert "brokerbench_messages_sent_total 1200" in answer.get_data(as_text=True)
    assert ui.client.get("/brokerbench/now").get_json()["history"] == {"moments": [], "bands": []}


@pytest.mark.parametrize("path", ["..", "%2e%2e", "..%2foutside", "nope", "%00", "20261121-1-a%2f.."])
def test_nothing_outside_of_the_runs_is_served(ui: Ui, path: str) -> None:
    make_run(ui.runs, "20261121-1-a")
    make_run(ui.runs.parent, "outside")
    assert ui.client.get(f"/brokerbench/runs/{path}/report").status_code == 404


@pytest.mark.parametrize("name", ["../view.py", "..%2fview.py", "%2fetc%2fpasswd"])
def test_no_file_beside_our_own_static_ones_is_served(ui: Ui, name: str) -> None:
    assert ui.client.get(f"/brokerbench/static/{name}").status_code == 404


def test_below_a_base_path_everything_is_there_too(make_ui: Making) -> None:
    ui = make_ui("/load")
    ui.bench.busy = True
    assert ui.client.get("/load/brokerbench").status_code == 200
    assert ui.client.post("/load/stop").get_json()["success"]
    assert ui.bench.stops == 1


def test_whoever_has_not_logged_in_starts_stops_and_sees_nothing(make_ui: Making) -> None:
    ui = make_ui(login=True)
    ui.bench.busy, ui.bench.shown = True, snapshot()
    ui.environment.web_ui.app.secret_key = "a key of this test"
    ui.environment.web_ui.login_manager.user_loader(lambda user: None)
    for path in ("/swarm", "/stop"):
        assert ui.client.post(path).status_code in (302, 401)
    for path in ("/brokerbench", "/brokerbench/now", "/brokerbench/metrics", "/brokerbench/runs/x/report"):
        assert ui.client.get(path).status_code in (302, 401)
    assert (ui.bench.started, ui.bench.stops) == ([], 0)


def test_the_form_has_options_in_groups(ui: Ui) -> None:
    """The order is that of `brokerbench options`, not alphabetical. No help text has an unfilled Python format."""
    page = ui.client.get("/").get_data(as_text=True)
    listed = [option for section in SECTIONS for option in OPTIONS.values() if option.section == section]
    shown = [option for option in listed if f'"{option.dest}": {{"default_value"' in page]
    assert {"topology", "overlay", "rate", "fault", "check"} <= {option.dest for option in shown}
    places = [page.index(f'"{option.dest}": {{"default_value"') for option in shown]
    assert "%(default)s" not in page
    assert places == sorted(places)
    for section in SECTIONS:
        first = next((at for at, option in enumerate(shown, start=1) if option.section == section), None)
        heading = f':nth-child({first})::before {{ content: "{section}"'
        assert (heading in page) == (first is not None)


def test_a_label_is_the_first_clause_of_the_help(ui: Ui) -> None:
    page = ui.client.get("/").get_data(as_text=True)
    assert '"help_text": "total sends per second of all producers", ' in page
    assert '"full_help": "total sends per second of all producers; or a load in steps' in page


def test_options_of_a_locustfile_come_last() -> None:
    fields = arranged({"my_own": {"help_text": None}, "rate": {"help_text": "a; b"}, "topology": {"help_text": "c"}})
    assert [*fields] == ["topology", "rate", "my_own"]
    assert fields["rate"] == {"help_text": "a", "full_help": "a; b"}
    assert ':nth-child(3)::before { content: "Other options"' in style(fields)
