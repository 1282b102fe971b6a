"""Published traces: a fetched file is the one whose hash is known, from wherever it comes."""

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import ackclock
from ackclock.base.input_files import InputError
from ackclock.scenario import published_traces
from ackclock.scenario.published_traces import PublishedTrace, fetch
from conftest import Cli

CONTENT = b"1\n2\n4\n"
SMALL = PublishedTrace(
    "small.down", "", "", "MIT", "http://127.0.0.1:9/small.down", 6, hashlib.sha256(CONTENT).hexdigest()
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Address of a folder with the trace, and of one with a changed one."""
    for folder, content in (("right", CONTENT), ("wrong", b"1\n2\n5\n"), ("longer", CONTENT + b"8\n")):
        (tmp_path / "site" / folder).mkdir(parents=True)
        (tmp_path / "site" / folder / SMALL.name).write_bytes(content)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "site")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


def test_a_trace_comes_from_a_folder_or_a_site(site: str, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "right"
    for place, mirror in enumerate((f"{site}/right", f"{site}/right/", str(folder), folder.as_uri())):
        file = fetch(SMALL, tmp_path / f"out{place}", mirror)
        assert file.read_bytes() == CONTENT
        assert fetch(SMALL, tmp_path / f"out{place}", "nowhere") == file, "it is there already"


@pytest.mark.parametrize(
    ("mirror", "said"),
    [
        ("{site}/wrong", f"must have the SHA-256 {SMALL.sha256}, not "),
        ("{site}/longer", "must have the SHA-256"),
        ("{site}/none", r"cannot be fetched \(.*[Nn]ot [Ff]ound\)"),
        ("{folder}/none", r"cannot be fetched \(No such file"),
        ("gopher://127.0.0.1", "cannot be fetched"),
        ("http://[", "cannot be fetched"),
        (None, r"127\.0\.0\.1:9/small\.down: cannot be fetched \(.*refused"),  # nobody listens there
    ],
)
def test_another_file_or_none_is_refused(mirror: str | None, said: str, site: str, tmp_path: Path) -> None:
    place = mirror and mirror.format(site=site, folder=tmp_path)
    with pytest.raises(InputError, match=said):
        fetch(SMALL, tmp_path / "out", place)
    assert not (tmp_path / "out").exists()


def test_a_file_of_the_user_stays(site: str, tmp_path: Path) -> None:
    (tmp_path / SMALL.name).write_text("mine")
    with pytest.raises(InputError, match="exists already, with other content"):
        fetch(SMALL, tmp_path, f"{site}/right")
    assert (tmp_path / SMALL.name).read_text() == "mine"


def test_every_entry_names_a_file_at_a_commit_its_licence_and_its_hash() -> None:
    assert len(published_traces.traces()) >= 3
    for one in published_traces.traces().values():
        assert re.fullmatch(rf"https://[^ ]+/[0-9a-f]{{40}}/[^ ]*{re.escape(one.name)}", one.address)
        assert re.fullmatch(r"[0-9a-f]{64}", one.sha256) and one.size > 1000
        assert one.licence and one.about and one.by


def test_the_command_lists_and_fetches(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = cli("traces").stdout
    assert "Verizon-LTE-short.down" in listed and "GPL-3.0" in listed and "NSDI 2013" in listed
    assert 'did you mean "Verizon-LTE-short.down"' in cli("traces", "verizon-lte-short.down").stderr
    assert cli("traces", "--mirror", tmp_path).stderr.count("-o DIR") == 1
    (tmp_path / "Verizon-LTE-short.up").write_text("1\n")
    refused = cli("traces", "Verizon-LTE-short.up", "-o", tmp_path / "out", "--mirror", tmp_path)
    assert refused.returncode == 2 and "SHA-256" in refused.stderr
    (about,) = json.loads(cli("traces", "Verizon-LTE-short.up", "--json").stdout)["traces"]
    assert about["address"].startswith("https://") and about["licence"] == "GPL-3.0"


def test_a_fetched_trace_is_the_rate_of_a_link(site: str, tmp_path: Path) -> None:
    file = fetch(SMALL, tmp_path, f"{site}/right")
    results = ackclock.run(ackclock.dumbbell(trace=str(file), flows="cubic", duration="2 s"))
    assert results.link("bottleneck")["utilization"] > 0.5
