//! Compiles the programs of src/programs with clang, and the rules of controllers for the host as well.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Controllers whose rules move a window, by the header of their rules; `true` where a flow's state is larger than the 104
/// octets that a socket has for it.
const WINDOWS: [(&str, &str, bool); 8] = [
    ("aimd", "ac_aimd", false),
    ("scalable", "ac_scalable", false),
    ("highspeed", "ac_highspeed", false),
    ("htcp", "ac_htcp", false),
    ("westwood", "ac_westwood", false),
    ("illinois", "ac_illinois", false),
    ("vegas", "ac_vegas", false),
    ("vegas_modified", "ac_vegas_mod", true),
];

/// Controllers whose rules have a rate as well, and are asked with every ACK.
const PACED: [(&str, &str); 2] = [("bbr3", "ac_bbr3"), ("copa", "ac_copa")];

const WITHOUT_CLANG: &str = "ackclock-bpf is compiled with clang, which did not run; install it (Debian: apt-get install clang \
                             libelf-dev zlib1g-dev) or name it in the variable CLANG";

fn main() {
    println!("cargo::rerun-if-changed=src/programs");
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo names it"));
    for (rule, kernel_name, is_stored) in WINDOWS {
        let header = format!("-DRULE=\"rules/{rule}.h\"");
        let name = format!("-DCA_NAME=\"{kernel_name}\"");
        let mut flags = vec![header.as_str(), name.as_str()];
        if is_stored {
            flags.push("-DSTORED");
        }
        program("window", &flags, &out.join(format!("{rule}.bpf.o")));
        program("replay", &flags, &out.join(format!("{rule}.replay.o")));
        host(rule, false);
    }
    for (rule, kernel_name) in PACED {
        let flags = [format!("-DRULE=\"rules/{rule}.h\""), format!("-DCA_NAME=\"{kernel_name}\"")];
        let flags = flags.each_ref().map(String::as_str);
        program("paced", &flags, &out.join(format!("{rule}.bpf.o")));
        program("replay_paced", &flags, &out.join(format!("{rule}.replay.o")));
        host(rule, true);
    }
    for source in ["agent", "choose", "corrected", "ece", "policy", "trace"] {
        program(source, &[], &out.join(format!("{source}.bpf.o")));
    }
    program("replay_policy", &[], &out.join("policy.replay.o"));
    cc::Build::new().file("src/programs/policy_host.c").compile("ackclock_policy");
}

/// A program of the kernel.
fn program(source: &str, flags: &[&str], object: &Path) {
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let headers = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where libbpf's headers are");
    let status = Command::new(clang)
        .args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-Wno-unused-function"])
        .args([format!("-I{headers}"), format!("-D__TARGET_ARCH_{}", architecture()), format!("-I{}", multiarch())])
        .args(flags)
        .args(["-c", &format!("src/programs/{source}.bpf.c"), "-o"])
        .arg(object)
        .status();
    let status = status.unwrap_or_else(|error| panic!("{WITHOUT_CLANG} ({error})"));
    assert!(status.success(), "clang refused src/programs/{source}.bpf.c with {flags:?}");
}

/// Name of this processor in libbpf's headers.
fn architecture() -> &'static str {
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        Ok("riscv64") => "riscv",
        other => panic!("ackclock-bpf knows x86_64, aarch64 and riscv64, not {other:?}"),
    }
}

/// Debian's folder with the headers asm/*.h, which clang does not search when it compiles for BPF.
fn multiarch() -> String {
    format!("/usr/include/{}-linux-gnu", std::env::var("CARGO_CFG_TARGET_ARCH").expect("Cargo names it"))
}

/// The rules for this machine's processor, as `ackclock_drive_RULE`.
fn host(rule: &str, is_paced: bool) {
    let header = format!("\"rules/{rule}.h\"");
    let drive = format!("ackclock_drive_{rule}");
    let mut build = cc::Build::new();
    build.file("src/programs/host.c").flag("-Wno-unused-parameter");
    build.define("RULE", header.as_str()).define("DRIVE", drive.as_str());
    if is_paced {
        build.define("PACED", None);
    }
    if rule == "highspeed" {
        build.define("CURVE", "ackclock_curve_highspeed");
    }
    build.compile(&drive);
}
