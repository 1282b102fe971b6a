//! The accuracy of an integer policy: both of its forms on random flows.
//!
//! Source: none. Flows are drawn so that each observation spans the range of real paths: windows from 2 to 10,000
//! segments, round trips from 1 to 300 ms with queues up to three times that, evenly by the logarithm; losses in one of
//! four intervals. A policy with a memory decides [`IN_A_ROW`] times for each flow, whose window changes by a factor
//! from 0.7 to 1.4 between two decisions, while its least round trip stays. Departures: none.

use ackclock_units::{RandomStream, math};

use super::super::Policy;
use super::super::network::Work;
use super::sight::{self, ONE, Sight};
use super::{Memory, Quantised, action_of};
use crate::action::ActionSpace;
use crate::observation::{Observation, scaled};

/// The decisions for each flow of a policy with a memory.
const IN_A_ROW: u32 = 50;

/// The result of [`Quantised::accuracy`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// The number of decisions of both forms.
    pub decisions: u32,
    /// The number of flows of these decisions.
    pub flows: u32,
    /// The number of differing choices; 0 for values.
    pub differ: u32,
    /// The mean difference of values; 0 for choices.
    pub mean: f64,
    /// The greatest difference of values; 0 for choices.
    pub greatest: f64,
}

impl Quantised {
    /// The differences from the policy in floating point, in `decisions` decisions for random flows.
    pub fn accuracy(&self, policy: &Policy, decisions: u32) -> Accuracy {
        let mut random = RandomStream::new(1, "accuracy");
        let each = if self.image.has_memory() { IN_A_ROW } else { 1 };
        let mut found = Accuracy { decisions, flows: decisions.div_ceil(each), ..Accuracy::default() };
        let (mut work, mut memory, mut path) = (Work::new(), Memory::default(), Path::draw(&mut random));
        let space = policy.config.action.space();
        let mut sum = 0.0;
        for decision in 0..decisions {
            if decision > 0 && decision % each == 0 {
                (work, memory, path) = (Work::new(), Memory::default(), Path::draw(&mut random));
            } else if decision > 0 {
                path.go_on(&mut random);
            }
            let sight = path.see(&mut random);
            let observation: Vec<f32> = self.observed(&sight);
            let real = policy.action(&observation, &mut work);
            let whole = action_of(self.decide(&sight, &mut memory), policy.form, space);
            match space {
                ActionSpace::Discrete(_) => found.differ += u32::from(real.to_bits() != whole.to_bits()),
                ActionSpace::Range(low, high) => {
                    let apart = (real.clamp(low, high) - whole).abs();
                    sum += apart;
                    found.greatest = found.greatest.max(apart);
                }
            }
        }
        found.mean = sum / f64::from(decisions.max(1));
        found
    }

    /// The observations of the catalogue for an input, in floating point.
    fn observed(&self, sight: &Sight) -> Vec<f32> {
        let observed = |place: usize| {
            let code = self.image.code(place);
            let name = sight::NAMES[code as usize];
            let whole = sight::value(code, sight) as f64;
            let value = if name.ends_with("_bps") { whole } else { whole / ONE as f64 };
            let observation = Observation::named(name).expect("each is of the catalogue");
            let shown =
                if self.image.is_scaled() { scaled(value, observation.range.1, observation.scale) } else { value };
            shown as f32
        };
        (0..self.image.inputs as usize).map(observed).collect()
    }
}

fn between(random: &mut RandomStream, low: f64, high: f64) -> f64 {
    low * math::pow(high / low, random.uniform())
}

/// A flow's window in segments, and its least round trip, us.
pub(super) struct Path {
    cwnd: f64,
    least: f64,
}

impl Path {
    pub(super) fn draw(random: &mut RandomStream) -> Self {
        Self { cwnd: between(random, 2.0, 10_000.0), least: between(random, 1_000.0, 300_000.0) }
    }

    pub(super) fn go_on(&mut self, random: &mut RandomStream) {
        self.cwnd = (self.cwnd * between(random, 0.7, 1.4)).clamp(2.0, 10_000.0);
    }

    pub(super) fn see(&self, random: &mut RandomStream) -> Sight {
        seen(random, self.cwnd, self.least)
    }
}

fn seen(random: &mut RandomStream, cwnd: f64, least: f64) -> Sight {
    let q16 = |segments: f64| (segments * ONE as f64) as u64;
    let mean = least * (1.0 + 2.0 * random.uniform() * random.uniform());
    let acked = cwnd * between(random, 0.1, 2.0);
    let interval = mean * between(random, 0.1, 2.0);
    let rate = (acked * 1_448.0 * 8e6 / interval) as u64;
    let has_loss = random.chance(0.25);
    Sight {
        cwnd: q16(cwnd),
        ssthresh: q16(cwnd * random.uniform()),
        threshold: q16(cwnd * random.uniform()),
        acked: q16(acked),
        lost: if has_loss { q16(acked * 0.1 * random.uniform()) } else { 0 },
        delivery_rate: rate,
        max_delivery_rate: (rate as f64 * between(random, 1.0, 2.0)) as u64,
        rtt_us: (mean * between(random, 0.9, 1.1)) as u32,
        srtt_us: mean as u32,
        min_rtt_us: least as u32,
        mean_rtt_us: mean as u32,
        interval_us: interval as u32,
        acks: (acked / 2.0) as u32,
        in_slow_start: 0,
        in_recovery: 0,
    }
}
