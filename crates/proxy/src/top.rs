//! Table of open connections in a terminal: `ackclock-proxy top`.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode};
use ratatui::layout::Constraint;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::{Cell, Row, Table};
use serde_json::Value as Json;

use crate::http;

const HEAD: [&str; 12] = [
    "client",
    "server",
    "up Mbit/s",
    "down",
    "near cc",
    "rtt ms",
    "cwnd",
    "far cc",
    "rtt ms",
    "cwnd",
    "wait kB up",
    "down",
];

/// Head of the table of a narrow terminal: two lines for each connection, first the client's side.
const NARROW_HEAD: [&str; 6] = ["client, server", "Mbit/s", "controller", "rtt ms", "cwnd", "wait kB"];

/// Columns of words; the others are numbers.
const WORDS: [&str; 6] = ["client", "server", "client, server", "near cc", "far cc", "controller"];

/// A connection in the table.
type Line = [String; 12];

/// Octets of a connection each way, at the last refresh.
type Before = HashMap<(String, String), (f64, f64)>;

/// A proxy's answer on its connections.
fn ask(address: SocketAddr) -> io::Result<Vec<Json>> {
    Ok(http::get(address, "/connections")?.as_array().cloned().unwrap_or_default())
}

/// Lines for the connections, the busiest first.
fn lines(connections: &[Json], before: &mut Before, elapsed: Duration) -> Vec<Line> {
    let mut now = Before::new();
    let mut lines: Vec<(f64, Line)> =
        connections.iter().map(|it| line(it, (before, &mut now), elapsed.as_secs_f64())).collect();
    *before = now;
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    lines.into_iter().map(|(_, line)| line).collect()
}

fn line(it: &Json, (before, after): (&Before, &mut Before), elapsed_s: f64) -> (f64, Line) {
    let text = |value: &Json| value.as_str().unwrap_or("-").to_owned();
    let number = |value: &Json| value.as_f64().unwrap_or(0.0);
    let now = (number(&it["up_bytes"]), number(&it["down_bytes"]));
    let ends = (text(&it["client"]), text(&it["server"]));
    let last = before.get(&ends).copied().unwrap_or(now);
    after.insert(ends, now);
    let rate = |now: f64, last: f64| if elapsed_s > 0.0 { (now - last) * 8e-6 / elapsed_s } else { 0.0 };
    let (up, down) = (rate(now.0, last.0), rate(now.1, last.1));
    let side = |of: &Json| {
        let rtt = format!("{:.1}", number(&of["rtt_s"]) * 1e3);
        [text(&of["congestion"]), rtt, number(&of["cwnd_segments"]).to_string()]
    };
    let waiting = [0, 1].map(|way| format!("{:.1}", number(&it["backlog_bytes"][way]) / 1e3));
    let [up_waiting, down_waiting] = waiting;
    let ([near_cc, near_rtt, near_cwnd], [far_cc, far_rtt, far_cwnd]) = (side(&it["near"]), side(&it["far"]));
    let rates = [up, down].map(|rate| format!("{rate:.2}"));
    let [up_text, down_text] = rates;
    let line = [
        text(&it["client"]),
        text(&it["server"]),
        up_text,
        down_text,
        near_cc,
        near_rtt,
        near_cwnd,
        far_cc,
        far_rtt,
        far_cwnd,
        up_waiting,
        down_waiting,
    ];
    (up + down, line)
}

/// The table once, as text.
pub fn once(address: SocketAddr) -> io::Result<String> {
    let mut before = Before::new();
    let started = Instant::now();
    lines(&ask(address)?, &mut before, Duration::ZERO);
    std::thread::sleep(Duration::from_millis(500));
    let lines = lines(&ask(address)?, &mut before, started.elapsed());
    let rows: Vec<Vec<String>> = lines.into_iter().map(Vec::from).collect();
    let widths = widths(&HEAD, &rows);
    let head = HEAD.map(str::to_owned);
    let text =
        [&head[..]].into_iter().chain(rows.iter().map(Vec::as_slice)).map(|row| written(&HEAD, row, &widths) + "\n");
    Ok(text.collect())
}

/// Number of letters of the longest entry of each column.
fn widths(head: &[&str], rows: &[Vec<String>]) -> Vec<u16> {
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    head.iter().enumerate().map(|(column, name)| name.len().max(longest(column)) as u16).collect()
}

/// Cells of a row, of which numbers end at the right of their column.
fn aligned<'a>(head: &'a [&str], row: &'a [String], widths: &'a [u16]) -> impl Iterator<Item = String> + 'a {
    head.iter().zip(row).zip(widths).map(|((name, cell), width)| {
        let width = usize::from(*width);
        if WORDS.contains(name) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    })
}

