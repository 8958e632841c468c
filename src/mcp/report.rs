//! What was found wrong with a server's answer, in bounded space.
#![forbid(unsafe_code)]

/// How many complaints about one answer are kept. A server decides how many it deserves.
const KEPT: usize = 100;

/// The first complaints, and the number of all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<T> {
    pub items: Vec<T>,
    pub more: usize,
}

impl<T> Default for Report<T> {
    fn default() -> Self {
        Report { items: Vec::new(), more: 0 }
    }
}

impl<T> Report<T> {
    /// Adds what `make` makes; it is not called when there is no room left.
    pub fn add(&mut self, make: impl FnOnce() -> T) {
        if self.items.len() < KEPT {
            self.items.push(make());
        } else {
            self.more += 1;
        }
    }

    /// The complaints, and as last line how many more there were.
    pub fn into_lines(self) -> Vec<String>
    where
        T: Into<String>,
    {
        let mut lines: Vec<String> = self.items.into_iter().map(Into::into).collect();
        if self.more > 0 {
            lines.push(format!("and {} more of this kind", self.more));
        }
        lines
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_and_counts_the_rest() {
        let mut report = Report::default();
        for number in 0..KEPT + 3 {
            report.add(|| number);
        }
        assert_eq!((report.items.len(), report.items[KEPT - 1], report.more), (KEPT, KEPT - 1, 3));
    }
}
