"""Fills the templates of secrets that some brokers get beside their configuration."""

from collections.abc import Mapping
from string import Template

SECRETS_FOLDER = "secrets"
"""Rendered files below it are templates: filled, they go into a folder that only their owner reads."""


class _Secrets(Template):
    braceidpattern = r"[a-z.]+"


def filled(template: str, secrets: Mapping[str, str]) -> str:
    """A template with its placeholders replaced. KeyError for one that ``secrets`` lacks."""
    return _Secrets(template).substitute(secrets)
