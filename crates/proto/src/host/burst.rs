//! Queues that are mostly empty.

use std::collections::VecDeque;

/// A queue that takes the space of a pointer while empty: a simulation has many agents, most of them silent.
#[derive(Clone, Debug)]
#[expect(
    clippy::box_collection,
    reason = "nearly all are empty, and so pay for a pointer only"
)]
pub(crate) struct Burst<T>(Option<Box<VecDeque<T>>>);

impl<T> Default for Burst<T> {
    fn default() -> Self {
        Burst(None)
    }
}

impl<T> From<Vec<T>> for Burst<T> {
    fn from(items: Vec<T>) -> Self {
        Burst((!items.is_empty()).then(|| Box::new(items.into())))
    }
}

impl<T> Burst<T> {
    pub fn push_back(&mut self, item: T) {
        // Usually the only element.
        let one = || Box::new(VecDeque::with_capacity(1));
        self.0.get_or_insert_with(one).push_back(item);
    }

    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.push_back(item));
    }

    pub fn front(&self) -> Option<&T> {
        self.0.as_ref()?.front()
    }

    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.front_mut()
    }

    pub fn pop_front(&mut self) -> Option<T> {
        let queue = self.0.as_mut()?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.0 = None;
        }
        first
    }

    pub fn clear(&mut self) {
        self.0 = None;
    }
}
