"""Checks that the lock files match the requirements in pyproject.toml, each package with its hashes."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = {
    "requirements.lock": PROJECT["project"]["dependencies"],
    "requirements-dev.lock": PROJECT["project"]["dependencies"]
    + PROJECT["project"]["optional-dependencies"]["otlp"]
    + PROJECT["dependency-groups"]["dev"],
    "requirements-otlp.lock": PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["otlp"],
    "requirements-build.lock": PROJECT["dependency-groups"]["build"],
    "requirements-amqp.lock": PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["amqp"],
    "requirements-amqp-build.lock": PROJECT["dependency-groups"]["amqp-build"],
}


def locked(name: str) -> dict[str, str]:
    """Return the versions by package; the last one if a package has several, by marker."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {canonicalize_name(p): v for p, v in re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)}


@pytest.mark.parametrize("name", WANTED)
def test_each_requirement_is_locked_at_a_version_that_fits(name: str) -> None:
    versions = locked(name)
    requirements = [Requirement(text) for text in WANTED[name]]
    assert requirements
    for requirement in requirements:
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{name} lacks {requirement.name}: run make lock"
        assert requirement.specifier.contains(Version(version)), (
            f"{name}: {requirement} is not {version}: run make lock"
        )


@pytest.mark.parametrize("name", WANTED)
def test_each_locked_package_has_a_hash(name: str) -> None:
    entries = re.split(r"^(?=[\w.-]+==)", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    packages = [entry for entry in entries if "==" in entry]
    assert packages
    assert [entry.splitlines()[0] for entry in packages if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("requirements-build.lock", "requirements.lock"),  # otherwise setuptools would change while it builds pyspark
        ("requirements.lock", "requirements-otlp.lock"),
        ("requirements-otlp.lock", "requirements-dev.lock"),
        ("requirements.lock", "requirements-amqp.lock"),
        ("requirements-amqp-build.lock", "requirements-amqp.lock"),
    ],
)
def test_what_is_installed_one_after_the_other_has_the_same_versions(smaller: str, larger: str) -> None:
    smaller_versions, larger_versions = locked(smaller), locked(larger)
    assert {
        name: (version, larger_versions.get(name))
        for name, version in smaller_versions.items()
        if larger_versions.get(name) != version
    } == {}


def test_the_build_requirement_is_the_one_that_is_locked() -> None:
    assert PROJECT["build-system"]["requires"] == PROJECT["dependency-groups"]["build"]
