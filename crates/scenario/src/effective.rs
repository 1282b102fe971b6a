//! A configuration of TCP as the table that would set all of it: what a profile comes to.

use ackclock_tcp::{Autotuning, ClockStep, TcpConfig};
use ackclock_units::{SimDuration, SimTime};

use crate::file::{
    AckControlTable, Amount, AutotuningTable, Buffer, ClockStepTable, DelayedAckTable, Duration, PacingTable, RtoTable,
    Size, Ssthresh, SwitchOr, TcpTable, TsoTable,
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
        counting: Some(config.counting.into()),
        loss_recovery: Some(config.loss_recovery.into()),
        loss_detection: Some(config.loss_detection.into()),
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
        decrease_from: Some(config.decrease_from.into()),
        timeout_in_recovery: Some(config.timeout_in_recovery.into()),
        growth_at_recovery_end: Some(config.growth_at_recovery_end),
        eifel: Some(config.undo.eifel),
        dsack_undo: Some(config.undo.dsack),
        frto: Some(config.undo.frto),
        ecn: Some(config.ecn.mode.into()),
        accurate_ecn: Some(config.ecn.accurate),
        ect1: Some(config.ecn.ect1),
        dctcp_feedback: Some(config.ecn.dctcp_feedback),
        delayed_ack: Some(SwitchOr::Table(DelayedAckTable {
            segments: Some(config.delayed_ack.segments),
            timeout: Some(Duration(config.delayed_ack.timeout)),
            quickacks: Some(config.delayed_ack.quickacks),
            adaptive: Some(config.delayed_ack.adaptive),
            count_octets: Some(config.delayed_ack.count_octets),
            interactive: Some(config.delayed_ack.interactive),
            delay_fin: Some(config.delayed_ack.delay_fin),
        })),
        ack_congestion_control: Some(config.ack_control.map_or(SwitchOr::Switch(false), |control| {
            SwitchOr::Table(AckControlTable { max_ratio: Some(u32::from(control.max_ratio)) })
        })),
        gro: Some(Duration(config.delayed_ack.gro)),
        rto: Some(rto(config)),
        cwnd_validation: Some(config.cwnd_validation.into()),
        idle_restart: Some(config.idle_restart.into()),
        nagle: Some(config.nagle.into()),
        pacing: Some(if config.pacing.enabled {
            SwitchOr::Table(PacingTable {
                slow_start_ratio: Some(config.pacing.slow_start_ratio),
                avoidance_ratio: Some(config.pacing.avoidance_ratio),
            })
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
        user_timeout_from: Some(config.user_timeout_from.into()),
        zero_window_probe_from: Some(config.zero_window_probe_from.into()),
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

fn rto(config: &TcpConfig) -> RtoTable {
    let rto = &config.rto;
    RtoTable {
        estimator: Some(rto.estimator.into()),
        initial: Some(Duration(rto.initial)),
        min: Some(Duration(rto.min)),
        max: Some(Duration(rto.max)),
        rtt_gain: Some(rto.rtt_gain),
        deviation_gain: Some(rto.deviation_gain),
        deviation_weight: Some(rto.deviation_weight),
        granularity: Some(Duration(rto.granularity)),
        karn: Some(rto.karn),
        sample: Some(rto.sample.into()),
        sack_samples: Some(rto.sack_samples),
        restart_on_sack: Some(rto.restart_on_sack),
        restart_on_retransmission: Some(rto.restart_on_retransmission),
        resume_from: Some(rto.resume_from.into()),
        after_lost_syn: Some(Duration(rto.after_lost_syn)),
        rounding: Some(rto.rounding.into()),
        first_sample: Some(rto.first_sample.into()),
        tick_offset: Some(Duration(rto.tick_offset)),
    }
}
