"""Kernels in virtual time: fetched from a mirror on loopback, built by a `make` that pretends, listed, removed."""

import functools
import hashlib
import http.server
import io
import json
import lzma
import os
import platform
import shutil
import signal
import stat
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ackclock.base.storage import OutputExistsError
from ackclock.running import linux_archive, linux_build, linux_kernels, linux_tree
from ackclock.running.kernel import KernelError
from ackclock.running.linux_build import Wanted, build
from conftest import Cli, command, wait_for_handler, wait_until

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("ar") is None or platform.system() != "Linux",
    reason="needs make and ar, on Linux",
)

TREE = {
    "Makefile": """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 117
EXTRAVERSION =
allnoconfig:
\tgrep -v TCP_CONG_CDG $(KCONFIG_ALLCONFIG) > $(O)/.config
linux:
\t@echo "  CC      net/ipv4/tcp_cubic.o"
\t@! grep -l broken net/ipv4/*.c || { echo "net/ipv4/mine.c:3: error: expected ';'"; exit 1; }
\t@test ! -e $(O)/../../../wait || { touch $(O)/../../../waiting; sleep 600; }
\t@echo "  LINK    linux"
\t@cat arch/um/Kconfig arch/um/os-Linux/util.c > $(O)/linux
""",
    "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
    "arch/um/include/linux/time-internal.h": "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n",
    "arch/um/os-Linux/util.c": "{\n\treturn getrandom(buf, len, flags);\n}\n",
    "arch/arm/crypto/Kconfig": "",
    "arch/arm/kernel/setup.c": "",
    "drivers/gpu/Kconfig": "",
    "drivers/gpu/drm.c": "",
    "net/ipv4/Kconfig": "menuconfig TCP_CONG_ADVANCED\nconfig TCP_CONG_CUBIC\nconfig TCP_CONG_CDG\n",
    "net/ipv4/Makefile": "obj-y := tcp.o \\\n\ttcp_cong.o\nobj-$(CONFIG_TCP_CONG_CUBIC) += tcp_cubic.o\n"
    "obj-$(CONFIG_TCP_CONG_CDG) += tcp_cdg.o\n",
    "net/ipv4/tcp_cong.c": 'struct tcp_congestion_ops tcp_reno = {\n\t.flags = 1,\n\t.name = "reno",\n};\n',
    "net/ipv4/tcp_cubic.c": 'static struct tcp_congestion_ops cubictcp = {\n\t.name\t\t= "cubic",\n};\n',
    "net/ipv4/tcp_cdg.c": 'static struct tcp_congestion_ops cdg = {\n\t.name = "cdg",\n};\n',
    "net/sched/Kconfig": "config NET_SCH_TBF\n",
    "net/sched/Makefile": "obj-$(CONFIG_NET_SCH_TBF)\t+= sch_tbf.o\n",
    "net/sched/sch_tbf.c": 'static struct Qdisc_ops tbf_qdisc_ops = {\n\t.next = NULL,\n\t.id = "tbf",\n};\n',
}
"""Sources with a `make` that pretends: the option of CDG is one that this version lacks."""

