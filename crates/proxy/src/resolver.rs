//! Names of servers are resolved again while the proxy runs, off the threads that carry connections.
//!
//! `getaddrinfo(3)` uses what this host does for names (files, DNS and others) and tells no time to live, so that each listener has
//! an interval. A name that cannot be resolved keeps the addresses that it had. Each question has a thread of its own while it
//! takes: one that nobody answers delays no other.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::app::Active;
use crate::config::{duration, leads_back};
use crate::service::Service;
use crate::upstream::Change;

/// Pause between two looks for names that are due.
const GLANCE: Duration = Duration::from_millis(100);

/// Largest number of questions at a time.
const MOST: usize = 16;

/// Answer of the host's resolver.
type Answer = io::Result<Vec<SocketAddr>>;

/// A name of a listener, which the listener's address stands for.
type Key = (SocketAddr, String);

/// Listeners with their addresses.
type Services = Vec<(SocketAddr, Arc<Service>)>;

/// Resolves the names of these listeners' servers from now on.
pub fn look_after(active: Arc<Mutex<Vec<Active>>>) -> io::Result<()> {
    thread::Builder::new().name("names".to_owned()).spawn(move || {
        let mut resolver = Resolver::new(Arc::new(|name| Ok(name.to_socket_addrs()?.collect())));
        loop {
            let services: Services = {
                let active = active.lock().unwrap_or_else(PoisonError::into_inner);
                active.iter().map(|active| (active.address, Arc::clone(&active.service))).collect()
            };
            resolver.turn(&services, Instant::now());
        }
    })?;
    Ok(())
}

/// Reason for which an answer is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Unresolved,
    LeadsBack,
}

/// A name at work.
#[derive(Debug)]
struct Name {
    /// Time of the last question, or of the name's first sight.
    asked_at: Instant,
    is_asking: bool,
    problem: Option<Problem>,
    /// The listener that it was last asked for. After a reload it is another, whose addresses may be older than an answer to this one.
    service: Weak<Service>,
}

/// Questions and answers about names.
struct Resolver {
    resolve: Arc<dyn Fn(&str) -> Answer + Send + Sync>,
    names: HashMap<Key, Name>,
    sender: Sender<(Key, Answer)>,
    answers: Receiver<(Key, Answer)>,
}

impl Resolver {
    fn new(resolve: Arc<dyn Fn(&str) -> Answer + Send + Sync>) -> Self {
        let (sender, answers) = channel();
        Self { resolve, names: HashMap::new(), sender, answers }
    }

    /// Asks what is due, and takes the answers of a while.
    fn turn(&mut self, services: &Services, now: Instant) {
        self.ask_due(services, now);
        let first = self.answers.recv_timeout(GLANCE);
        let answers: Vec<_> = first.into_iter().chain(self.answers.try_iter()).collect();
        for (key, answer) in answers {
            if let Some((_, service)) = services.iter().find(|(address, _)| *address == key.0) {
                self.take(&key, answer, service);
            }
        }
    }

    fn ask_due(&mut self, services: &Services, now: Instant) {
        let mut wanted: HashMap<Key, (Duration, &Arc<Service>)> = HashMap::new();
        for (address, service) in services {
            let interval = duration(service.listener.listen.resolve_interval);
            let names = service.upstreams.known().into_keys();
            wanted.extend(names.map(|name| ((*address, name), (interval, service))));
        }
        self.names.retain(|key, name| wanted.contains_key(key) || name.is_asking);
        let mut room = MOST.saturating_sub(self.names.values().filter(|name| name.is_asking).count());
        for (key, (interval, service)) in wanted {
            // The configuration has just been read, and its names resolved.
            let service = Arc::downgrade(service);
            let new = || Name { asked_at: now, is_asking: false, problem: None, service: Weak::clone(&service) };
            let name = self.names.entry(key.clone()).or_insert_with(new);
            let is_due = now.saturating_duration_since(name.asked_at) >= interval;
            if room > 0 && !name.is_asking && (is_due || !name.service.ptr_eq(&service)) {
                room -= 1;
                (name.asked_at, name.service) = (now, service);
                name.is_asking = ask(&self.resolve, key, &self.sender).is_ok();
            }
        }
    }

    fn take(&mut self, key: &Key, answer: Answer, service: &Service) {
        let Some(name) = self.names.get_mut(key) else { return };
        name.is_asking = false;
        let (listener, host) = (&service.listener.name, &key.1);
        let had = name.problem;
        let addresses = match answer {
            Ok(found) if found.iter().any(|address| leads_back(*address, &service.listener.own)) => {
                name.problem = Some(Problem::LeadsBack);
                if had != name.problem {
                    tracing::warn!(listener, name = host, "a name leads back to this proxy; its known addresses stay");
                }
                return;
            }
            Ok(found) if !found.is_empty() => found,
            other => {
                name.problem = Some(Problem::Unresolved);
                if had != name.problem {
                    let error = other.err().map_or_else(|| "no addresses".to_owned(), |error| error.to_string());
                    tracing::warn!(
                        listener,
                        name = host,
                        error,
                        "a name can no longer be resolved; its known addresses stay"
                    );
                }
                return;
            }
        };
        name.problem = None;
        if had.is_some() {
            tracing::info!(listener, name = host, "a name is resolved again");
        }
        let Change { added, removed } = service.upstreams.resolve(host, &addresses);
        if !added.is_empty() || !removed.is_empty() {
            tracing::info!(
                listener,
                name = host,
                added = %listed(&added),
                removed = %listed(&removed),
                "a name has other addresses"
            );
        }
    }
}