fn written(head: &[&str], row: &[String], widths: &[u16]) -> String {
    aligned(head, row, widths).collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

/// Two rows for each connection: what the client's side sends and has, then the server's.
fn narrow(lines: &[Line]) -> Vec<Vec<String>> {
    let rows = lines.iter().flat_map(|line| {
        let [client, server, up, down, near_cc, near_rtt, near_cwnd, far_cc, far_rtt, far_cwnd, up_wait, down_wait] =
            line.clone();
        [
            vec![client, up, near_cc, near_rtt, near_cwnd, up_wait],
            vec![format!("  {server}"), down, far_cc, far_rtt, far_cwnd, down_wait],
        ]
    });
    rows.collect()
}

/// The table in the terminal, every second anew, until `q`.
pub fn live(address: SocketAddr) -> io::Result<()> {
    let first = ask(address)?;
    let mut terminal = ratatui::init();
    let result = refresh(&mut terminal, address, first);
    ratatui::restore();
    result
}

fn refresh(terminal: &mut ratatui::DefaultTerminal, address: SocketAddr, first: Vec<Json>) -> io::Result<()> {
    let (mut before, mut connections, mut looked) = (Before::new(), first, Instant::now());
    let mut elapsed = Duration::ZERO;
    loop {
        let lines = lines(&connections, &mut before, elapsed);
        terminal.draw(|frame| draw(frame, &lines)).map_err(io::Error::other)?;
        while event::poll(Duration::from_secs(1).saturating_sub(looked.elapsed()))? {
            if let Event::Key(key) = event::read()?
                && matches!(key.code, KeyCode::Char('q' | 'c') | KeyCode::Esc)
            {
                return Ok(());
            }
        }
        elapsed = looked.elapsed();
        looked = Instant::now();
        connections = ask(address)?;
    }
}

fn draw(frame: &mut Frame<'_>, lines: &[Line]) {
    let wide: Vec<Vec<String>> = lines.iter().map(|line| line.to_vec()).collect();
    let of_wide = widths(&HEAD, &wide);
    let is_wide = of_wide.iter().map(|width| width + 1).sum::<u16>() <= frame.area().width + 1;
    let (head, rows, mut widths) = if is_wide {
        (&HEAD[..], wide, of_wide)
    } else {
        let rows = narrow(lines);
        let widths = widths(&NARROW_HEAD, &rows);
        (&NARROW_HEAD[..], rows, widths)
    };
    // Of what is too long an address loses its end, not a number.
    let others: u16 = widths[1..].iter().map(|width| width + 1).sum();
    widths[0] = widths[0].min(frame.area().width.saturating_sub(others));
    let names: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let row = |cells: &[String]| Row::new(aligned(head, cells, &widths).map(Cell::from).collect::<Vec<_>>());
    let top = row(&names).style(Style::new().add_modifier(Modifier::REVERSED));
    let rows: Vec<Row<'_>> = rows.iter().map(|cells| row(cells)).collect();
    let table = Table::new(rows, widths.iter().copied().map(Constraint::Length)).header(top);
    frame.render_widget(table, frame.area());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_are_what_was_carried_since_the_last_look() {
        let at = |up: u64| {
            json!({
                "client": "a", "server": "b", "up_bytes": up, "down_bytes": 0, "backlog_bytes": [1500, 500],
                "near": { "congestion": "reno", "rtt_s": 0.01, "cwnd_segments": 10 }, "far": null,
            })
        };
        let mut before = Before::new();
        lines(&[at(1_000_000)], &mut before, Duration::ZERO);
        let lines = lines(&[at(3_500_000)], &mut before, Duration::from_secs(2));
        // 2.5 MB in 2 s are 10 Mbit/s
        assert_eq!(
            (lines[0][2].as_str(), lines[0][5].as_str(), &lines[0][10..]),
            ("10.00", "10.0", &["1.5", "0.5"].map(str::to_owned)[..])
        );
        assert_eq!((lines[0][7].as_str(), before.len()), ("-", 1));
        super::lines(&[], &mut before, Duration::from_secs(1));
        assert!(before.is_empty(), "a connection that is over is forgotten");
    }
    /// The longest names that the kernel has (`TCP_CA_NAME_MAX` is 16 with the NUL) beside IPv6 addresses, and one short connection.
    fn shown(width: u16) -> String {
        let side = |name: &str| json!({ "congestion": name, "rtt_s": 0.1234, "cwnd_segments": 12_345 });
        let connections = [
            json!({
                "client": "[2001:db8::1:2]:50000", "server": "[2001:db8::3:4]:443", "up_bytes": 0, "down_bytes": 0,
                "backlog_bytes": [1_234_500, 0], "near": side("ac_highspeed"), "far": side("ac_a_long_name_"),
            }),
            json!({
                "client": "127.0.0.1:50000", "server": "127.0.0.1:80", "up_bytes": 0, "down_bytes": 0,
                "backlog_bytes": [0, 0], "near": side("bbr3"), "far": null,
            }),
        ];
        let lines = lines(&connections, &mut Before::new(), Duration::ZERO);
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(width, 6)).unwrap();
        terminal.draw(|frame| draw(frame, &lines)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_narrow_terminal_shows_every_number_under_its_head() {
        let text = shown(80);
        let rows: Vec<&str> = text.lines().map(|row| row.trim_matches('"').trim_end()).collect();
        assert_eq!(
            rows[..5],
            [
                "client, server        Mbit/s controller      rtt ms  cwnd wait kB",
                "[2001:db8::1:2]:50000   0.00 ac_highspeed     123.4 12345  1234.5",
                "  [2001:db8::3:4]:443   0.00 ac_a_long_name_  123.4 12345     0.0",
                "127.0.0.1:50000         0.00 bbr3             123.4 12345     0.0",
                "  127.0.0.1:80          0.00 -                  0.0     0     0.0",
            ]
        );
    }

    #[test]
    fn a_wide_terminal_shows_a_connection_in_a_line_and_a_tiny_one_keeps_the_numbers() {
        let wide = shown(160);
        assert!(
            wide.contains("[2001:db8::3:4]:443      0.00 0.00 ac_highspeed  123.4 12345 ac_a_long_name_"),
            "{wide}"
        );
        let tiny = shown(50);
        assert!(tiny.contains("ac_a_long_name_  123.4 12345     0.0"), "{tiny}");
    }
}
