"""Lists the conditions of a run field by field, to find unlike runs and to form arms."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from records.errors import UserError
from records.loads.arrivals import FIXED
from records.option_roles import ARM_FIELDS, NO_CONDITIONS, SAID_BY_USERS, ArmField
from records.run import BROKER_VERSIONS, PRODUCER, RunInfo, UserInfo
from reports.comparison.runs import AnalysedRun
from reports.other_files import OTHER_FILES, field_of

Value = str | int | float | bool | None

OVERLAY = "overlay"
VERSION = "broker_version"
LENGTH_TOLERANCE = 0.1
COMMIT = "commit"
ARRIVALS = "arrivals"
NOT_OF_CLOSED_LOADS = ("sends_per_second", "in_flight")
"""Settings that a closed load does not have. Whether a load is closed is the separate condition ``arrivals``."""


@dataclass(frozen=True)
class Difference:
    """A field that differs between two runs."""

    field: str
    run: str
    value: Value
    first_run: str
    first_value: Value

    def __str__(self) -> str:
        return f"{self.field} is {shown(self.value)} in {self.run}, but {shown(self.first_value)} in {self.first_run}"


def shown(value: Value) -> str:
    return "not set" if value in (None, "") else str(value)


def conditions(run: RunInfo) -> dict[str, Value]:
    """Return all conditions that may change a figure: value by field."""
    values: dict[str, Value] = {"topology": run.topology, "protocol": run.protocol, "runtime": run.runtime}
    values |= {"scenario": run.scenario}
    left_out = {*values, *SAID_BY_USERS, *NO_CONDITIONS, *map(field_of, OTHER_FILES)}
    values |= {name: value for name, value in run.options.items() if name not in left_out}
    if digest := run.options.get("overlay_digest"):
        values[OVERLAY] = f"{PurePath(str(run.options.get(OVERLAY))).name} ({digest})"
    values |= _load(run.users)
    values |= {"p99 of a rate that is held": run.held_p99_ms}
    values |= {"proxied links": "some" if any(link.proxied for link in run.links) else "none"}
    values |= {f"versions.{name}": value for name, value in run.versions.items() if name != COMMIT}
    return values | {f"machine.{name}": value for name, value in machine_of(run).items()}


def conditions_of_each(runs: Sequence[RunInfo]) -> list[dict[str, Value]]:
    """Return the conditions of compared runs.

    If one run selects a broker version by option, the actual broker version is a condition of each run: it may be equal
    with and without the option.
    """
    conditions_of_runs = [conditions(run) for run in runs]
    if any(run_conditions.get(VERSION) for run_conditions in conditions_of_runs):
        for run, run_conditions in zip(runs, conditions_of_runs, strict=True):
            if run.runtime == "processes" and not (run_conditions.get(VERSION) or run_conditions.get("distribution")):
                of_brokers = (value for name, value in run.versions.items() if name.startswith(BROKER_VERSIONS))
                run_conditions[VERSION] = next(of_brokers, None)
    return conditions_of_runs


def machine_of(run: RunInfo) -> dict[str, str | int | float]:
    """Return the properties of a machine that do not change from run to run."""
    return {name: value for name, value in run.machine.items() if not name.startswith("load_average")}


def _load(users: Sequence[UserInfo]) -> dict[str, Value]:
    """Return the clients' settings. A setting's field has the values of all user classes with that setting."""
    values: dict[str, Value] = {
        "users": _shared_or_by_user(users, lambda u: f"{u.role} of {u.destination} in {u.group}")
    }
    values["user counts"] = _shared_or_by_user(users, lambda u: str(u.count))
    for name in dict.fromkeys(name for user in users for name in user.settings if name != "pool_size"):
        values[name] = _shared_or_by_user([user for user in users if name in user.settings], partial(_setting, name))
    producers = [user for user in users if user.role == PRODUCER]
    values[ARRIVALS] = _shared_or_by_user(producers, lambda u: str(u.settings.get(ARRIVALS, FIXED)))
    return values


def _setting(name: str, user: UserInfo) -> str:
    pool = f" of {user.settings['pool_size']}" if name == "connections" and "pool_size" in user.settings else ""
    return f"{user.settings[name]}{pool}"


def _shared_or_by_user(users: Iterable[UserInfo], tell: Callable[[UserInfo], str]) -> str:
    """Return the value if all users have the same, else the values by user name."""
    text_by_user = {user.name: tell(user) for user in users}
    if len(set(text_by_user.values())) == 1:
        return next(iter(text_by_user.values()))
    return ", ".join(f"{name}: {value}" for name, value in text_by_user.items())


def differences(runs: Sequence[AnalysedRun]) -> dict[str, Difference]:
    """Return for each differing field the first run that differs from the first run."""
    first_run, *further_runs = runs
    reference, *of_others = conditions_of_each([run.info for run in runs])
    differing: dict[str, Difference] = {}
    for further_run, here in zip(further_runs, of_others, strict=True):
        for field in (*reference, *(name for name in here if name not in reference)):
            if field not in differing and not are_alike(field, reference.get(field), here.get(field)):
                differing[field] = Difference(
                    field, further_run.name, here.get(field), first_run.name, reference.get(field)
                )
    if unlike := _unlike_lengths(runs):
        first_whole, other = unlike
        differing["load_s"] = Difference("load_s", other.name, load_s(other), first_whole.name, load_s(first_whole))
    return differing


def _unlike_lengths(runs: Sequence[AnalysedRun]) -> tuple[AnalysedRun, AnalysedRun] | None:
    """Return the first run, and one whose load had another length. An aborted load ended early for that reason."""
    whole = [run for run in runs if not run.info.aborts]
    return next(((whole[0], run) for run in whole[1:] if _length_differs(whole[0], run)), None)


def comparable_value(field: str, value: Value) -> Value:
    """Return the value that equal runs share: for an overlay the content, regardless of the file name."""
    return value.rpartition(" ")[2] if field == OVERLAY and isinstance(value, str) else value


def are_alike(field: str, first_value: Value, second_value: Value) -> bool:
    """Return whether two values count as equal, including some values that only one run has.

    A version that only one run has belongs to a product that the other run's topology does not use. A machine field
    that only one run has was not recorded by the older harness of the other run. A rate or in-flight limit that only
    one run has follows from a difference in ``arrivals``.
    """
    return comparable_value(field, first_value) == comparable_value(field, second_value) or (
        field.startswith(("versions.", "machine.", *NOT_OF_CLOSED_LOADS)) and None in (first_value, second_value)
    )


def load_s(run: AnalysedRun) -> float:
    return round(run.summary["phases"].get("load", 0.0), 1)


def _length_differs(first_run: AnalysedRun, further_run: AnalysedRun) -> bool:
    """Return whether the planned lengths differ.

    Loads that end with a message count, a fault or a search have no planned length.
    """
    ends_otherwise = ("messages", "load_ends_after_faults_s")
    searches = first_run.info.held_p99_ms is not None or first_run.info.client_steps
    if searches or any(first_run.info.options.get(name) is not None for name in ends_otherwise):
        return False
    return abs(load_s(further_run) - load_s(first_run)) > LENGTH_TOLERANCE * max(load_s(first_run), 1.0)


def varied_field(differing: dict[str, Difference], allow_unlike: bool) -> tuple[str, tuple[Difference, ...]]:
    """Return the one field that makes the arms, and the other differences (none unless ``allow_unlike``)."""
    if not differing:
        names = ", ".join([*ARM_FIELDS][:4])
        raise UserError(
            f"all runs have the same conditions, so there is only one arm: name runs that differ in one field, such as "
            f"{names}"
        )
    field = next((name for name in ARM_FIELDS if name in differing), next(iter(differing)) if allow_unlike else None)
    versions = ARM_FIELDS.get(field or "", ArmField()).versions
    other_differences = tuple(
        difference for name, difference in differing.items() if name != field and not name.lower().startswith(versions)
    )
    if field is None or (other_differences and not allow_unlike):
        raise UserError(_unlike(field, other_differences))
    return field, other_differences


def _unlike(field: str | None, other_differences: Sequence[Difference]) -> str:
    further_fields = [difference.field for difference in other_differences[1:]]
    also = f" ({', '.join(further_fields)} too)" if further_fields else ""
    arms = f"arms differ in {field} and nothing else" if field else f"arms may differ in one of {', '.join(ARM_FIELDS)}"
    return f"{other_differences[0]}{also}: {arms}: make the runs alike, or mark the page by --allow-unlike"
