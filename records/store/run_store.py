"""Stores finished runs in S3, with credentials from the environment only: ``--runs s3://BUCKET/PREFIX``.

A run uses ``python -m records.store.run_store`` in a separate process, because Arrow's S3 client blocks all greenlets
of a process. Exit status: 0, or 1 with the reason as its last line of output.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from records.errors import UserError, has_password
from records.store.reader import seal
from records.store.rundir import RunDirectory

SCHEMES = ("s3", "s3a")
EXAMPLE = "s3://BUCKET/PREFIX"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
TOKEN = "AWS_SESSION_TOKEN"
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
DEFAULT_REGION = "us-east-1"
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
CHECK_NAME = ".brokerbench-check"
"""Object that the check before a run writes and deletes, as it must find out whether writing is permitted."""
CONNECT_TIMEOUT_S, REQUEST_TIMEOUT_S = 5, 30
FILES_AT_ONCE = 8
CHECK, STORE = "check", "store"


@dataclass(frozen=True)
class StoreAddress:
    """A bucket and a prefix in it. ``prefix``: without slashes at its ends; may be empty."""

    bucket: str
    prefix: str

    @classmethod
    def parse(cls, text: str) -> "StoreAddress":
        """Parse a URI. Raises UserError with the rule that ``text`` violates, and the next step."""
        scheme, _, rest = text.partition("://")
        if scheme not in SCHEMES:
            raise UserError(f"runs are stored in S3 only; write {EXAMPLE}, or the name of a folder")
        if "@" in rest.partition("/")[0] or has_password(text):
            raise UserError(f"contains credentials; remove them, and set {' and '.join(KEYS)}")
        bucket, _, prefix = rest.partition("/")
        if not BUCKET.fullmatch(bucket):
            raise UserError(
                f"{bucket!r} is no bucket name, which has 3 to 63 lower-case letters, digits, dots and hyphens; write "
                f"{EXAMPLE}"
            )
        parts = prefix.strip("/").split("/") if prefix.strip("/") else []
        if any(part in ("", ".", "..") or not part.isprintable() or {*part} & {*"?#%*"} for part in parts):
            raise UserError(f"{prefix!r} has an empty part, a dot as a part, or one of ? # % *; write {EXAMPLE}")
        return cls(bucket, "/".join(parts))

    @property
    def path(self) -> str:
        """The path in Arrow's file system."""
        return f"{self.bucket}/{self.prefix}".rstrip("/")

    def __str__(self) -> str:
        return f"s3://{self.path}"


def missing_credentials(environ: Mapping[str, str]) -> str:
    """Return which variables are missing, with the next step; empty if none is."""
    missing = " and ".join(name for name in KEYS if not environ.get(name))
    return f"{missing} not set; set it in the environment, the only source of S3's credentials" if missing else ""


def open_store(address: StoreAddress, environ: Mapping[str, str]) -> fs.FileSystem:
    """Open a store, without a request except for the region of a bucket at Amazon. UserError without credentials."""
    if missing := missing_credentials(environ):
        raise UserError(missing)
    endpoint = _first(ENDPOINTS, environ)
    region = _first(REGIONS, environ)
    if region is None and endpoint is None:
        region = fs.resolve_s3_region(address.bucket)
    return fs.S3FileSystem(
        access_key=environ[KEYS[0]],
        secret_key=environ[KEYS[1]],
        session_token=environ.get(TOKEN) or None,
        endpoint_override=endpoint,
        region=region or DEFAULT_REGION,
        connect_timeout=CONNECT_TIMEOUT_S,
        request_timeout=REQUEST_TIMEOUT_S,
    )


def _first(names: Sequence[str], environ: Mapping[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def require_writable(address: StoreAddress, files: fs.FileSystem) -> None:
    """Write a small object, and delete it. Raises OSError, also if the bucket does not exist."""
    name = f"{address.path}/{CHECK_NAME}"
    with files.open_output_stream(name) as stream:
        stream.write(b"brokerbench tries whether it may write here\n")
    files.delete_file(name)


def store_run(directory: RunDirectory, address: StoreAddress, files: fs.FileSystem) -> str:
    """Seal a run, copy it below the address, and return its URI. Raises UserError or OSError; the folder stays.

    run.json is copied last, so a run that was copied in part is not a run.
    """
    seal(directory)
    target = f"{address.path}/{directory.path.name}"
    names = sorted(path.relative_to(directory.path) for path in directory.path.rglob("*") if _is_stored(path))
    last = directory.run_path.relative_to(directory.path)
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        for _ in pool.map(lambda name: _copy(directory.path, name, target, files), filter(lambda n: n != last, names)):
            pass
    _copy(directory.path, last, target, files)
    return f"s3://{target}"


def _is_stored(path: Path) -> bool:
    """Whether it is a file, other than unfinished ones, which have names that begin with a dot."""
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _copy(folder: Path, name: Path, target: str, files: fs.FileSystem) -> None:
    copy = f"{target}/{name.as_posix()}"
    with (folder / name).open("rb") as source, files.open_output_stream(copy) as stream:
        shutil.copyfileobj(source, stream)
    stored, size = files.get_file_info(copy).size, (folder / name).stat().st_size
    if stored != size:
        raise OSError(f"the store has {stored} of {size} bytes of {name}")


_REASONS = (
    (
        r"NO_SUCH_BUCKET|Bucket .* not found|NoSuchBucket",
        "there is no bucket {bucket!r}; create it, or correct its name",
    ),
    (
        r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|HTTP status 403|EXPIRED",
        f"access was denied; check {' and '.join(KEYS)} and what they permit",
    ),
    (
        r"NETWORK_CONNECTION|curlCode|REQUEST_TIMEOUT|resolve host",
        f"the server cannot be reached; check the network, and {ENDPOINTS[1]} (now: {{endpoint}})",
    ),
)


def reason(error: OSError, address: StoreAddress, environ: Mapping[str, str]) -> str:
    """Return why S3 could not be used, with the next step."""
    text = " ".join(str(error).split())
    known = (said for pattern, said in _REASONS if re.search(pattern, text, re.IGNORECASE))
    endpoint = _first(ENDPOINTS, environ) or "not set"
    said = next(known, "the store cannot be used ({text}); check it, and repeat")
    return said.format(bucket=address.bucket, endpoint=endpoint, text=text)


def main(arguments: Sequence[str]) -> int:
    task, text, *folders = arguments
    address = StoreAddress.parse(text)
    try:
        files = open_store(address, os.environ)
        if task == CHECK:
            require_writable(address, files)
        for folder in folders:
            print(store_run(RunDirectory.open(Path(folder)), address, files))
    except UserError as error:
        print(error)
        return 1
    except OSError as error:
        print(reason(error, address, os.environ))
        return 1
    return 0


def store_command(task: str, address: StoreAddress, runs: Iterable[Path] = ()) -> list[str]:
    """Return the argument list of the process. ``task``: CHECK or STORE."""
    return [sys.executable, "-m", "records.store.run_store", task, str(address), *map(str, runs)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
