//! Fields that a scenario writes in another form than the configuration holds.

use serde_json::Value as Json;

use crate::field::{Access, Described, Field, described, meaning, with_remedies};
use crate::spec::Spec;
use crate::table::{Context, Mistake};
use crate::value::Value;

/// The written form of a field that a `C` holds in another form: "10 segments" for a window in octets.
pub trait Settles<C>: Value {
    /// The form that `C` holds.
    type Held: Clone + Send + Sync + 'static;

    /// Converts the value to the held form; the fields of `config` before this one have been read.
    fn settle(self, config: &C) -> Self::Held;

    /// Converts `held` to the written form.
    fn unsettle(held: &Self::Held, config: &C) -> Self;
}

impl<C: 'static> Field<C> {
    /// A field that is written as a `T`. Its default is the declared one in every set of defaults.
    pub fn settled<T: Settles<C>>(
        name: &'static str,
        comment: &[&str],
        spec: Spec<T>,
        get: fn(&C) -> &T::Held,
        get_mut: fn(&mut C) -> &mut T::Held,
    ) -> Self {
        Self { name, meaning: meaning(comment), access: Box::new(Settled { spec, get, get_mut }) }
    }
}

struct Settled<C, T: Settles<C>> {
    spec: Spec<T>,
    get: fn(&C) -> &T::Held,
    get_mut: fn(&mut C) -> &mut T::Held,
}

impl<C, T: Settles<C>> Settled<C, T> {
    fn put(&self, config: &mut C, value: T) {
        let held = value.settle(config);
        *(self.get_mut)(config) = held;
    }
}

impl<C, T: Settles<C>> Access<C> for Settled<C, T> {
    fn set(&self, config: &mut C, raw: &Json, context: &Context) -> Vec<Mistake> {
        match self.spec.read(raw, context) {
            Ok(value) => self.put(config, value),
            Err(mistakes) => {
                self.put(config, self.spec.default.clone());
                return with_remedies(mistakes, &self.spec.default.write(), &self.declared());
            }
        }
        Vec::new()
    }

    fn leave_out(&self, config: &mut C, _: &Context) -> Vec<Mistake> {
        self.put(config, self.spec.default.clone());
        Vec::new()
    }

    fn get(&self, config: &C) -> Json {
        T::unsettle((self.get)(config), config).write()
    }

    fn default_in(&self, _: &C) -> Json {
        self.spec.default.write()
    }

    fn is_required(&self) -> bool {
        self.spec.is_required
    }

    fn declared(&self) -> Described {
        described(&self.spec)
    }
}
