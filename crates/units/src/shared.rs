//! Equal values, kept once.

use std::sync::Arc;

/// Values of which equal ones are one. Equal values mostly come one after the other, so only the latest are compared.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    latest: Vec<Arc<T>>,
}

/// Number of latest values that are compared.
const LOOKED_AT: usize = 16;

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { latest: Vec::new() }
    }
}

impl<T: PartialEq + Clone> Shared<T> {
    /// This value; the same as before if it is equal to one of the last.
    pub fn get(&mut self, value: &T) -> Arc<T> {
        if let Some(place) = self.latest.iter().rposition(|known| **known == *value) {
            return Arc::clone(&self.latest[place]);
        }
        let new = Arc::new(value.clone());
        if self.latest.len() == LOOKED_AT {
            self.latest.remove(0);
        }
        self.latest.push(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one() {
        let mut shared = Shared::default();
        let (first, other, again) = (shared.get(&"a"), shared.get(&"b"), shared.get(&"a"));
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!((*first, *other), ("a", "b"));
    }

    #[test]
    fn only_the_last_are_looked_at() {
        let mut shared = Shared::default();
        let first = shared.get(&0);
        (1..=LOOKED_AT).for_each(|value| drop(shared.get(&value)));
        assert!(!Arc::ptr_eq(&first, &shared.get(&0)));
        assert_eq!(shared.latest.len(), LOOKED_AT);
    }
}
