"""Verdicts that rest on intervals: Student's t by its tables, limits by hand, seeds that are added, records."""

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from twin import welch

from ackclock.claims import (
    Claim,
    Finding,
    Interval,
    Laboratory,
    Made,
    Measured,
    judge,
    load_folder,
    load_folders,
    select,
)
from ackclock.claims.folder import Choice, Option, Verdict
from ackclock.claims.forest import draw, plots
from ackclock.claims.intervals import of_mean, of_spread
from ackclock.claims.ledger import _numbers
from ackclock.claims.measured import mean
from ackclock.claims.origin import engine, now
from ackclock.claims.readings import read_as
from ackclock.claims.region import Region
from ackclock.claims.words import chance, counts, reason, record, verdict
from ackclock.scenario.templates import write
from ackclock.stats.estimates import CONFIDENCE
from ackclock.stats.student_t import quantile
from conftest import Cli

FOLDERS = load_folders()


def claim(folder: str, name: str) -> Claim:
    return next(each for source in FOLDERS if source.path.name == folder for each in source.claims if each.id == name)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (4, 2.776), (9, 2.262), (24, 2.064)])
def test_students_t_is_that_of_its_tables(freedom: int, t: float) -> None:
    """Two-sided, 95 %, as printed in any table."""
    assert quantile(freedom, CONFIDENCE) == pytest.approx(t, abs=5e-4)


def test_a_mean_of_three_by_hand() -> None:
    """3, 4, 8: mean 5, deviation sqrt(7), error sqrt(7 / 3) = 1.5275, times 4.3027: 6.572."""
    found = of_mean([3.0, 4.0, 8.0])
    assert (found.middle, found.freedom) == (5.0, 2)
    assert (found.low, found.high) == pytest.approx((5 - 6.572, 5 + 6.572), abs=1e-3)
    again = of_spread(5.0, 7**0.5, 3)
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


def test_one_infinite_seed_decides_nothing_and_all_of_them_do() -> None:
    """A mean with an infinite value in it lies anywhere; one of infinite values alone is infinite."""
    some, every = of_mean([math.inf, 0.99, 0.99]), of_mean([math.inf] * 3)
    assert (some.low, some.high) == (-math.inf, math.inf)
    assert (every.low, every.high) == (math.inf, math.inf)
    assert mean([Measured(math.inf), Measured(-math.inf)]).value is None
    above = replace(claim("opnet-17", "O2a"), low=0.98, high=None)
    assert above.verdict(some.middle, some) == "undecided"
    assert above.verdict(every.middle, every) == "agrees"


def test_what_is_infinite_is_null_in_the_json() -> None:
    """RFC 8259 has no infinity; docs/reference/claims-file.md."""
    for values in ([math.inf, 1.0], [math.inf, math.inf]):
        measured = mean([Measured(value) for value in values])
        entry = _numbers(measured)
        json.dumps(entry, allow_nan=False)
        assert entry["measured"] is None and entry["interval"] is None


def test_welchs_degrees_of_freedom_are_whole_where_deviations_are_alike() -> None:
    """Satterthwaite's degrees of n and n values of one deviation are 2 n - 2: t(2) = 4.303 of any table."""
    for step in range(1, 40):
        apart = 0.1 * step
        half = welch((1.0, 1.0 + apart), (5.0, 5.0 + apart))
        assert half == pytest.approx(4.303 * apart / 2**0.5, rel=1e-3), apart


def test_a_ratio_of_sums_by_hand() -> None:
    """1 of weight 3 and 2 of weight 1: 5/4; residuals 1.5 x -0.25 and 0.5 x 0.75, deviation 0.5303, error 0.375."""
    found = mean([Measured(1.0, weight=3.0), Measured(2.0)])
    assert found.value == 1.25
    assert found.interval is not None
    assert found.interval.error == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("middle", "error", "verdict"),
    [(10.41, 1.0, "agrees"), (10.41, 3.0, "undecided"), (16.0, 0.05, "differs"), (15.0, 0.5, "undecided")],
)
def test_a_verdict_is_one_on_all_of_the_interval(middle: float, error: float, verdict: str) -> None:
    """D2a1 agrees from 5.2 to 15.6; with ten seeds the interval has 2.262 errors either way."""
    assert claim("dqn-2023", "D2a1").verdict(middle, Interval(middle, error, 9)) == verdict


