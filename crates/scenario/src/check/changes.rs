//! Checks of changes of links during the run.

use ackclock_net::queue::Limit;
use ackclock_net::{LinkChange, LinkId, MAX_DELAY, MAX_RATE, QueueLimit, RateConfig};
use ackclock_units::{Bytes, SimTime};

use super::topology::BuiltTopology;
use super::{Checker, suggest};
use crate::diagnostic::split_remedy;
use crate::file::ChangeTable;
use crate::tree::FieldPath;

impl Checker<'_, '_> {
    /// Reads the list of changes. Makes its links changeable, and removes the channels that add nothing to rate and
    /// delay.
    pub(crate) fn changes(&mut self, topology: &BuiltTopology) {
        let list = self.file.change.clone().unwrap_or_default();
        let changes: Vec<_> = list
            .iter()
            .filter_map(|(index, table)| self.change(table, topology, &FieldPath::of("change").index(index)))
            .collect();
        for change in &changes {
            self.network.links[change.link.index()].expect_changes();
        }
        for link in &mut self.network.links {
            link.channel.take_if(|channel| channel.is_plain());
        }
        self.network.changes = changes;
    }

    fn change(&mut self, table: &ChangeTable, topology: &BuiltTopology, path: &FieldPath) -> Option<LinkChange> {
        let at = self.time_of_change(table, path);
        let link = self.link_of_change(table, topology, path);
        if (table.rate, table.delay, table.loss) == (None, None, None) && table.limit.is_none() {
            self.report_lack(path, "must change something", "give rate, delay, loss or limit");
        }
        let rate = table.rate.map(|rate| rate.0);
        if rate.is_some_and(|rate| rate > MAX_RATE) {
            self.report(&path.key("rate"), format!("must be at most {MAX_RATE}"), "use a lower rate");
        }
        let delay = table.delay.map(|delay| delay.0);
        if delay.is_some_and(|delay| delay > MAX_DELAY) {
            self.report(&path.key("delay"), format!("must be at most {MAX_DELAY}"), "use a shorter delay");
        }
        if table.loss.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            self.report(&path.key("loss"), "must be between 0 and 1", "write 0.01 for one packet in a hundred");
        }
        let limit = table.limit.as_ref().and_then(|text| self.limit_of_change(text, link, &path.key("limit")));
        let link = link?;
        self.review_link_of_change(link, table, path);
        Some(LinkChange { at: at?, link, rate, delay, loss: table.loss, limit })
    }

    fn time_of_change(&mut self, table: &ChangeTable, path: &FieldPath) -> Option<SimTime> {
        let Some(at) = table.at else {
            self.missing(&path.key("at"), "at = \"10 s\"");
            return None;
        };
        if at.0 >= self.run.end() || at.0.is_zero() {
            let remedy = format!(
                "change it after 0 s and before {}; what holds from the start stands at the link",
                self.run.end()
            );
            self.report(&path.key("at"), "must be after the beginning of the run and before its end", remedy);
        }
        Some(SimTime(at.0.0))
    }

    fn link_of_change(&mut self, table: &ChangeTable, topology: &BuiltTopology, path: &FieldPath) -> Option<LinkId> {
        let Some(name) = &table.link else {
            self.missing(&path.key("link"), "link = \"bottleneck\"");
            return None;
        };
        let found = self.network.links.iter().position(|link| link.name == *name);
        if found.is_none() {
            let known: Vec<&str> = self.network.links.iter().map(|link| link.name.as_str()).collect();
            let remedy = suggest(name, &known);
            topology.report_unknown(&path.key("link"), "must be the name of a link", remedy, self.diagnostics);
        }
        found.map(LinkId::new)
    }

    fn limit_of_change(&mut self, text: &str, link: Option<LinkId>, path: &FieldPath) -> Option<QueueLimit> {
        match text.parse::<Limit>() {
            Ok(Limit::Of(limit)) => {
                let largest = link.and_then(|link| self.largest_packets.get(link.index()).copied());
                if let Some(message) = limit.lacks_room_for(largest.unwrap_or(Bytes::ZERO)) {
                    self.report(path, message, "use at least \"1 packet\"");
                }
                Some(limit)
            }
            Ok(Limit::Bdp(_)) => {
                self.report(
                    path,
                    "must not be in bdp, which changes with the link",
                    "give it in packets, bytes or time",
                );
                None
            }
            Err(error) => {
                let remedy = "write it like \"100 packets\", \"150 kB\", \"20 ms\" or \"unlimited\"";
                self.report(path, split_remedy(error.what()).0, remedy);
                None
            }
        }
    }

    /// Rejects changes of a property that already varies by itself.
    fn review_link_of_change(&mut self, link: LinkId, table: &ChangeTable, path: &FieldPath) {
        let config = &self.network.links[link.index()];
        let channel = config.channel.as_deref();
        let by_itself = channel.is_some_and(|channel| !matches!(channel.rate, RateConfig::Constant(_)));
        let moves = channel.is_some_and(|channel| channel.delay.only_value().is_none());
        let takes_limit = table.limit.is_none() || config.takes_limit();
        if by_itself {
            let what = "must be the name of a link whose rate does not change by itself";
            self.report(&path.key("link"), what, "write the change into the link's own schedule");
        }
        if moves && table.delay.is_some() {
            let what = "must not be given of a link whose delay changes by itself";
            self.report(&path.key("delay"), what, "write the change into the link's own schedule");
        }
        if !takes_limit {
            let what = "must not be given of a link whose queue has no single limit that can change";
            self.report(&path.key("limit"), what, "use another queue, such as drop_tail or fq_codel");
        }
    }
}
