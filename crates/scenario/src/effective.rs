//! A configuration of TCP as the table that would set all of it: what a profile comes to.

use ackclock_tcp::{Autotuning, ClockStep, TcpConfig};
use ackclock_units::{SimDuration, SimTime};

use crate::file::{
    Amount, AutotuningTable, Buffer, ClockStepTable, Duration, Fields, Size, Ssthresh, SwitchOr, TcpTable, TsoTable,
    Word,
};

/// Every switch, said.
pub(crate) fn table_of(config: &TcpConfig) -> TcpTable {
    let segments = |bytes: ackclock_units::Bytes| Amount::Segments(bytes.0 / u64::from(config.mss));
    TcpTable {
        profile: None,
        mss: Some(config.mss),
        sack: Some(config.sack),
        dsack: Some(config.dsack),
        timestamps: Some(config.timestamps),
        paws: Some(config.paws),
        timestamp_granularity: Some(Duration(config.clock.granularity)),
        timestamp_offset: Some(config.clock.offset),
        timestamp_skew_ppm: Some(config.clock.skew_ppm),
        timestamp_step: config.clock.step.map(clock_step),
        window_scaling: Some(config.window_scaling),
        receive_buffer: Some(Buffer::Of(config.receive_buffer)),
        receive_autotuning: Some(autotuning(config.receive_autotuning)),
        send_buffer: Some(Buffer::Of(config.send_buffer)),
        send_autotuning: Some(autotuning(config.send_autotuning)),
        notsent_lowat: config.notsent_lowat.map(Size),
        initial_window: Some(segments(config.initial_window)),
        initial_ssthresh: Some(
            config.initial_ssthresh.map_or(Ssthresh::Infinite, |bytes| Ssthresh::Of(Amount::Bytes(bytes))),
        ),
        counting: Some(Word(config.counting)),
        loss_recovery: Some(Word(config.loss_recovery)),
        loss_detection: Some(Word(config.loss_detection)),
        dup_thresh: Some(config.dup_thresh),
        max_dup_thresh: Some(config.max_dup_thresh),
        growth_on_sack: Some(config.growth_on_sack),
        rack_timestamp_check: Some(config.rack_timestamp_check),
        rack_tlp_slack: Some(Duration(config.rack_tlp_slack)),
        limited_transmit: Some(config.limited_transmit),
        dup_acks_as_sacks: Some(config.dup_acks_as_sacks),
        tlp: Some(config.tlp),
        tlp_max_ack_delay: Some(Duration(config.tlp_max_ack_delay)),
        prr: Some(config.prr),
        decrease_from: Some(Word(config.decrease_from)),
        timeout_in_recovery: Some(Word(config.timeout_in_recovery)),
        growth_at_recovery_end: Some(config.growth_at_recovery_end),
        eifel: Some(config.undo.eifel),
        dsack_undo: Some(config.undo.dsack),
        frto: Some(config.undo.frto),
        ecn: Some(Word(config.ecn.mode)),
        accurate_ecn: Some(config.ecn.accurate),
        ect1: Some(config.ecn.ect1),
        dctcp_feedback: Some(config.ecn.dctcp_feedback),
        delayed_ack: Some(SwitchOr::Table(Fields::all_of(&config.delayed_ack))),
        ack_congestion_control: Some(
            config.ack_control.map_or(SwitchOr::Switch(false), |control| SwitchOr::Table(Fields::all_of(&control))),
        ),
        gro: Some(Duration(config.delayed_ack.gro)),
        rto: Some(Fields::all_of(&config.rto)),
        cwnd_validation: Some(Word(config.cwnd_validation)),
        idle_restart: Some(Word(config.idle_restart)),
        nagle: Some(Word(config.nagle)),
        pacing: Some(if config.pacing.enabled {
            SwitchOr::Table(Fields::all_of(&config.pacing))
        } else {
            SwitchOr::Switch(false)
        }),
        tso: Some(if config.bursts.enabled {
            SwitchOr::Table(TsoTable {
                min_segments: Some(config.bursts.min_segments),
                max_size: Some(Size(ackclock_units::Bytes(u64::from(config.bursts.max_octets)))),
            })
        } else {
            SwitchOr::Switch(false)
        }),
        initial_sequence: Some(config.initial_sequence),
        max_retries: Some(config.max_retries),
        syn_retries: Some(config.syn_retries),
        syn_linear_timeouts: Some(config.syn_linear_timeouts),
        syn_losses_tolerated: Some(config.syn_losses_tolerated),
        user_timeout: Some(Duration(config.user_timeout.unwrap_or(SimDuration::ZERO))),
        user_timeout_from: Some(Word(config.user_timeout_from)),
        zero_window_probe_from: Some(Word(config.zero_window_probe_from)),
    }
}

fn clock_step(step: ClockStep) -> ClockStepTable {
    let by = Some(Duration(step.by));
    ClockStepTable {
        at: Some(Duration(step.at.saturating_since(SimTime::ZERO))),
        forward: by.filter(|_| step.forward),
        back: by.filter(|_| !step.forward),
    }
}

fn autotuning(tuning: Option<Autotuning>) -> SwitchOr<AutotuningTable> {
    tuning.map_or(SwitchOr::Switch(false), |tuning| {
        SwitchOr::Table(AutotuningTable { initial: Some(Size(tuning.initial)), max: Some(Size(tuning.max)) })
    })
}
