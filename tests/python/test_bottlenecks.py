"""The link whose use and queue stand for compared runs: the same link in all, and the one that has the queue."""

from typing import Any

from ackclock.plotting.report.figures_of_merit import busy_links
from ackclock.stats.bottlenecks import first_of, of_run, ranked, whose


def a_summary(**links: tuple[float, float, float]) -> dict[str, Any]:
    """A run's links: use, mean wait in ms, and mean queue in packets of each."""
    return {
        "links": [
            {
                "name": name,
                "utilization": used,
                "drops": 0,
                "queueing_delay_ms": {"mean": wait_ms},
                "queue_packets": {"mean": packets},
            }
            for name, (used, wait_ms, packets) in links.items()
        ]
    }


def test_a_mean_over_seeds_is_of_one_link() -> None:
    """Two-way traffic: seed 1 loaded the reverse path more, seed 2 the forward path; 60 and 2 ms made 31."""
    runs = [
        a_summary(there=(0.70, 2.0, 1), back=(0.80, 60.0, 30)),
        a_summary(there=(0.76, 2.0, 1), back=(0.74, 58.0, 29)),
    ]
    order = ranked(link for run in runs for link in of_run(run))
    waits = [first_of(order, run["links"])["queueing_delay_ms"]["mean"] for run in runs]
    assert waits == [60.0, 58.0]
    assert whose(["back", "back"])[0].startswith("Use and queueing are those of the link back") and not whose(
        ["bottleneck"]
    )


def test_of_links_in_a_row_the_one_with_the_queue_counts() -> None:
    """A link behind the bottleneck is as busy, and has no queue; its use may be larger in the last digit."""
    run = a_summary(queue=(0.0460, 184.0, 32), behind=(0.0461, 0.0, 0))
    assert ranked(of_run(run)) == ["queue", "behind"]


def test_runs_side_by_side_show_the_same_links() -> None:
    """The queue of one run made its row; the other run, without one, had a row for another link and a dash here."""
    runs = [
        a_summary(queue=(0.05, 184.0, 32), behind=(0.05, 0.0, 0)),
        a_summary(queue=(0.05, 0.2, 0.03), behind=(0.05, 0.0, 0)),
    ]
    assert [[link["name"] for link in run] for run in busy_links(runs)] == [["queue"], ["queue"]]
    idle = [a_summary(queue=(0.05, 0.2, 0.03), behind=(0.05, 0.0, 0))] * 2
    assert [[link["name"] for link in run] for run in busy_links(idle)] == [["queue"], ["queue"]]
