//! The process that listens at an address, from proc(5).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// Owner of a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Number of its user.
    pub user: u32,
    /// Its number and name, where this process may see them.
    pub process: Option<(u32, String)>,
}

/// Name of this program, as processes have it.
pub fn own_name() -> String {
    name_of(Path::new("/proc/self"))
}

fn name_of(process: &Path) -> String {
    fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned()
}

/// The owner of a socket that listens at an address, or at its port on all addresses.
pub fn of(address: SocketAddr) -> Option<Holder> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(row);
    let (user, inode) = rows.filter(|(at, ..)| overlaps(*at, address)).map(|(_, user, inode)| (user, inode)).next()?;
    Some(Holder { user, process: process_with(&format!("socket:[{inode}]")) })
}

/// True if two sockets cannot both have these addresses.
fn overlaps(one: SocketAddr, other: SocketAddr) -> bool {
    let [one_ip, other_ip] = [one, other].map(|address| address.ip().to_canonical());
    one.port() == other.port() && (one_ip == other_ip || one_ip.is_unspecified() || other_ip.is_unspecified())
}

/// Address, user and inode of a row if its socket listens. proc(5): the second field is the local address, in hexadecimal words of the
/// machine's order; the fourth the state, of which `0A` listens; the eighth the user; the tenth the inode.
fn row(row: &str) -> Option<(SocketAddr, u32, u64)> {
    let fields: Vec<&str> = row.split_whitespace().collect();
    let (ip, port) = fields.get(1)?.split_once(':')?;
    if *fields.get(3)? != "0A" {
        return None;
    }
    let word = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(ip)?)),
        32 => {
            let words: Option<Vec<[u8; 4]>> = (0..4).map(|index| word(ip.get(8 * index..8 * index + 8)?)).collect();
            IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(words?.concat()).ok()?))
        }
        _ => return None,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((SocketAddr::new(ip, port), fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?))
}

/// The process that has this open.
fn process_with(link: &str) -> Option<(u32, String)> {
    let has = |process: &Path| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target.as_os_str() == link)
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbered = processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    let mut found = numbered.filter(|(_, path)| has(path)).map(|(id, path)| (id, name_of(&path)));
    found.next()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn whoever_listens_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let holder = of(listener.local_addr().unwrap()).expect("it listens");
            assert_eq!(holder.user, rustix::process::geteuid().as_raw());
            assert_eq!(holder.process, Some((std::process::id(), own_name())));
        }
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(of(closed), None);
    }

    /// From proc(5) and a machine of little endian: `0100007F` is 127.0.0.1, `1F90` is 8080.
    #[test]
    #[cfg(target_endian = "little")]
    fn rows_are_read_as_the_kernel_writes_them() {
        let listens =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  65534        0 4242 1 0 100";
        assert_eq!(row(listens), Some(("127.0.0.1:8080".parse().unwrap(), 65_534, 4242)));
        assert_eq!(row(&listens.replace(" 0A ", " 01 ")), None);
        let six = listens.replace("0100007F:", "00000000000000000000000001000000:");
        assert_eq!(row(&six), Some(("[::1]:8080".parse().unwrap(), 65_534, 4242)));
        assert_eq!(row(""), None);
    }
}
