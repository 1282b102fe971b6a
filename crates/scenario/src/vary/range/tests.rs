use super::*;

const DRAWS: usize = 100_000;

fn range(law: Law, low: Number, high: Number) -> Range {
    Range::new(law, (Unit::Bare, low), (Unit::Bare, high), false).expect("a good range")
}

fn draws(range: &Range) -> Vec<f64> {
    let mut stream = RandomStream::new(5, "test");
    let number = |value| match value {
        Value::Integer(whole) => whole as f64,
        Value::Float(real) => real,
        other => panic!("{other:?} must be a number"),
    };
    (0..DRAWS).map(|_| number(range.draw(&mut stream))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / DRAWS as f64
}

#[test]
fn uniform_reals_stay_inside_and_have_the_laws_mean_and_variance() {
    let drawn = draws(&range(Law::Uniform, Number::Real(-2.0), Number::Real(10.0)));
    assert!(drawn.iter().all(|x| (-2.0..=10.0).contains(x)));
    // mean (-2 + 10) / 2 = 4, variance 12^2 / 12 = 12; standard errors sqrt(12 / 1e5) = 0.011 and
    // 12 sqrt(4 / 5 / 1e5) = 0.034: five of each
    let mu = mean(drawn.iter().copied());
    assert!((mu - 4.0).abs() < 0.055, "mean {mu}");
    let variance = mean(drawn.iter().map(|x| (x - mu) * (x - mu)));
    assert!((variance - 12.0).abs() < 0.17, "variance {variance}");
}

#[test]
fn uniform_whole_numbers_are_each_as_likely_with_both_ends() {
    let drawn = draws(&range(Law::Uniform, Number::Whole(1), Number::Whole(6)));
    // a die: each face 1/6 = 0.16667, standard error sqrt(1/6 * 5/6 / 1e5) = 0.0012
    for face in 1..=6 {
        let share = mean(drawn.iter().map(|x| f64::from(u8::from((x - f64::from(face)).abs() < 0.5))));
        assert!((share - 1.0 / 6.0).abs() < 0.006, "{face}: {share}");
    }
}

#[test]
fn log_uniform_reals_have_the_laws_mean_and_log_mean() {
    let drawn = draws(&range(Law::LogUniform, Number::Real(1e-4), Number::Real(1e-1)));
    assert!(drawn.iter().all(|x| (1e-4..=1e-1).contains(x)));
    // log10 is uniform on -4 ... -1: mean -2.5, standard error 3 / sqrt(12 * 1e5) = 0.0027
    let log_mean = mean(drawn.iter().map(|x| x.log10()));
    assert!((log_mean + 2.5).abs() < 0.014, "log-mean {log_mean}");
    // mean (b - a) / ln(b / a) = 0.0999 / 6.90776 = 0.0144620; the second moment is (b^2 - a^2) / (2 ln(b / a))
    // = 0.01 / 13.81551 = 7.2382e-4, so the standard error is sqrt((7.2382e-4 - 2.0915e-4) / 1e5) = 7.2e-5
    let mu = mean(drawn.iter().copied());
    assert!((mu - 0.014_462).abs() < 3.6e-4, "mean {mu}");
}

#[test]
fn log_uniform_counts_have_the_probabilities_of_their_law() {
    let drawn = draws(&range(Law::LogUniform, Number::Whole(1), Number::Whole(7)));
    // P(k) = ln((k + 1) / k) / ln 8: a third for 1 (ln 2 / ln 8), a third for 2 and 3 together, a third for 4 to 7
    for (low, high) in [(1.0, 1.0), (2.0, 3.0), (4.0, 7.0)] {
        let share = mean(drawn.iter().map(|x| f64::from(u8::from((low..=high).contains(x)))));
        // standard error sqrt(1/3 * 2/3 / 1e5) = 0.0015
        assert!((share - 1.0 / 3.0).abs() < 0.0075, "{low} to {high}: {share}");
    }
}

#[test]
fn the_whole_width_of_an_integer_can_be_drawn() {
    let widest = range(Law::Uniform, Number::Whole(i64::MIN.into()), Number::Whole(u64::MAX.into()));
    // from -2^63 to 2^64: mean 2^62 = 4.61e18, deviation 1.5 * 2^64 / sqrt(12) = 8.0e18, standard error 2.5e16
    let mu = mean(draws(&widest).into_iter());
    assert!((mu / 4.611_686e18 - 1.0).abs() < 0.03, "mean {mu:e}");
}

#[test]
fn a_range_of_one_number_is_that_number() {
    for law in [Law::Uniform, Law::LogUniform] {
        assert!(draws(&range(law, Number::Whole(3), Number::Whole(3))).iter().all(|x| (x - 3.0).abs() < 0.5));
        assert!(draws(&range(law, Number::Real(0.1), Number::Real(0.1))).iter().all(|x| (x - 0.1).abs() < 1e-15));
    }
}

#[test]
fn a_pick_is_as_likely_as_another() {
    let mut stream = RandomStream::new(2, "pick");
    let mut counts = [0_usize; 4];
    (0..DRAWS).for_each(|_| counts[pick(4, &mut stream)] += 1);
    // a quarter each: standard error sqrt(1e5 * 1/4 * 3/4) = 137
    assert!(counts.iter().all(|count| count.abs_diff(25_000) < 685), "{counts:?}");
}
