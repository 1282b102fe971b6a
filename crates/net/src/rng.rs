//! Random streams, which controllers use too.

pub use ackclock_units::RandomStream;