MODULE = """\
static struct tcp_congestion_ops mine = { .name = "mine" };
int i(void) { return tcp_register_congestion_control(&mine); }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and pretend programs of the build that this machine may lack."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in ("flex", "bison", "bc", "perl", "xz"):
        program(programs / tool)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(linux_build.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(linux_archive, "KEYRING", tmp_path / "no keyring")
    return tmp_path / "cache" / "ackclock"


def program(path: Path, text: str = "exit 0") -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def write_tree(folder: Path, **changed: str) -> Path:
    for name, text in (TREE | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "own")


# ---- building -------------------------------------------------------------------------------------------------------


def test_a_tree_of_ones_own_becomes_a_kernel_and_stays_as_it_is(tree: Path, cache: Path) -> None:
    kernel = build(Wanted(str(tree)))
    assert (kernel.name, kernel.version) == ("own", "6.12.117")
    assert kernel.path == cache / "linux" / "own" / "linux" and os.access(kernel.path, os.X_OK)
    about = kernel.about
    # What the pretended program holds is what was compiled: a tick of 1 ms, and no random numbers of the host.
    assert "default 1000" in kernel.path.read_text() and "getrandom(" not in kernel.path.read_text()
    assert about["linux_sha256"] == hashlib.sha256(kernel.path.read_bytes()).hexdigest()
    config = (kernel.path.parent / "config").read_bytes()
    assert about["config_sha256"] == hashlib.sha256(config).hexdigest()
    assert (about["controllers"], about["disciplines"]) == (["ackclock_agent", "cubic", "reno"], ["tbf"])
    assert about["left_out"] == ["CONFIG_TCP_CONG_CDG"]
    assert about["source"] == {"folder": str(tree)}
    assert about["build"]["steps"] == 2
    assert {name: (tree / name).read_text() for name in TREE} == TREE
    assert sorted(entry.name for entry in (cache / "linux").iterdir()) == ["own"]


def test_a_controller_of_ones_own_is_compiled_in(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(MODULE)
    kernel = build(Wanted(str(tree), modules=[tmp_path / "mine.c"]))
    assert kernel.name == "own-mine"
    assert "mine" in kernel.about["controllers"]
    assert kernel.about["modules"] == [{"file": "mine.c", "sha256": hashlib.sha256(MODULE.encode()).hexdigest()}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.c", None, "not found"),
        ("mine.cc", MODULE, 'end in ".c"'),
        ("mi ne.c", MODULE, "letters, digits"),
        ("mine.c", "int i;", "tcp_register_congestion_control"),
        ("tcp_cubic.c", MODULE, "has a file tcp_cubic.c"),
    ],
)
def test_a_module_that_cannot_be_one_is_refused(
    tree: Path, tmp_path: Path, cache: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(KernelError, match=said):
        build(Wanted(str(tree), modules=[tmp_path / name], name="k"))
    assert not (cache / "linux").exists()


def test_a_failed_compile_shows_the_error_and_keeps_the_log(tree: Path, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "mine.c").write_text(f"broken\n{MODULE}")
    with pytest.raises(KernelError, match=r"mine\.c:3: error: expected ';'") as caught:
        build(Wanted(str(tree), modules=[tmp_path / "mine.c"]))
    log = cache / "linux" / "own-mine.log"
    assert str(log) in str(caught.value)
    assert "mine.c:3" in log.read_text()
    assert [entry.name for entry in (cache / "linux").iterdir()] == [log.name]
    assert linux_kernels.kernels() == []


def test_a_kernel_is_replaced_only_with_force(tree: Path) -> None:
    build(Wanted(str(tree), name="k"))
    (tree / "Makefile").write_text(TREE["Makefile"].replace("117", "118"))
    with pytest.raises(OutputExistsError, match="--force"):
        build(Wanted(str(tree), name="k"))
    assert linux_kernels.find("k").version == "6.12.117"
    assert build(Wanted(str(tree), name="k", force=True)).version == "6.12.118"


def test_a_tree_without_virtual_time_is_refused(tree: Path) -> None:
    (tree / "Makefile").write_text(TREE["Makefile"].replace("TCP_CONG_CDG", "TIME_TRAVEL"))
    with pytest.raises(KernelError, match="no virtual time"):
        build(Wanted(str(tree)))


def test_all_missing_tools_are_named_at_once(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(KernelError, match=r"needs gcc, make, ar, ld \(apt-get install gcc make binutils\)$"):
        build(Wanted(str(tree)))


def test_other_machines_are_told_that_it_exists_for_x86_only(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_build.platform, "machine", lambda: "aarch64")
    with pytest.raises(KernelError, match=r"needs a machine with Linux on x86_64, .* \(this one: Linux on aarch64\)$"):
        build(Wanted(str(tree)))


@pytest.mark.parametrize("source", ["nowhere", "."])
def test_a_folder_without_sources_is_refused(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KernelError, match="holds no kernel sources"):
        build(Wanted(source, name="k"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="user-mode Linux exists for x86_64 only")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(tree: Path, cache: Path, number: signal.Signals) -> None:
    (cache / "linux").mkdir(parents=True)
    (cache / "linux" / "wait").touch()
    child = subprocess.Popen(command("linux", "build", tree), stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (cache / "linux" / "waiting").exists(), "the build waits")
    wait_for_handler(child.pid)
    child.send_signal(number)
    _, told = child.communicate(timeout=120)
    assert (child.returncode, told) == (130, "interrupted; no results were written\n")
    assert {entry.name for entry in (cache / "linux").iterdir()} == {"wait", "waiting"}


@pytest.mark.parametrize("name", [".config", "include/config/auto.conf", "arch/um/include/generated/asm/x.h"])
def test_a_tree_that_was_built_in_place_is_refused(tree: Path, name: str) -> None:
    """The kernel's Makefile refuses it, too; its message asks for `make mrproper`."""
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).touch()
    with pytest.raises(KernelError, match=r"built in place .*; run `make ARCH=um mrproper` there"):
        build(Wanted(str(tree)))


