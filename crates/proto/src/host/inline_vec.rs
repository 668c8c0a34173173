//! Lists that mostly hold one element.

use core::ops::{Index, IndexMut};
use std::collections::VecDeque;

/// A list that stores its first element inline. Most hosts have one interface and one socket; with thousands of
/// hosts, each list elsewhere in memory would cost another cache line for every packet.
#[derive(Clone, Debug)]
pub struct InlineVec<T> {
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Default for InlineVec<T> {
    fn default() -> Self {
        InlineVec {
            first: None,
            others: Vec::new(),
        }
    }
}

impl<T> InlineVec<T> {
    /// Appends an element.
    pub fn push(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
            return;
        }
        if self.others.is_empty() {
            // Few lists get a third element.
            self.others.reserve_exact(1);
        }
        self.others.push(element);
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// Returns true if there is no element.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the element at an index.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        match place.checked_sub(1) {
            None => self.first.as_ref(),
            Some(place) => self.others.get(place),
        }
    }

    /// Returns the element at an index, mutably.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        match place.checked_sub(1) {
            None => self.first.as_mut(),
            Some(place) => self.others.get_mut(place),
        }
    }

    /// Iterates over all elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }
}

/// # Panics
/// Panics if the index is out of range.
impl<T> Index<usize> for InlineVec<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: usize) -> &T {
        self.get(place).expect("a place in the list")
    }
}

impl<T> IndexMut<usize> for InlineVec<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        self.get_mut(place).expect("a place in the list")
    }
}

/// A queue that stores its head inline, for the same reason.
#[derive(Clone, Debug)]
pub(super) struct InlineQueue<T> {
    head: Option<T>,
    #[expect(
        clippy::box_collection,
        reason = "nearly all have never held two, and so pay for a pointer only"
    )]
    others: Option<Box<VecDeque<T>>>,
}

impl<T> Default for InlineQueue<T> {
    fn default() -> Self {
        InlineQueue {
            head: None,
            others: None,
        }
    }
}

impl<T: Copy> InlineQueue<T> {
    #[inline]
    pub fn front(&self) -> Option<T> {
        self.head
    }

    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.head.is_none() {
            self.head = Some(element);
        } else {
            self.others.get_or_insert_default().push_back(element);
        }
    }

    #[inline]
    pub fn push_front(&mut self, element: T) {
        if let Some(head) = self.head.replace(element) {
            self.others.get_or_insert_default().push_front(head);
        }
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let head = self.head.take();
        if let Some(others) = &mut self.others {
            self.head = others.pop_front();
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_is_a_list() {
        let mut few = InlineVec::default();
        assert!(few.is_empty() && few.get(0).is_none());
        for element in 0..4 {
            few.push(element);
            assert_eq!(few.len(), element + 1);
        }
        few[0] = 7;
        few[2] = 9;
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [7, 1, 9, 3]);
        assert_eq!((few[3], few.get(4)), (3, None));
    }

    #[test]
    fn few_queued_is_a_queue_with_two_ends_to_add_at() {
        let (mut few, mut reference) = (InlineQueue::default(), VecDeque::new());
        for step in 0..1000_u32 {
            match step.wrapping_mul(0x9E37_79B9) >> 30 {
                0 => {
                    few.push_back(step);
                    reference.push_back(step);
                }
                1 if step % 3 == 0 => {
                    few.push_front(step);
                    reference.push_front(step);
                }
                _ => assert_eq!(few.pop_front(), reference.pop_front()),
            }
            assert_eq!(few.front(), reference.front().copied());
        }
    }
}