/// Asks in a thread of its own.
fn ask(
    resolve: &Arc<dyn Fn(&str) -> Answer + Send + Sync>,
    key: Key,
    sender: &Sender<(Key, Answer)>,
) -> io::Result<()> {
    let (resolve, sender) = (Arc::clone(resolve), sender.clone());
    thread::Builder::new().name("name".to_owned()).spawn(move || {
        let answer = resolve(&key.1);
        // Nobody is left to take it when the process ends.
        let _ = sender.send((key, answer));
    })?;
    Ok(())
}

fn listed(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::metrics::Metrics;

    const EVERY: Duration = Duration::from_secs(30);

    /// A listener with these names, which are known as the loopback.
    fn service(names: &str) -> Services {
        let text = format!("[[listen]]\naddress = \"127.0.0.1:18080\"\nupstream = [{names}]\n");
        let mut config = parse("proxy.toml", &text).unwrap();
        for (index, server) in config.listeners[0].upstreams.iter_mut().enumerate() {
            server.host = format!("name{index}:80");
            server.addresses = vec![SocketAddr::from(([127, 0, 0, 1], 80))];
        }
        let service = Service::new(&config.listeners[0], &config, &Metrics::new(), None);
        vec![(SocketAddr::from(([127, 0, 0, 1], 18080)), Arc::new(service))]
    }

    fn addresses(of: &Services) -> Vec<String> {
        of[0].1.upstreams.all().iter().map(|it| it.address.to_string()).collect()
    }

    /// Has a resolver go on until something holds.
    fn until(resolver: &mut Resolver, services: &Services, now: Instant, mut holds: impl FnMut(&Resolver) -> bool) {
        let begun = Instant::now();
        while !holds(resolver) {
            assert!(begun.elapsed() < Duration::from_mins(1), "it does not come about");
            resolver.turn(services, now);
        }
    }

    #[test]
    fn a_name_is_asked_for_when_it_is_due_and_a_failure_leaves_what_is_known() {
        let services = service("\"localhost:80\"");
        let answers = Arc::new(Mutex::new(vec![
            Ok(vec!["192.0.2.1:80".parse().unwrap(), "[2001:db8::1]:80".parse().unwrap()]),
            Ok(Vec::new()),
            Err(io::Error::other("no name server")),
            Ok(vec!["127.0.0.1:18080".parse().unwrap()]),
        ]));
        let scripted = Arc::clone(&answers);
        let left = move || answers.lock().unwrap().len();
        let mut resolver = Resolver::new(Arc::new(move |_| scripted.lock().unwrap().pop().unwrap()));
        let key = (services[0].0, "name0:80".to_owned());
        let problem = |resolver: &Resolver| resolver.names[&key].problem;
        let mut now = Instant::now();
        resolver.turn(&services, now);
        assert_eq!(left(), 4, "it was resolved when the configuration was read");
        for expected in [Problem::LeadsBack, Problem::Unresolved, Problem::Unresolved] {
            let before = left();
            now += EVERY;
            until(&mut resolver, &services, now, |it| left() < before && !it.names[&key].is_asking);
            assert_eq!((problem(&resolver), addresses(&services)), (Some(expected), vec!["127.0.0.1:80".to_owned()]));
            resolver.turn(&services, now + EVERY.saturating_sub(Duration::from_millis(1)));
            assert_eq!(left(), before - 1, "it is not due yet");
        }
        now += EVERY;
        until(&mut resolver, &services, now, |it| problem(it).is_none());
        assert_eq!(addresses(&services), ["192.0.2.1:80", "[2001:db8::1]:80"]);
    }

    /// A reload reads names itself. An answer to the settings before it may be later than that.
    #[test]
    fn an_answer_that_came_to_settings_which_are_no_more_is_asked_for_again() {
        let (before, after) = (service("\"localhost:80\""), service("\"localhost:80\""));
        let moved = SocketAddr::from(([192, 0, 2, 2], 80));
        let mut resolver = Resolver::new(Arc::new(move |_| Ok(vec![moved])));
        let now = Instant::now();
        resolver.turn(&before, now);
        let due = now + EVERY;
        until(&mut resolver, &before, due, |_| addresses(&before) == [moved.to_string()]);
        assert_eq!(addresses(&after), ["127.0.0.1:80"]);
        until(&mut resolver, &after, due, |_| addresses(&after) == [moved.to_string()]);
    }

    #[test]
    fn a_question_that_nobody_answers_delays_no_other_and_is_not_repeated() {
        let services = service("\"localhost:80\", \"localhost:81\"");
        let (asked, questions) = channel();
        let asked = Mutex::new(asked);
        let resolver = move |name: &str| {
            asked.lock().unwrap().send(name.to_owned()).unwrap();
            if name == "name0:80" {
                thread::park();
            }
            Ok(vec![SocketAddr::from(([192, 0, 2, 2], 80))])
        };
        let mut resolver = Resolver::new(Arc::new(resolver));
        let mut now = Instant::now();
        resolver.turn(&services, now);
        now += EVERY;
        until(&mut resolver, &services, now, |_| addresses(&services) == ["127.0.0.1:80", "192.0.2.2:80"]);
        now += EVERY;
        resolver.turn(&services, now);
        until(&mut resolver, &services, now, |it| !it.names[&(services[0].0, "name1:80".to_owned())].is_asking);
        let mut all: Vec<String> =
            (0..3).map(|_| questions.recv_timeout(Duration::from_mins(1)).expect("a question")).collect();
        all.sort();
        assert_eq!(all, ["name0:80", "name1:80", "name1:80"]);
        assert!(questions.try_recv().is_err(), "no more of them");
    }
}
