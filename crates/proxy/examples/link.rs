//! A link between two TUN devices, for measurements in namespaces: a rate, a delay, a queue of packets that drops at its tail.
//!
//! `link NAME_A NAME_B RATE_MBIT_S DELAY_MS QUEUE_PACKETS` makes both devices, says `ready`, and carries packets until it is
//! killed. The queue and the rate are on the way from A to B; the way back has the delay alone. A packet leaves when the
//! one before it has, and its own octets take their time at the rate.
//!
//! **Departures** from a real link: nothing of framing; late by as much as the scheduler is.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Linux's `TUNSETIFF`, and a device of plain IP packets.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const IFF_TUN_NO_PI: libc::c_short = 0x0001 | 0x1000;

fn device(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: a structure of integers may be zero in all of them.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = IFF_TUN_NO_PI;
    // SAFETY: the request is an ifreq with a name that ends in a zero.
    if unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

/// Packets under way, each with when it arrives.
#[derive(Default)]
struct Way {
    packets: Mutex<VecDeque<(Instant, Vec<u8>)>>,
    changed: Condvar,
}

fn carry(mut from: File, mut to: File, octets_per_s: f64, delay: Duration, queue: usize) {
    let way = Arc::new(Way::default());
    let arriving = Arc::clone(&way);
    thread::spawn(move || {
        loop {
            let mut packets = arriving.packets.lock().expect("nobody panics with it");
            while packets.is_empty() {
                packets = arriving.changed.wait(packets).expect("nobody panics with it");
            }
            let at = packets.front().expect("it is not empty").0;
            drop(packets);
            thread::sleep(at.saturating_duration_since(Instant::now()));
            let packet = arriving.packets.lock().expect("nobody panics with it").pop_front();
            // A device that is down takes nothing.
            let _ = packet.map(|(_, octets)| to.write(&octets));
        }
    });
    let mut buffer = vec![0; 65_536];
    let mut free_at = Instant::now();
    let mut leaving = VecDeque::new();
    loop {
        let Ok(length) = from.read(&mut buffer) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let now = Instant::now();
        while leaving.front().is_some_and(|at| *at <= now) {
            leaving.pop_front();
        }
        if leaving.len() >= queue {
            continue;
        }
        free_at = free_at.max(now) + Duration::from_secs_f64(length as f64 / octets_per_s);
        leaving.push_back(free_at);
        way.packets.lock().expect("nobody panics with it").push_back((free_at + delay, buffer[..length].to_vec()));
        way.changed.notify_one();
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [a, b, rate, delay, queue] = &words[..] else {
        return Err(io::Error::other("usage: link NAME_A NAME_B RATE_MBIT_S DELAY_MS QUEUE_PACKETS"));
    };
    let number = |text: &String| text.parse::<f64>().map_err(|_| io::Error::other(format!("{text} is no number")));
    let (rate, delay, queue) = (number(rate)?, Duration::from_secs_f64(number(delay)? / 1e3), number(queue)? as usize);
    let (a, b) = (device(a)?, device(b)?);
    let (back_from, back_to) = (b.try_clone()?, a.try_clone()?);
    writeln!(io::stdout(), "ready")?;
    thread::spawn(move || carry(back_from, back_to, f64::INFINITY, delay, usize::MAX));
    carry(a, b, rate * 1e6 / 8.0, delay, queue);
    Ok(())
}
