//! Limit on the number of segments in the kernel's super-packets for a device.
//!
//! Source: rtnetlink(7), `include/uapi/linux/netlink.h`, `rtnetlink.h` and `if_link.h`: a request to change a link with the attribute
//! `IFLA_GSO_MAX_SEGS`, which the kernel answers with an error code. TCP makes super-packets no longer; what it forwards and is longer it cuts.

use std::io::{self, Read, Write};

use socket2::{Domain, Protocol, Socket, Type};

/// Length of the header of a message, of `struct ifinfomsg` and of an attribute with 32 bits.
const HEADER: usize = 16;
const LENGTH: u32 = HEADER as u32 + 16 + 8;

/// Limits the device of this number, in the namespace of the calling thread.
pub(super) fn limit(device: u32, segments: u16) -> io::Result<()> {
    let mut socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(libc::NETLINK_ROUTE)))?;
    socket.write_all(&request(device, segments))?;
    let mut answer = [0; 512];
    let octets = socket.read(&mut answer)?;
    refused(&answer[..octets])
}

fn request(device: u32, segments: u16) -> Vec<u8> {
    let mut message = LENGTH.to_ne_bytes().to_vec();
    message.extend(libc::RTM_SETLINK.to_ne_bytes());
    message.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    // number of the message and of who sends it, then family and type of device: the kernel knows
    message.extend([0; 4 + 4 + 4]);
    message.extend(device.to_ne_bytes());
    message.extend([0; 4 + 4]); // no flags are changed
    message.extend(8_u16.to_ne_bytes());
    message.extend(libc::IFLA_GSO_MAX_SEGS.to_ne_bytes());
    message.extend(u32::from(segments).to_ne_bytes());
    message
}

/// The error code behind the answer's header, negative; zero is none.
fn refused(answer: &[u8]) -> io::Result<()> {
    let code = answer.get(HEADER..HEADER + 4).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel does not report the size of super-packets")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_refused_by_the_kernel() {
        assert_eq!(request(1, 64).len(), LENGTH as usize);
        let error = limit(i32::MAX as u32, 64).expect_err("the device does not exist");
        // ENODEV, or EPERM of who may not change devices
        assert!(matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EPERM)), "{error}");
    }
}
