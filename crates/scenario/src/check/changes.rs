//! Checks of changes of links during the run.

use ackclock_net::queue::Limit;
use ackclock_net::{LinkChange, LinkConfig, LinkId, MAX_DELAY, MAX_RATE, NetworkConfig, QueueLimit, RateConfig};
use ackclock_units::{Bytes, SimTime};

use super::location::Location;
use super::run::Run;
use super::topology::BuiltTopology;
use crate::diagnostic::{Diagnostics, split_remedy};
use crate::file::{ChangeTable, Duration, List};

/// Reads the list of changes.
pub(crate) fn changes(
    list: Option<&List<ChangeTable>>,
    topology: &BuiltTopology,
    largest_packets: &[Bytes],
    run: Run,
    sink: &Diagnostics<'_>,
) -> Vec<LinkChange> {
    let change = |(index, table)| change(table, &sink.root("change").index(index), topology, largest_packets, run);
    list.into_iter().flat_map(List::iter).filter_map(change).collect()
}

/// Makes the links of `changes` changeable, and removes the channels that add nothing to rate and delay.
pub(crate) fn expect_changes(network: &mut NetworkConfig, changes: Vec<LinkChange>) {
    for change in &changes {
        network.links[change.link.index()].expect_changes();
    }
    for link in &mut network.links {
        link.channel.take_if(|channel| channel.is_plain());
    }
    network.changes = changes;
}

fn change(
    table: &ChangeTable,
    at: &Location<'_>,
    topology: &BuiltTopology,
    largest_packets: &[Bytes],
    run: Run,
) -> Option<LinkChange> {
    let time = time_of_change(table, at, run);
    let link = link_of_change(table, topology, at);
    if (table.rate, table.delay, table.loss) == (None, None, None) && table.limit.is_none() {
        at.report_lack("must change something", "give rate, delay, loss or limit");
    }
    let rate = table.rate.map(|rate| rate.0);
    if rate.is_some_and(|rate| rate > MAX_RATE) {
        at.key("rate").report(format!("must be at most {MAX_RATE}"), "use a lower rate");
    }
    let delay = table.delay.map(|delay| delay.0);
    if delay.is_some_and(|delay| delay > MAX_DELAY) {
        at.key("delay").report(format!("must be at most {MAX_DELAY}"), "use a shorter delay");
    }
    if table.loss.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
        at.key("loss").report("must be between 0 and 1", "write 0.01 for one packet in a hundred");
    }
    let largest_packet = link.and_then(|link| largest_packets.get(link.index()).copied());
    let limit = table.limit.as_ref();
    let limit = limit.and_then(|text| limit_of_change(text, largest_packet, &at.key("limit")));
    let link = link?;
    review_link_of_change(topology.network.link(link), table, at);
    Some(LinkChange { at: time?, link, rate, delay, loss: table.loss, limit })
}

fn time_of_change(table: &ChangeTable, at: &Location<'_>, run: Run) -> Option<SimTime> {
    let Some(Duration(time)) = table.at else {
        at.key("at").missing("at = \"10 s\"");
        return None;
    };
    if time >= run.end() || time.is_zero() {
        let remedy =
            format!("change it after 0 s and before {}; what holds from the start stands at the link", run.end());
        at.key("at").report("must be after the beginning of the run and before its end", remedy);
    }
    Some(SimTime(time.0))
}

fn link_of_change(table: &ChangeTable, topology: &BuiltTopology, at: &Location<'_>) -> Option<LinkId> {
    let Some(name) = &table.link else {
        at.key("link").missing("link = \"bottleneck\"");
        return None;
    };
    topology.link(name, &at.key("link"))
}

fn limit_of_change(text: &str, largest_packet: Option<Bytes>, at: &Location<'_>) -> Option<QueueLimit> {
    match text.parse::<Limit>() {
        Ok(Limit::Of(limit)) => {
            if let Some(message) = limit.lacks_room_for(largest_packet.unwrap_or(Bytes::ZERO)) {
                at.report(message, "use at least \"1 packet\"");
            }
            Some(limit)
        }
        Ok(Limit::Bdp(_)) => {
            at.report("must not be in bdp, which changes with the link", "give it in packets, bytes or time");
            None
        }
        Err(error) => {
            let remedy = "write it like \"100 packets\", \"150 kB\", \"20 ms\" or \"unlimited\"";
            at.report(split_remedy(error.what()).0, remedy);
            None
        }
    }
}

/// Rejects changes of a property that already varies by itself.
fn review_link_of_change(config: &LinkConfig, table: &ChangeTable, at: &Location<'_>) {
    let channel = config.channel.as_deref();
    let by_itself = channel.is_some_and(|channel| !matches!(channel.rate, RateConfig::Constant(_)));
    let moves = channel.is_some_and(|channel| channel.delay.only_value().is_none());
    let takes_limit = table.limit.is_none() || config.takes_limit();
    if by_itself {
        let what = "must be the name of a link whose rate does not change by itself";
        at.key("link").report(what, "write the change into the link's own schedule");
    }
    if moves && table.delay.is_some() {
        let what = "must not be given of a link whose delay changes by itself";
        at.key("delay").report(what, "write the change into the link's own schedule");
    }
    if !takes_limit {
        let what = "must not be given of a link whose queue has no single limit that can change";
        at.key("limit").report(what, "use another queue, such as drop_tail or fq_codel");
    }
}
