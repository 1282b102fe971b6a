//! Builds a dumbbell from a few words.
//!
//! It writes the tree of a scenario file, so that the scenario's own check reports mistakes.

use std::collections::BTreeMap;
use std::fmt::Display;

use ackclock_cc::{CongestionController, ExternalConfig, Start};
use ackclock_declare::{About, Library, Part};
use ackclock_net::queue::{ExternalQueueConfig, QueueDiscipline};
use ackclock_net::{MAX_RATE, PartStart, QueueConfig};
use ackclock_scenario::{BlamedField, ControllerRequest, Extensions, Origin, Refusal, Scenario, ScenarioError};
use ackclock_units::{Bandwidth, SimDuration};
use serde_json::{Value, json};

/// A scenario in which flows share one bottleneck and all have the same propagation delay; see [`dumbbell()`].
#[derive(Clone, Debug)]
#[must_use = "a dumbbell becomes a scenario by `build`"]
pub struct Dumbbell {
    bottleneck: String,
    rtt: String,
    /// The controller's name of each flow, and its maker if the program provides it.
    flows: Vec<(String, Option<ExternalConfig>)>,
    duration: String,
    queue: String,
    seed: u64,
    name: Option<String>,
    overrides: Vec<String>,
    library: Library,
}

/// Characters of a scenario's name.
const LONGEST_NAME: usize = 100;

/// Begins a dumbbell: one flow of CUBIC for 50 s over 100 Mbit/s and 60 ms, with a DropTail queue of one bandwidth-delay
/// product, as `ackclock run` without a file and Python's `ackclock.dumbbell()`.
///
/// The whole delay lies on the bottleneck; the access links are a hundred times faster than it, or as fast as links can be, so that
/// only the bottleneck queues.
///
/// ```
/// use ackclock::dumbbell;
///
/// let scenario = dumbbell().flows("reno,reno").set("flow[1].start", "5 s").build()?;
/// assert_eq!(scenario.config().flows[1].name, "reno-2");
///
/// let mistakes = dumbbell().flows("cubik").duration("soon").build().unwrap_err();
/// assert_eq!(mistakes.diagnostics.len(), 2);
/// # Ok::<(), ackclock::ScenarioError>(())
/// ```
pub fn dumbbell() -> Dumbbell {
    Dumbbell {
        bottleneck: "100 Mbit/s".to_owned(),
        rtt: "60 ms".to_owned(),
        flows: Vec::new(),
        duration: "50 s".to_owned(),
        queue: "1 bdp".to_owned(),
        seed: 1,
        name: None,
        overrides: Vec::new(),
        library: Library::default(),
    }
}

impl Dumbbell {
    /// Sets the rate of the bottleneck: "100 Mbit/s", or a [`Bandwidth`].
    pub fn bottleneck(self, rate: impl Display) -> Self {
        Self { bottleneck: rate.to_string(), ..self }
    }

    /// Sets the two-way propagation delay: "60 ms", or a [`SimDuration`].
    pub fn rtt(self, rtt: impl Display) -> Self {
        Self { rtt: rtt.to_string(), ..self }
    }

    /// Adds a flow for each of these controllers, whose names are separated by commas.
    pub fn flows(mut self, controllers: &str) -> Self {
        let names = controllers.split(',').map(str::trim).filter(|name| !name.is_empty());
        self.flows.extend(names.map(|name| (name.to_owned(), None)));
        self
    }

