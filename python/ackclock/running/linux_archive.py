"""Debian's packages of kernel sources: the newest one of a version, fetched over HTTP and checked.

A hash leads from `InRelease`, whose signature `gpgv` checks, to the list of packages, and from there to the package.
"""

import hashlib
import http.client
import lzma
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path
from typing import Any, Final

from ackclock.running.kernel import KernelError

MIRRORS: Final = ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security")
"""Default archives. Their security rests on signatures and hashes, not on the connection."""

SUITES: Final = (
    "bookworm", "bookworm-security", "bookworm-backports", "trixie", "trixie-security", "trixie-backports", "sid",
    "experimental",
)  # fmt: skip

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""Debian's keys, from the package debian-archive-keyring."""

_TIMEOUT_S: Final = 60.0
_CHUNK: Final = 1 << 20

Report = Callable[[str, int, int | None], None]
"""Receiver of progress: the step, what is done of it, and its total if known."""


@dataclass(frozen=True, slots=True)
class Package:
    """Package of kernel sources in an archive.

    Attributes:
        version: Debian's version, for example `6.12.107-1`.
        series: Kernel series, for example `6.12`.
        url: Address of the package.
        sha256: Hash of the package, hexadecimal.
        size: Size of the package, bytes.
        suite: Suite that lists it.
        signature: Outcome of the check of the suite's signature.
    """

    version: str
    series: str
    url: str
    sha256: str
    size: int
    suite: str
    signature: str

    @property
    def upstream(self) -> str:
        """Version of the kernel without Debian's revision."""
        return self.version.rpartition("-")[0].rpartition(":")[2]


def newest(wanted: str, mirrors: Sequence[str] = MIRRORS, report: Report = lambda *_: None) -> Package:
    """Return the newest package of a kernel series, or of one version of it.

    Args:
        wanted: Series such as `6.12`, or version such as `6.12.107`.
        mirrors: Addresses of archives, whose folder `dists` holds the suites.
        report: Receiver of progress.

    Raises:
        KernelError: If no archive answers, a check fails, or there is no such version.
    """
    found: list[Package] = []
    doubts: list[str] = []
    for number, (mirror, suite) in enumerate(pairs := [(mirror, suite) for mirror in mirrors for suite in SUITES]):
        report("reading package lists", number, len(pairs))
        try:
            found += _listed(mirror.rstrip("/"), suite)
        except _Doubt as doubt:
            doubts.append(str(doubt))
    series = ".".join(wanted.split(".")[:2])
    of_series = [package for package in found if package.series == series]
    fitting = [package for package in of_series if wanted in (series, package.upstream)]
    if fitting:
        return max(fitting, key=lambda package: version_key(package.version))
    raise KernelError(_absence(wanted, of_series or found, mirrors, doubts))


def _absence(wanted: str, found: Sequence[Package], mirrors: Sequence[str], doubts: Sequence[str]) -> str:
    known = sorted({package.upstream for package in found}, key=version_key)
    told = f"Linux {wanted}: {' and '.join(mirrors)} have no package linux-source of it"
    told += f"; there are {', '.join(known)}" if known else ""
    told += "".join(f"; {doubt}" for doubt in doubts)
    return f"{told}; name another version, a mirror (--mirror), or a folder with the sources"


def version_key(version: str) -> Any:  # noqa: ANN401  the type is of functools, and not public
    """Return a sort key of versions by Debian's rules, by which `~` sorts before the end.

    Examples:
        >>> sorted(["6.12", "6.1", "7.3", "7.3~rc7", "6.12-1", "6.12-1~deb12u1"], key=version_key)
        ['6.1', '6.12', '6.12-1~deb12u1', '6.12-1', '7.3~rc7', '7.3']
    """
    return cmp_to_key(_compared)(version)


def _compared(one: str, other: str) -> int:
    """Compare by Debian's policy, section 5.6.12: parts without digits by letters, parts of digits as numbers."""
    (upstream, _, revision), (upstream2, _, revision2) = ((text.partition("-")) for text in (one, other))
    for left, right in ((upstream, upstream2), (revision, revision2)):
        first, second = (re.findall(r"(\D*)(\d*)", text) for text in (left, right))
        length = max(len(first), len(second))
        keys = [
            [([_weight(letter) for letter in letters] + [0], int(digits or 0)) for letters, digits in parts]
            + [([0], 0)] * (length - len(parts))
            for parts in (first, second)
        ]
        if keys[0] != keys[1]:
            return 1 if keys[0] > keys[1] else -1
    return 0


