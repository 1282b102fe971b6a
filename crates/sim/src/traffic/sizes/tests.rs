use super::*;

fn drawn(distribution: &SizeDistribution, count: u32) -> Vec<f64> {
    let mut random = RandomStream::new(11, "sizes");
    (0..count).map(|_| distribution.draw(&mut random).0 as f64).collect()
}

fn mean(sizes: &[f64]) -> f64 {
    sizes.iter().sum::<f64>() / sizes.len() as f64
}

/// The fraction of `sizes` up to `limit`.
fn up_to(sizes: &[f64], limit: f64) -> f64 {
    sizes.iter().filter(|size| **size <= limit).count() as f64 / sizes.len() as f64
}

#[test]
fn the_web_search_table_has_the_mean_of_its_trapezoids() {
    // In packets, 0.15*6 + 0.05*9.5 + 0.1*16 + 0.1*26 + 0.13*43 + 0.07*93 + 0.1*400 + 0.1*1000 + 0.1*2333
    //   + 0.07*5000 + 0.03*13333.5
    // = 0.9 + 0.475 + 1.6 + 2.6 + 5.59 + 6.51 + 40 + 100 + 233.3 + 350 + 400.005 = 1140.98; times 1460 bytes.
    let table = SizeDistribution::Cdf(WEB_SEARCH.into());
    assert!((table.mean() - 1140.98 * 1460.0).abs() < 1.0, "{}", table.mean());
    // The scripts of pFabric give 1138 * 1460 as the mean flow size.
    assert!((table.mean() / (1138.0 * 1460.0) - 1.0).abs() < 0.003);
}

#[test]
fn the_data_mining_table_has_the_mean_of_its_trapezoids() {
    // 0.5*1 + 0.1*1.5 + 0.1*2.5 + 0.1*5 + 0.1*137 + 0.05*1187 + 0.04*34387 + 0.01*366667
    // = 0.5 + 0.15 + 0.25 + 0.5 + 13.7 + 59.35 + 1375.48 + 3666.67 = 5116.60; the scripts say 5117.
    let table = SizeDistribution::Cdf(DATA_MINING.into());
    assert!((table.mean() - 5116.60 * 1460.0).abs() < 1.0, "{}", table.mean());
    assert!((table.mean() / (5117.0 * 1460.0) - 1.0).abs() < 0.001);
}

#[test]
fn the_web_search_table_is_the_published_one() {
    // kB and per cent, of TrafficGenerator's DCTCP_CDF.txt and HPCC's WebSearch_distribution.txt; in packets of 1500 bytes
    // these are ours, rounded: 6.7 (6), 13.3 (13), 20 (19), 33.3 (33), 53.3 (53), ..
    let published = [
        (10, 15),
        (20, 20),
        (30, 30),
        (50, 40),
        (80, 53),
        (200, 60),
        (1_000, 70),
        (2_000, 80),
        (5_000, 90),
        (10_000, 97),
        (30_000, 100),
    ];
    assert_eq!(WEB_SEARCH.len(), published.len() + 1);
    for (point, (kilobytes, percent)) in WEB_SEARCH[1..].iter().zip(published) {
        assert!((point.size / 1460.0 - f64::from(kilobytes) / 1.5).abs() <= 1.0, "{point:?}");
        assert!((point.fraction * 100.0 - f64::from(percent)).abs() < 1e-9, "{point:?}");
    }
}

#[test]
fn draws_from_a_table_pass_through_its_points() {
    let sizes = drawn(&SizeDistribution::Cdf(WEB_SEARCH.into()), 200_000);
    // Three standard errors of a fraction near 1/2 of 200,000 are 0.0034. Half a byte is added against rounding.
    for point in &WEB_SEARCH[1..] {
        let found = up_to(&sizes, point.size + 0.5);
        assert!((found - point.fraction).abs() < 0.0034, "{point:?}: {found}");
    }
    // Half way from 0.7 (667 packets) to 0.8 (1333): 1000 packets.
    assert!((up_to(&sizes, 1_460_000.0) - 0.75).abs() < 0.003);
    assert!(sizes.iter().all(|size| (6.0 * 1460.0..=20_000.0 * 1460.0).contains(size)));
}

#[test]
fn uniform_and_exponential_by_their_textbook_moments() {
    let uniform = SizeDistribution::Uniform { min: Bytes(1_000), max: Bytes(3_000) };
    let sizes = drawn(&uniform, 100_000);
    assert!((mean(&sizes) / 2_000.0 - 1.0).abs() < 0.003); // standard error 2000/sqrt(12)/sqrt(1e5) = 1.8 bytes
    assert!((up_to(&sizes, 1_500.0) - 0.25).abs() < 0.005);
    let exponential = SizeDistribution::Exponential { mean: Bytes(50_000) };
    let sizes = drawn(&exponential, 100_000);
    assert!((mean(&sizes) / 50_000.0 - 1.0).abs() < 0.015); // standard error 0.3 %
    assert!((up_to(&sizes, 50_000.0) - 0.632_121).abs() < 0.005); // 1 - 1/e
}

#[test]
fn the_log_normal_by_its_median_and_mean() {
    let distribution = SizeDistribution::LogNormal { median: 10_000.0, sigma: 1.0 };
    assert!((distribution.mean() - 16_487.21).abs() < 0.01); // 10,000 e^(1/2)
    let sizes = drawn(&distribution, 200_000);
    assert!((up_to(&sizes, 10_000.0) - 0.5).abs() < 0.004);
    assert!((up_to(&sizes, 27_182.82) - 0.841_345).abs() < 0.003); // one sigma: Phi(1)
    assert!((mean(&sizes) / 16_487.21 - 1.0).abs() < 0.015); // standard error sqrt(e - 1)/sqrt(2e5) = 0.3 %
}

#[test]
fn the_pareto_by_its_tail_and_mean() {
    let unbounded = SizeDistribution::Pareto { min: 1_000.0, shape: 2.5, max: None };
    assert!((unbounded.mean() - 1_666.667).abs() < 0.001); // 2.5 * 1000 / 1.5
    let sizes = drawn(&unbounded, 100_000);
    assert!((up_to(&sizes, 2_000.0) - 0.823_223).abs() < 0.004); // 1 - 2^-2.5
    // With shape 2 up to 10,000: mean = 2 (1000 - 1e6/1e4) / (1 - 0.01) = 1818.18; P(X <= 2000) = 0.75 / 0.99.
    let bounded = SizeDistribution::Pareto { min: 1_000.0, shape: 2.0, max: Some(10_000.0) };
    assert!((bounded.mean() - 1_818.182).abs() < 0.001);
    let sizes = drawn(&bounded, 100_000);
    assert!((up_to(&sizes, 2_000.0) - 0.757_576).abs() < 0.005);
    assert!(sizes.iter().all(|size| *size <= 10_000.0));
    assert!((mean(&sizes) / 1_818.182 - 1.0).abs() < 0.01);
    // Shape 1: L H / (H - L) ln(H / L) = 1000 * 10000 / 9000 * ln 10.
    let harmonic = SizeDistribution::Pareto { min: 1_000.0, shape: 1.0, max: Some(10_000.0) };
    assert!((harmonic.mean() - 2_558.428).abs() < 0.001);
}

#[test]
fn samples_come_as_often_as_they_are_listed() {
    let samples = SizeDistribution::Samples([Bytes(10), Bytes(10), Bytes(40)].into());
    assert!((samples.mean() - 20.0).abs() < 1e-12);
    let sizes = drawn(&samples, 90_000);
    assert!((up_to(&sizes, 10.0) - 2.0 / 3.0).abs() < 0.005);
}
