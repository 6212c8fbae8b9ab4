//! Where the active inputs of a position are written: one after another, or each at its place.
//!
//! A place is one of an array in which similar positions have the same inputs at the same places, so that they can
//! be compared place by place. Inputs that exclude one another share a place, such as those of the pieces on a square.

/// Takes active inputs.
pub(super) trait InputSink {
    /// Takes an input that belongs at `place`. No two inputs of a position have the same place.
    fn put(&mut self, place: usize, input: u16);
}

/// Writes inputs one after another.
pub(super) struct Compact<'a>(pub(super) &'a mut Vec<u16>);

impl InputSink for Compact<'_> {
    #[inline]
    fn put(&mut self, _place: usize, input: u16) {
        self.0.push(input);
    }
}

/// Writes each input at its place.
pub(super) struct Placed<'a>(pub(super) &'a mut [u16]);

impl InputSink for Placed<'_> {
    #[inline]
    fn put(&mut self, place: usize, input: u16) {
        self.0[place] = input;
    }
}

/// Hands out places.
#[derive(Debug, Default)]
pub(super) struct PlaceCounter {
    next: usize,
}

impl PlaceCounter {
    /// Returns the first of `count` places.
    pub(super) fn take(&mut self, count: usize) -> usize {
        let first = self.next;
        self.next += count;
        first
    }

    /// Returns the number of places.
    pub(super) fn count(&self) -> usize {
        self.next
    }
}
