//! Conditions that last: a message as one begins and another once it is over, however often it shows in between.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::app::Active;

/// A condition that has not shown for as long is over.
const QUIET: Duration = Duration::from_secs(5);

/// A condition that shows again and again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// Connections wait for descriptors or memory.
    NoRoom,
    /// Connections wait for others to end.
    Full,
    /// Questions about measurements wait for descriptors.
    NoRoomForQuestions,
    /// This host opens no connections to the servers of a listener.
    Unopened(String),
    /// The settings that rules have for a listener's clients cannot be applied.
    Unsettled(String),
    /// A server of a listener cannot be reached: it is silent, or refuses. It lasts until the server has.
    Unanswered(String, SocketAddr),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("no descriptors or no memory for more connections: others wait"),
            Self::Full => f.write_str("limits.connections is reached: others wait"),
            Self::NoRoomForQuestions => f.write_str("no descriptors for requests of metrics: they wait"),
            Self::Unopened(listener) => write!(f, "{listener}: connections to servers cannot be opened"),
            Self::Unsettled(listener) => write!(f, "{listener}: settings of a rule cannot be applied to clients"),
            Self::Unanswered(listener, server) => write!(f, "{listener}: the server {server} cannot be reached"),
        }
    }
}

/// Course of a condition.
#[derive(Debug)]
struct Course {
    since: Instant,
    last: Instant,
    times: u64,
    /// The answer that it awaits has come since it showed last.
    is_answered: bool,
}

/// Conditions that last, of all threads.
#[derive(Debug, Default)]
pub struct Troubles {
    lasting: Mutex<HashMap<Trouble, Course>>,
    begun: Condvar,
}

impl Troubles {
    /// Records that a condition showed. It is logged with `why` if it begins.
    pub fn show(&self, trouble: Trouble, why: &dyn fmt::Display, now: Instant) {
        let is_answered = !matches!(trouble, Trouble::Unanswered(..));
        let mut lasting = self.lasting();
        if let Some(course) = lasting.get_mut(&trouble) {
            (course.last, course.times, course.is_answered) = (now, course.times + 1, is_answered);
            return;
        }
        tracing::warn!(%why, "{trouble}");
        lasting.insert(trouble, Course { since: now, last: now, times: 1, is_answered });
        self.begun.notify_one();
    }

    /// Records that a server answered.
    pub fn answered(&self, listener: &str, server: SocketAddr) {
        let mut lasting = self.lasting();
        if lasting.is_empty() {
            return;
        }
        if let Some(course) = lasting.get_mut(&Trouble::Unanswered(listener.to_owned(), server)) {
            course.is_answered = true;
        }
    }

    /// Logs what is over, and forgets it. `is_there`: a listener has this server.
    fn settle(&self, now: Instant, is_there: impl Fn(&str, SocketAddr) -> bool) {
        self.lasting().retain(|trouble, course| {
            // Nobody asks a server that is no more.
            let is_gone = matches!(trouble, Trouble::Unanswered(listener, server) if !is_there(listener, *server));
            let is_over = (course.is_answered || is_gone) && now.saturating_duration_since(course.last) >= QUIET;
            if is_over {
                let lasted_s = (course.last - course.since).as_secs_f64();
                tracing::warn!(times = course.times, lasted_s, "over: {trouble}");
            }
            !is_over
        });
    }

    fn lasting(&self) -> MutexGuard<'_, HashMap<Trouble, Course>> {
        self.lasting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks from now on for conditions of these listeners that are over, by a thread that sleeps while there are none.
    pub fn look_after(self: &Arc<Self>, active: Arc<Mutex<Vec<Active>>>) -> io::Result<()> {
        let troubles = Arc::clone(self);
        thread::Builder::new().name("troubles".to_owned()).spawn(move || {
            loop {
                let lasting = troubles.lasting();
                drop(troubles.begun.wait_while(lasting, |lasting| lasting.is_empty()));
                thread::sleep(QUIET / 5);
                let services: Vec<_> = {
                    let active = active.lock().unwrap_or_else(PoisonError::into_inner);
                    active.iter().map(|active| Arc::clone(&active.service)).collect()
                };
                troubles.settle(Instant::now(), |listener, server| {
                    let mut of_name = services.iter().filter(|service| service.listener.name == listener);
                    of_name.any(|service| service.upstreams.all().iter().any(|upstream| upstream.address == server))
                });
            }
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions that last, with how often each showed.
    fn lasting(troubles: &Troubles) -> Vec<(Trouble, u64)> {
        troubles.lasting().iter().map(|(trouble, course)| (trouble.clone(), course.times)).collect()
    }

    fn settle(troubles: &Troubles, now: Instant) {
        troubles.settle(now, |_, _| true);
    }

    #[test]
    fn it_lasts_until_it_has_not_shown_for_a_while() {
        let (troubles, start) = (Troubles::default(), Instant::now());
        let later = |seconds: u64| start + Duration::from_secs(seconds);
        for second in 0..20 {
            troubles.show(Trouble::NoRoom, &"-", later(second));
            settle(&troubles, later(second));
        }
        assert_eq!(lasting(&troubles), [(Trouble::NoRoom, 20)]);
        settle(&troubles, later(18) + QUIET);
        assert_eq!(lasting(&troubles).len(), 1);
        settle(&troubles, later(19) + QUIET);
        assert_eq!(lasting(&troubles), []);
    }

    #[test]
    fn a_server_that_does_not_answer_lasts_until_it_has() {
        let (troubles, start) = (Troubles::default(), Instant::now());
        let server = SocketAddr::from(([192, 0, 2, 1], 80));
        troubles.show(Trouble::Unanswered("one".to_owned(), server), &"-", start);
        settle(&troubles, start + 100 * QUIET);
        assert_eq!(lasting(&troubles).len(), 1, "nobody has asked it since");
        troubles.answered("two", server);
        settle(&troubles, start + 100 * QUIET);
        assert_eq!(lasting(&troubles).len(), 1, "it answered to another listener");
        troubles.answered("one", server);
        settle(&troubles, start + 100 * QUIET);
        assert_eq!(lasting(&troubles), []);
    }

    #[test]
    fn a_server_that_is_no_more_is_not_waited_for() {
        let (troubles, start) = (Troubles::default(), Instant::now());
        let [first, second] = [1, 2].map(|last| SocketAddr::from(([192, 0, 2, last], 80)));
        for server in [first, second] {
            troubles.show(Trouble::Unanswered("one".to_owned(), server), &"-", start);
        }
        let is_there = |listener: &str, server| listener == "one" && server == second;
        troubles.settle(start + QUIET / 2, is_there);
        assert_eq!(lasting(&troubles).len(), 2);
        troubles.settle(start + QUIET, is_there);
        assert_eq!(lasting(&troubles), [(Trouble::Unanswered("one".to_owned(), second), 1)]);
    }
}