    /// Adds a flow with a custom controller: `make` makes one for either end of each connection.
    ///
    /// ```
    /// use ackclock::{AckEvent, Bytes, CongestionController, CongestionEvent, Run, dumbbell};
    ///
    /// /// Fifty segments in flight, whatever happens.
    /// #[derive(Clone, Debug)]
    /// struct Fifty(Bytes);
    ///
    /// impl CongestionController for Fifty {
    ///     fn on_ack(&mut self, _ack: &AckEvent) {}
    ///     fn on_congestion(&mut self, _event: &CongestionEvent) {}
    ///     fn cwnd(&self) -> Bytes {
    ///         self.0
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), ackclock::Error> {
    /// let scenario = dumbbell().own_flow("fifty", |start| Fifty(Bytes(50 * start.mss.0))).duration("20 s").build()?;
    /// let results = Run::of(&scenario).finish()?;
    /// // 50 segments of 1460 octets in a round trip of 60 ms and a little: 9.73 Mbit/s at most.
    /// let goodput_bps = results.flow("fifty")?.goodput_bps;
    /// assert!((9.5e6..9.74e6).contains(&goodput_bps), "{goodput_bps}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn own_flow<C>(mut self, name: &str, make: impl Fn(&Start) -> C + Send + Sync + 'static) -> Self
    where
        C: CongestionController + Clone + Sync + 'static,
    {
        self.flows.push((name.to_owned(), Some(ExternalConfig::new(name, make))));
        self
    }

    /// Sets a custom queue of this name at the bottleneck: `make` makes it from the rate of the link and a seed.
    pub fn own_queue<Q>(mut self, name: &'static str, make: impl Fn(&PartStart) -> Q + Send + Sync + 'static) -> Self
    where
        Q: QueueDiscipline + Clone + Sync + 'static,
    {
        let config = ExternalQueueConfig::new(name, move |start| Box::new(make(start)));
        let about =
            About { name, aliases: &[], summary: "a queue of the program", source: "its own", departures: "none" };
        self.library.add(Part::of_own_fields(about, (), vec![], move |_| QueueConfig::External(config.clone())));
        self.set("topology.bottleneck.queue", format!("{{ kind = {name:?} }}"))
    }

    /// Sets the simulated time: "50 s", or a [`SimDuration`].
    pub fn duration(self, duration: impl Display) -> Self {
        Self { duration: duration.to_string(), ..self }
    }

    /// Sets the limit of the bottleneck's DropTail queue: "1 bdp", "100 packets", "1 MB", "unlimited".
    pub fn queue(self, limit: impl Display) -> Self {
        Self { queue: limit.to_string(), ..self }
    }

    /// Sets the seed of every random stream.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the name of the scenario; by default it is made from the flows and the bottleneck.
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Sets any field of the scenario format by its path, as `ackclock run --set` takes it:
    /// `.set("flow[0].start", "1 s")`.
    pub fn set(mut self, path: &str, value: impl Display) -> Self {
        self.overrides.push(format!("{path}={value}"));
        self
    }

    /// Builds and checks the scenario. Fails with every mistake at once.
    pub fn build(&self) -> Result<Scenario, ScenarioError> {
        let flows = self.named();
        let own: BTreeMap<String, ExternalConfig> =
            flows.iter().filter_map(|(name, _, own)| Some((name.clone(), own.cloned()?))).collect();
        let extensions = Extensions::new(move |request| find(&own, request)).with_library(&self.library);
        Scenario::from_json_with(&self.document(&flows).to_string(), &self.overrides, &extensions)
    }

    /// The content of the scenario file.
    fn document(&self, flows: &[NamedFlow<'_>]) -> Value {
        let names: Vec<&str> = flows.iter().map(|(name, ..)| name.as_str()).collect();
        let who = if names.len() <= 4 { names.join(", ") } else { format!("{} flows", names.len()) };
        let described = || format!("{who} over {}, {}", self.bottleneck, self.rtt).chars().take(LONGEST_NAME).collect();
        let name: String = self.name.clone().unwrap_or_else(described);
        json!({
            "name": name,
            "duration": self.duration,
            "seed": self.seed,
            "topology": {
                "kind": "dumbbell",
                "access": { "rate": hundredfold(&self.bottleneck), "delay": "0 ms" },
                "bottleneck": {
                    "rate": self.bottleneck,
                    "delay": half(&self.rtt),
                    "queue": { "kind": "drop_tail", "limit": self.queue },
                },
            },
            "flow": flows.iter().map(table).collect::<Vec<_>>(),
        })
    }

    /// The flows, each with a name of its own: `cubic`, or `cubic-1`, `cubic-2` where several have one controller.
    fn named(&self) -> Vec<NamedFlow<'_>> {
        let flows = &self.flows;
        if flows.is_empty() {
            return vec![("cubic".to_owned(), "cubic".to_owned(), None)];
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut named = Vec::with_capacity(flows.len());
        for (stem, own) in flows {
            let number = seen.entry(stem).or_default();
            *number += 1;
            let is_several = flows.iter().filter(|(other, _)| other == stem).count() > 1;
            let name = if is_several { format!("{stem}-{number}") } else { stem.clone() };
            named.push((name, stem.clone(), own.as_ref()));
        }
        named
    }
}

/// A flow's name, its controller's name, and the maker of a controller that the program provides. Such a controller has
/// the name of its flow, so that it is not taken for a built-in one or for another flow's.
type NamedFlow<'a> = (String, String, Option<&'a ExternalConfig>);

fn table((name, controller, own): &NamedFlow<'_>) -> Value {
    let controller = if own.is_some() { json!({ "kind": "external", "name": name }) } else { json!(controller) };
    json!({ "name": name, "controller": controller })
}

/// The controller that the dumbbell has under this name.
fn find(own: &BTreeMap<String, ExternalConfig>, request: &ControllerRequest<'_>) -> Result<ExternalConfig, Refusal> {
    let found = own.get(request.name).filter(|_| request.origin == Origin::Program);
    found.cloned().ok_or_else(|| Refusal {
        field: BlamedField::Name,
        message: "must be a controller that this dumbbell was given".to_owned(),
        remedy: "give it one with own_flow".to_owned(),
    })
}

/// A hundred times this rate, as far as links allow; a text that is not a rate is returned unchanged, for the check to
/// report.
fn hundredfold(rate: &str) -> String {
    let faster = |rate: Bandwidth| Bandwidth(rate.0.saturating_mul(100)).min(MAX_RATE).to_string();
    rate.parse().map_or_else(|_| rate.to_owned(), faster)
}

/// Half of this time; a text that is not a time is returned unchanged, for the check to report.
fn half(rtt: &str) -> String {
    match rtt.parse() {
        Ok(SimDuration(rtt)) if rtt % 2 == 0 => SimDuration(rtt / 2).to_string(),
        Ok(SimDuration(rtt)) => format!("{}.5 ns", rtt / 2),
        Err(_) => rtt.to_owned(),
    }
}
