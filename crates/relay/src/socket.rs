//! What an operating system does by itself: both socket buffers fill up.

use crate::discipline::Orders;
use crate::readings::Readings;

/// No discipline but the sizes of the buffers.
#[derive(Clone, Copy, Debug)]
pub struct Socket;

impl Socket {
    pub(crate) fn update(self, _readings: &Readings) -> Orders {
        Orders::default()
    }
}
