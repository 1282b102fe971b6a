//! The choice of a packet's queue: a hash of its flow (for TCP the 5-tuple, here the connection and the direction) and
//! of a perturbation, a number drawn once a run, so that no two flows collide in every run.

use ackclock_units::mix;

use crate::packet::Packet;
use crate::rng::RandomStream;

/// A random number that makes one run's hash differ from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Perturbation(u64);

impl Perturbation {
    /// The next number of the stream.
    pub fn draw(stream: &mut RandomStream) -> Self {
        Self((stream.uniform() * (1_u64 << 53) as f64) as u64)
    }
}

/// The queue of this packet's flow among `buckets`. Flows spread evenly over any number of buckets.
pub fn bucket(packet: &Packet, perturbation: Perturbation, buckets: u32) -> u32 {
    reduce(hash(u64::from(packet.to.number()), perturbation), buckets)
}

/// 64 well-mixed bits of a key.
pub(super) fn hash(key: u64, perturbation: Perturbation) -> u64 {
    mix(key ^ perturbation.0.rotate_left(32)) // a bijection: before `reduce` no two keys collide
}

/// Maps a hash onto `0..buckets` by multiplication, without division.
pub(super) fn reduce(hash: u64, buckets: u32) -> u32 {
    ackclock_units::reduce(hash, u64::from(buckets)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EndpointId;

    fn used(perturbation: Perturbation, flows: u32, buckets: u32) -> usize {
        let packets = (0..flows).map(|endpoint| Packet { to: EndpointId::of_number(endpoint), ..Packet::default() });
        let used: std::collections::BTreeSet<u32> = packets.map(|p| bucket(&p, perturbation, buckets)).collect();
        assert!(used.iter().all(|bucket| *bucket < buckets));
        used.len()
    }

    #[test]
    fn flows_spread_as_balls_thrown_at_random() {
        // 1024 balls into 1024 bins leave 1024/e = 376.7 empty, standard deviation sqrt(n (1/e - 2/e^2)) = 10.0
        let empty = 1024 - used(Perturbation(7), 1024, 1024);
        assert!((337..=417).contains(&empty), "{empty}"); // four standard deviations
    }

    #[test]
    fn the_perturbation_changes_who_collides() {
        let place = |perturbation, endpoint| {
            bucket(&Packet { to: EndpointId::of_number(endpoint), ..Packet::default() }, perturbation, 1024)
        };
        let mut stream = RandomStream::new(1, "hash");
        let (first, second) = (Perturbation::draw(&mut stream), Perturbation::draw(&mut stream));
        let stay = (0..1000).filter(|endpoint| place(first, *endpoint) == place(second, *endpoint)).count();
        assert!(stay < 10, "{stay} of 1000 flows kept their queue: chance alone keeps one");
    }
}