def test_only_the_needed_part_of_a_tree_is_copied(tree: Path, tmp_path: Path) -> None:
    (tree / ".git").mkdir()
    (tree / ".git/HEAD").touch()
    (tree / "net/link.c").symlink_to("ipv4/tcp_cong.c")
    linux_tree.copy(tree, tmp_path / "copy")
    files = (file for file in (tmp_path / "copy").rglob("*") if file.is_file())
    copied = {file.relative_to(tmp_path / "copy").as_posix() for file in files}
    assert copied == {"net/link.c", *TREE} - {"arch/arm/kernel/setup.c", "drivers/gpu/drm.c"}
    assert (tmp_path / "copy/net/link.c").is_symlink()


# ---- the mirror -----------------------------------------------------------------------------------------------------


@dataclass
class Mirror:
    folder: Path
    url: str
    asked: list[str]

    def add(self, suite: str, *versions: str, kinds: tuple[str, ...] = ("all",), sources: bytes | None = None) -> None:
        """Add a suite with packages of sources of these versions."""
        entries = []
        for version in versions:
            series = ".".join(version.split(".")[:2]).partition("~")[0]
            name = f"pool/linux-source-{series}_{version}_all.deb"
            content = package(self.folder / "deb", series, version) if sources is None else sources
            (self.folder / "pool").mkdir(exist_ok=True)
            (self.folder / name).write_bytes(content)
            checksum = hashlib.sha256(content).hexdigest()
            entries.append(
                f"Package: linux-source-{series}\nVersion: {version}\nDescription: sources\n more\n"
                f"Filename: {name}\nSize: {len(content)}\nSHA256: {checksum}\n"
            )
        entries.append("Package: linux-source\nVersion: 6.12\nFilename: pool/none.deb\nSize: 1\nSHA256: 0\n")
        place = self.folder / "dists" / suite
        lines = []
        for kind in kinds:
            file = place / f"main/binary-{kind}/Packages.xz"
            file.parent.mkdir(parents=True)
            file.write_bytes(lzma.compress("\n".join(entries).encode()))
            checksum = hashlib.sha256(file.read_bytes()).hexdigest()
            lines.append(f" {checksum} {file.stat().st_size:>8} main/binary-{kind}/Packages.xz\n")
        (place / "InRelease").write_text(f"Suite: {suite}\nMD5Sum:\n {'0' * 32} 1 x\nSHA256:\n{''.join(lines)}")


def package(folder: Path, series: str, version: str) -> bytes:
    """A Debian package of the pretended sources, made by `ar` as dpkg's are."""
    shutil.rmtree(folder, ignore_errors=True)
    name = f"linux-source-{series}"
    upstream = version.rpartition("-")[0].partition("~")[0]
    first, second, third = [*upstream.split("."), "0"][:3]
    makefile = TREE["Makefile"].replace("= 6\n", f"= {first}\n").replace("= 12\n", f"= {second}\n")
    write_tree(folder / name, Makefile=makefile.replace("= 117\n", f"= {third}\n"))
    with tarfile.open(folder / f"{name}.tar.xz", "w:xz") as inner:
        inner.add(folder / name, name)
    with tarfile.open(folder / "data.tar.xz", "w:xz") as outer:
        outer.addfile(tarfile.TarInfo("./usr/share/doc/copyright"), io.BytesIO())
        outer.add(folder / f"{name}.tar.xz", f"./usr/src/{name}.tar.xz")
    (folder / "debian-binary").write_text("2.0\n")
    shutil.copy(folder / "data.tar.xz", folder / "control.tar.xz")
    files = ["debian-binary", "control.tar.xz", "data.tar.xz"]
    subprocess.run(["ar", "rc", "out.deb", *files], cwd=folder, check=True, capture_output=True)
    return (folder / "out.deb").read_bytes()


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    folder = tmp_path / "mirror"
    folder.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    serve = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Mirror(folder, f"http://127.0.0.1:{server.server_port}", asked)
        server.shutdown()
        thread.join()


