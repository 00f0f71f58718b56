"""The errors of a run folder. Each names the file, the rule and the next step in one sentence."""

import errno

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


class RunUnreadable(ValueError):
    """The folder, or a file in it, is not what this version reads."""


class RunUnwritable(OSError):
    """A folder or file of the run could not be made or written."""


def explained(error: Exception) -> tuple[str, str]:
    """The system's error message, and the next step."""
    if not isinstance(error, OSError):
        return str(error), "please report it"
    return error.strerror or str(error), _NEXT_STEPS.get(error.errno or 0, "check its disk and run again")
