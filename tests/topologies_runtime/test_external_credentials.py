"""Checks that credentials are read only from files that only their owner can read, and never appear in an error."""

import os
from pathlib import Path

import pytest

from records.errors import UserError
from topologies.runtimes.external.credentials import find

CLIENT = {"BROKERBENCH_USERNAME": "anna", "BROKERBENCH_PASSWORD": "s3cret"}


def written_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "credentials.env"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def refused(file: Path | None, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(UserError) as failed:
        find(file, environment or {})
    assert "s3cret" not in str(failed.value)
    return str(failed.value)


def test_the_environment_has_them_where_no_file_is_named() -> None:
    credentials = find(None, CLIENT)
    assert (credentials.client.username, credentials.client.password) == ("anna", "s3cret")
    assert credentials.management == credentials.client


def test_management_may_have_its_own() -> None:
    credentials = find(
        None, {**CLIENT, "BROKERBENCH_MANAGEMENT_USERNAME": "admin", "BROKERBENCH_MANAGEMENT_PASSWORD": "x"}
    )
    assert (credentials.management.username, credentials.management.password) == ("admin", "x")


def test_a_file_has_them_by_the_same_names_and_may_have_comments(tmp_path: Path) -> None:
    file = written_file(tmp_path, "# ours\n\nBROKERBENCH_USERNAME=anna\nBROKERBENCH_PASSWORD=a=b c\n")
    assert find(file, {}).client.password == "a=b c"


def test_what_is_written_for_others_can_be_read_again(tmp_path: Path) -> None:
    credentials = find(None, {**CLIENT, "BROKERBENCH_MANAGEMENT_USERNAME": "admin"})
    assert find(written_file(tmp_path, credentials.as_file()), {}) == credentials


def test_what_is_missing_is_named_with_both_ways_to_give_it(tmp_path: Path) -> None:
    assert refused(None).startswith(
        "credentials of the brokers: no BROKERBENCH_USERNAME and no BROKERBENCH_PASSWORD in the environment; set both "
    )
    assert "no BROKERBENCH_PASSWORD in" in refused(written_file(tmp_path, "BROKERBENCH_USERNAME=anna\n"), CLIENT)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused_with_what_to_type(tmp_path: Path, mode: int) -> None:
    file = written_file(tmp_path, "BROKERBENCH_USERNAME=anna\nBROKERBENCH_PASSWORD=s3cret\n", mode)
    assert refused(file) == f"credentials_file {file}: mode {mode:o} lets others read it; own it, and chmod 600 {file}"


def test_a_line_that_is_none_is_named_by_its_number_only(tmp_path: Path) -> None:
    assert ", line 2: write NAME=value, with a NAME of BROKERBENCH_USERNAME" in refused(
        written_file(tmp_path, "BROKERBENCH_USERNAME=anna\npasswort: s3cret\n")
    )


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'none'}: cannot be read (No such file or directory)" in refused(tmp_path / "none")
    file = written_file(tmp_path, "")
    file.write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in refused(file)


def test_a_credential_is_not_in_what_is_printed_of_it() -> None:
    assert "s3cret" not in repr(find(None, CLIENT))


def test_the_user_is_the_one_whose_file_it_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written_file(tmp_path, "BROKERBENCH_USERNAME=anna\nBROKERBENCH_PASSWORD=s3cret\n")
    somebody = file.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert "it belongs to another user" in refused(file)
