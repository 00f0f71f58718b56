"""Errors for the user: one sentence each. Problems with a run folder are errors of this kind too."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

_NEXT_STEPS = {
    errno.ENOSPC: "free space on its disk and run again",
    errno.EDQUOT: "free space in its quota and run again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) and run again",
    errno.EACCES: "make its folder writable or choose another",
    errno.EPERM: "make its folder writable or choose another",
    errno.EROFS: "choose a folder on a disk that can be written",
    errno.EMFILE: "raise the limit on open files (ulimit -n) and run again",
    errno.EEXIST: "choose another name: the existing file is kept",
    errno.EISDIR: "choose the name of a file: a folder is there",
    errno.ENOENT: "make its folder or choose another",
    errno.ENOTDIR: "choose a path whose parents are folders",
}


class UserError(ValueError):
    """A sentence for the user: the object, the value, the rule and the next step.

    A command prints it and exits with status 2. A subclass exists only if some handler treats it differently.
    """


class RunUnreadable(UserError):
    """The folder, or a file in it, cannot be read by this version."""


class RunUnwritable(UserError, OSError):
    """A folder or file of the run could not be created or written."""


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Prefix each UserError raised within with ``subject``, such as ``--rate ``: the option that the user wrote."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{subject}{error}") from error


class Refusal(NamedTuple):
    """A violation of a rule: the object, such as an option with its value, the problem, and the next step.

    ``next_step``: '' if the problem is another error's sentence, which has its own.
    """

    what: str
    problem: str
    next_step: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.problem}" + (f"; {self.next_step}" if self.next_step else "")


def refuse_first(refusals: Iterable[Refusal | str]) -> None:
    """Raise `UserError` with the first violation that the rules yield. Later rules do not run, so they may rely on
    it."""
    for refusal in refusals:
        raise UserError(str(refusal))


def explained(error: Exception) -> tuple[str, str]:
    """Return the system's error message, and the next step."""
    if not isinstance(error, OSError):
        return str(error), "please report it"
    return error.strerror or str(error), _NEXT_STEPS.get(error.errno or 0, "check its disk and run again")


def innermost_reason(error: BaseException) -> str:
    """Return the reason of an error that libraries have wrapped in their own, such as ``Connection refused``."""
    while inner := error.__cause__ or (None if error.__suppress_context__ else error.__context__):
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def has_password(address: str) -> bool:
    """Whether an address has the form SCHEME://USER:PASSWORD@HOST. Passwords may contain slashes, as secret keys do."""
    rest = address.partition("://")[2]
    return "@" in rest and ":" in rest.partition("/")[0].partition("@")[0]


def without_user_info(address: str) -> str:
    """Return an address for an error message, without everything up to its last @, which may be a password."""
    scheme, separator, rest = address.partition("://") if "://" in address else ("", "", address)
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
