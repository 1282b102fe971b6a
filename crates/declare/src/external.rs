//! The creation of external parts.

use std::fmt;
use std::sync::Arc;

/// A name for results, and a function that makes a `T` from an `S`. Two are equal if they are clones of one.
pub struct External<S, T: ?Sized> {
    name: Arc<str>,
    make: Arc<Make<S, T>>,
}

type Make<S, T> = dyn Fn(&S) -> Box<T> + Send + Sync;

impl<S, T: ?Sized> External<S, T> {
    /// A part with the name `name`, which `make` creates.
    pub fn new(name: &str, make: impl Fn(&S) -> Box<T> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), make: Arc::new(make) }
    }

    /// The name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates a part.
    pub fn make(&self, start: &S) -> Box<T> {
        (self.make)(start)
    }
}

impl<S, T: ?Sized> Clone for External<S, T> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), make: Arc::clone(&self.make) }
    }
}

impl<S, T: ?Sized> PartialEq for External<S, T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<S, T: ?Sized> fmt::Debug for External<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("External").field(&self.name).finish()
    }
}

/// A trait `$external` for every type with the trait `$part` that can be cloned and shared between threads; a box of it
/// can be cloned.
#[macro_export]
macro_rules! external {
    ($(#[$meta:meta])* $external:ident: $part:ident) => {
        $(#[$meta])*
        pub trait $external: $part + Sync {
            /// A clone with the same state: a simulation can be cloned while it runs.
            fn boxed_clone(&self) -> Box<dyn $external>;
        }

        impl<T: $part + Sync + Clone + 'static> $external for T {
            fn boxed_clone(&self) -> Box<dyn $external> {
                Box::new(self.clone())
            }
        }

        impl Clone for Box<dyn $external> {
            fn clone(&self) -> Self {
                self.as_ref().boxed_clone()
            }
        }
    };
}