def test_the_newest_package_of_a_series_is_fetched_checked_and_built(mirror: Mirror, cache: Path) -> None:
    mirror.add("bookworm", "6.1.170-3", "6.1.176-1")
    mirror.add("trixie", "6.12.94-1", "6.12.107-1")
    mirror.add("trixie-security", "6.12.113-1~deb13u1", "6.12.113-1", "6.12.99-1")
    kernel = build(Wanted("6.12", mirrors=[f"{mirror.url}/"]))
    assert (kernel.name, kernel.version) == ("6.12", "6.12.113")
    source = kernel.about["source"]
    assert (source["version"], source["suite"]) == ("6.12.113-1", "trixie-security")
    assert source["signature"].startswith("not checked: ")
    (kept,) = (cache / "linux-sources").iterdir()
    assert source["sha256"] == hashlib.sha256(kept.read_bytes()).hexdigest()
    # An exact version, and the sources that are there already.
    assert build(Wanted("6.12.94", mirrors=[mirror.url])).name == "6.12.94"
    assert build(Wanted("6.12.94", mirrors=[mirror.url], name="again")).version == "6.12.94"
    fetched = [path for path in mirror.asked if "pool/" in path]
    assert len(fetched) == 2
    assert [kernel.name for kernel in linux_kernels.kernels()] == ["6.12.94", "again", "6.12"]


def test_a_version_that_is_not_there_is_refused_with_those_that_are(mirror: Mirror) -> None:
    mirror.add("trixie", "6.12.94-1", "6.12.107-1")
    mirror.add("sid", "7.2.13-1", "7.3~rc7-1~exp1")
    with pytest.raises(KernelError, match=r"6\.12\.100: .* there are 6\.12\.94, 6\.12\.107; name another"):
        linux_archive.newest("6.12.100", [mirror.url])
    with pytest.raises(KernelError, match=r"5\.4: .* there are 6\.12\.94, 6\.12\.107, 7\.2\.13, 7\.3~rc7; name"):
        linux_archive.newest("5.4", [mirror.url])
    with pytest.raises(KernelError, match=r"have no package linux-source of it; name another"):
        linux_archive.newest("6.12", [f"{mirror.url}/elsewhere"])


def test_a_list_that_does_not_fit_its_hash_is_passed_over(mirror: Mirror) -> None:
    mirror.add("trixie", "6.12.107-1", kinds=("all", "amd64"))
    stale = mirror.folder / "dists/trixie/main/binary-all/Packages.xz"
    stale.write_bytes(lzma.compress(b"Package: linux-source-6.12\nVersion: 6.12.999-1\n"))
    assert linux_archive.newest("6.12", [mirror.url]).version == "6.12.107-1"
    shutil.copy(stale, mirror.folder / "dists/trixie/main/binary-amd64/Packages.xz")
    with pytest.raises(KernelError, match="does not fit the hash in InRelease"):
        linux_archive.newest("6.12", [mirror.url])


def test_a_list_is_found_by_its_hash_where_the_archive_has_that(mirror: Mirror) -> None:
    mirror.add("trixie", "6.12.107-1")
    file = mirror.folder / "dists/trixie/main/binary-all/Packages.xz"
    place = file.parent / "by-hash/SHA256" / hashlib.sha256(file.read_bytes()).hexdigest()
    place.parent.mkdir(parents=True)
    file.rename(place)
    assert linux_archive.newest("6.12", [mirror.url]).version == "6.12.107-1"


def test_a_package_that_does_not_fit_its_hash_is_refused_and_not_kept(mirror: Mirror, cache: Path) -> None:
    mirror.add("trixie", "6.12.107-1")
    next((mirror.folder / "pool").iterdir()).write_bytes(b"other")
    with pytest.raises(KernelError, match="its SHA-256 is"):
        build(Wanted("6.12", mirrors=[mirror.url]))
    assert list((cache / "linux-sources").iterdir()) == []
    assert linux_kernels.kernels() == []


def test_a_package_without_sources_is_refused(mirror: Mirror) -> None:
    mirror.add("trixie", "6.12.107-1", sources=b"!<arch>\n")
    with pytest.raises(KernelError, match="cannot be unpacked"):
        build(Wanted("6.12", mirrors=[mirror.url]))


