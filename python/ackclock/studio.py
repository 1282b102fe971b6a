"""Serving the studio: the page that simulates in the browser, on this machine alone."""

import base64
import json
import os
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGE = "studio/dist"
"""Where `make studio` puts it, in the repository."""

OPENED = "/opened.json"
"""What the page asks for at its beginning: a scenario to open, if it was given one."""

_NEEDED = ("index.html", "studio.js", "worker.js", "engine.wasm")


class StudioError(RuntimeError):
    """The studio cannot be served; the message says why, and what to do."""


def page() -> Path:
    """Return the folder of the built page: `$ACKCLOCK_STUDIO`, or that of the package, or that of the repository.

    Raises:
        StudioError: If it is not built, or not whole.
    """
    here = Path(__file__).resolve()
    given = os.environ.get("ACKCLOCK_STUDIO")
    folders = [Path(given)] if given else [here.parent / "studio_page", here.parents[2] / PAGE]
    for folder in folders:
        if (folder / "index.html").is_file():
            missing = [name for name in _NEEDED if not (folder / name).is_file()]
            if missing:
                raise StudioError(f"the studio in {folder} lacks {', '.join(missing)}; build it anew: make studio")
            return folder
    looked = " and ".join(str(folder) for folder in folders)
    raise StudioError(
        f"the studio is not built: there is no page in {looked}; build it with make studio, in the repository "
        "(ackclock doctor says what that needs), or name the folder of a built one in ACKCLOCK_STUDIO"
    )


def opened(path: Path) -> dict[str, Any]:
    """Return what the page is to open: the text of a scenario, and the files beside it that the text names.

    Args:
        path: A scenario, or a folder of results, whose scenario it is then.

    Raises:
        StudioError: If it is neither.
    """
    manifest = path / "manifest.json"
    if manifest.is_file():
        scenario = json.loads(manifest.read_text())["scenario"]
        return {"text": json.dumps(scenario), "files": {}}
    if not path.is_file():
        raise StudioError(
            f"{path} is neither a scenario nor a folder of results; name a .toml file, or what run -o made"
        )
    text = path.read_text()
    return {"text": text, "files": _named(text, path.parent)}


def _named(text: str, folder: Path) -> dict[str, str]:
    """The files of a folder, and of the folders in it, that a scenario's text names, in base64."""
    names = {
        file.relative_to(folder).as_posix(): file for file in (*folder.glob("*"), *folder.glob("*/*")) if file.is_file()
    }
    return {name: base64.b64encode(file.read_bytes()).decode() for name, file in names.items() if f'"{name}"' in text}


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  as in the class above; what a system says of these types differs
        **SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".js": "text/javascript",
    }

    def __init__(self, *arguments: Any, to_open: dict[str, Any] | None, **options: Any) -> None:  # noqa: ANN401
        self._to_open = to_open
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != OPENED:
            return super().do_GET()
        body = json.dumps(self._to_open).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Nothing: the terminal is the user's."""


def server(folder: Path, *, port: int = 0, to_open: dict[str, Any] | None = None) -> ThreadingHTTPServer:
    """Return a server of the page, for this machine alone; `serve_forever` begins it.

    Args:
        folder: Of the page.
        port: Of loopback; 0 takes any that is free.
        to_open: What the page opens at its beginning, see `opened`.

    Raises:
        OSError: If the port is taken.
    """
    return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder), to_open=to_open))
