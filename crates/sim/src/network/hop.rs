//! Hops of routes, one word each.

use ackclock_net::{HopIndex, LinkId};

use crate::event_queue::MOST_NUMBERS;

/// Next hop of a route, in 32 bits; [`Hop::next`] decodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop(u32);

/// The destination of a packet behind a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The packet enters this link.
    Link(LinkId),
    /// The packet enters this link ahead of time.
    Express(LinkId),
    /// The packet is at its endpoint.
    Endpoint,
}

impl Hop {
    /// The bit of a link that packets enter ahead of time.
    const EXPRESS: u32 = 1 << 31;

    /// The end of a route, which is not a link.
    pub(super) const END: Self = Self(Self::EXPRESS - 1);

    pub(super) fn onto(link: LinkId) -> Self {
        assert!(link.index() < MOST_NUMBERS, "a run has {MOST_NUMBERS} links at most");
        Self(link.index() as u32)
    }

    /// The hop with entry ahead of time.
    pub(super) fn express(self) -> Self {
        Self(self.0 | Self::EXPRESS)
    }

    /// True if the link before the hop `next` is the first of its route; all routes lie one behind the other.
    pub(super) fn is_behind_first(hops: &[Self], next: HopIndex) -> bool {
        next.index().checked_sub(2).is_none_or(|before| hops[before] == Self::END)
    }

    #[inline]
    pub(super) fn next(self) -> Next {
        let link = LinkId::new((self.0 & !Self::EXPRESS) as usize);
        match self {
            Self::END => Next::Endpoint,
            Self(number) if number & Self::EXPRESS > 0 => Next::Express(link),
            Self(_) => Next::Link(link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_says_where_it_leads() {
        let link = LinkId::new(7);
        assert_eq!(Hop::onto(link).next(), Next::Link(link));
        assert_eq!(Hop::onto(link).express().next(), Next::Express(link));
        assert_eq!(Hop::END.next(), Next::Endpoint);
    }
}
