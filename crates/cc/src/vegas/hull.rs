//! The lower convex hull of points in time: the points that can be least once any slope is taken off.
//!
//! Source: Andrew 1979, the monotone chain; Moon, Skelly and Towsley, INFOCOM 1999, for its use on delays. Departures:
//! beyond [`MOST`] vertices the hull drops the one that lies least below its neighbours' line.

use super::envelope::Point;

const MOST: usize = 64;

/// A lower convex hull with a bounded number of vertices.
#[derive(Clone, Debug, Default)]
pub(super) struct LowerHull {
    /// The vertices in the order of time, with growing slopes between them.
    vertices: Vec<Point>,
}

impl LowerHull {
    /// Adds a point, later than those before.
    pub(super) fn add(&mut self, point: Point) {
        while let Some(last) = self.vertices.last() {
            let hides = match self.vertices.len().checked_sub(2).map(|index| self.vertices[index]) {
                _ if last.at >= point.at => last.delay >= point.delay,
                Some(before) => below(before, *last, point) <= 0.0,
                None => false,
            };
            if !hides {
                break;
            }
            self.vertices.pop();
        }
        if self.vertices.last().is_none_or(|last| last.at < point.at) {
            self.vertices.push(point);
        }
        if self.vertices.len() > MOST {
            self.drop_flattest();
        }
    }

    /// The least delay once `slope` is taken off; infinite without points.
    pub(super) fn least_without(&self, slope: f64) -> f64 {
        self.vertices.iter().map(|point| point.without(slope)).fold(f64::INFINITY, f64::min)
    }

    fn drop_flattest(&mut self) {
        let depths = self.vertices.windows(3).map(|three| below(three[0], three[1], three[2]));
        if let Some((index, _)) = depths.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) {
            self.vertices.remove(index + 1);
        }
    }
}

/// The depth of the middle point below the line through the others.
fn below(first: Point, middle: Point, last: Point) -> f64 {
    let share = (middle.at - first.at) / (last.at - first.at);
    first.delay + share * (last.delay - first.delay) - middle.delay
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "numbers that are exact by hand")]

    use super::*;

    fn hull(points: &[(f64, f64)]) -> LowerHull {
        let mut hull = LowerHull::default();
        for &(at, delay) in points {
            hull.add(Point { at, delay });
        }
        hull
    }

    #[test]
    fn only_what_some_slope_makes_least_is_kept() {
        // (1, 4) lies above the line from (0, 3) to (2, 1); (3, 2) above the one from (2, 1) to (4, 2)
        let hull = hull(&[(0.0, 3.0), (1.0, 4.0), (2.0, 1.0), (3.0, 2.0), (4.0, 2.0)]);
        let kept: Vec<_> = hull.vertices.iter().map(|point| point.at as i64).collect();
        assert_eq!(kept, [0, 2, 4]);
        assert_eq!(hull.least_without(0.0), 1.0);
        assert_eq!(hull.least_without(1.0), -2.0); // 2 - 1 * 4
        assert_eq!(hull.least_without(-2.0), 3.0); // 3 + 2 * 0
    }

    #[test]
    fn of_two_at_one_time_the_lower_counts() {
        assert_eq!(hull(&[(0.0, 3.0), (0.0, 2.0), (0.0, 4.0)]).least_without(0.0), 2.0);
    }

    #[test]
    fn too_many_vertices_lose_the_flattest() {
        // t^2, all of it hull; then a point so low that its line hides all but the first
        let mut points: Vec<_> = (0..200).map(|step| (f64::from(step), f64::from(step * step))).collect();
        let full = hull(&points);
        assert_eq!(full.vertices.len(), MOST);
        assert_eq!((full.least_without(0.0), full.vertices[MOST - 1].at), (0.0, 199.0));
        points.push((200.0, -1.0));
        assert_eq!(hull(&points).vertices.len(), 2);
    }
}