def test_a_number_of_the_other_sign_does_not_agree_however_near_it_is() -> None:
    """The paper has CUBIC's longer round trip ahead by 1.84; 2.46 the other way is within 5 of that."""
    d3b1 = claim("dqn-2023", "D3b1")
    assert (d3b1.sign, d3b1.limits) == (-1, (-6.8, 0.0))
    assert d3b1.verdict(2.46, Interval(2.46, 0.15, 9)) == "differs"
    assert d3b1.verdict(-1.84, Interval(-1.84, 0.15, 9)) == "agrees"


def test_every_lead_that_the_papers_print_has_their_sign() -> None:
    leads = [each for each in select(FOLDERS, ["dqn-2023"]) if each.id[:2] in ("D2", "D3") and "gets" in each.statement]
    assert len(leads) == 10
    assert [each.id for each in leads if each.sign != (1 if float(each.published) > 0 else -1)] == []


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with seeds: a lead that is drawn by the seed, so that few seeds do not settle it."""
    folder = tmp_path_factory.mktemp("claims") / "mine"
    write("claims", "mine", folder, lang="python")
    text = (folder / "claims.toml").read_text().replace('choices = ["acks"]', 'choices = ["seed"]')
    seeds = '[[choice]]\nname = "seed"\ntitle = "seed"\nwhy = "chance"\nseeds = 5\n\n[[study]]'
    text = text.replace("[[study]]", seeds, 1).replace("high = 0.97", "low = 0.499\nhigh = 0.501")
    (folder / "claims.toml").write_text(text)
    scenario = (folder / "scenario.toml").read_text().replace('duration = "60 s"', 'duration = "6 s"')
    scenario = scenario.replace('from = "20 s"', 'from = "2 s"')
    scenario = scenario.replace('"23 ms", ', '"23 ms", loss = { kind = "random", p = 0.01 }, ')
    (folder / "scenario.toml").write_text(scenario)
    return folder


def test_seeds_are_added_until_intervals_are_narrow_or_none_are_left(mine: Path) -> None:
    folder = load_folder(mine)
    few = judge(folder.claims, Laboratory(), {})
    assert [finding.seeds for finding in few] == [3, 3], "three without --full"
    settled = judge(folder.claims, Laboratory(settle=True), {})
    assert [finding.seeds for finding in settled] == [5, 5], "0.001 of tolerance is out of reach"
    most = judge(folder.claims, Laboratory(settle=True, seeds=4), {})
    assert [finding.seeds for finding in most] == [4, 4]
    wide = judge(select([folder], ["Mine1"]), Laboratory(settle=True), {})
    assert [finding.seeds for finding in wide] == [3], "0.98 / 3 is wider than what seeds differ by"


def test_other_seeds_can_be_named_listed_or_not(mine: Path) -> None:
    """The folder lists seeds 1 to 5; what is drawn differs, and each of the three is simulated without --full, too."""
    claims = load_folder(mine).claims
    first, other = (judge(read_as(claims, {"seed": seeds}), Laboratory(), {}) for seeds in ("1..3", "7..9"))
    assert [finding.seeds for finding in other] == [3, 3]
    assert first[0].measured.value != other[0].measured.value
    assert judge(read_as(claims, {"seed": "9"}), Laboratory(), {})[0].seeds == 1
    recorded = [replace(claim, on_record={"other_choices": []}) for claim in claims]
    assert read_as(recorded, {"seed": "7..9"})[0].on_record is None, "a record rests on other seeds"
    for wrong in ("3..1", "x", "1..", ""):
        with pytest.raises(LookupError, match=r"is not a seed; write one, or a range such as 4\.\.6"):
            read_as(claims, {"seed": wrong})


def test_a_repetition_that_is_no_seed_is_named_as_it_is() -> None:
    """The delays of a study that repeats them are options with names, and a number does not name a seed."""
    dqn = next(folder for folder in load_folders() if folder.path.name == "dqn-2023")
    claims = [claim for claim in dqn.claims if claim.id == "D1a1"]
    (read,) = read_as(claims, {"delay": "30.03 ms"})
    assert [option.name for option in read.study.choices[-1].options] == ["30.03 ms"]
    with pytest.raises(LookupError, match="unknown option"):
        read_as(claims, {"delay": "5"})


def test_studies_of_one_name_in_two_folders_are_two(mine: Path, tmp_path: Path) -> None:
    """Their choices and cases have the same names too; the second folder's small buffer is smaller."""
    other = tmp_path / "other"
    shutil.copytree(mine, other)
    text = (other / "claims.toml").read_text()
    (other / "claims.toml").write_text(text.replace("0.2 bdp", "0.05 bdp").replace('id = "Mine', 'id = "Other'))
    for name, old, new in (("measure.py", '"Mine', '"Other'), ("verdicts.toml", "Mine", "Other")):
        (other / name).write_text((other / name).read_text().replace(old, new))
    claims = [claim for folder in (mine, other) for claim in load_folder(folder).claims if claim.id.endswith("2")]
    together = {finding.claim.id: finding.measured for finding in judge(claims, Laboratory(seeds=1), {})}
    alone = {claim.id: judge([claim], Laboratory(seeds=1), {})[0].measured for claim in claims}
    assert together == alone
    assert together["Mine2"].value != together["Other2"].value


