"""Checks that Locust's own ways to select or shape users are rejected, as a run ignores them."""

from argparse import Namespace

import pytest
from locust import LoadTestShape

from harness.options.locust_options import selection_refusals

NOTHING = Namespace(tags=None, exclude_tags=None, user_classes=[], config_users=None)


class Waves(LoadTestShape):
    def tick(self) -> None:
        return None


@pytest.mark.parametrize(
    ("chosen", "shape", "begins"),
    [
        ({"tags": ["slow"]}, None, "--tags slow: "),
        ({"exclude_tags": ["slow", "old"]}, None, "--exclude-tags slow old: "),
        ({"user_classes": ["OrderProducer"]}, None, "OrderProducer: "),
        ({"config_users": ["{}"]}, None, "--config-users: "),
        ({}, Waves(), "Waves: "),
    ],
)
def test_a_selection_of_users_is_rejected(chosen: dict[str, object], shape: object, begins: str) -> None:
    rejection = next(selection_refusals(Namespace(**{**vars(NOTHING), **chosen}), shape))
    assert rejection.startswith(begins)


def test_a_run_without_selection_is_accepted() -> None:
    assert not [*selection_refusals(NOTHING, None)]
