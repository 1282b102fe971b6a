//! `ackclock-kernel`: see [`ackclock_kernel::cli`].

fn main() -> std::process::ExitCode {
    ackclock_kernel::cli::main()
}