def _weight(letter: str) -> int:
    return -1 if letter == "~" else ord(letter) if letter.isalpha() else ord(letter) + 256


# ---- lists ----------------------------------------------------------------------------------------------------------


class _Doubt(Exception):
    """Error: one suite is unusable; others may do."""


def _listed(mirror: str, suite: str) -> Iterator[Package]:
    """Yield the packages of kernel sources in a suite; none if the archive does not have the suite."""
    base = f"{mirror}/dists/{suite}"
    release = _octets(f"{base}/InRelease")
    if release is None:
        return
    told, signature = _verified(release, base)
    sums = dict(re.findall(r"(?m)^ ([0-9a-f]{64}) +\d+ (main/binary-(?:all|amd64)/Packages\.xz)$", told))
    hashes = {name: checksum for checksum, name in sums.items()}
    text = _packages(base, hashes)
    for entry in re.findall(r"(?ms)^Package: linux-source-\d+\.\d+$.*?(?:\n\n|\Z)", text):
        fields = dict(re.findall(r"(?m)^(\w[\w-]*): (.*)$", entry))
        yield Package(
            fields["Version"],
            fields["Package"].removeprefix("linux-source-"),
            f"{mirror}/{fields['Filename']}",
            fields["SHA256"],
            int(fields["Size"]),
            suite,
            signature,
        )


def _packages(base: str, hashes: dict[str, str]) -> str:
    """Return the list of packages that fits its hash; mirrors may be amid an update."""
    if not hashes:
        raise _Doubt(f"{base}/InRelease names no list of the section main")
    for name in sorted(hashes):
        folder = name.rpartition("/")[0]
        for place in (f"{folder}/by-hash/SHA256/{hashes[name]}", name):
            content = _octets(f"{base}/{place}")
            if content is not None and hashlib.sha256(content).hexdigest() == hashes[name]:
                return lzma.decompress(content).decode()
    raise _Doubt(f"{base}: its list of packages does not fit the hash in InRelease (try again later)")


def _verified(release: bytes, base: str) -> tuple[str, str]:
    """Return the text that was signed, and whether its signature was checked."""
    if shutil.which("gpgv") is None:
        return release.decode(), "not checked: gpgv is not installed"
    if not KEYRING.is_file():
        return release.decode(), f"not checked: {KEYRING} is missing (package debian-archive-keyring)"
    with tempfile.TemporaryDirectory() as folder:
        signed, text = Path(folder, "InRelease"), Path(folder, "Release")
        signed.write_bytes(release)
        command = ["gpgv", "--quiet", "--keyring", str(KEYRING), "--output", str(text), str(signed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = " ".join(done.stderr.split()) or f"gpgv ended with {done.returncode}"
            raise KernelError(f"{base}/InRelease: its signature is not by {KEYRING}: {reason}; name another --mirror")
        return text.read_text(encoding="utf-8"), f"good, by {KEYRING.name}"


# ---- HTTP -----------------------------------------------------------------------------------------------------------


def _octets(url: str) -> bytes | None:
    """Return what is at an address; None if nothing is."""
    try:
        with urllib.request.urlopen(_request(url), timeout=_TIMEOUT_S) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        if error.code in (403, 404, 410):
            return None
        raise _failure(url, error) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _failure(url, error) from error


def _request(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise KernelError(f'{url}: a mirror is an address that begins with "http://" or "https://"')
    return url


def _failure(url: str, error: Exception) -> KernelError:
    reason = getattr(error, "reason", None) or error
    return KernelError(f"{url}: {reason}; check the connection, or name a mirror with --mirror")


def fetch(package: Package, file: Path, report: Report = lambda *_: None) -> None:
    """Download a package and check its hash.

    Args:
        package: The package.
        file: Destination; it is there only if the hash is right.
        report: Receiver of progress, bytes.

    Raises:
        KernelError: If the download fails, or its hash is wrong.
    """
    partial = file.with_name(f".{file.name}.partial")
    checksum = hashlib.sha256()
    try:
        with urllib.request.urlopen(_request(package.url), timeout=_TIMEOUT_S) as answer, partial.open("wb") as out:
            while chunk := answer.read(_CHUNK):
                out.write(chunk)
                checksum.update(chunk)
                report("fetching", out.tell(), package.size)
        if checksum.hexdigest() != package.sha256:
            raise KernelError(f"{package.url}: its SHA-256 is {checksum.hexdigest()}, not {package.sha256}; try again")
        partial.replace(file)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _failure(package.url, error) from error
    finally:
        partial.unlink(missing_ok=True)