def test_one_seed_where_others_would_differ_decides_nothing(mine: Path) -> None:
    (finding,) = judge(select([load_folder(mine)], ["Mine2"]), Laboratory(seeds=1), {})
    assert (finding.verdict, finding.seeds) == ("undecided", 1)
    assert finding.as_dict()["interval"] is None


def test_a_record_is_read_as_it_was_measured_and_says_so(mine: Path, tmp_path: Path) -> None:
    folder = load_folder(mine)
    measured = judge(folder.claims, Laboratory(full=True), {})
    entries = [finding.as_dict() for finding in measured]
    (mine / "recorded.json").write_text(json.dumps({"claims": entries}))
    costly = (mine / "claims.toml").read_text().replace('name = "buffers"', 'name = "buffers"\ncostly = true')
    (tmp_path / "claims").mkdir()
    for file in mine.iterdir():
        if file.is_file():
            (tmp_path / "claims" / file.name).write_text(file.read_text())
    (tmp_path / "claims" / "claims.toml").write_text(costly)
    laboratory = Laboratory()
    again = judge(load_folder(tmp_path / "claims").claims, laboratory, {})
    assert len(laboratory) == 0
    for before, after in zip(measured, again, strict=True):
        assert (after.verdict, after.measured.value) == (before.verdict, before.measured.value)
        assert after.measured.interval is not None
        assert before.measured.interval is not None
        for name in ("low", "middle", "high", "freedom"):
            assert getattr(after.measured.interval, name) == pytest.approx(getattr(before.measured.interval, name))
        assert (record(before), after.made) == ("", now())
        assert record(after).startswith(f"on record: {now().date}")
        assert "has changed" not in record(after)


def test_results_that_are_kept_are_read_again_and_not_held_in_memory(tmp_path: Path) -> None:
    wanted = select(FOLDERS, ["O1b"])
    held, kept = Laboratory(), Laboratory(kept=tmp_path / "kept")
    findings = [judge(wanted, laboratory, {})[0] for laboratory in (held, kept)]
    assert findings[0].measured == findings[1].measured
    (study,) = {claim.study for claim in wanted}
    assert held.runs(study)["10 ms"] is held.runs(study)["10 ms"]
    assert kept.runs(study)["10 ms"] is not kept.runs(study)["10 ms"]


def test_a_ratio_of_sums_is_read_from_a_record_with_its_own_interval() -> None:
    """5/4 with an error of 0.375, as by hand above: the mean of the two values is 3/2."""
    some = replace(claim("dqn-2023", "D2a1"), share=None, low=-10.0, high=5.0)
    study = replace(some.study, costly=True)
    found = mean([Measured(1.0, weight=3.0), Measured(2.0)])
    entry = Finding(replace(some, study=study), found, "agrees", "agrees", None, ()).as_dict()
    again = judge([replace(some, study=study, on_record=entry)], Laboratory(), {})[0]
    assert again.measured.interval is not None
    assert (again.measured.interval.middle, again.measured.interval.error) == pytest.approx((1.25, 0.375))


def test_a_record_of_another_engine_is_said_to_be_one() -> None:
    assert len(engine()) == 64
    assert Made(engine=engine()).is_of_this_engine
    assert not Made(engine="0" * 64).is_of_this_engine
    assert not Made().is_of_this_engine, "not noted"


def test_every_record_says_what_made_it() -> None:
    recorded = [each for folder in FOLDERS for each in folder.claims if each.on_record is not None]
    assert len(recorded) > 200
    assert [each.id for each in recorded if each.made is None or not (each.made.date and each.made.commit)] == []


def test_statements_of_the_source_and_ours_are_counted_apart() -> None:
    costly = [each for each in select(FOLDERS, ["H1a", "H1b", "H5"]) if each.study.costly]
    findings = judge(costly, Laboratory(), {})
    lines = counts(findings)
    assert [line.split(" ", 3)[:2] for line in lines] == [["on", "record:"]] * 2
    assert [line.split(":")[1].split(" ", 2)[2] for line in lines] == ["statements of the source", "statements of ours"]
    assert sum(int(line.split()[2]) for line in lines) == len(findings)
    assert "Bonferroni" in chance(findings)


