"""The differential against a kernel: its virtual peer, its cases, and what it makes of a difference."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from ackclock_studies.differential.as_script import script_of
from ackclock_studies.differential.cases import Case, Write, draw
from ackclock_studies.differential.compare import Kind, compare, on_this_kernel, parting
from ackclock_studies.differential.peer import Answer, Peer
from ackclock_studies.differential.peer import Path as Way
from ackclock_studies.differential.play import COMPARED, Departure, Moment, Play, play, replay
from ackclock_studies.differential.shrink import shrink

from ackclock.claims import locations
from ackclock.script.parse import parse
from ackclock.script.runner import run
from ackclock.script.simulated_host import SimulatedHost
from conftest import Cli

CASE = Case(1, "by hand", "reno", rtt_us=60_000, service_us=2_000, segments=30, per_ack=1)


def test_the_peer_reports_the_newest_block_first_and_duplicates_before_it() -> None:
    """RFC 2018 section 4 and RFC 2883 section 4, with segments 1, 3 and 1 again before 0."""
    peer = Peer(CASE)
    assert peer.arrive(1000, 2000) == Answer(0, ((1000, 2000),))
    assert peer.arrive(3000, 4000) == Answer(0, ((3000, 4000), (1000, 2000)))
    assert peer.arrive(1000, 2000) == Answer(0, ((1000, 2000), (3000, 4000), (1000, 2000)))
    assert peer.arrive(0, 1000) == Answer(2000, ((3000, 4000),), answers=(0, 1))


def test_the_peer_echoes_the_timestamp_of_what_last_moved_its_ack() -> None:
    """RFC 7323 section 4.3: of the segment that has the number which the last ACK awaited; 1 again after 0 does."""
    peer = Peer(CASE)
    arrivals = [(1000, 1), (0, 1), (2000, 1), (2000, 2)]
    answers = [peer.arrive(start, start + 1000, time) for start, time in arrivals]
    assert [answer.answers for answer in answers if answer] == [None, (0, 1), (2, 1), (2, 1)]


def test_the_peer_echoes_a_mark_until_it_is_told_of_a_reduction() -> None:
    """RFC 3168 section 6.1.3; without SACK it reports no blocks."""
    peer = Peer(replace(CASE, has_sack=False))
    first = peer.arrive(1000, 2000, is_marked=True)
    then = [peer.arrive(0, 1000), peer.arrive(2000, 3000, has_cwr=True)]
    assert [(each.echoes, each.blocks) for each in (first, *then) if each] == [(True, ()), (True, ()), (False, ())]


def test_the_peer_acknowledges_each_second_segment_in_order_and_all_others_at_once() -> None:
    peer = Peer(replace(CASE, per_ack=2))
    answers = [peer.arrive(start, start + 1000) for start in (0, 1000, 3000, 2000)]
    found = [answer and (answer.ack, answer.blocks) for answer in answers]
    assert found == [None, (2000, ()), (2000, ((3000, 4000),)), None]


def test_the_way_takes_its_time_for_each_segment_and_loses_what_the_case_says() -> None:
    """Half of 60 ms there, one segment in 2 ms, half back."""
    way = Way(replace(CASE, drops=frozenset({(2, 1)}), delays_us={(3, 1): 5_000}))
    assert [way.send(offset, 0) for offset in (0, 1000, 2000, 3000)] == [
        ((0, 1), 60_000),
        ((1, 1), 62_000),
        ((2, 1), None),
        ((3, 1), 69_000),
    ]
    assert way.send(2000, 100_000) == ((2, 2), 160_000)


def test_a_seed_is_the_same_case_each_time() -> None:
    cases = [draw(seed) for seed in range(200)]
    assert cases == [draw(seed) for seed in range(200)]
    assert len({case.kind for case in cases}) == 11


def test_an_application_writes_between_its_pauses() -> None:
    writes = replace(CASE, pauses_us={10: 5_000, 4: 20_000, 30: 1_000}).writes
    assert writes == (Write(0, 0, 4), Write(20_000, 4, 10), Write(25_000, 10, 30))
    peer = Peer(replace(CASE, per_ack=2, pauses_us={1: 5_000}))
    assert peer.arrive(0, 1000) == Answer(1000, (), answers=(0, 1))  # nothing follows to acknowledge it with


def test_an_endpoint_given_its_own_acks_again_does_the_same() -> None:
    for seed in range(40):
        first = play(draw(seed), SimulatedHost("linux-6.x"))
        assert parting(replay(draw(seed), first, SimulatedHost("linux-6.x")), first) is None


def _another_kernel(case: Case) -> Play:
    """Stands for a kernel that answers a loss as RFC 6675 has it: all of the window at once."""
    return play(case, SimulatedHost("linux-6.x", ["tcp.prr=false"]))


def test_a_difference_is_shrunk_to_a_script_that_shows_it() -> None:
    case = replace(CASE, drops=frozenset({(5, 1), (20, 1), (21, 1)}))
    found = compare(case, _another_kernel)
    assert found.kind is Kind.DIFFERENT
    least = shrink(found, lambda cases: (compare(case, _another_kernel) for case in cases))
    assert least.case.drops < case.drops
    script = parse(script_of(least), "least.pkt")
    assert run(script, SimulatedHost("linux-6.x", ["tcp.prr=false"])).passed
    assert not run(script, SimulatedHost("linux-6.x")).passed


def test_a_script_writes_when_the_application_did() -> None:
    case = replace(CASE, pauses_us={12: 400_000, 25: 30_000})
    found = compare(case, lambda case: play(case, SimulatedHost("linux-6.x")))
    assert found.kind is Kind.ALIKE
    script = parse(script_of(found), "pauses.pkt")
    assert script_of(found).count("write(4") == 3
    assert run(script, SimulatedHost("linux-6.x")).passed
    assert not run(script, SimulatedHost("linux-6.x", ["tcp.idle_restart='off'"])).passed


def test_a_script_counts_from_the_probe_that_left_before() -> None:
    """Its ACK comes a round trip after the probe; if it came later, the timer would expire."""
    found = compare(replace(CASE, drops=frozenset({(29, 1)})), lambda case: play(case, SimulatedHost("linux-6.x")))
    script = parse(script_of(found), "tail.pkt")
    assert "~+" in script_of(found)
    assert run(script, SimulatedHost("linux-6.x")).passed


def test_what_a_late_timer_would_send_after_the_end_of_a_play_is_no_difference() -> None:
    """A play ends after 6 s. A timer of 0.3 s may be an eighth, 37.5 ms, and two ticks of 4 ms late."""
    state = dict.fromkeys(COMPARED, 0)
    last = Moment(5_000_000, Answer(1000, ()), state, state)
    first = Departure(5_300_000, 1000, 2000, 1, is_pushed=True)

    def again(at_us: int) -> list[Departure]:
        return [first, replace(first, at_us=at_us, time=2)]

    kernel = Play([0], [last], [replace(first, at_us=5_330_000)])
    assert parting(Play([0], [last], again(5_925_000)), kernel) is None  # 5.330 + 0.625 * 9/8 + 0.008 s
    assert parting(Play([0], [last], again(5_880_000)), kernel) is not None


def test_a_kernel_that_does_otherwise_the_next_time_is_no_difference() -> None:
    case = replace(CASE, drops=frozenset({(5, 1)}))
    answers = [_another_kernel(case), play(case, SimulatedHost("linux-6.x"))]
    assert compare(case, lambda _case: answers.pop(0)).kind is Kind.UNSETTLED


@pytest.mark.parametrize(("ends", "kind"), [((5, 6, 7), Kind.UNREPEATED), ((5, 5, 5), Kind.DIFFERENT)])
def test_what_the_kernel_does_not_repeat_is_told_from_what_it_does(ends: tuple[int, ...], kind: Kind) -> None:
    """A kernel whose window is another after the third ACK: of its own each time, or the same each time."""
    known = play(CASE, SimulatedHost("linux-6.x"))
    answers = []
    for cwnd in ends:
        wrong = {**known.moments[3].state, "snd_cwnd": 100 + cwnd}
        moments = [*known.moments[:3], replace(known.moments[3], state=wrong, soon=wrong), *known.moments[4:]]
        answers.append(Play(known.writes_us, moments, known.departures))
    found = compare(CASE, lambda _case: answers.pop(0))
    assert found.kind is kind
    assert found.parting is not None
    assert found.parting.moment == 3


def test_one_parting_of_the_kernel_after_the_endpoint_s_excuses_nothing() -> None:
    known = play(CASE, SimulatedHost("linux-6.x"))
    wrong = {**known.moments[3].state, "snd_cwnd": 100}
    answers = []
    for later in (5, 6, 7):
        moments = list(known.moments)
        moments[3] = replace(moments[3], state=wrong, soon=wrong)
        state = {**moments[9].state, "snd_cwnd": 100 + later}
        moments[9] = replace(moments[9], state=state, soon=state)
        answers.append(Play(known.writes_us, moments, known.departures))
    assert compare(CASE, lambda _case: answers.pop(0)).kind is Kind.DIFFERENT


def test_cases_and_files_are_not_both_played(cli: Cli, tmp_path: Path) -> None:
    done = cli("script", "--differential", "1", str(tmp_path))
    assert done.returncode == 2
    assert "leave the files out" in done.stderr


def test_processes_of_the_pool_find_the_studies() -> None:
    """A new process unpickles a case, whose module only this one has loaded."""
    case = locations.tool("differential.cases").draw(1)
    with locations.tool("differential.command")._pool(1) as pool:
        assert pool.submit(str, case).result() == str(case)


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and /dev/net/tun")
def test_a_case_is_played_against_this_kernel() -> None:
    """Without a loss, and with ACKs far apart, every Linux does what the simulated one does."""
    case = replace(CASE, segments=10, service_us=4_000)
    assert compare(case, on_this_kernel).parting is None
