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

const HEAD: [&str; 11] =
    ["client", "server", "up Mbit/s", "down", "near cc", "rtt ms", "cwnd", "far cc", "rtt ms", "cwnd", "waiting kB"];

const WIDTHS: [u16; 11] = [22, 22, 9, 9, 8, 7, 6, 8, 7, 6, 10];

/// A line of the table.
type Line = [String; 11];

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
    let waiting: f64 = it["backlog_bytes"].as_array().into_iter().flatten().map(number).sum();
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
        format!("{:.1}", waiting / 1e3),
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
    let written = |line: &[String]| -> String {
        let cells = line.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:<width$}", width = usize::from(width)));
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n"
    };
    Ok(written(&HEAD.map(str::to_owned)) + &lines.iter().map(|line| written(line)).collect::<String>())
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
    let head = Row::new(HEAD.map(Cell::from)).style(Style::new().add_modifier(Modifier::REVERSED));
    let rows = lines.iter().map(|line| Row::new(line.clone().map(Cell::from)));
    let table = Table::new(rows, WIDTHS.map(Constraint::Length)).header(head);
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
        assert_eq!((lines[0][2].as_str(), lines[0][5].as_str(), lines[0][10].as_str()), ("10.00", "10.0", "2.0"));
        assert_eq!((lines[0][7].as_str(), before.len()), ("-", 1));
        super::lines(&[], &mut before, Duration::from_secs(1));
        assert!(before.is_empty(), "a connection that is over is forgotten");
    }
}