def _of(some: Claim, values: list[float], *, simulated: bool = True) -> Finding:
    measured = Measured(values[0], interval=of_mean(values), values=tuple(values))
    judged = some.verdict(measured.value, measured.interval)
    return Finding(some, measured, judged, judged, None, (), simulated)


def test_what_too_few_seeds_do_not_decide_says_so() -> None:
    """10, 4 and 16 are 10 +- 14.905 (t of 2 degrees of freedom 4.3027, an error of 6 / sqrt(3))."""
    some = replace(claim("dqn-2023", "D2a1"), share=None, low=5.2, high=15.6, reason="", sign=0, on_record=None)
    assert reason(_of(some, [10.0, 4.0, 16.0])) == (
        f"3 seeds do not decide: -4.905 to 24.90 {some.unit}, where 5.2 to 15.6 {some.unit} is asked for"
    )
    assert reason(_of(replace(some, reason="As D2a."), [10.0, 4.0, 16.0])) == "As D2a."
    assert reason(_of(some, [100.0, 101.0])) == "", "what differs has its reason on record, or none"


def test_a_run_and_a_record_are_in_no_count_together() -> None:
    """D2a1 agrees from 5.2 to 15.6: 10, 9, 11 do (2.48 either way), 10, 4, 16 are undecided (14.9 either way).

    Four of 10 on record agree, where the three of the run leave it undecided: the four are counted, and a line says so.
    """
    plain = replace(claim("dqn-2023", "D2a1"), on_record=None)
    wide = replace(plain, on_record=_of(plain, [9.9, 10.0, 10.0, 10.1]).as_dict())
    record = _of(wide, [9.9, 10.0, 10.0, 10.1], simulated=False)
    now = [_of(wide, [10.0, 4.0, 16.0]), _of(plain, [10.0, 9.0, 11.0])]
    assert [verdict(each) for each in now] == ["agrees (these: undecided)", "agrees"]
    assert counts([*now, record]) == [
        "simulated now: 2 statements of the source: 2 agree",
        "for 1 of these the verdict of a record is counted, which rests on more: D2a1",
        "on record: 1 statement of the source: 1 agrees",
    ]
    as_many = replace(plain, on_record=_of(plain, [9.9, 10.0, 10.1]).as_dict())
    assert verdict(_of(as_many, [4.0, 10.0, 16.0])) == "undecided", "three seeds are no more than three"


def test_a_record_of_more_choices_stands_beside_a_run_of_few() -> None:
    """In a grid the run tried two choices, and the record has three; a run of as many stands alone."""
    some = replace(claim("highspeed-2005", "H5f1"), on_record=None)
    study = replace(some.study, choices=tuple(each for each in some.study.choices if not each.repeats))
    some = replace(some, study=study)
    (choice,) = study.open_choices
    more = tuple(((option,), Measured(0.5), "agrees") for option in choice.options[1:3])
    entry = Finding(some, Measured(0.5), "agrees", "agrees", None, more).as_dict()  # type: ignore[arg-type]
    run = Finding(replace(some, on_record=entry), Measured(0.5), "undecided", "agrees", None, more[:1])  # type: ignore[arg-type]
    assert verdict(run) == "agrees (these: undecided)"
    whole = Finding(replace(some, on_record=entry), Measured(0.5), "agrees", "agrees", None, more)  # type: ignore[arg-type]
    assert verdict(whole) == "agrees"


def test_the_terminal_says_what_is_on_record(cli: Cli, tmp_path: Path) -> None:
    claims = {each.id: each for each in select(FOLDERS, ["H6a1", "D2a1"])}
    shown = cli("claims", *claims, "-o", tmp_path / "out")
    assert shown.returncode == 0, shown.stderr
    rows = [line for line in shown.stdout.splitlines() if re.match("(H6a1|D2a1)  ", line)]
    assert len(rows) == 2 and all("on record" in line for line in rows), rows
    page = (tmp_path / "out" / "index.html").read_text()
    for found in judge(list(claims.values()), Laboratory(), {}):
        assert f"{found.seeds} seeds, on record" in shown.stdout
        assert f"commit {found.made.commit}" in shown.stdout and f"commit {found.made.commit}" in page


def test_seeds_in_short_are_options_that_repeat() -> None:
    choice = Choice.of({"name": "seed", "title": "seed", "why": "", "seeds": 4})
    assert [option.overrides for option in choice.options] == [("seed=1",), ("seed=2",), ("seed=3",), ("seed=4",)]
    assert (choice.repeats, choice.quick) == (True, 3)