@pytest.mark.parametrize(("code", "signature"), [(0, "good, by keys.gpg"), (2, None)])
def test_the_signature_decides_where_it_can_be_checked(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, signature: str | None
) -> None:
    """gpgv(1): 0 if all signatures are good, the signed text into the file of `--output`."""
    mirror.add("trixie", "6.12.107-1")
    (tmp_path / "keys.gpg").touch()
    monkeypatch.setattr(linux_archive, "KEYRING", tmp_path / "keys.gpg")
    program(tmp_path / "bin" / "gpgv", f'cp "$6" "$5"; echo "gpgv: BAD signature" >&2; exit {code}')
    if signature is None:
        with pytest.raises(
            KernelError, match=r"trixie/InRelease: its signature .* BAD signature; name another --mirror"
        ):
            linux_archive.newest("6.12", [mirror.url])
    else:
        assert linux_archive.newest("6.12", [mirror.url]).signature == signature


@pytest.mark.skipif(shutil.which("gpgv") is None, reason="needs gpgv")
def test_what_nobody_signed_is_refused(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.add("trixie", "6.12.107-1")
    (tmp_path / "keys.gpg").touch()
    monkeypatch.setattr(linux_archive, "KEYRING", tmp_path / "keys.gpg")
    with pytest.raises(KernelError, match="InRelease: its signature is not by"):
        linux_archive.newest("6.12", [mirror.url])


@pytest.mark.parametrize("url", ["file:///etc", "ftp://x", "deb.debian.org/debian"])
def test_a_mirror_is_an_address_of_http(url: str) -> None:
    with pytest.raises(KernelError, match='begins with "http://"'):
        linux_archive.newest("6.12", [url])


def test_a_mirror_that_does_not_answer_is_named() -> None:
    with pytest.raises(KernelError, match=r"127\.0\.0\.1:1/dists/bookworm/InRelease: .*; check the connection"):
        linux_archive.newest("6.12", ["http://127.0.0.1:1"])


def test_versions_sort_as_dpkg_sorts_them() -> None:
    """Debian's policy, section 5.6.12; the order is that of `dpkg --compare-versions`."""
    versions = ["6.1.190-1", "6.12~rc1-1", "6.12.9-1", "6.12.107-1~bpo12+1", "6.12.107-1~deb12u1", "6.12.107-1",
                "6.12.107-1+b1", "6.12.113-1", "7.3~rc7-1~exp1", "7.3-1"]  # fmt: skip
    assert sorted(reversed(versions), key=linux_archive.version_key) == versions


# ---- the cache and its commands -------------------------------------------------------------------------------------

Make = Callable[..., Path]


@pytest.fixture
def make(cache: Path) -> Make:
    """Put a kernel into the cache."""

    def put(name: str, version: str, modules: tuple[str, ...] = ()) -> Path:
        folder = cache / "linux" / name
        folder.mkdir(parents=True)
        program(folder / "linux")
        about = {
            "version": version,
            "controllers": ["bbr", "cubic", "reno"],
            "modules": [{"file": file} for file in modules],
        }
        (folder / "kernel.json").write_text(json.dumps(about))
        return folder

    return put


def test_the_newest_version_is_found_without_a_name(make: Make) -> None:
    with pytest.raises(KernelError, match=r"no Linux kernel is built yet .*: ackclock linux build$"):
        linux_kernels.find()
    make("6.12", "6.12.113")
    make("6.1", "6.1.190")
    assert linux_kernels.find().name == "6.12"
    make("7.3-rc", "7.3.0-rc7")
    make("a-mine", "7.3.0", ("mine.c",))
    make("7.3", "7.3.0")
    assert [kernel.name for kernel in linux_kernels.kernels()] == ["6.1", "6.12", "7.3-rc", "a-mine", "7.3"]
    assert linux_kernels.find().name == "7.3"
    assert linux_kernels.find("6.1").about["version"] == "6.1.190"
    assert linux_kernels.find("6.12.113").name == "6.12"
    with pytest.raises(
        KernelError, match=r'unknown kernel "6\.6"; .*known: 6\.1, .*; build it: ackclock linux build 6\.6'
    ):
        linux_kernels.find("6.6")


def test_folders_that_are_not_whole_are_not_kernels(make: Make) -> None:
    (make("half", "6.12.1") / "linux").chmod(stat.S_IRUSR)
    (make("other", "6.12.1") / "kernel.json").unlink()
    make(".7.3.partial-x", "7.3.0")
    assert linux_kernels.kernels() == []
    (make("bad", "7.3.0") / "kernel.json").write_text("{")
    with pytest.raises(KernelError, match=r"bad/kernel\.json: it is not readable"):
        linux_kernels.kernels()


def test_the_commands_list_and_remove_them(cli: Cli, make: Make) -> None:
    assert cli("linux", "list").stdout == "no kernel is built yet; build one: ackclock linux build\n"
    make("6.12", "6.12.113")
    folder = make("7.3-mine", "7.3.4", ("mine.c",))
    shown = cli("linux", "list").stdout
    assert "6.12.113" in shown and "bbr cubic reno" in shown and max(map(len, shown.splitlines())) <= 80
    listed = json.loads(cli("linux", "list", "--json").stdout)["kernels"]
    assert [(entry["name"], entry["path"]) for entry in listed][1] == ("7.3-mine", str(folder / "linux"))
    refused = cli("linux", "remove", "7.3-mine", "7.3")
    assert refused.returncode == 2
    assert 'unknown kernel "7.3"; known: 6.12, 7.3-mine' in refused.stderr
    assert folder.is_dir()
    assert cli("linux", "remove", "7.3-mine").stdout == "removed 7.3-mine (Linux 7.3.4)\n"
    assert not folder.exists()
    assert json.loads(cli("linux", "remove", "6.12", "--json").stdout)["removed"] == ["6.12"]
    assert 'unknown kernel "6.12"; none is built' in cli("linux", "remove", "6.12").stderr
    assert cli("linux", "remove").returncode == 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="user-mode Linux exists for x86_64 only")
