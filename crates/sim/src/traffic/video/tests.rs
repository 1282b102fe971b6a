use super::*;

const SECOND: u64 = 1_000_000_000;

fn config(choice: VideoChoice, segments: u64) -> VideoConfig {
    VideoConfig {
        ladder: [1, 2, 4].map(|rate| Bandwidth(rate * 1_000_000)).to_vec(),
        segment: SimDuration::from_secs(4),
        length: Some(SimDuration::from_secs(4 * segments)),
        request: Bytes(200),
        buffer: SimDuration::from_secs(20),
        playback: SimDuration::from_secs(4),
        choice,
    }
}

/// Downloads over a link that carries `rate` bit/s without other traffic; returns the bitrates in Mbit/s.
fn download(client: &mut Video, rates: impl Fn(u64) -> u64) -> (Vec<u64>, SimTime) {
    let (mut now, mut chosen) = (SimTime::ZERO, Vec::new());
    for segment in 0.. {
        let asked = now;
        let size = client.ask(now).response;
        chosen.push(size.0 * 8 / 4_000_000);
        now += Bandwidth(rates(segment)).serialization_delay(size);
        match client.on_segment(asked, now, size) {
            Some(next) => now = next,
            None => break,
        }
    }
    (chosen, now)
}

#[test]
fn the_rate_rule_takes_the_highest_bitrate_that_fits() {
    // 3 Mbit/s: after the first segment the mean is 3, so 2 Mbit/s fits and 4 does not. 1 + 9 * 2 = 19, over 10.
    let mut client = Video::new(&config(VideoChoice::Rate { window: 5, safety: 1.0 }, 10));
    let (chosen, end) = download(&mut client, |_| 3_000_000);
    assert_eq!(chosen, [1, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    let summary = client.summary(end);
    assert_eq!((summary.segments, summary.switches, summary.rebufferings), (10, 1, 0));
    assert!((summary.mean_bitrate_bps.expect("segments") - 1.9e6).abs() < 1.0);
    // The first segment is 4 Mbit: 4/3 s.
    assert!((summary.startup_s.expect("it plays") - 4.0 / 3.0).abs() < 1e-6);
}

#[test]
fn the_rate_rule_uses_the_harmonic_mean_of_its_window() {
    // 8 Mbit/s for two segments, then 1 Mbit/s. Of 8, 8 and 1 the harmonic mean is 3 / (1/8 + 1/8 + 1) = 2.4: 2 Mbit/s;
    // with a window of 2, of 8 and 1 it is 2 / 1.125 = 1.78: 1 Mbit/s.
    let rates = |segment| if segment < 2 { 8_000_000 } else { 1_000_000 };
    let chosen = |window| download(&mut Video::new(&config(VideoChoice::Rate { window, safety: 1.0 }, 4)), rates).0;
    assert_eq!(chosen(3), [1, 4, 4, 2]);
    assert_eq!(chosen(2), [1, 4, 4, 1]);
}

#[test]
fn safety_keeps_a_part_of_the_throughput_free() {
    // 0.6 of 3 Mbit/s is 1.8: less than 2.
    let mut client = Video::new(&config(VideoChoice::Rate { window: 5, safety: 0.6 }, 4));
    assert_eq!(download(&mut client, |_| 3_000_000).0, [1, 1, 1, 1]);
}

#[test]
fn the_buffer_rule_climbs_with_the_buffer() {
    // Reservoir 4 s, cushion 12 s: f = 1 + 3 (B - 4) / 12 Mbit/s. The link carries 40 Mbit/s: a segment of rate r takes
    // r/10 s. B is what is left when the next is asked for.
    // 1: 0.1 s, B = 4 (playback begins): the reservoir, so 1. 2: 0.1 s, B = 7.9: f = 1.975 < 2: stays at 1.
    // 3: 0.1 s, B = 11.8: f = 2.95 >= 2: the highest below f, 2. 4: 0.2 s, B = 15.6: f = 3.9 < 4: stays at 2.
    // 5: 0.2 s, B = 19.4 >= 16: 4, but only when there is room for 4 s more: at B = 16, which is where f ends.
    let choice = VideoChoice::Buffer { reservoir: SimDuration::from_secs(4), cushion: SimDuration::from_secs(12) };
    let mut client = Video::new(&config(choice, 7));
    let (chosen, end) = download(&mut client, |_| 40_000_000);
    assert_eq!(chosen, [1, 1, 1, 2, 2, 4, 4]);
    assert_eq!(client.summary(end).switches, 2);
}

#[test]
fn the_buffer_rule_falls_only_when_f_passes_the_next_lower_bitrate() {
    let choice = VideoChoice::Buffer { reservoir: SimDuration::from_secs(4), cushion: SimDuration::from_secs(12) };
    let mut client = Video::new(&config(choice, 9));
    client.rung = 2;
    // f <= 2 means B <= 8 s, where the lowest bitrate above f is 2 at f < 2.
    for (level, rung) in [(15.9, 2), (8.1, 2), (7.9, 1), (4.0, 0)] {
        client.buffer.level = SimDuration::from_secs_f64(level);
        assert_eq!(client.choose(), rung, "{level}");
    }
}

#[test]
fn rebuffering_is_the_time_without_a_segment() {
    // Lowest bitrate 1 Mbit/s over 0.8 Mbit/s: a segment of 4 s takes 5 s. The first begins playback at 5 s; it lasts to
    // 9 s; the second comes at 10 s, lasts to 14 s; and so on: 1 s of standstill before each of the three others.
    let mut client = Video::new(&config(VideoChoice::Rate { window: 5, safety: 1.0 }, 4));
    let (chosen, end) = download(&mut client, |_| 800_000);
    assert_eq!((chosen, end), (vec![1, 1, 1, 1], SimTime(20 * SECOND)));
    let summary = client.summary(SimTime(30 * SECOND)); // long after the video is over
    assert_eq!((summary.rebufferings, summary.startup_s), (3, Some(5.0)));
    assert!((summary.rebuffering_s - 3.0).abs() < 1e-9);
    // From 5 s to 24 s, when the last has been played.
    assert!((summary.rebuffering_ratio.expect("it played") - 3.0 / 19.0).abs() < 1e-9);
}

#[test]
fn the_last_segment_is_what_is_left_of_the_video() {
    // 10 s in segments of 4 s: 4, 4 and 2 s of 1 Mbit/s, over 1 Mbit/s. All is there after 10 s, and played by 14 s.
    let mut client = Video::new(&config(VideoChoice::Rate { window: 5, safety: 0.5 }, 2));
    client.config.length = Some(SimDuration::from_secs(10));
    let (chosen, end) = download(&mut client, |_| 1_000_000);
    assert_eq!((chosen.len(), end), (3, SimTime(10 * SECOND)));
    let summary = client.summary(SimTime(100 * SECOND));
    assert_eq!((summary.segments, summary.rebufferings, client.got_time), (3, 0, SimDuration::from_secs(10)));
    assert!((summary.mean_bitrate_bps.expect("segments") - 1e6).abs() < 1e-6);
    client.buffer.advance(SimTime(100 * SECOND));
    assert_eq!(client.buffer.over, Some(SimTime(14 * SECOND)));
}
