//! The declarations of a plug-in's parts, and the reading of their tables.

use std::ffi::c_void;
use std::sync::Arc;

use ackclock_agent::{
    ExternalObservation, ExternalObservationConfig, ExternalReward, ExternalRewardConfig, ObservationRange,
};
use ackclock_cc::{ControllerConfig, ExternalConfig, Need, Setting, Stack};
use ackclock_declare::{About, Context, FieldInfo, Json, Library, Mistake, Part, Reading, Table};
use ackclock_net::queue::{ExternalQueue, ExternalQueueConfig};
use ackclock_net::{ExternalEffect, ExternalEffectConfig, PartStart, QueueConfig};
use ackclock_sim::{ExternalSource, ExternalSourceConfig, SourceStart};
use serde_json::json;

use super::agent::PluginNumber;
use super::controller::PluginController;
use super::effect::PluginEffect;
use super::queue::PluginQueue;
use super::source::PluginSource;
use super::{LoadError, Origin, message_of, refused};
use crate::abi::{self, Sink, Status, Text};

/// A configuration that a plug-in has made, freed with its last user.
#[derive(Debug)]
pub(super) struct Config {
    origin: Origin,
    pointer: *mut c_void,
}

// SAFETY: a configuration is never changed, and those of a plug-in are `Send` and `Sync` (its traits ask for both).
unsafe impl Send for Config {}
// SAFETY: as above.
unsafe impl Sync for Config {}

impl Config {
    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    pub(super) fn pointer(&self) -> *const c_void {
        self.pointer
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        (self.origin.table.drop_config)(self.pointer);
    }
}

/// The library of the parts that a plug-in describes.
pub(super) fn library(table: &'static abi::Table) -> Result<Library, LoadError> {
    let mut text = String::new();
    if (table.describe)(Sink::into(&mut text)) != Status::Done {
        return Err(refused(format!("panicked when it described its parts: {}", message_of(table)), "mend it"));
    }
    let parts: Vec<Json> = serde_json::from_str(&text).unwrap_or_default();
    let mut library = Library::default();
    for (number, part) in (0..).zip(&parts) {
        add(&mut library, table, number, part);
    }
    if library.is_empty() {
        return Err(refused("has no parts", "add a controller or a queue to its Plugin"));
    }
    Ok(library)
}

fn add(library: &mut Library, table: &'static abi::Table, number: u32, part: &Json) {
    let about = About {
        name: kept(&part["name"]),
        aliases: &[],
        summary: kept(&part["summary"]),
        source: kept(&part["source"]),
        departures: kept(&part["departures"]),
    };
    let origin = Origin { table, part: number, name: about.name };
    let fields = fields(origin, &part["fields"]);
    match part["kind"].as_str() {
        Some("controller") => library.add(declared(origin, about, stack(&part["stack"]), fields, |config| {
            let name = config.origin().name;
            ControllerConfig::External(ExternalConfig::new(name, move |start| PluginController::new(&config, start)))
        })),
        Some("queue") => library.add(declared(origin, about, (), fields, |config| {
            let make = move |start: &PartStart| Box::new(PluginQueue::new(&config, start)) as Box<dyn ExternalQueue>;
            QueueConfig::External(ExternalQueueConfig::new(origin.name, make))
        })),
        Some("effect") => library.add(declared(origin, about, (), fields, |config| {
            let make = move |start: &PartStart| Box::new(PluginEffect::new(&config, start)) as Box<dyn ExternalEffect>;
            ExternalEffectConfig::new(origin.name, make)
        })),
        Some("source") => library.add(declared(origin, about, (), fields, |config| {
            let make =
                move |start: &SourceStart| Box::new(PluginSource::new(&config, start)) as Box<dyn ExternalSource>;
            ExternalSourceConfig::new(origin.name, make)
        })),
        Some("observation") => {
            let range = ObservationRange::of_description(&part["range"]);
            library.add(declared(origin, about, (), fields, move |config| {
                let make = move || Box::new(PluginNumber::new(&config, "value")) as Box<dyn ExternalObservation>;
                ExternalObservationConfig::new(origin.name, range, make)
            }));
        }
        Some("reward") => library.add(declared(origin, about, (), fields, |config| {
            let make = move |(): &()| Box::new(PluginNumber::new(&config, "reward")) as Box<dyn ExternalReward>;
            ExternalRewardConfig::new(origin.name, make)
        })),
        _ => {} // a kind of a later release
    }
}

