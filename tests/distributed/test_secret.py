"""Checks where the secret of a distributed run comes from, and which secrets are rejected."""

from pathlib import Path

import pytest

from harness.distributed.secret import SECRET, SECRET_FILE, Keys, find_secret
from records.errors import UserError

RANDOM = "wJ3nQ0wM8w2y1t0cZJ8o5m2Qe1Q3r7XkVb9u6sN4pLE="


def file_of(folder: Path, content: str | bytes = RANDOM + "\n", mode: int = 0o600) -> Path:
    file = folder / "secret"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    file.chmod(mode)
    return file


def test_file_and_environment_give_the_same_secret(tmp_path: Path) -> None:
    by_file = find_secret({SECRET_FILE: str(file_of(tmp_path))})
    assert by_file == find_secret({SECRET: RANDOM}) == RANDOM.encode()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620])
def test_a_file_that_others_can_use_is_rejected(mode: int, tmp_path: Path) -> None:
    file = file_of(tmp_path, mode=mode)
    with pytest.raises(UserError, match=f"mode {mode:o} lets others read it; own it, and chmod 600 {file}$"):
        find_secret({SECRET_FILE: str(file)})


def test_unusable_secrets_are_rejected_without_repeating_them(tmp_path: Path) -> None:
    guessable = RANDOM[:31]
    for environment, reason in (
        ({}, f"neither {SECRET_FILE} nor {SECRET} is set"),
        ({SECRET: "", SECRET_FILE: ""}, f"neither {SECRET_FILE} nor {SECRET} is set"),
        ({SECRET: RANDOM, SECRET_FILE: "secret"}, "are both set"),
        ({SECRET: guessable}, "the secret has 31 characters; use at least 32 random characters"),
        ({SECRET: f"{guessable}   \n"}, "the secret has 31 characters"),
        ({SECRET_FILE: str(file_of(tmp_path, guessable))}, "secret: the secret has 31 characters"),
        ({SECRET_FILE: str(tmp_path / "none")}, r"none: the file cannot be read \(No such file or directory\)"),
        ({SECRET_FILE: str(tmp_path)}, r"the file cannot be read \(Is a directory\)"),
    ):
        with pytest.raises(UserError, match=reason) as rejected:
            find_secret(environment)
        assert guessable not in str(rejected.value)
    with pytest.raises(UserError, match="is not text in UTF-8"):
        find_secret({SECRET_FILE: str(file_of(tmp_path, b"\xff" * 40))})


def test_keys_differ_by_side_and_by_secret_and_are_not_shown() -> None:
    keys = [Keys.of(RANDOM.encode()), Keys.of(RANDOM.lower().encode())]
    values = [value for each in keys for pair in (each.master, each.worker) for value in (pair.public, pair.private)]
    assert len(set(values)) == 8
    assert Keys.of(RANDOM.encode()) == keys[0]
    assert not [value for value in values if value.decode() in repr(keys)]
