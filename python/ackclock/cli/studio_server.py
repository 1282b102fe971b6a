"""Server of the studio, the page that simulates in the browser; loopback only."""

import base64
import json
import os
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ackclock.base import input_files
from ackclock.base.decoding import decoded
from ackclock.base.input_files import InputError
from ackclock.cli.check import suggestion
from ackclock.results.overviews import Asked, OverviewError, Overviews, SupersededError

PAGE = "studio/dist"
"""Folder of the built page in the repository, as `make studio` writes it."""

OPENED = "/opened.json"
"""Path that the page requests first: the scenario to open, if any."""

RECORDED = "results.html"
"""Page that shows the series of a result folder."""

MOST_PARTS = 10_000

_NEEDED = ("index.html", "studio.js", "worker.js", "engine.wasm")


class StudioError(InputError):
    """Error: the studio cannot be served. The message says why, and what to do."""


def page() -> Path:
    """Return the folder of the built page: `$ACKCLOCK_STUDIO`, the package's, or the repository's.

    Raises:
        StudioError: If it is not built, or incomplete.
    """
    here = Path(__file__).resolve()
    given = os.environ.get("ACKCLOCK_STUDIO")
    folders = [Path(given)] if given else [here.parents[1] / "studio_page", here.parents[3] / PAGE]
    for folder in folders:
        if (folder / "index.html").is_file():
            missing = [name for name in _NEEDED if not (folder / name).is_file()]
            if missing:
                raise StudioError(f"the studio in {folder} lacks {', '.join(missing)}; build it anew: make studio")
            return folder
    looked = " and ".join(str(folder) for folder in folders)
    raise StudioError(
        f"the studio is not built: no page in {looked}; build it with make studio, in the repository "
        "(ackclock doctor says what that needs), or name the folder of a built one in ACKCLOCK_STUDIO"
    )


def opened(path: Path) -> dict[str, Any]:
    """Return the scenario for the page to open: its text, and the files beside it that the text names.

    Args:
        path: A scenario file, or a result folder with its scenario.

    Raises:
        StudioError: If it is neither, or cannot be read.
    """
    manifest = path / "manifest.json"
    if manifest.is_file():
        return {"text": json.dumps(_scenario_of(manifest)), "files": {}}
    if not path.exists():
        raise StudioError(f"{path}: file not found{suggestion(path)}")
    if not path.is_file():
        raise StudioError(
            f"{path} is neither a scenario nor a folder of results; name a .toml file, or what run -o made"
        )
    text = input_files.text(path, remedy="name a scenario")
    return {"text": text, "files": _named(text, path.parent)}


def _scenario_of(manifest: Path) -> object:
    try:
        return decoded(input_files.octets(manifest, remedy="run the scenario again"))["scenario"]
    except (ValueError, KeyError, TypeError) as error:
        raise StudioError(f"{manifest} is not a manifest of results ({error}); run the scenario again") from error


def link(base: str, to_open: Mapping[str, Any]) -> str:
    """Return a link that opens a scenario in a studio on another server; all data is in the fragment, after `#`.

    Args:
        base: Address of the studio, such as "https://example.org/studio/index.html".
        to_open: Scenario, as returned by `opened`.
    """
    used = {name: content.translate(_IN_ADDRESSES).rstrip("=") for name, content in to_open["files"].items()}
    packed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    text = json.dumps({"text": to_open["text"], "files": used}, separators=(",", ":"), ensure_ascii=False)
    content = packed.compress(text.encode()) + packed.flush()
    return f"{base}#s={base64.urlsafe_b64encode(content).decode().rstrip('=')}"


_IN_ADDRESSES = str.maketrans("+/", "-_")
_DATA = ".data-00000-of-00001"
"""The end of the name of a checkpoint's data, which lies beside its index."""


def _named(text: str, folder: Path) -> dict[str, str]:
    """Return the files below a folder that a scenario's text names, in base64, and the data of its checkpoints."""
    names = {
        file.relative_to(folder).as_posix(): file for file in (*folder.glob("*"), *folder.glob("*/*")) if file.is_file()
    }
    index = {name: f"{name.removesuffix(_DATA)}.index" if name.endswith(_DATA) else name for name in names}
    used = {name: file for name, file in names.items() if f'"{name}"' in text or f'"{index[name]}"' in text}
    return {name: base64.b64encode(file.read_bytes()).decode() for name, file in used.items()}


Answer = Callable[[dict[str, str]], object]
"""Handler that answers the parameters of a request with JSON data."""


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  as in the class above; what a system says of these types differs
        **SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".js": "text/javascript",
    }

    def __init__(self, *arguments: Any, answers: Mapping[str, Answer], **options: Any) -> None:  # noqa: ANN401
        self._answers = answers
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if not self._is_meant():
            return self._say(HTTPStatus.FORBIDDEN, {"error": "this server is for pages of this machine"})
        place = urlsplit(self.path)
        answer = self._answers.get(place.path)
        if answer is None:
            return super().do_GET()
        try:
            return self._say(HTTPStatus.OK, answer(dict(parse_qsl(place.query))))
        except SupersededError as error:
            return self._say(HTTPStatus.CONFLICT, {"error": str(error)})
        except KeyError as error:
            return self._say(HTTPStatus.BAD_REQUEST, {"error": f"the request has no {error}"})
        except ValueError as error:
            return self._say(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except OSError as error:
            return self._say(HTTPStatus.GONE, {"error": f"the folder of results has changed ({error})"})

    def do_HEAD(self) -> None:
        if self._is_meant():
            super().do_HEAD()
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    def _is_meant(self) -> bool:
        """Return whether the request used this machine's name; a foreign site could make its own name resolve here."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        return host in ("127.0.0.1", "localhost")

    def _say(self, status: HTTPStatus, answer: object) -> None:
        body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the page wants something else by now
            self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Print nothing, since the terminal belongs to the user."""


def recorded(path: Path) -> Overviews | None:
    """Return the series of a result folder; None if the path is not one, or has none."""
    if not (path / "manifest.json").is_file():
        return None
    try:
        return Overviews(path)
    except OverviewError:
        return None


def _asked(question: dict[str, str]) -> Asked:
    begin, end, parts = float(question["from"]), float(question["to"]), int(question["parts"])
    if not (isfinite(begin) and isfinite(end) and begin < end and 0 < parts <= MOST_PARTS):
        raise ValueError(
            f"from has to be less than to, and parts 1 to {MOST_PARTS}; {begin}, {end} and {parts} are not"
        )
    return Asked(question["table"], tuple(question["columns"].split(",")), begin, end, parts)


def server(
    folder: Path, *, port: int = 0, to_open: dict[str, Any] | None = None, series: Overviews | None = None
) -> ThreadingHTTPServer:
    """Return a server of the page on loopback; `serve_forever` starts it.

    Args:
        folder: Folder of the page.
        port: Loopback port; 0 picks a free one.
        to_open: Scenario that the page opens first, as returned by `opened`.
        series: Series of a result folder, which the page shows as well.

    Raises:
        OSError: If the port is taken.
    """
    answers: dict[str, Answer] = {OPENED: lambda _: to_open and to_open | {"recorded": series is not None}}
    if series is not None:
        answers["/recorded/about.json"] = lambda _: series.about()
        answers["/recorded/first.json"] = lambda question: series.first_look(_asked(question))
        answers["/recorded/whole.json"] = lambda question: series.whole(_asked(question))
    return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder), answers=answers))
