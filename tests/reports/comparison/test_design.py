"""Arms and blocks are formed from runs, and unlike runs are rejected with the field that differs."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from records.errors import RunUnreadable, UserError
from records.figures.abort import Abort, AbortCondition
from records.run import LinkInfo, UserInfo
from reports.comparison.arms import design
from reports.comparison.metrics import primary_metrics
from reports.comparison.runs import read_runs
from tests.reports.comparison.planted import Planted, write_blocks, write_planted, write_with_controls

OPTIONS = {"users": 18, "in_flight_cap": 1_000, "drain_timeout_s": 30.0, "image": None}


def user(**settings: Any) -> tuple[UserInfo, ...]:
    return (UserInfo("P", "producer", "producers", "queue://orders", 12, {"body_bytes": 1_024, **settings}),)


def pair(parent: Path, reference: Planted, compared: Planted) -> list[Path]:
    return [write_planted(parent, "run-1", reference), write_planted(parent, "run-2", compared)]


def test_runs_pair_by_their_order_and_the_first_topology_is_the_reference(tmp_path: Path) -> None:
    plan = design(read_runs(write_blocks(tmp_path, [[1, 1], [1, 1], [1, 1]])))
    assert plan.field == "topology"
    assert [(arm.name, [run.name for run in arm.runs]) for arm in plan.arms] == [
        ("mesh", ["run-1-0", "run-2-0", "run-3-0"]),
        ("hub-and-spoke", ["run-1-1", "run-2-1", "run-3-1"]),
    ]
    assert (plan.blocks, plan.recorded, plan.unlike) == (("1", "2", "3"), False, ())


def test_recorded_blocks_count_more_than_the_order(tmp_path: Path) -> None:
    at = [("mesh", 2), ("mesh", 1), ("ring", 1), ("ring", 2)]
    folders = [
        write_planted(
            tmp_path, f"run-{n}", Planted(topology, run={"options": {**OPTIONS, "session": "s", "block": block}})
        )
        for n, (topology, block) in enumerate(at)
    ]
    plan = design(read_runs(folders))
    assert plan.recorded
    names = {block: tuple(arm.runs[i].name for arm in plan.arms) for i, block in enumerate(plan.blocks)}
    assert names == {"1": ("run-1", "run-2"), "2": ("run-0", "run-3")}


def test_blocks_of_several_sessions_are_told_apart(tmp_path: Path) -> None:
    folders = [
        write_planted(tmp_path, f"{s}-{t}", Planted(t, run={"options": {**OPTIONS, "session": s, "block": 1}}))
        for s in ("a", "b")
        for t in ("mesh", "ring")
    ]
    assert design(read_runs(folders)).blocks == ("a 1", "b 1")


def test_a_block_that_holds_an_arm_twice_is_refused(tmp_path: Path) -> None:
    options = {"options": {**OPTIONS, "block": 1}}
    folders = [
        write_planted(tmp_path, f"r{n}", Planted(t, run=options)) for n, t in enumerate(("mesh", "ring", "ring"))
    ]
    with pytest.raises(UserError, match="block 1 holds ring twice, in r1 and r2: leave one of them out"):
        design(read_runs(folders))


def test_a_block_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    folders = write_blocks(tmp_path, [[1, 1], [1]])
    with pytest.raises(UserError, match="block 2 is not complete, as it has no run of hub-and-spoke"):
        design(read_runs(folders))


def test_a_copy_of_a_run_is_refused(tmp_path: Path) -> None:
    """It would count as a further block, and make a difference look surer than it is."""
    folders = write_blocks(tmp_path, [[1, 1], [1, 1]])
    copy = tmp_path / "again"
    shutil.copytree(folders[0], copy)
    with pytest.raises(UserError, match=f"{copy}: a copy of {folders[0]}, as both are of run .*: leave one out"):
        read_runs([*folders, copy])


def test_further_runs_of_the_first_arm_are_its_control_and_no_arm(tmp_path: Path) -> None:
    plan = design(read_runs(write_with_controls(tmp_path, [(1, 1, 1), (1, 1, 1)])))
    assert [(arm.name, [run.name for run in arm.runs]) for arm in plan.rows] == [
        ("mesh", ["run-0", "run-3"]),
        ("tree", ["run-2", "run-5"]),
        ("mesh again (A/A)", ["run-1", "run-4"]),
    ]
    assert len(plan.arms) == 2


def test_a_control_that_is_not_in_every_block_or_not_of_the_first_arm_is_refused(tmp_path: Path) -> None:
    folders = write_with_controls(tmp_path, [(1, 1, 1), (1, 1, 1)])
    with pytest.raises(UserError, match="block 2 has no control run: each block has one, or none does"):
        design(read_runs([folder for folder in folders if folder.name != "run-4"]))
    with pytest.raises(UserError, match=r"run-1 is a control run of mesh, but the arm .* is tree"):
        design(read_runs([folders[2], *folders[:2], *folders[3:]]))


@pytest.mark.parametrize(
    ("fields", "arm_field", "names"),
    [
        ({"protocol": "amqp"}, "protocol", ["stomp", "amqp"]),
        ({"runtime": "containers"}, "runtime", ["processes", "containers"]),
        (
            {"options": {**OPTIONS, "failover": "randomize=false"}},
            "failover",
            ["failover not set", "failover randomize=false"],
        ),
        ({"options": {**OPTIONS, "image": "mine:1"}}, "image", ["not set", "mine:1"]),
    ],
)
def test_the_one_thing_that_differs_makes_the_arms(
    tmp_path: Path, fields: dict[str, Any], arm_field: str, names: list[str]
) -> None:
    plan = design(read_runs(pair(tmp_path, Planted(), Planted(run=fields))))
    assert (plan.field, [arm.name for arm in plan.arms]) == (arm_field, names)


def test_connections_and_the_size_of_their_pool_are_one_thing(tmp_path: Path) -> None:
    single = Planted(run={"users": user(connections="one")})
    pooled = Planted(run={"users": user(connections="pooled", pool_size=4), "options": {**OPTIONS, "pool_size": 4}})
    plan = design(read_runs(pair(tmp_path, single, pooled)))
    assert (plan.field, [arm.name for arm in plan.arms]) == (
        "connections",
        ["connections one", "connections pooled of 4"],
    )


UNLIKE: list[tuple[str, dict[str, Any]]] = [
    ("scenario is failover in run-2, but steady in run-1", {"run": {"scenario": "failover"}}),
    ("protocol is amqp in run-2, but stomp in run-1", {"run": {"protocol": "amqp"}}),
    ("machine.cores is 8 in run-2, but 2 in run-1", {"run": {"machine": {"cores": 8}}}),
    ("versions.Python is 3.13 in run-2, but 3.11.7 in run-1", {"run": {"versions": {"Python": "3.13"}}}),
    ("user counts is 12 in run-2, but OrderProducer: 12, OrderConsumer: 6 in run-1", {"run": {"users": user()}}),
    ("drain_timeout_s is 5 in run-2, but 30.0 in run-1", {"run": {"options": {**OPTIONS, "drain_timeout_s": 5}}}),
    ("load_s is 30.0 in run-2, but 60.0 in run-1", {"summary": {"phases": {"load": 30.0}}}),
    ("p99 of a rate that is held is 20.0 in run-2, but not set in run-1", {"run": {"held_p99_ms": 20.0}}),
    (
        "proxied links is some in run-2, but none in run-1",
        {"run": {"links": (LinkInfo("1-to-2", "broker-1", "broker-2", duplex=True, proxied=True),)}},
    ),
]


@pytest.mark.parametrize(("refusal", "fields"), UNLIKE, ids=[refusal.split(" ")[0] for refusal, _ in UNLIKE])
def test_unlike_runs_are_refused_by_the_field_that_differs_unless_allowed(
    tmp_path: Path, refusal: str, fields: dict[str, Any]
) -> None:
    runs = read_runs(pair(tmp_path, Planted(), Planted("ring", **fields)))
    with pytest.raises(UserError) as refused:
        design(runs)
    marked = design(runs, allow_unlike=True)
    assert marked.field == "topology"
    assert refusal in [str(difference) for difference in marked.unlike]
    assert refusal.split(" is ")[0] in str(refused.value)
    assert str(refused.value).endswith("or mark the page by --allow-unlike")


def test_what_may_differ_is_no_difference(tmp_path: Path) -> None:
    options = {**OPTIONS, "runs": "elsewhere", "seed": 9}
    longer = Planted("ring", run={"seed": 9, "options": options}, summary={"phases": {"load": 61.0}})
    assert design(read_runs(pair(tmp_path, Planted(), longer))).unlike == ()


@pytest.mark.parametrize("first_is_aborted", [True, False])
def test_an_aborted_load_may_be_shorter(tmp_path: Path, first_is_aborted: bool) -> None:
    """That --abort-on ended a load does not make its conditions differ. Complete loads still count as equal."""
    abort = Abort(AbortCondition("messages.failed", ">", 0.0), 3.0, 4.1)
    aborted, whole = Planted(run={"aborts": (abort,)}, summary={"phases": {"load": 4.1}}), Planted()
    first, second = (aborted, whole) if first_is_aborted else (whole, aborted)
    assert design(read_runs(pair(tmp_path, first, replace(second, topology="ring")))).unlike == ()


def test_searches_for_the_highest_rate_last_as_long_as_they_take(tmp_path: Path) -> None:
    search = {"held_p99_ms": 500.0}
    longer = Planted("ring", run=search, summary={"phases": {"load": 200.0}})
    assert design(read_runs(pair(tmp_path, Planted(run=search), longer))).unlike == ()


def test_brokers_of_another_product_belong_to_the_topology(tmp_path: Path) -> None:
    artemis = {"ActiveMQ Artemis": "2.44.0", "Java": "17.0.12 (Debian)", "Jolokia agent": "2.1.1", "Python": "3.11.7"}
    runs = read_runs(pair(tmp_path, Planted(), Planted("cluster", run={"versions": artemis})))
    assert design(runs).field == "topology"


def test_another_image_may_have_another_broker_and_another_java(tmp_path: Path) -> None:
    reference, compared = (
        Planted(
            run={
                "options": {**OPTIONS, "image": f"activemq:{version}"},
                "versions": {"activemq": version, "java": version},
            }
        )
        for version in ("5", "6")
    )
    plan = design(read_runs(pair(tmp_path, reference, compared)))
    assert (plan.field, [arm.name for arm in plan.arms]) == ("image", ["activemq:5", "activemq:6"])


def of_broker(version: str, **options: str) -> Planted:
    return Planted(run={"options": {**OPTIONS, **options}, "versions": {"activemq": version, "java": "17"}})


@pytest.mark.parametrize(
    ("option", "values", "versions"),
    [
        ("broker_version", ("5.16.6", "5.18.3"), ("5.16.6", "5.18.3")),
        ("distribution", ("old.tar.gz", "new.tar.gz"), ("5.18.3", "6.0.0-SNAPSHOT")),
        ("distribution", ("old", "new"), ("6.0.0-SNAPSHOT", "6.0.0-SNAPSHOT")),
    ],
)
def test_another_version_or_build_has_another_broker(
    tmp_path: Path, option: str, values: tuple[str, str], versions: tuple[str, str]
) -> None:
    arms = [of_broker(version, **{option: value}) for version, value in zip(versions, values, strict=True)]
    plan = design(read_runs(pair(tmp_path, *arms)))
    assert (plan.field, [arm.name for arm in plan.arms]) == (option, [f"{option} {value}" for value in values])


def test_the_version_that_brokers_have_anyway_makes_no_arm_of_its_own(tmp_path: Path) -> None:
    arms = [of_broker("5.18.3"), of_broker("5.18.3", broker_version="5.18.3")]
    runs = [of_broker("5.16.6", broker_version="5.16.6"), *arms, of_broker("5.16.6", broker_version="5.16.6")]
    plan = design(read_runs([write_planted(tmp_path / "four", f"run-{n}", run) for n, run in enumerate(runs)]))
    assert [(arm.name, [run.name for run in arm.runs]) for arm in plan.arms] == [
        ("broker_version 5.16.6", ["run-0", "run-3"]),
        ("broker_version 5.18.3", ["run-1", "run-2"]),
    ]
    with pytest.raises(UserError, match="all runs have the same conditions"):
        design(read_runs(pair(tmp_path, *arms)))


def test_another_version_of_the_java_clients_is_told_by_their_version_too(tmp_path: Path) -> None:
    arms = [
        Planted(run={"options": {**OPTIONS, "client_version": version}, "versions": {"openwire client": version}})
        for version in ("5.16.6", "5.18.3")
    ]
    plan = design(read_runs(pair(tmp_path, *arms)))
    assert (plan.field, [arm.name for arm in plan.arms]) == (
        "client_version",
        ["client_version 5.16.6", "client_version 5.18.3"],
    )


def with_overlay(path: str | None, text: str = "", **fields: Any) -> Planted:
    options = {**OPTIONS, "overlay": path, "overlay_digest": path and f"{len(text):012x}", "unset_defaults": None}
    files = {f"overlay/{Path(path).name}": text} if path else {}
    return Planted(run={"options": options, "rendered": files}, **fields)


def test_overlays_of_other_contents_are_the_arms_whatever_their_files_are_called(tmp_path: Path) -> None:
    runs = [with_overlay(None), with_overlay("a/tuned.yaml", "x"), with_overlay("b/tuned.yaml", "xx")]
    again = [with_overlay(None), with_overlay("c/copied.yaml", "x"), with_overlay("/tmp/tuned.yaml", "xx")]
    plan = design(read_runs([write_planted(tmp_path, f"run-{n}", run) for n, run in enumerate((*runs, *again))]))
    assert plan.field == "overlay"
    assert [(arm.name, [run.name for run in arm.runs]) for arm in plan.arms] == [
        ("overlay not set", ["run-0", "run-3"]),
        ("overlay tuned.yaml (000000000001)", ["run-1", "run-4"]),
        ("overlay tuned.yaml (000000000002)", ["run-2", "run-5"]),
    ]


def test_runs_with_one_content_under_two_names_are_alike(tmp_path: Path) -> None:
    alike = [with_overlay("a.yaml", "x"), replace(with_overlay("b.yaml", "x"), topology="ring")]
    assert design(read_runs(pair(tmp_path, *alike))).field == "topology"


def test_another_overlay_beside_another_topology_is_unlike(tmp_path: Path) -> None:
    runs = [with_overlay("a.yaml", "x"), replace(with_overlay("a.yaml", "xx"), topology="ring")]
    refusal = (
        r"^overlay is a\.yaml \(000000000002\) in run-2, but a\.yaml \(000000000001\) in run-1: arms differ in topology"
    )
    with pytest.raises(UserError, match=refusal):
        design(read_runs(pair(tmp_path, *runs)))


def test_runs_of_before_there_were_overlays_are_like_those_without(tmp_path: Path) -> None:
    older = Planted("ring", run={"options": OPTIONS})
    assert design(read_runs(pair(tmp_path, with_overlay(None), older))).field == "topology"


def test_another_java_beside_another_version_of_the_brokers_is_unlike(tmp_path: Path) -> None:
    reference = of_broker("5.16.6", broker_version="5.16.6")
    compared = of_broker("5.18.3", broker_version="5.18.3")
    newer_java = replace(compared, run={**compared.run, "versions": {"activemq": "5.18.3", "java": "21"}})
    with pytest.raises(UserError, match=r"^versions\.java is 21 in run-2, but 17 in run-1: arms differ"):
        design(read_runs(pair(tmp_path, reference, newer_java)))


@pytest.mark.parametrize("fields", [{"protocol": "amqp"}, {}])
def test_another_broker_that_no_option_asked_for_is_unlike(tmp_path: Path, fields: dict[str, str]) -> None:
    reference, compared = of_broker("5.16.6"), of_broker("5.18.3")
    compared = replace(compared, run={**compared.run, **fields})
    with pytest.raises(UserError, match=r"^versions\.activemq is 5\.18\.3 in run-2, but 5\.16\.6 in run"):
        design(read_runs(pair(tmp_path, reference, compared)))


def test_what_an_older_harness_did_not_record_and_the_commit_are_no_differences(tmp_path: Path) -> None:
    older = Planted(run={"machine": {"cores": 2}, "versions": {"commit": "a"}})
    newer = Planted("ring", run={"machine": {"cores": 2, "cpu_governor": "unknown"}, "versions": {"commit": "b"}})
    assert design(read_runs(pair(tmp_path, older, newer))).field == "topology"


def test_runs_that_are_alike_are_one_arm(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="one arm: name runs that differ in one field, such as topology"):
        design(read_runs(pair(tmp_path, Planted(), Planted())))


def test_fewer_than_two_runs_or_one_named_twice_are_refused(tmp_path: Path) -> None:
    folder = write_planted(tmp_path, "only")
    with pytest.raises(UserError, match="1 run: a comparison needs at least two"):
        read_runs([folder])
    with pytest.raises(UserError, match="named twice"):
        read_runs([folder, tmp_path / "." / "only"])


@pytest.mark.parametrize(
    ("spoil", "refusal"),
    [
        (lambda run: (run / "summary.json").unlink(), "was not analyzed: run `brokerbench analyse"),
        (lambda run: (run / "summary.json").write_text("{"), "cannot be read as JSON"),
        (
            lambda run: (run / "summary.json").write_text('{"summary_version": 7}'),
            "summary_version is 7, a comparison reads 3",
        ),
        (lambda run: (run / "summary.json").write_text('{"summary_version": 3}'), "the key 'aborted' is missing"),
        (lambda run: (run / "run.json").write_text('{"run_version": 9}'), "run_version is 9"),
        (lambda run: (run / "run.json").unlink(), "no run.json"),
        (lambda run: (run / "results" / "latency" / "part-0.parquet").unlink(), "'latency' is missing"),
    ],
)
def test_a_run_that_cannot_be_read_is_told_in_one_sentence(tmp_path: Path, spoil: Any, refusal: str) -> None:
    folders = pair(tmp_path, Planted(), Planted("ring"))
    spoil(folders[1])
    with pytest.raises(RunUnreadable, match="run-2") as refused:
        read_runs(folders)
    assert refusal in str(refused.value)


def test_an_unknown_figure_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(UserError, match=r"did you mean latency_ms\.due_to_received\.p99_9\?"):
        primary_metrics(["latency_ms.due_to_received.p99.9"])


def test_at_most_three_primary_figures_none_of_them_a_count() -> None:
    names = [f"latency_ms.due_to_received.{p}" for p in ("p50", "p90", "p99", "max")]
    assert [metric.path for metric in primary_metrics(names[:3] * 2)] == names[:3]
    assert [metric.path for metric in primary_metrics([])] == ["latency_ms.due_to_received.p99"]
    with pytest.raises(UserError, match="at most 3"):
        primary_metrics(names)
    with pytest.raises(UserError, match="a count that may be 0 has no ratio"):
        primary_metrics(["messages.lost"])
