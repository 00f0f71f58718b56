"""Says which premises of a run did not hold. A run without its premises did not ask its question."""

from collections.abc import Iterable, Mapping

from analysis.run.checks import evaluate
from records.checks import Check


def unmet(premises: Iterable[Check], summary: Mapping[str, object]) -> tuple[str, ...]:
    """One sentence for each premise that did not hold, or could not be evaluated."""
    return tuple(
        f"the run did not ask its question, as it needs {result['name']}: {result['metric']} is "
        f"{'not known' if result['value'] is None else format(result['value'], 'g')}, it must be {result['rule']}"
        for result in evaluate(premises, summary)
        if result["outcome"] != "pass"
    )
