//! A client that asks for pages and a server that answers.

use baton_proto::time::{Duration, Instant};

/// Both ends' view of the pages.
#[derive(Debug)]
pub(super) struct Pages {
    request: u32,
    page: u64,
    think_time: Duration,
    /// Pages still to be had; `None` is without end.
    left: Option<u32>,
    /// Time of the client's next request; `None` while it waits for a page.
    next: Option<Instant>,
    /// Bytes of the present page that the client has.
    page_received: u64,
    /// Bytes of requests that the server has read.
    requests_received: u64,
}

/// Progress of the client's page after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    /// More of the page is to come.
    Partial,
    /// The page is complete.
    Complete,
    /// The last page is complete.
    Last,
}

impl Pages {
    /// Creates a client whose first request is due at `start`.
    pub fn new(
        request: u32,
        page: u64,
        think_time: Duration,
        count: Option<u32>,
        start: Instant,
    ) -> Pages {
        Pages {
            request,
            page,
            think_time,
            left: count,
            next: (count != Some(0)).then_some(start),
            page_received: 0,
            requests_received: 0,
        }
    }

    /// Returns the bytes of the client's request, if one is due.
    pub fn ask(&mut self, now: Instant) -> Option<u64> {
        self.next.take_if(|next| *next <= now)?;
        self.page_received = 0;
        Some(u64::from(self.request))
    }

    /// Returns the time of the client's next request.
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Takes in `bytes` of requests at the server; returns the bytes that it now owes in answer.
    pub fn serve(&mut self, bytes: u64) -> u64 {
        let request = u64::from(self.request.max(1));
        let before = self.requests_received / request;
        self.requests_received += bytes;
        (self.requests_received / request - before) * self.page
    }

    /// Takes in `bytes` of a page at the client.
    pub fn take(&mut self, now: Instant, bytes: u64) -> PageState {
        self.page_received += bytes;
        if self.page_received < self.page {
            return PageState::Partial;
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            return PageState::Last;
        }
        self.next = Some(now + self.think_time);
        PageState::Complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_millis(milliseconds)
    }

    #[test]
    fn two_pages_with_a_thought_between() {
        let mut pages = Pages::new(100, 1000, Duration::from_secs(2), Some(2), at(500));
        assert_eq!(pages.ask(at(499)), None);
        assert_eq!(pages.ask(at(500)), Some(100));
        assert_eq!(pages.serve(60), 0);
        assert_eq!(pages.serve(40), 1000);
        assert_eq!(pages.deadline(), None);
        assert_eq!(pages.take(at(600), 400), PageState::Partial);
        assert_eq!(pages.take(at(700), 600), PageState::Complete);
        assert_eq!(pages.deadline(), Some(at(2700)));
        assert_eq!(pages.ask(at(2700)), Some(100));
        assert_eq!(pages.serve(100), 1000);
        assert_eq!(pages.take(at(2800), 1000), PageState::Last);
        assert_eq!(pages.deadline(), None);
    }
}