fn declared<C: 'static, X>(
    origin: Origin,
    about: About,
    extra: X,
    fields: Vec<FieldInfo>,
    into: impl Fn(Arc<Config>) -> C + Send + Sync + 'static,
) -> Part<C, X> {
    Part::described(about, extra, fields, move |table, context| {
        let (config, mistakes) = read(origin, table, context);
        Reading { config: into(Arc::new(config)), mistakes }
    })
}

/// A text of a plug-in with the program's lifetime, which is also the plug-in's.
fn kept(text: &Json) -> &'static str {
    text.as_str().unwrap_or_default().to_owned().leak()
}

fn fields(origin: Origin, described: &Json) -> Vec<FieldInfo> {
    let described = described.as_array().map_or(&[][..], Vec::as_slice);
    let field = |(number, field): (u32, &Json)| {
        FieldInfo::of_description(field, Arc::new(move |raw: &Json| canonical(origin, number, raw)))
    };
    (0..).zip(described).map(field).collect()
}

fn canonical(origin: Origin, field: u32, raw: &Json) -> Result<Json, String> {
    let (raw, mut out) = (raw.to_string(), String::new());
    let status = (origin.table.canonical)(origin.part, field, Text::of(&raw), Sink::into(&mut out));
    if origin.expect(status, "reading") {
        serde_json::from_str(&out).map_err(|error| error.to_string())
    } else {
        Err(out)
    }
}

fn read(origin: Origin, table: &Table, context: &Context) -> (Config, Vec<Mistake>) {
    let (table, context) = (Json::Object(table.clone()).to_string(), context_json(context).to_string());
    let mut out = String::new();
    let pointer = (origin.table.read)(origin.part, Text::of(&table), Text::of(&context), Sink::into(&mut out));
    let config = Config { origin, pointer: origin.made(pointer, "reading") };
    let mistakes: Vec<(String, String, String, bool)> = serde_json::from_str(&out).unwrap_or_default();
    let mistake = |(field, message, remedy, is_of_rule): (String, String, String, bool)| Mistake {
        is_of_rule,
        field,
        ..Mistake::new(message, remedy)
    };
    (config, mistakes.into_iter().map(mistake).collect())
}

fn context_json(context: &Context) -> Json {
    let link = context.link.as_ref().map(|link| {
        let crossing = link.crossing.as_ref().map(
            |crossing| json!({ "rtt": crossing.rtt.map(|rtt| rtt.0), "largest_packet": crossing.largest_packet.0 }),
        );
        json!({ "rate": link.rate.0, "default_limit": link.default_limit, "crossing": crossing })
    });
    json!({ "mss": context.mss, "link": link })
}

fn stack(described: &Json) -> Stack {
    let items = |key: &str| described[key].as_array().cloned().unwrap_or_default();
    let value = |value: &Json| value.as_bool().map_or_else(|| Setting::Word(kept(value)), Setting::Switch);
    let sets: Vec<_> = items("sets").iter().map(|item| (kept(&item[0]), value(&item[1]))).collect();
    let need = |item: &Json| Need {
        switch: kept(&item[0]),
        setting: value(&item[1]),
        why: kept(&item[2]),
        remedy: kept(&item[3]),
    };
    Stack {
        loss_recovery: described["loss_recovery"].as_str().map(|_| kept(&described["loss_recovery"])),
        sets: sets.leak(),
        needs: items("needs").iter().map(need).collect::<Vec<_>>().leak(),
        profile: kept(&described["profile"]),
        telemetry: false,
    }
}
