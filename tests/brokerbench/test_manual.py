"""Checks that statements of manuals are read without guessing, counted, and written as rows."""

from pathlib import Path

import pytest

from brokerbench.manual import STATEMENTS, statements, statements_text
from records.errors import UserError

ENTRY = """\
- document: A manual
  statement: a | b
  command: [locust -f a.py, pytest tests/b.py]
  outcome: refuted
  found: it
    did not
  brokers: Classic 5.18.3
  date: 2026-11-29
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "manual.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_statements_become_counted_rows_and_files(tmp_path: Path) -> None:
    confirmed = ENTRY.replace("refuted", "confirmed") + "  files: {a.yaml: 'b: 1'}\n"
    page = statements_text(statements(written(tmp_path, ENTRY + confirmed)))
    first, _, _, _, row, _, *rest = page.splitlines()
    assert first == "2 statements: 1 confirmed, 1 refuted, 0 depending on a version or setting."
    commands = "`locust -f a.py`; `pytest tests/b.py`"
    assert row == rf"| A manual | a \| b | {commands} | refuted: it did not | Classic 5.18.3, 2026-11-29 |"
    assert rest == ["", "`a.yaml`:", "", "```yaml", "b: 1", "```"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("refuted", "maybe", "maybe"),
        ("  found:", "  seen:", "seen"),
        ("  document: A manual\n", "", "document"),
        ("- document: A manual", "- document: ''", "length"),
        ("2026-11-29", "yesterday", "date"),
        ("locust -f", "run -f", "regex"),
        ("[locust -f a.py, pytest tests/b.py]", "[]", "length"),
        ("found: it", "found: [it", "expected"),
    ],
)
def test_a_wrong_statement_is_rejected(old: str, new: str, error: str, tmp_path: Path) -> None:
    old = old.replace("  document: A manual\n", "document: A manual\n  ")
    assert old in ENTRY
    with pytest.raises(UserError, match=rf"^manual\.yaml: (?s:.*){error}(?s:.*); the first lines of the file describe"):
        statements(written(tmp_path, ENTRY.replace(old, new, 1)))


def test_a_file_name_with_two_texts_is_rejected(tmp_path: Path) -> None:
    rows = statements(written(tmp_path, "".join(ENTRY + f"  files: {{a.yaml: 'b: {text}'}}\n" for text in (1, 2))))
    with pytest.raises(UserError, match=r"two files named a\.yaml"):
        statements_text(rows)


def test_no_statement_is_there_twice_and_the_fields_are_described() -> None:
    rows = statements()
    assert len({(row.document, row.statement) for row in rows}) == len(rows) > 8
    described = {line.split()[1] for line in STATEMENTS.read_text("utf-8").splitlines() if line.startswith("# ")}
    assert {*rows[0].__struct_fields__} <= described
