//! The plug-in's side of the boundary.

mod agent;
mod controller;
mod effect;
mod queue;
mod source;

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use ackclock_agent::{ExternalObservationConfig, ExternalRewardConfig};
use ackclock_cc::{ControllerConfig, Setting, Stack};
use ackclock_declare::{About, Context, Crossing, FieldInfo, Json, LinkContext, Mistake, Part, Reading, Table};
use ackclock_net::{ExternalEffectConfig, QueueConfig};
use ackclock_sim::ExternalSourceConfig;
use ackclock_units::{Bandwidth, Bytes, SimDuration};
use serde_json::json;

use crate::abi::{self, Sink, Status, Text};
use crate::plugin::{AnyPart, Plugin};

static PLUGIN: OnceLock<Plugin> = OnceLock::new();

static TABLE: abi::Table = abi::Table {
    version: abi::VERSION,
    describe,
    canonical,
    read,
    drop_config,
    take_panic,
    controller: controller::TABLE,
    queue: queue::TABLE,
    effect: effect::TABLE,
    source: source::TABLE,
    agent: agent::TABLE,
};

/// Configuration of a part with its parameters.
pub(crate) enum Config {
    Controller(ControllerConfig),
    Queue(QueueConfig),
    Effect(ExternalEffectConfig),
    Source(ExternalSourceConfig),
    Observation(ExternalObservationConfig),
    Reward(ExternalRewardConfig),
}

/// The table of a plug-in; a library has one.
pub fn table(make: fn() -> Plugin) -> *const abi::Table {
    match catch_unwind(|| PLUGIN.get_or_init(make)) {
        Ok(_) => &raw const TABLE,
        Err(_) => std::ptr::null(),
    }
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls `work`; if it panics, stores the message and returns `None`.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| PANIC.set(message_of(payload.as_ref()))).ok()
}

/// Same as [`guarded`], for work without a result.
pub(crate) fn status_of(work: impl FnOnce()) -> Status {
    guarded(work).map_or(Status::Panicked, |()| Status::Done)
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

extern "C" fn take_panic(out: Sink) {
    out.put(&PANIC.take());
}

fn part(number: u32) -> &'static AnyPart {
    let plugin = PLUGIN.get().expect("the table came from `table`");
    &plugin.parts[number as usize]
}

extern "C" fn describe(out: Sink) -> Status {
    status_of(|| {
        let parts = &PLUGIN.get().expect("the table came from `table`").parts;
        out.put(&Json::from(parts.iter().map(description).collect::<Vec<_>>()).to_string());
    })
}

fn description(part: &AnyPart) -> Json {
    match part {
        AnyPart::Controller(part) => described("controller", part, &part.extra),
        AnyPart::Queue(part) => described("queue", part, &Stack::ANY),
        AnyPart::Effect(part) => described("effect", part, &Stack::ANY),
        AnyPart::Source(part) => described("source", part, &Stack::ANY),
        AnyPart::Reward(part) => described("reward", part, &Stack::ANY),
        AnyPart::Observation(part, range) => {
            let mut described = described("observation", part, &Stack::ANY);
            described["range"] = range.describe();
            described
        }
    }
}

fn described<C: 'static, X>(kind: &str, part: &Part<C, X>, stack: &Stack) -> Json {
    let About { name, aliases: _, summary, source, departures } = part.about;
    let fields: Vec<Json> = part.fields.iter().map(FieldInfo::describe).collect();
    json!({
        "kind": kind, "name": name, "summary": summary, "source": source, "departures": departures,
        "fields": fields, "stack": stack_json(stack),
    })
}

fn stack_json(stack: &Stack) -> Json {
    let value = |setting: Setting| match setting {
        Setting::Switch(on) => Json::from(on),
        Setting::Word(word) => Json::from(word),
    };
    let sets: Vec<Json> = stack.sets.iter().map(|(switch, setting)| json!([switch, value(*setting)])).collect();
    let needs = stack.needs.iter().map(|need| json!([need.switch, value(need.setting), need.why, need.remedy]));
    json!({ "loss_recovery": stack.loss_recovery, "sets": sets, "needs": needs.collect::<Vec<_>>(), "profile": stack.profile })
}

