"""`ackclock studio`: the browser simulator, served on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.answers import answer, answer_now
from ackclock.cli.failures import InputError, WorkError


def studio(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO|DIR]",
            help="Scenario to open, or a result folder with its scenario.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Listen on this loopback port; 0 picks a free one.")
    ] = 0,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="ADDRESS",
            help="Serve nothing; print the link that opens the scenario in the studio at ADDRESS.",
            show_default=False,
        ),
    ] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the studio in this machine's browser.")] = False,
) -> None:
    """Serve the studio, an interactive simulator in the browser."""
    from ackclock.cli import studio_server as serving

    if link is not None:
        return _print_link(link, path)
    try:
        folder = serving.page()
    except serving.StudioError as error:
        raise WorkError(str(error)) from error
    to_open = serving.opened(path) if path else None
    series = serving.recorded(path) if path else None
    try:
        server = serving.server(folder, port=port, to_open=to_open, series=series)
    except OSError as error:
        raise InputError(f"--port {port} cannot be opened: {error.strerror}; leave it out to use a free one") from error
    address = f"http://127.0.0.1:{server.server_port}/{serving.RECORDED if series else ''}"
    answer(address=address, page=str(folder), opened=str(path) if path else None)
    answer_now()
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if opens:
        import webbrowser

        webbrowser.open(address)
    with server:
        server.serve_forever()


def _print_link(base: str, path: Path | None) -> None:
    from ackclock.cli import studio_server as serving

    if path is None:
        raise InputError("--link needs a scenario; name a .toml file or a folder of results")
    address = serving.link(base, serving.opened(path))
    answer(address=address, opened=str(path))
    print(address)
