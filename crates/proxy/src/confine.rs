//! Confinement: rights that the process gives up once it has read its configuration, to files (landlock) and system
//! calls (seccomp).
//!
//! Whoever takes over a proxy through what it carries should find little to do with it. From here on it reads files, starts programs of
//! the system's folders and writes nowhere; calls that it has no use for answer `ENOSYS`, which the C library takes for an older
//! kernel. What it may still do is what a reload (the configuration, names of servers), an upgrade (its own binary) and `--apply`
//! (nft and ip) take. A successor has both from its predecessor and adds nothing: a process has room for 16 layers of landlock.
//!
//! Source: landlock(7), seccomp(2). The list of calls was written by hand from what this program, Rust's library and glibc call; the
//! operation tests run under it.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetStatus,
};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};

/// Variable that informs a successor that it is confined from its beginning.
pub const CONFINED: &str = "ACKCLOCK_PROXY_CONFINED";

/// The newest rights that are known here; a kernel without them enforces the others.
const RIGHTS: ABI = ABI::V5;

/// Folders of programs and libraries.
const RUN: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// Names of hosts, limits and controllers of the kernel.
const READ: [&str; 4] = ["/etc", "/run", "/proc", "/sys"];

/// Rights that were given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confined {
    /// Files that are not needed: by landlock.
    pub files: bool,
    /// Calls that are not needed: by seccomp.
    pub calls: bool,
}

/// True of a successor, which need not be confined again.
pub fn is_confined() -> bool {
    env::var_os(CONFINED).is_some()
}

/// It has given up calls.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// True once this process, or its predecessor, has given up what it does not need.
pub fn is_on() -> bool {
    is_confined() || IS_ON.load(Ordering::Relaxed)
}

/// Gives up what the program does not need, for good, with `config` as the file that it goes on reading. To be called by the only thread.
pub fn confine(config: &Path, program: &Path) -> io::Result<Confined> {
    let files = give_up_files(config, program).map_err(|error| io::Error::other(format!("landlock: {error}")))?;
    give_up_calls().map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    IS_ON.store(true, Ordering::Relaxed);
    Ok(Confined { files, calls: true })
}

/// The folder of a file, in which another may take its place.
fn folder_of(file: &Path) -> PathBuf {
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    whole.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

fn give_up_files(config: &Path, program: &Path) -> Result<bool, landlock::RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = read | AccessFs::Execute;
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(RIGHTS))?.create()?;
    let (config, program) = (folder_of(config), folder_of(program));
    let places = RUN.iter().map(|place| (Path::new(place), run)).chain([(program.as_path(), run)]);
    let places = places.chain(READ.iter().map(|place| (Path::new(place), read))).chain([(config.as_path(), read)]);
    for (place, rights) in places {
        rules = allow(rules, place, rights)?;
    }
    rules = allow(rules, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile)?;
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// A place that this machine has not is no mistake.
fn allow(
    rules: RulesetCreated,
    place: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    match PathFd::new(place) {
        Ok(folder) => rules.add_rule(PathBeneath::new(folder, rights)),
        Err(_) => Ok(rules),
    }
}

/// Calls by what they are for.
#[rustfmt::skip]
const CALLS: &[c_long] = &[
    // octets
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_splice, libc::SYS_lseek,
    libc::SYS_pipe2, libc::SYS_close, libc::SYS_close_range, libc::SYS_dup, libc::SYS_dup3, libc::SYS_fcntl,
    // sockets
    libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4, libc::SYS_connect, libc::SYS_shutdown,
    libc::SYS_socketpair, libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_getsockopt, libc::SYS_setsockopt,
    libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg,
    // waiting
    libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_eventfd2,
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_futex, libc::SYS_restart_syscall,
    libc::SYS_timerfd_create, libc::SYS_timerfd_settime,
    // files, of which landlock leaves some
    libc::SYS_openat, libc::SYS_newfstatat, libc::SYS_fstat, libc::SYS_statx, libc::SYS_faccessat, libc::SYS_faccessat2,
    libc::SYS_readlinkat, libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_fstatfs, libc::SYS_statfs,
    // memory
    libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_membarrier,
    // threads, processes and signals
    libc::SYS_clone, libc::SYS_clone3, libc::SYS_execve, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_kill, libc::SYS_tgkill, libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack, libc::SYS_set_tid_address,
    libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prctl, libc::SYS_prlimit64, libc::SYS_umask, libc::SYS_setpgid,
    libc::SYS_getpgid,
    // what is asked of the machine
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_getrandom, libc::SYS_uname, libc::SYS_sysinfo,
    libc::SYS_sched_getaffinity, libc::SYS_sched_yield, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid,
    libc::SYS_capget,
];

/// Calls that newer processors lack.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER_CALLS: &[c_long] = &[
    libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_readlink, libc::SYS_poll, libc::SYS_select,
    libc::SYS_pipe, libc::SYS_dup2, libc::SYS_epoll_wait, libc::SYS_arch_prctl, libc::SYS_fork, libc::SYS_vfork, libc::SYS_time,
    libc::SYS_getpgrp,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[c_long] = &[];

/// Families of sockets: TCP, names and systemd, and nft's and ip's own.
const FAMILIES: [i32; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];

/// Commands of `bpf(2)` by which ECE is raised: `BPF_MAP_UPDATE_ELEM` and `BPF_OBJ_GET`.
const OF_BPF: [i32; 2] = [2, 7];

/// Requests of `ioctl(2)`: `FIONREAD`, `SIOCOUTQ`, `SIOCOUTQNSD`, `SIOCATMARK`; what a terminal is asked (`TCGETS`, `TIOCGWINSZ`); the clearing of a
/// flag (`FIONBIO`, `FIOCLEX`); what ip asks of an interface (`SIOCGIFINDEX`, `SIOCGIFNAME`).
const REQUESTS: [i32; 10] = [0x541b, 0x5411, 0x894b, 0x8905, 0x5401, 0x5413, 0x5421, 0x5451, 0x8933, 0x8910];

fn give_up_calls() -> Result<(), seccompiler::Error> {
    apply_filter_all_threads(&program()?)
}

fn program() -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        CALLS.iter().chain(OLDER_CALLS).map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, one_of(0, &FAMILIES)?);
    rules.insert(libc::SYS_bpf, one_of(0, &OF_BPF)?);
    rules.insert(libc::SYS_ioctl, one_of(1, &REQUESTS)?);
    let architecture = env::consts::ARCH.try_into()?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow, architecture)?;
    Ok(filter.try_into()?)
}

/// An argument with one of these values.
fn one_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let rule = |value: &i32| {
        let value = u64::from(*value as u32);
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    values.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_a_program_that_a_kernel_takes() {
        // BPF_MAXINSNS of the kernel
        let length = program().unwrap().len();
        assert!((100..4096).contains(&length), "{length} instructions");
    }

    #[test]
    fn the_folder_of_a_file_is_known_whether_it_is_there_or_not() {
        assert_eq!(folder_of(Path::new("/etc/hostname")), Path::new("/etc"));
        assert_eq!(folder_of(Path::new("/nowhere/at/all")), Path::new("/nowhere/at"));
    }
}
