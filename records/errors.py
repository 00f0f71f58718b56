"""The one way to refuse: a sentence for the user. What is wrong with a run folder is such an error too."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_NEXT_STEPS = {
    errno.ENOSPC: "free space on its disk and run again",
    errno.EDQUOT: "free space in its quota and run again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) and run again",
    errno.EACCES: "make its folder writable or choose another",
    errno.EPERM: "make its folder writable or choose another",
    errno.EROFS: "choose a folder on a disk that can be written",
    errno.EMFILE: "raise the limit on open files (ulimit -n) and run again",
    errno.EEXIST: "choose another name: what is there is kept",
    errno.EISDIR: "choose the name of a file: a folder is there",
    errno.ENOENT: "make its folder or choose another",
    errno.ENOTDIR: "choose a path whose parents are folders",
}


class UserError(ValueError):
    """A sentence for the user: the object, the value, the rule and the next step.

    A command shows it and ends with exit status 2. A subclass stands only where a handler treats it differently.
    """


class RunUnreadable(UserError):
    """The folder, or a file in it, is not what this version reads."""


class RunUnwritable(UserError, OSError):
    """A folder or file of the run could not be made or written."""


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Begins what is refused within with ``subject``, such as ``--rate ``: the option that the user wrote."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{subject}{error}") from error


def refuse_first(refusals: Iterable[str]) -> None:
    """Raise `UserError` with the first sentence that rules yield. The rules after it do not run, and may rely on it."""
    for refusal in refusals:
        raise UserError(refusal)


def explained(error: Exception) -> tuple[str, str]:
    """The system's error message, and the next step."""
    if not isinstance(error, OSError):
        return str(error), "please report it"
    return error.strerror or str(error), _NEXT_STEPS.get(error.errno or 0, "check its disk and run again")
