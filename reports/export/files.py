"""Writes the results of an analysed run in a form that other programs read, each file whole or not at all."""

import platform
from collections.abc import Callable
from pathlib import Path

from records.errors import RunUnreadable, RunUnwritable, explained
from records.results import RESULT_TABLES
from records.rundir import RunDirectory
from records.summary import Summary
from reports.export.csv_tables import latency_csv, rates_csv
from reports.inputs import read_summary, result_table, why_changed
from reports.parts.html import write_whole


class FormImpossible(ValueError):
    """A form that this machine cannot write."""


def _summary(run: RunDirectory) -> Summary:
    """RunUnreadable for a changed run too: other programs could not be told that it was changed."""
    summary = read_summary(run)
    if changes := why_changed(run):
        raise RunUnreadable(changes)
    return summary


def _csv(run: RunDirectory) -> dict[str, str]:
    _summary(run)
    latency, rates = (result_table(run, name, RESULT_TABLES[name]) for name in ("latency", "rates"))
    return {"latency.csv": latency_csv(latency), "rates.csv": rates_csv(rates)}


def _hdr(run: RunDirectory) -> dict[str, str]:
    try:
        from reports.export.hdr_log import hdr_log
    except ModuleNotFoundError as error:
        here = f"{error}; there are builds of hdrhistogram for x86_64, and this machine is {platform.machine()}"
        raise FormImpossible(f"--to hdr takes the package hdrhistogram: {here}; use make install or --to csv") from None
    summary = _summary(run)
    return {"due_to_received.hlog": hdr_log(result_table(run, "latency", RESULT_TABLES["latency"]), summary)}


FORMS: dict[str, Callable[[RunDirectory], dict[str, str]]] = {"hdr": _hdr, "csv": _csv}


def export(run: RunDirectory, form: str, folder: Path) -> list[Path]:
    """Write the files of a form (a key of FORMS) into ``folder``, which is made if need be; returns their paths.

    RunUnreadable when the run was not analysed or by another version, RunUnwritable when a file cannot be written,
    FormImpossible when this machine lacks the package for the form.
    """
    texts = FORMS[form](run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{folder}: the folder cannot be made: {why}; {next_step}") from None
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]
