//! Stack profiles: named sets of every TCP switch. Each is a file in `profiles/`, with the reason for every value that
//! differs from the default.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ackclock_cc::controllers;
use ackclock_declare::{Context, Table, table_of};
use serde::Deserialize;

use crate::check::check_endpoint;
use crate::de;
use crate::diagnostic::Diagnostics;
use crate::file::{Controller, TcpTable};
use crate::tree::{Node, Origin, Value, parse_toml};

/// The content of one file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    summary: String,
    source: String,
    /// The profile that has what this one does not say.
    like: Option<String>,
    controller_by_default: Option<Controller>,
    tcp: TcpTable,
    /// The values that the stack sets with a switch that is false in `tcp`, by the switch's name.
    #[serde(default)]
    with: BTreeMap<String, TcpTable>,
    why: BTreeMap<String, String>,
    /// The stack's own parameters of controllers.
    #[serde(default)]
    controller: BTreeMap<String, Table>,
}

/// A stack with its switches.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    pub(crate) summary: String,
    pub(crate) source: String,
    /// Congestion control of a flow that names none.
    pub(crate) controller_by_default: Controller,
    pub(crate) tcp: TcpTable,
    /// The values that the stack sets where a scenario turns a switch on, by the switch's name.
    pub(crate) with: BTreeMap<String, TcpTable>,
    /// Reasons by switch; `controller.NAME` has those of a controller's parameters, `with.NAME` those of a switch's
    /// values.
    pub(crate) why: BTreeMap<String, String>,
    /// Parameters of each controller, by its name.
    pub(crate) controllers: BTreeMap<String, Table>,
}

const FILES: [(&str, &str); 12] = [
    ("linux-6.x", include_str!("profiles/linux-6.x.toml")),
    ("linux-7.3", include_str!("profiles/linux-7.3.toml")),
    ("linux-6.12", include_str!("profiles/linux-6.12.toml")),
    ("rfc", include_str!("profiles/rfc.toml")),
    ("windows-11", include_str!("profiles/windows-11.toml")),
    ("macos-15", include_str!("profiles/macos-15.toml")),
    ("freebsd-14", include_str!("profiles/freebsd-14.toml")),
    ("linux-2.4", include_str!("profiles/linux-2.4.toml")),
    ("ns3-3.4x", include_str!("profiles/ns3-3.4x.toml")),
    ("ns2", include_str!("profiles/ns2.toml")),
    ("opnet-17", include_str!("profiles/opnet-17.toml")),
    ("bsd-4.3", include_str!("profiles/bsd-4.3.toml")),
];

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| FILES.iter().map(|(name, text)| read(name, text)).collect());

/// Every profile; the first is the default.
pub(crate) fn profiles() -> &'static [Profile] {
    &PROFILES
}

/// The profile of this name.
pub(crate) fn profile(name: &str) -> Option<&'static Profile> {
    profiles().iter().find(|profile| profile.name == name)
}

impl Profile {
    /// The source of the profile's parameters of a controller.
    pub(crate) fn why_controller(&self, name: &str) -> Option<&str> {
        self.why.get(&format!("controller.{name}")).map(String::as_str)
    }

    /// The value of every switch in the profile.
    pub(crate) fn effective(&self) -> Table {
        let table = TcpTable::of([("profile", self.name.into())]);
        let tree = Node::new(Value::Table(Vec::new()), Origin::Unknown);
        table_of(&check_endpoint(&table, Some(&Controller::default()), &Diagnostics::new("", "", &[], &tree)).0)
    }
}

fn read(name: &'static str, text: &str) -> Profile {
    let tree = parse_toml(text).unwrap_or_else(|_| panic!("profile {name} is TOML"));
    let file: ProfileFile = de::read(&tree).unwrap_or_else(|mistake| panic!("profile {name} is valid: {mistake}"));
    let controllers = file.controller;
    assert!(controllers.iter().all(|(of, table)| is_declared(of, table)), "profile {name} sets what controllers have");
    let is_off = |switch: &String| file.tcp.0.get(switch) == Some(&false.into());
    assert!(file.with.keys().all(is_off), "profile {name} has switches off with which it sets others");
    let ProfileFile { summary, source, like, controller_by_default, tcp, with, why, .. } = file;
    let like = like.map(|base| {
        let found = FILES.iter().find(|(name, _)| *name == base);
        let (base, text) = found.unwrap_or_else(|| panic!("profile {name} is like one that exists"));
        read(base, text)
    });
    let Some(base) = like else {
        let controller_by_default = controller_by_default.unwrap_or_else(|| panic!("profile {name} has a controller"));
        return Profile { name, summary, source, controller_by_default, tcp, with, why, controllers };
    };
    let mut profile = Profile { name, summary, source, ..base };
    profile.controller_by_default = controller_by_default.unwrap_or(profile.controller_by_default);
    profile.tcp.0.extend(tcp.0);
    profile.with.extend(with);
    profile.why.extend(why);
    profile.controllers.extend(controllers);
    profile
}

/// True if the controller with this name in profiles takes these parameters.
fn is_declared(of: &str, table: &Table) -> bool {
    let part = controllers().find(of).filter(|part| part.extra.profile == of);
    let has_fields = |names: &[&str]| table.keys().all(|name| names.contains(&name.as_str()));
    part.is_some_and(|part| has_fields(part.field_names()) && part.read(table, &Context::default()).mistakes.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_value_of_a_profile_has_its_reason_and_no_reason_lacks_a_value() {
        for profile in profiles() {
            let table = serde_json::to_value(&profile.tcp).expect("a table of plain values");
            let switches = table.as_object().expect("a table").keys().cloned();
            let controllers = profile.controllers.keys().map(|name| format!("controller.{name}"));
            let with = profile.with.keys().map(|switch| format!("with.{switch}"));
            let by_default = std::iter::once("controller_by_default".to_owned());
            let said: BTreeSet<String> = switches.chain(controllers).chain(with).chain(by_default).collect();
            let explained: BTreeSet<String> = profile.why.keys().cloned().collect();
            assert_eq!(said, explained, "{}", profile.name);
        }
    }
}