def test_the_command_builds_and_says_what_it_built(cli: Cli, tree: Path, cache: Path) -> None:
    done = cli("linux", "build", tree)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("own: Linux 6.12.117, ")
    assert lines[1:] == [
        "3 controllers: ackclock_agent cubic reno",
        "this version lacks: CONFIG_TCP_CONG_CDG",
        "use it: ackclock run FILE --on linux:own",
    ]
    again = cli("linux", "build", tree)
    assert again.returncode == 2 and "own is built already" in again.stderr
    answered = json.loads(cli("linux", "build", tree, "--force", "--json").stdout)
    assert answered["command"] == "linux build" and answered["version"] == "6.12.117"
    assert str(cache / "linux" / "own") in answered["written"]
    assert cli("linux", "build", tree, "--name", "../up").returncode == 1


def test_sources_are_removed_when_asked(cli: Cli, mirror: Mirror, cache: Path) -> None:
    mirror.add("trixie", "6.12.107-1")
    build(Wanted("6.12", mirrors=[mirror.url]))
    assert "sources kept for further builds: " in cli("linux", "list").stdout
    assert "linux-source-6.12_6.12.107-1.deb" in cli("linux", "remove", "--sources").stdout
    assert list((cache / "linux-sources").iterdir()) == []
    assert [kernel.name for kernel in linux_kernels.kernels()] == ["6.12"]


OLD_REGISTERS = """
int have_xstate_support;
int save_fp_registers(int pid, unsigned long *fp_regs)
{
\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);
}
int restore_fp_registers(int pid, unsigned long *fp_regs)
{
\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);
}
void arch_init_registers(int pid)
{
\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0)
\t\thave_xstate_support = 1;
}
"""


def test_versions_with_a_fixed_size_of_registers_get_the_processors(tmp_path: Path) -> None:
    """The host refuses registers of another size than it handed out (`xstateregs_set` of Linux)."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert linux_tree.change(tmp_path) == []
    user = tmp_path / "arch/x86/um"
    (user / "os-Linux").mkdir(parents=True)
    (user / "user-offsets.c").write_text("\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n")
    (user / "os-Linux/registers.c").write_text(OLD_REGISTERS)
    linux_tree.change(tmp_path)
    assert "12288" in (user / "user-offsets.c").read_text()
    saves, restores, begins = (user / "os-Linux/registers.c").read_text().split("(int pid")[1:]
    assert "iov_len = FP_SIZE" in saves and "iov_len = xstate_size;" in restores
    assert "have_xstate_support = 1, xstate_size = iov.iov_len;" in begins
