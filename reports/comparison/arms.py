"""Forms arms and blocks from runs: a block has one run of every arm.

Runs are grouped by scenario first. Each scenario is compared separately, with the same arms; all tests share one
significance level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from records.errors import UserError, about
from records.option_roles import ARM_FIELDS, ArmField
from reports.comparison.conditions import (
    Difference,
    Value,
    are_alike,
    comparable_value,
    conditions_of_each,
    differences,
    shown,
    varied_field,
)
from reports.comparison.metrics import (
    METRICS,
    PRIMARY,
    PRIMARY_OF_CLOSED,
    PRIMARY_OF_FAULTS,
    Metric,
    primary_metrics,
)
from reports.comparison.runs import AnalysedRun
from reports.parts.numbers import joined

AGAIN = "again (A/A)"


@dataclass(frozen=True)
class Arm:
    """All runs with equal conditions, one for each block, in the order of the blocks."""

    name: str
    runs: tuple[AnalysedRun, ...]


@dataclass(frozen=True)
class Design:
    """The plan of a comparison. ``arms``: all others are compared with the first.

    ``field``: the condition that makes the arms. ``recorded``: whether the blocks come from run.json; otherwise they
    follow the order of the runs. ``unlike``: other differences, if they were allowed. ``control``: further runs of the
    first arm, one per block, if there are any. Their difference from the first arm is this machine's noise.
    """

    field: str
    arms: tuple[Arm, ...]
    blocks: tuple[str, ...]
    recorded: bool
    unlike: tuple[Difference, ...] = ()
    control: Arm | None = None

    @property
    def rows(self) -> tuple[Arm, ...]:
        """The arms, followed by the control."""
        return (*self.arms, self.control) if self.control else self.arms


def design(runs: Sequence[AnalysedRun], allow_unlike: bool = False) -> Design:
    """Form arms and blocks. UserError for one arm, unlike runs, or a block that lacks an arm or has one twice."""
    field, unlike = varied_field(differences(runs), allow_unlike)
    names: dict[Value, str] = {}
    arms: dict[str, list[AnalysedRun]] = {}
    controls: dict[str, list[AnalysedRun]] = {}
    for run, here in zip(runs, conditions_of_each([run.info for run in runs]), strict=True):
        value = here.get(field)
        name = names.setdefault(comparable_value(field, value), arm_name(field, value))
        (controls if run.info.options.get("control") else arms).setdefault(name, []).append(run)
    if len(arms) < 2:
        raise UserError(f"all runs have the same {field}, so there is only one arm: name runs of at least two arms")
    recorded = all(_recorded_block(run) is not None for run in runs)
    blocks = _recorded(arms, runs) if recorded else _by_order(arms)
    ordered = {name: Arm(name, tuple(block[name] for block in blocks.values())) for name in arms}
    control = _control(next(iter(arms)), controls, tuple(blocks), runs if recorded else None)
    return Design(field, tuple(ordered.values()), tuple(blocks), recorded, unlike, control)


def _control(
    reference: str,
    controls: dict[str, list[AnalysedRun]],
    blocks: tuple[str, ...],
    recorded: Sequence[AnalysedRun] | None,
) -> Arm | None:
    """Return the control runs as an arm; None if there are none. ``recorded``: all runs, if they recorded their blocks.

    Raises UserError if they do not belong to the first arm, or not every block has one.
    """
    if not controls:
        return None
    if other_arms := [name for name in controls if name != reference]:
        raise UserError(
            f"{controls[other_arms[0]][0].name} is a control run of {other_arms[0]}, but the arm that the others are "
            f"compared with is {reference}: name a run of {other_arms[0]} first, or leave the control runs out"
        )
    held = _recorded(controls, recorded) if recorded else _by_order(controls)
    for block in (*blocks, *held):
        if block not in held or block not in blocks:
            raise UserError(
                f"block {block} has {'a control run and nothing else' if block in held else 'no control run'}: each "
                "block has one, or none does: add the missing run, or leave the control runs out"
            )
    return Arm(f"{reference} {AGAIN}", tuple(held[block][reference] for block in blocks))


def arm_name(field: str, value: Value) -> str:
    """Return the value, such as ``mesh``, after the field's name if necessary: ``body_bytes 900``."""
    return shown(value) if ARM_FIELDS.get(field, ArmField()).names_arm else f"{field} {shown(value)}"


def _recorded_block(run: AnalysedRun) -> tuple[str, str] | None:
    """Return (session, block) from the options in run.json."""
    block = run.info.options.get("block")
    return None if block is None else (str(run.info.options.get("session") or ""), str(block))


def _recorded(arms: dict[str, list[AnalysedRun]], runs: Sequence[AnalysedRun]) -> dict[str, dict[str, AnalysedRun]]:
    sessions = {_recorded_block(run)[0] for run in runs if _recorded_block(run)}  # type: ignore[index]
    blocks: dict[str, dict[str, AnalysedRun]] = {}
    for arm, members in arms.items():
        for run in members:
            session, block = _recorded_block(run) or ("", "")
            name = f"{session} {block}" if len(sessions) > 1 else block
            held = blocks.setdefault(name, {})
            if arm in held:
                raise UserError(
                    f"block {name} holds {arm} twice, in {held[arm].name} and {run.name}: leave one of them out"
                )
            held[arm] = run
    for name, held in blocks.items():
        _complete(name, [arm for arm in arms if arm not in held])
    return blocks


