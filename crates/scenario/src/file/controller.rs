//! Congestion controllers in a file: those that `cc` declares, and those from elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use ackclock_cc::{ControllerConfig, Stack, controllers};
use ackclock_declare::{Part, Parts, Table};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::chosen::{Chosen, Kind, NameOf, read_content, schema_of};
use super::macros::{kind_schema, kinds_schema, serialize_kind};
use super::{ExternalParameters, PolicyParameters, PythonParameters};

/// The controllers of `cc`.
pub(crate) struct Controllers;

impl Kind for Controllers {
    type Config = ControllerConfig;
    type Extra = Stack;

    const NAME: &'static str = "BuiltInController";

    fn parts() -> &'static Parts<ControllerConfig, Stack> {
        controllers()
    }
}

/// Congestion control; `ackclock list controllers` explains each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Controller {
    /// A controller that `cc` declares.
    BuiltIn(Chosen<Controllers>),
    /// A trained policy, frozen.
    Policy(PolicyParameters),
    /// A class of Python.
    Python(PythonParameters),
    /// A controller of the program that reads the scenario.
    External(ExternalParameters),
}

/// The controller of a flow that names none.
const DEFAULT: &str = "cubic";

impl Default for Controller {
    fn default() -> Self {
        Self::of(DEFAULT)
    }
}

impl Controller {
    /// A controller of `cc` with no field set.
    pub(crate) fn of(name: &str) -> Self {
        Self::BuiltIn(Chosen::of(name))
    }

    /// The TCP stack that the controller's name asks for.
    pub(crate) fn stack(&self) -> Stack {
        match self {
            Self::BuiltIn(chosen) => chosen.part.extra,
            Self::Policy(table) => table.own().stack(),
            Self::Python(_) | Self::External(_) => Stack::ANY,
        }
    }

    /// The word for it in a file.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::BuiltIn(chosen) => chosen.part.about.name,
            Self::Policy(_) => Door::Policy.name(),
            Self::Python(_) => Door::Python.name(),
            Self::External(_) => Door::External.name(),
        }
    }

    /// The controller's name in results.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Python(PythonParameters { class: Some(class), .. }) => format!("python:{class}"),
            Self::External(ExternalParameters { name: Some(name), .. }) => name.clone(),
            _ => self.kind().to_owned(),
        }
    }

    /// The controller, where fields that this leaves unset are as in the tables of a stack profile.
    pub(crate) fn over(&self, profile: &BTreeMap<String, Table>) -> Self {
        match self {
            Self::BuiltIn(chosen) => match profile.get(chosen.part.extra.profile) {
                Some(earlier) => Self::BuiltIn(chosen.over(earlier)),
                None => self.clone(),
            },
            Self::Policy(table) => Self::Policy(table.over(profile)),
            Self::Python(_) | Self::External(_) => self.clone(),
        }
    }
}

/// A controller from outside `cc`.
#[derive(Clone, Copy)]
enum Door {
    Policy,
    Python,
    External,
}

impl Door {
    const ALL: [Self; 3] = [Self::Policy, Self::Python, Self::External];

    fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Python => "python",
            Self::External => "external",
        }
    }
}

/// The thing that a controller's name stands for.
enum Named {
    BuiltIn(&'static Part<ControllerConfig, Stack>),
    Door(Door),
}

impl Named {
    fn find(name: &str) -> Option<Self> {
        let door = || Door::ALL.into_iter().find(|door| door.name() == name).map(Self::Door);
        Controllers::find(name).map(Self::BuiltIn).or_else(door)
    }
}

/// The names of declared controllers, then those from elsewhere; those of a library come last.
fn names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| controllers().names().iter().copied().chain(Door::ALL.map(Door::name)).collect());
    controllers().with_known_names(&NAMES)
}

impl<'de> Deserialize<'de> for Controller {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Controller;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a controller's name, or a table with its kind")
            }
            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Controller, A::Error> {
                let (named, content) = data.variant_seed(NameOf(names(), Named::find))?;
                match named {
                    Named::BuiltIn(part) => read_content(part, content).map(Controller::BuiltIn),
                    Named::Door(Door::Policy) => content.newtype_variant().map(Controller::Policy),
                    Named::Door(Door::Python) => content.newtype_variant().map(Controller::Python),
                    Named::Door(Door::External) => content.newtype_variant().map(Controller::External),
                }
            }
        }
        deserializer.deserialize_enum("Controller", names(), Reads)
    }
}

impl Serialize for Controller {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::BuiltIn(chosen) => chosen.serialize(serializer),
            Self::Policy(table) => serialize_kind(self.kind(), table, serializer),
            Self::Python(table) => serialize_kind(self.kind(), table, serializer),
            Self::External(table) => serialize_kind(self.kind(), table, serializer),
        }
    }
}

impl JsonSchema for Controller {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Controller".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut variants: Vec<Schema> = controllers().iter().map(schema_of).collect();
        variants.push(kind_schema(Door::Policy.name(), PolicyParameters::json_schema(generator)));
        variants.push(kind_schema(Door::Python.name(), PythonParameters::json_schema(generator)));
        variants.push(kind_schema(Door::External.name(), ExternalParameters::json_schema(generator)));
        kinds_schema(variants)
    }
}