def test_an_option_is_repeated_no_more_often_than_it_says() -> None:
    """Four seeds of the first option and two of the second: 4 + 2 combinations; of each its first seeds."""
    seed = Choice.of({"name": "seed", "title": "seed", "why": "", "seeds": 4})
    options = [{"name": "first"}, {"name": "second", "seeds": 2}]
    queue = Choice.of({"name": "queue", "title": "queue", "why": "", "options": options})
    study = replace(claim("dqn-2023", "D2a1").study, choices=(queue, seed))
    found = [tuple(option.name for option in options) for options in Laboratory(full=True).grid(study)]
    assert found == [*(("first", str(n)) for n in range(1, 5)), ("second", "1"), ("second", "2")]
    assert len(Laboratory(full=True, seeds=1).grid(study)) == 2


def test_a_region_by_hand() -> None:
    """Two statements over four cells, one of which has both: 3/4 and 2/4 of them hold, so that chance gives 4 x 3/8."""
    verdicts: list[tuple[Verdict, Verdict]] = [
        ("agrees", "agrees"), ("agrees", "differs"), ("agrees", "open"), ("differs", "agrees")
    ]  # fmt: skip
    cells = {(Option(str(number), ()),): pair for number, pair in enumerate(verdicts)}
    region = Region("both", ("X1", "X2"), cells)
    assert [cell[0].name for cell in region.whole] == ["0"]
    assert (region.verdict, region.by_chance) == ("agrees", 1.5)
    assert region.as_dict(["number"])["held"] == [0b11, 0b01, 0b01, 0b10]
    assert "under 1 of 4 combinations, the first among them" in str(region)
    without = Region("both", ("X1", "X2"), {cell: pair for cell, pair in cells.items() if pair != ("agrees", "agrees")})
    assert without.verdict == "differs"


def test_a_forest_plot_has_the_sources_numbers_and_ours() -> None:
    """D2a1 to D2d1: four diamonds where the paper's leads are, and a dot for each testbed."""
    leads = [each for each in select(FOLDERS, ["D2"]) if each.unit == "Mbit/s" and each.study.costly]
    recorded = judge(leads, Laboratory(), {})
    (plot,) = plots(recorded)
    figure = draw(plot)
    lines = figure.axes[0].get_lines()
    diamonds = [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "D"]  # type: ignore[index]
    assert diamonds == [10.41, 0.65, 7.56, 0.67]
    dots = [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "o"]  # type: ignore[index]
    assert len(dots) == sum(1 + len(found.others) for found in recorded)
    assert dots[0] == recorded[0].measured.value


def test_rows_of_one_quantity_are_named_by_their_studies() -> None:
    """K1: thirty scenarios, each with its largest difference, which the axis names once."""
    recorded = judge(select(FOLDERS, ["K1"]), Laboratory(), {})
    (plot,) = plots(recorded)
    axis = draw(plot).axes[0]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels[0] == "K1-01  CUBIC, 1 Mbit/s, 40 ms, 20 packets"
    assert len({label.split("  ")[1] for label in labels}) == len(labels) == 30
    assert axis.get_xlabel() == "the largest difference of a mean, in units of what agrees"


def test_a_seed_without_a_value_has_no_part_in_a_mean() -> None:
    """A question that does not arise with a seed leaves the means of the others: (2 + 4) / 2."""
    some = [Measured(None), Measured(1.0, {"x": 2.0}), Measured(3.0, {"x": 4.0, "y": 5.0})]
    for order in (some, some[::-1]):
        found = mean(order)
        assert (found.value, found.also["x"], found.also["y"]) == (2.0, 3.0, 5.0)


def test_a_ratio_of_sums_over_nothing_has_no_value() -> None:
    assert mean([Measured(1.0, weight=0.0), Measured(2.0, weight=0.0)]).value is None


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([("open", "open")], "open"),
        ([("open", "agrees"), ("differs", "open")], "open"),  # no combination lets both questions arise
        ([("open", "agrees"), ("agrees", "differs")], "differs"),
        ([("open", "agrees"), ("agrees", "undecided")], "undecided"),
        ([("differs", "agrees"), ("agrees", "agrees")], "agrees"),
    ],
)
def test_a_region_is_judged_where_all_its_questions_arise(cells: list[tuple[Verdict, ...]], verdict: Verdict) -> None:
    by_option = {(Option(str(place), ()),): verdicts for place, verdicts in enumerate(cells)}
    assert Region("all", ("A1", "A2"), by_option).verdict == verdict