def _by_order(arms: dict[str, list[AnalysedRun]]) -> dict[str, dict[str, AnalysedRun]]:
    """Group the first run of each arm into the first block, the second runs into the second block, etc."""
    most = max(map(len, arms.values()))
    for at in range(most):
        _complete(str(at + 1), [arm for arm, runs in arms.items() if len(runs) <= at])
    return {str(at + 1): {arm: runs[at] for arm, runs in arms.items()} for at in range(most)}


def _complete(block: str, lacking: Sequence[str]) -> None:
    if lacking:
        raise UserError(
            f"block {block} is not complete, as it has no run of {', '.join(lacking)}: a block holds one run of every "
            "arm: add the missing run, or leave the block's other runs out"
        )


ALIKE = tuple(name for name, field in ARM_FIELDS.items() if field.same_for_all_scenarios)
ALIKE_BEGIN = ("machine.", "versions.")
"""Fields that must be equal even in runs of different scenarios, unless they make the arms."""


def designs_by_scenario(runs: Sequence[AnalysedRun], allow_unlike: bool) -> dict[str, Design]:
    """Return the designs in the order of the runs. UserError if runs of a scenario form no design, or arms differ."""
    by_scenario: dict[str, list[AnalysedRun]] = {}
    for run in runs:
        by_scenario.setdefault(run.info.scenario, []).append(run)
    designs = {}
    for scenario, its_runs in by_scenario.items():
        if len(its_runs) == 1 and len(by_scenario) > 1:
            raise UserError(
                f"scenario {scenario} has one run, {its_runs[0].name}, and a comparison needs runs of at "
                "least two arms of a scenario: name more runs"
            )
        with about(f"scenario {scenario}: " if len(by_scenario) > 1 else ""):
            designs[scenario] = design(its_runs, allow_unlike)
    (first_scenario, reference), *further = designs.items()
    for scenario, design_of_scenario in further:
        _require_same_arms(first_scenario, reference, scenario, design_of_scenario)
        if not allow_unlike:
            _require_alike(reference, design_of_scenario)
    return designs


def _require_same_arms(reference_scenario: str, reference: Design, scenario: str, compared: Design) -> None:
    arms = [[arm.name for arm in scenario_design.rows] for scenario_design in (reference, compared)]
    if arms[0][0] != arms[1][0] or set(arms[0]) != set(arms[1]):
        raise UserError(
            f"scenario {scenario} has the arms {joined(arms[1])}, but {reference_scenario} has {joined(arms[0])}: one "
            "page compares the same arms under each scenario, the reference first"
        )


def _require_alike(reference: Design, compared: Design) -> None:
    reference_run, compared_run = reference.arms[0].runs[0], compared.arms[0].runs[0]
    here, there = conditions_of_each([reference_run.info, compared_run.info])
    for field in here:
        must_agree = field in ALIKE or field.startswith(ALIKE_BEGIN)
        if (
            must_agree
            and field in there
            and field != reference.field
            and not are_alike(field, here[field], there[field])
        ):
            raise UserError(
                f"{field} is {shown(there[field])} in {compared_run.name}, but {shown(here[field])} in "
                f"{reference_run.name}: it must be equal in the runs of all scenarios of a page, unless you use "
                "--allow-unlike"
            )


def primary_of_each(primary: Sequence[str], designs: Mapping[str, Design]) -> dict[str, tuple[Metric, ...]]:
    """Return the figures to judge in each scenario; see `primary_by_scenario`. UserError."""
    named = primary_by_scenario(primary, list(designs))
    return {scenario: named[scenario] or _default(scenario_design) for scenario, scenario_design in designs.items()}


def primary_by_scenario(primary: Sequence[str], scenarios: Sequence[str]) -> dict[str, tuple[Metric, ...]]:
    """Return the figures named for each scenario: ``failover:recovery.outage_ms.max``, or without scenario for all.

    UserError for an unknown figure or scenario, or more than three for one scenario.
    """
    paths_by_scenario: dict[str, list[str]] = {scenario: [] for scenario in scenarios}
    for text in primary:
        scenario, colon, path = text.rpartition(":")
        if colon and scenario not in paths_by_scenario:
            raise UserError(f"--primary {text}: no run of scenario {scenario}: write one of {joined(list(scenarios))}")
        for named_scenario in [scenario] if colon else scenarios:
            paths_by_scenario[named_scenario].append(path)
    return {scenario: primary_metrics(paths) if paths else () for scenario, paths in paths_by_scenario.items()}


def _default(scenario_design: Design) -> tuple[Metric, ...]:
    """Return the longest outage if clients were cut off, else the latency. A cut link, for example, cuts no client off.

    If the load of an arm was closed, its latency from due to received is unknown.
    """
    runs = [run for arm in scenario_design.arms for run in arm.runs]
    of_faults = METRICS[PRIMARY_OF_FAULTS]
    if any(of_faults.value(run.summary) is not None for run in runs):
        return (of_faults,)
    return (METRICS[PRIMARY_OF_CLOSED if any(run.info.is_closed for run in runs) else PRIMARY],)
