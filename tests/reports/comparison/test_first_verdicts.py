"""More blocks change no verdict that a comparison could have without them, and are free where it could have none."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from brokerbench.cli import main
from brokerbench.compare import command
from brokerbench.compare.kept_verdicts import FIRST_VERDICTS_FILE, verdicts_in
from brokerbench.compare.making import decided_verdicts
from brokerbench.compare.session import SESSION_FILE, ComparisonRequest
from brokerbench.compare.session import plan_session as planned_session
from reports.comparison.comparison import first_verdicts, keep_first_verdicts, newly_decided
from reports.comparison.metrics import PRIMARY
from reports.comparison.statistics import LEVEL
from reports.comparison.verdicts import FirstVerdict
from tests.house.tree import ROOT
from tests.reports.comparison.planted import Planted, write_planted
from tests.reports.comparison.test_verdicts import compared, of_ratios, planted, words

WORSE = (1.30, 1.35, 1.28, 1.33, 1.31, 1.36, 1.29)
EVEN = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99)
SCHEMA = json.loads((ROOT / "docs" / "comparison.schema.json").read_text(encoding="utf-8"))


def test_a_verdict_stands_when_blocks_are_added_that_would_change_it() -> None:
    standing = first_verdicts(of_ratios(*WORSE))
    assert [(verdict.blocks, verdict.word) for verdict in standing] == [(7, "worse")]
    later = of_ratios(*WORSE, *EVEN, *EVEN, *EVEN)
    assert words(later) == ["undecided"]
    decided_verdicts = keep_first_verdicts(later, standing)
    assert words(decided_verdicts) == ["worse"]
    reasons = decided_verdicts.tests[0].verdict.reasons
    assert (
        reasons[0]
        == "This is the verdict of the first 7 blocks, which were enough for one. Later blocks do not change it."
    )
    assert reasons[1] == standing[0].reasons[0]
    assert reasons[2].startswith("By all 31 blocks it is ")
    assert "(--session NAME)" in reasons[2]


def test_that_a_comparison_was_undecided_stands_as_well() -> None:
    standing = first_verdicts(of_ratios(1.03, 1.02, 1.045, 1.035, 1.07, 1.08, 1.085, 1.025))
    assert [verdict.word for verdict in standing] == ["undecided"]
    later = of_ratios(*(1.08 + 0.001 * n for n in range(14)))
    assert words(later) == ["worse"]
    assert words(keep_first_verdicts(later, standing)) == ["undecided"]


def test_a_comparison_of_too_few_blocks_has_no_verdict_that_could_stand() -> None:
    few = of_ratios(*WORSE[:6])
    assert first_verdicts(few) == ()
    later = of_ratios(*WORSE)
    assert keep_first_verdicts(later, first_verdicts(few)) == later


def test_the_same_blocks_again_are_told_as_they_were() -> None:
    comparison = of_ratios(*WORSE)
    assert keep_first_verdicts(comparison, first_verdicts(comparison)) == comparison


def test_blocks_that_were_replaced_do_not_change_a_verdict_either() -> None:
    standing = first_verdicts(of_ratios(*WORSE))
    assert words(keep_first_verdicts(of_ratios(*EVEN[:7]), standing)) == ["worse"]


def test_another_question_has_a_verdict_of_its_own() -> None:
    standing = first_verdicts(of_ratios(*WORSE))
    wider = of_ratios(*WORSE, *WORSE, same_within=60.0)
    assert keep_first_verdicts(wider, standing) == wider
    assert [verdict.same_within for verdict in newly_decided([wider], standing)] == [60.0]
    assert newly_decided([of_ratios(*WORSE, *WORSE)], standing) == []


def test_an_invalid_run_is_told_whatever_verdict_stands() -> None:
    random = np.random.default_rng(1)
    arms = planted(random, 8, [{}, {}])
    standing = first_verdicts(compared([arm[:7] for arm in arms]))
    arms[1][7].summary["verdict"] = "invalid"
    assert words(keep_first_verdicts(compared(arms), standing)) == ["invalid"]


def test_who_adds_blocks_until_a_verdict_comes_finds_no_more_than_the_level_says() -> None:
    """Two equal arms are examined after 7, 8, … 14 blocks: the verdict after 7 blocks is kept."""
    random, times, alarms, without = np.random.default_rng(8), 80, 0, 0
    for _ in range(times):
        arms, standing = planted(random, 14, [{}, {}]), ()
        words_of_arms: list[set[str]] = [set(), set()]
        for blocks in range(7, 15):
            now = compared([arm[:blocks] for arm in arms], same_within=0.0001)
            standing = (*standing, *newly_decided([now], standing))
            words_of_arms[0] |= set(words(keep_first_verdicts(now, standing)))
            words_of_arms[1] |= set(words(now))
        alarms += bool({"better", "worse"} & words_of_arms[0])
        without += bool({"better", "worse"} & words_of_arms[1])
    assert stats.binomtest(alarms, times, LEVEL, alternative="greater").pvalue > 0.001, alarms
    assert without > alarms, "else this test shows nothing"


@pytest.mark.parametrize(
    "wrong", [{"word": "fine"}, {"blocks": "7"}, {"centre": None}, {"reasons": "none"}, {"color": "red"}]
)
def test_what_is_no_first_verdict_is_refused(wrong: dict[str, Any]) -> None:
    (verdict,) = first_verdicts(of_ratios(*WORSE))
    written = json.loads(json.dumps(asdict(verdict)))
    assert FirstVerdict.from_json(written) == verdict
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}|other keys"):
        FirstVerdict.from_json(written | wrong)


class Made:
    """A session whose runs are planted: `brokerbench compare` finds all of them made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.out, self.runs = folder / "compare-mine", folder, list[Path]()
        self.folder.mkdir()
        (self.folder / SESSION_FILE).write_text("{}", encoding="utf-8")
        monkeypatch.setattr(command, "make_missing_runs", lambda *_: self.runs)

    def add(self, *ratios: float) -> None:
        for ratio in ratios:
            for topology, scale in (("mesh", 1.0), ("hub-and-spoke", ratio)):
                options = {"session": "mine", "block": len(self.runs) // 2 + 1}
                planted_run = Planted(topology, scale, doubtful={}, run={"options": options})
                self.runs.append(write_planted(self.folder, f"run-{len(self.runs)}", planted_run))

    def compare(self, *options: str) -> Result:
        out = ["--out", str(self.out / "page.html"), "--json", str(self.out / "figures.json")]
        return CliRunner().invoke(main, ["compare", "--scenario", "steady", "--topologies", "a,b", *options, *out])

    def tests(self) -> list[dict[str, Any]]:
        document = json.loads((self.out / "figures.json").read_text(encoding="utf-8"))
        jsonschema.validate(document, SCHEMA)
        return list(document["scenarios"][0]["tests"])


@pytest.fixture
def session_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(tmp_path, monkeypatch)


def test_the_gate_uses_the_first_verdict_which_is_kept_beside_the_runs(session_made: Made) -> None:
    session_made.add(*WORSE[:3])
    assert session_made.compare("--gate", "--strict").exit_code == 4
    assert verdicts_in(session_made.folder) == ()
    session_made.add(*WORSE[3:])
    assert session_made.compare("--gate").exit_code == 1
    assert session_made.tests()[0]["first_verdict"] is None
    verdicts_text = (session_made.folder / FIRST_VERDICTS_FILE).read_text(encoding="utf-8")

    session_made.add(*EVEN, *EVEN, *EVEN)
    result = session_made.compare("--gate")
    assert result.exit_code == 1, result.output
    assert "hub-and-spoke is worse than mesh, 32 % higher" in result.output
    assert "by the first 7 blocks, which decided the verdict (by all: " in result.output
    (test,) = session_made.tests()
    assert (test["verdict"], test["blocks_used"], test["first_verdict"]["blocks"]) == ("worse", 31, 7)
    assert test["first_verdict"]["ratio"]["estimate"] == pytest.approx(1.317, abs=0.01)
    assert test["ratio"]["estimate"] < 1.1
    page = (session_made.out / "page.html").read_text(encoding="utf-8")
    assert "worse by the first 7 blocks: 32 % higher" in page
    assert "worse (first 7 blocks)" in page
    assert (session_made.folder / FIRST_VERDICTS_FILE).read_text(encoding="utf-8") == verdicts_text


def test_the_first_verdict_stands_too_when_the_finished_runs_are_named(session_made: Made) -> None:
    session_made.add(*WORSE)
    session_made.compare()
    session_made.add(*EVEN, *EVEN, *EVEN)
    named = ["compare", *map(str, session_made.runs), "--gate", "--out", str(session_made.out / "page.html")]
    result = CliRunner().invoke(main, named)
    assert result.exit_code == 1, result.output
    (session_made.folder / FIRST_VERDICTS_FILE).unlink()
    assert CliRunner().invoke(main, named).exit_code == 0
    assert not (session_made.folder / FIRST_VERDICTS_FILE).exists(), "only the command that makes the runs decides"


def test_kept_verdicts_that_cannot_be_read_are_one_error_and_no_page(session_made: Made) -> None:
    session_made.add(*WORSE)
    (session_made.folder / FIRST_VERDICTS_FILE).write_text('[{"word": "better"}]', encoding="utf-8")
    result = session_made.compare()
    assert result.exit_code == 2
    assert (
        f"{session_made.folder / FIRST_VERDICTS_FILE}: cannot be read (scenario is None), and it contains"
        in result.output
    )
    assert not (session_made.out / "page.html").exists()


def test_one_block_has_no_interval_anywhere(session_made: Made) -> None:
    session_made.add(7.3)
    result = session_made.compare()
    assert "Observed: × 7.3." in result.output
    assert "Observed in the only block: × 7.3; one block has no interval." in result.output
    assert "0 % confidence" not in result.output
    (test,) = session_made.tests()
    assert test["ratio"] == {"estimate": pytest.approx(7.3, rel=0.01), "low": None, "high": None, "confidence": None}


def test_a_ratio_and_its_interval_have_one_unit(session_made: Made) -> None:
    session_made.add(7.0, 7.3, 7.6)
    assert "Observed: × 7.3 (× 7.0 … × 7.6, 75 % confidence)" in session_made.compare().output


def test_who_asks_for_more_blocks_after_a_verdict_is_told_before_any_run(session_made: Made) -> None:
    session_made.add(*WORSE)
    session_made.compare()
    request = ComparisonRequest("steady", "mesh,hub-and-spoke", (), 14, None, "mine", (), session_made.out)
    (line,) = decided_verdicts([planned_session(request, 1)])
    refusal = f"steady: hub-and-spoke is worse in {PRIMARY} by 7 blocks, and more blocks do not change this verdict"
    assert line == refusal
    assert decided_verdicts([planned_session(replace(request, blocks=7), 1)]) == []