fn fields(part: &AnyPart) -> &[FieldInfo] {
    match part {
        AnyPart::Controller(part) => &part.fields,
        AnyPart::Queue(part) => &part.fields,
        AnyPart::Effect(part) => &part.fields,
        AnyPart::Source(part) => &part.fields,
        AnyPart::Observation(part, _) => &part.fields,
        AnyPart::Reward(part) => &part.fields,
    }
}

extern "C" fn canonical(number: u32, field: u32, raw: Text, out: Sink) -> Status {
    let done = guarded(|| {
        // SAFETY: the host keeps its texts alive during the call.
        let raw: Json = serde_json::from_str(unsafe { raw.read() }).unwrap_or_default();
        match fields(part(number))[field as usize].read(&raw) {
            Ok(value) => {
                out.put(&value.to_string());
                Status::Done
            }
            Err(message) => {
                out.put(&message);
                Status::Nothing
            }
        }
    });
    done.unwrap_or(Status::Panicked)
}

extern "C" fn read(number: u32, table: Text, context: Text, mistakes: Sink) -> *mut c_void {
    let read = guarded(|| {
        // SAFETY: the host keeps its texts alive during the call.
        let (table, context) = unsafe { (table.read(), context.read()) };
        let table: Table = serde_json::from_str(table).unwrap_or_default();
        let context = context_of(&serde_json::from_str(context).unwrap_or_default());
        let Reading { config, mistakes: found } = match part(number) {
            AnyPart::Controller(part) => configured(part.read(&table, &context), Config::Controller),
            AnyPart::Queue(part) => configured(part.read(&table, &context), Config::Queue),
            AnyPart::Effect(part) => configured(part.read(&table, &context), Config::Effect),
            AnyPart::Source(part) => configured(part.read(&table, &context), Config::Source),
            AnyPart::Observation(part, _) => configured(part.read(&table, &context), Config::Observation),
            AnyPart::Reward(part) => configured(part.read(&table, &context), Config::Reward),
        };
        mistakes.put(&Json::from(found.iter().map(mistake_json).collect::<Vec<_>>()).to_string());
        Box::into_raw(Box::new(config)).cast()
    });
    read.unwrap_or(std::ptr::null_mut())
}

fn configured<C>(reading: Reading<C>, into: fn(C) -> Config) -> Reading<Config> {
    Reading { config: into(reading.config), mistakes: reading.mistakes }
}

fn mistake_json(mistake: &Mistake) -> Json {
    json!([mistake.field, mistake.message, mistake.remedy, mistake.is_of_rule])
}

/// The context as [`crate::host`] writes it.
fn context_of(json: &Json) -> Context {
    let number = |value: &Json| value.as_u64().unwrap_or_default();
    let link = json.get("link").filter(|link| link.is_object()).map(|link| {
        let crossing = link.get("crossing").filter(|crossing| crossing.is_object()).map(|crossing| Crossing {
            rtt: crossing["rtt"].as_u64().map(SimDuration),
            largest_packet: Bytes(number(&crossing["largest_packet"])),
            flows: [].into(),
        });
        LinkContext { rate: Bandwidth(number(&link["rate"])), default_limit: link["default_limit"].clone(), crossing }
    });
    Context { mss: number(&json["mss"]), link }
}

extern "C" fn drop_config(config: *mut c_void) {
    // SAFETY: it is what `read` returned, and is freed once.
    let config = unsafe { Box::from_raw(config.cast::<Config>()) };
    guarded(|| drop(config));
}

/// A configuration that `read` returned.
///
/// # Safety
///
/// The pointer is one that `read` returned, and it has not been freed.
pub(crate) unsafe fn config<'a>(config: *const c_void) -> &'a Config {
    // SAFETY: as above.
    unsafe { &*config.cast::<Config>() }
}
