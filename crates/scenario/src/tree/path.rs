//! The place of a value in a scenario: `flow[1].controller.beta`.

use std::fmt;

/// One step down the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The largest depth of a field, far beyond the deepest of the format and harmless to any stack.
const MAX_STEPS: usize = 64;

/// The steps from the top of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(pub(crate) Vec<Step>);

impl FieldPath {
    pub(crate) fn of(key: &str) -> Self {
        Self(vec![Step::Key(key.to_owned())])
    }

    /// The path one key further down; `key` may be several, separated by dots.
    pub(crate) fn key(&self, keys: &str) -> Self {
        let mut steps = self.0.clone();
        steps.extend(keys.split('.').map(|key| Step::Key(key.to_owned())));
        Self(steps)
    }

    /// The path below this one of a text such as `bands[0].limit`.
    pub(crate) fn below(&self, text: &str) -> Self {
        let steps = Self::parse(text).unwrap_or_else(|_| Self::of(text));
        Self(self.0.iter().cloned().chain(steps.0).collect())
    }

    /// The path one step further down.
    pub(crate) fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// True if `other` is this place or lies below it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// True if one of the two is the other or lies below it.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a == b)
    }

    /// Reads `topology.bottleneck.rate` or `flow[0].start`; a bare name in place of an index stays a key.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        if text.split(['.', '[']).count() > MAX_STEPS {
            return Err(format!("has more than {MAX_STEPS} parts"));
        }
        for part in text.split('.') {
            let (key, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
            if key.trim().is_empty() {
                return Err("has an empty part".to_owned());
            }
            steps.push(Step::Key(key.trim().to_owned()));
            while let Some(rest) = indices.strip_prefix('[') {
                let (number, rest) = rest.split_once(']').ok_or("has a [ without its ]")?;
                let index =
                    number.trim().parse().map_err(|_| format!("has {number:?} where an index such as [0] belongs"))?;
                steps.push(Step::Index(index));
                indices = rest;
            }
            if !indices.is_empty() {
                return Err(format!("has {indices:?} after an index"));
            }
        }
        Ok(Self(steps))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            let dot = if position > 0 { "." } else { "" };
            match step {
                // As TOML writes a key that is more than a word.
                Step::Key(key) if key.is_empty() || key.contains(['.', '[', ' ']) => write!(f, "{dot}{key:?}")?,
                Step::Key(key) => write!(f, "{dot}{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["seed", "topology.bottleneck.rate", "flow[0].start", "a[1][2].b"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_path() {
        for text in ["", "a..b", "a[", "a[x]", "a[0]b", "a.", "[0]"] {
            assert!(FieldPath::parse(text).is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn touches_means_same_line_of_descent() {
        let path = |text| FieldPath::parse(text).unwrap();
        assert!(path("flow[1]").touches(&path("flow[1].start")));
        assert!(path("flow[1].start").touches(&path("flow")));
        assert!(!path("flow[1].start").touches(&path("flow[0]")));
    }
}
