//! The declaration of a struct of parameters.

/// Declares a struct of parameters:
///
/// ```
/// use ackclock_declare::{declare, default, required, unset, words};
/// use ackclock_units::SimDuration;
///
/// words! {
///     /// The delay that counts.
///     #[derive(Default)]
///     pub enum Delay {
///         /// The delay of the forward path.
///         #[default]
///         "forward" = Forward,
///         /// The delay of the round trip.
///         "round_trip" = RoundTrip,
///     }
/// }
///
/// declare! {
///     /// Parameters of a controller that holds a delay.
///     pub struct Config {
///         /// Target of the queueing delay.
///         target: SimDuration = default(SimDuration::from_millis(100))
///             .above(SimDuration::ZERO)
///             .at_most(SimDuration::from_millis(100))
///             .source("RFC 6817 section 2.4.2"),
///         /// Delay that counts.
///         delay: Delay = Delay::Forward,
///         /// Fraction kept on a mark.
///         beta_ecn: Option<f64> = unset("as on a loss").above(0.0).below(1.0),
///     }
///     apart {
///         /// Seed of its random stream.
///         seed: u64 = 0,
///     }
/// }
/// assert_eq!(Config::default().target, SimDuration::from_millis(100));
/// ```
///
/// - A field is `name: Type = default`. More complete forms are `default(...)`, `required(example)` and
///   `unset("effect")`, followed by range, unit and source ([`Spec`](crate::Spec)). Its comment is its meaning, in every
///   table.
/// - `name as "other": Type` has another name in a scenario.
/// - `settled { window: Bytes as Amount = ..., }` are fields that the struct holds in one form and a scenario writes in another
///   ([`Settles`](crate::Settles)).
/// - `within { learning: Learning = ..., }` are declared structs whose fields count as fields of this one.
/// - `apart { ... }` are fields that no scenario names.
/// - `tables { rto: Timer = ..., }` are declared structs that are tables of their own, or options of such.
/// - `switched { pacing: Pacing = ..., }` are such tables that may also be written as true or false
///   ([`Switched`](crate::Switched)).
/// - `bases by variant: Variant = Config::of;` takes the defaults from `of`, a function of the field `variant`, an enum of
///   [`words!`](crate::words).
/// - `settle Config::settle;` derives values from several fields together, given the written ones.
/// - `check |config, review| ...;` reports values that contradict each other, each of them in its range
///   ([`Review`](crate::Review)).
#[macro_export]
macro_rules! declare {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[doc = $doc:literal])+ $field:ident $(as $called:literal)?: $type:ty = $spec:expr,)*
        }
        $(settled {
            $($(#[doc = $settled_doc:literal])+ $settled:ident $(as $settled_called:literal)?: $held:ty as $written:ty =
                $settled_spec:expr,)*
        })?
        $(within { $($(#[doc = $inner_doc:literal])+ $inner:ident: $inner_type:ty = $inner_default:expr,)* })?
        $(tables {
            $($(#[doc = $table_doc:literal])+ $table:ident $(as $table_called:literal)?: $table_type:ty =
                $table_default:expr,)*
        })?
        $(switched {
            $($(#[doc = $switch_doc:literal])+ $switch:ident $(as $switch_called:literal)?: $switch_type:ty =
                $switch_default:expr,)*
        })?
        $(apart { $($(#[doc = $apart_doc:literal])+ $apart:ident: $apart_type:ty = $apart_default:expr,)* })?
        $(bases by $chooser:ident: $chooser_type:ty = $of:path;)?
        $(settle $settle:expr;)?
        $(check $check:expr;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $settled_doc])+ pub $settled: $held,)*)?
            $($($(#[doc = $inner_doc])+ pub $inner: $inner_type,)*)?
            $($($(#[doc = $table_doc])+ pub $table: $table_type,)*)?
            $($($(#[doc = $switch_doc])+ pub $switch: $switch_type,)*)?
            $($($(#[doc = $apart_doc])+ pub $apart: $apart_type,)*)?
        }

        impl $name {
            /// The struct with its declared defaults.
            #[allow(dead_code, reason = "with bases, the first of them is the default")]
            #[allow(unused_mut, clippy::let_and_return, reason = "some have nothing to settle")]
            fn as_declared() -> Self {
                let mut declared = Self {
                    $($field: $crate::Spec::<$type>::from($spec).into_default(),)*
                    $($($settled: <$held>::default(),)*)?
                    $($($inner: $inner_default,)*)?
                    $($($table: $table_default,)*)?
                    $($($switch: $switch_default,)*)?
                    $($($apart: $apart_default,)*)?
                };
                $($(
                    let written = $crate::Spec::<$written>::from($settled_spec).into_default();
                    declared.$settled = $crate::Settles::settle(written, &declared);
                )*)?
                declared
            }
        }

        impl Default for $name {
            fn default() -> Self {
                <Self as $crate::Declared>::base(&$crate::Table::new())
            }
        }

        impl $crate::Declared for $name {
            const SETTLE: Option<$crate::Settle<Self>> = $crate::declare!(@check $($settle)?);
            const CHECK: Option<$crate::Check<Self>> = $crate::declare!(@check $($check)?);

            fn settle_all(&mut self, given: &$crate::Table) {
                $($($crate::Declared::settle_all(&mut self.$inner, given);)*)?
                if let Some(settle) = Self::SETTLE {
                    settle(self, given);
                }
            }

            fn check_all(&self, review: &mut $crate::Review<'_>) {
                $($($crate::Declared::check_all(&self.$inner, review);)*)?
                if let Some(check) = Self::CHECK {
                    check(self, review);
                }
            }

            #[inline(never)]
            fn fields() -> Vec<$crate::Field<Self>> {
                #[allow(unused_mut, reason = "some have no structs within")]
                let mut fields: Vec<$crate::Field<Self>> = vec![
                    $($crate::Field::new(
                        $crate::declare!(@called $field $($called)?),
                        &[$($doc),+],
                        $crate::Spec::<$type>::from($spec),
                        |config: &Self| &config.$field,
                        |config: &mut Self| &mut config.$field,
                    ),)*
                ];
                $($(fields.push($crate::Field::settled::<$written>(
                    $crate::declare!(@called $settled $($settled_called)?),
                    &[$($settled_doc),+],
                    $crate::Spec::<$written>::from($settled_spec),
                    |config: &Self| &config.$settled,
                    |config: &mut Self| &mut config.$settled,
                ));)*)?
                $($(fields.extend(<$inner_type as $crate::Declared>::fields().into_iter().map(|field| {
                    field.within(|config: &Self| &config.$inner, |config: &mut Self| &mut config.$inner)
                }));)*)?
                $($(fields.push($crate::Field::table(
                    $crate::declare!(@called $table $($table_called)?),
                    &[$($table_doc),+],
                    |config: &Self| &config.$table,
                    |config: &mut Self| &mut config.$table,
                ));)*)?
                $($(fields.push($crate::Field::switch(
                    $crate::declare!(@called $switch $($switch_called)?),
                    &[$($switch_doc),+],
                    |config: &Self| &config.$switch,
                    |config: &mut Self| &mut config.$switch,
                ));)*)?
                fields
            }

            #[inline(never)]
            fn bases() -> Vec<$crate::Base<Self>> {
                $crate::declare!(@bases $($chooser, $chooser_type, $of)?)
            }
        }
    };
    (@called $field:ident $called:literal) => { $called };
    (@called $field:ident) => { stringify!($field) };
    (@check $check:expr) => { Some($check) };
    (@check) => { None };
    (@bases) => { vec![$crate::Base { when: None, config: Self::as_declared() }] };
    (@bases $chooser:ident, $chooser_type:ty, $of:path) => {
        <$chooser_type as $crate::Words>::ALL
            .iter()
            .map(|(word, value, _)| $crate::Base { when: Some((stringify!($chooser), *word)), config: $of(*value) })
            .collect()
    };
}
