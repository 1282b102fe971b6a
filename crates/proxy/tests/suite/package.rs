//! The Debian package, from the programs that are tested: what is in it, what it depends on, and what lintian and systemd say of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::program::{PROXY, run};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging");

/// Reason for which no package can be made here.
fn missing() -> Option<&'static str> {
    let lacks = |command: &str| run("sh", &["-c", &format!("command -v {command}")]).0 != Some(0);
    match () {
        () if !Path::new(PROXY).with_file_name("ackclock-kernel").is_file() => Some("it needs ackclock-kernel"),
        () if lacks("dpkg-buildpackage") || lacks("dh") || lacks("help2man") => {
            Some("it needs dpkg-dev, debhelper and help2man")
        }
        () => None,
    }
}

fn succeeds(program: &str, arguments: &[&str]) -> String {
    let (code, text) = run(program, arguments);
    assert_eq!(code, Some(0), "{program} {arguments:?}: {text}");
    text
}

/// The package, and its files in a folder beside it.
fn built(folder: &Path) -> (PathBuf, PathBuf) {
    let binaries = Path::new(PROXY).parent().unwrap();
    let script = format!("{PACKAGING}/build-deb.sh");
    succeeds(&script, &[binaries.to_str().unwrap(), folder.to_str().unwrap()]);
    let made: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    let files = folder.join("files");
    succeeds("dpkg-deb", &["--extract", made[0].to_str().unwrap(), files.to_str().unwrap()]);
    (made[0].clone(), files)
}

/// Packages with the libraries that programs name, as the linker of this machine finds them.
fn libraries(programs: &[PathBuf]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for program in programs {
        // `libelf.so.1 => /lib/x86_64-linux-gnu/libelf.so.1 (0x...)`
        for line in succeeds("ldd", &[program.to_str().unwrap()]).lines() {
            let Some(path) = line.split_whitespace().nth(2).filter(|path| path.starts_with('/')) else { continue };
            // Packages have it in /lib or /usr/lib, which are one.
            let owner = succeeds("dpkg-query", &["--search", &format!("*{}", path.trim_start_matches("/usr"))]);
            found.insert(owner.split(':').next().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn the_package_has_what_it_needs_and_lintian_finds_no_fault() {
    if let Some(why) = missing() {
        return eprintln!("skipped: {why}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (package, files) = built(folder.path());
    let package = package.to_str().unwrap();
    for file in [
        "etc/ackclock-proxy/proxy.toml",
        "lib/systemd/system/ackclock-kernel@.service",
        "lib/systemd/system/ackclock-proxy.service",
        "usr/bin/ackclock-kernel",
        "usr/bin/ackclock-proxy",
        "usr/bin/ackclock-torture",
        "usr/share/ackclock-proxy/alerts.yml",
        "usr/share/ackclock-proxy/grafana.json",
        "usr/share/doc/ackclock-proxy/changelog.gz",
        "usr/share/doc/ackclock-proxy/copyright",
        "usr/share/doc/ackclock-proxy/how-to/run-the-proxy.md",
        "usr/share/man/man1/ackclock-torture.1.gz",
        "usr/share/man/man8/ackclock-kernel.8.gz",
        "usr/share/man/man8/ackclock-proxy.8.gz",
    ] {
        assert!(files.join(file).is_file(), "{file} is not in the package");
    }
    let docs = files.join("usr/share/doc/ackclock-proxy");
    for page in ["how-to/run-the-proxy.md", "reference/proxy.md", "explanation/proxy.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(
                docs.join(page).parent().unwrap().join(link).is_file(),
                "{page} leads to {link}, which is not there"
            );
        }
    }
    // man-pages(7): the sections that a page of a program has.
    for (page, sections) in [
        ("man8/ackclock-proxy.8.gz", &["SYNOPSIS", "FILES", "SEE ALSO"][..]),
        ("man1/ackclock-torture.1.gz", &["SYNOPSIS", "SEE ALSO"]),
    ] {
        let path = files.join("usr/share/man").join(page);
        let text = succeeds("gzip", &["--decompress", "--stdout", path.to_str().unwrap()]);
        for section in sections {
            let is_there = text.contains(&format!(".SH {section}\n")) || text.contains(&format!(".SH \"{section}\"\n"));
            assert!(is_there, "{page} lacks {section}: {text}");
        }
    }
    assert_eq!(succeeds("dpkg-deb", &["--info", package, "conffiles"]).trim(), "/etc/ackclock-proxy/proxy.toml");

    // debhelper would have a script stop the proxy before an upgrade, which is handed over to instead.
    assert_ne!(run("dpkg-deb", &["--info", package, "preinst"]).0, Some(0), "the package has a preinst");

    // Debian Policy 8.6: each library that a program names is one of a package that it depends on.
    let depends = succeeds("dpkg-deb", &["--field", package, "Depends"]);
    let named: BTreeSet<&str> = depends.split(", ").filter_map(|one| one.split_whitespace().next()).collect();
    let programs = ["proxy", "torture", "kernel"].map(|name| files.join(format!("usr/bin/ackclock-{name}")));
    let needed = libraries(&programs);
    assert!(needed.contains("libc6"), "{needed:?}");
    for library in &needed {
        assert!(named.contains(library.as_str()), "{library} is not among {depends}");
    }

    if run("sh", &["-c", "command -v lintian"]).0 == Some(0) {
        succeeds("lintian", &["--allow-root", "--fail-on", "error,warning", package]);
    } else {
        eprintln!("skipped: lintian is not installed");
    }
}

/// systemd.service(5), systemd.exec(5): what systemd says of the units. Where a program is, and its page, is replaced: nothing is installed.
#[test]
fn systemd_understands_the_units_and_finds_them_confined() {
    if run("sh", &["-c", "command -v systemd-analyze"]).0 != Some(0) {
        return eprintln!("skipped: it needs systemd-analyze");
    }
    let folder = tempfile::tempdir().unwrap();
    for (unit, name) in [
        ("ackclock-proxy.service", "ackclock-proxy.service"),
        ("ackclock-kernel@.service", "ackclock-kernel@highspeed.service"),
    ] {
        let text = std::fs::read_to_string(format!("{PACKAGING}/debian/{unit}")).unwrap();
        let text =
            text.replace("/usr/bin/ackclock-", "/bin/true ").replace("Documentation=man:", "Documentation=file:/");
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let said = succeeds("systemd-analyze", &["verify", path]);
        assert_eq!(said.trim(), "", "{name}");
        // Tenths of the exposure that `systemd-analyze security` computes, from 0 to 100; 20 is the last that it calls OK.
        let (code, said) =
            run("systemd-analyze", &["security", "--offline=true", "--threshold=20", "--no-pager", path]);
        assert_eq!(code, Some(0), "{name}: {said}");
    }
}
