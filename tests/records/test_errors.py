"""Checks that an error is told with the reason that libraries have wrapped."""

import pytest
import requests

from records.errors import innermost_reason


def test_the_reason_is_that_of_the_innermost_error() -> None:
    with pytest.raises(requests.ConnectionError) as failed:
        requests.post("http://127.0.0.1:1/", timeout=5)
    assert innermost_reason(failed.value) == "Connection refused"


def handled_before() -> None:
    try:
        raise KeyError("unrelated")
    except KeyError:
        raise ValueError("the port is taken") from None


def test_an_error_that_was_handled_before_is_no_reason() -> None:
    with pytest.raises(ValueError, match="the port") as failed:
        handled_before()
    assert innermost_reason(failed.value) == "the port is taken"


def test_an_error_without_text_is_told_by_its_type() -> None:
    assert innermost_reason(TimeoutError()) == "TimeoutError"
