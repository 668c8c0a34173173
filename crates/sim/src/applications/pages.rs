//! A client that asks for pages, and a server that answers.

use baton_proto::time::{Duration, Instant};

/// Client, which requests a page and thinks before the next request.
#[derive(Debug)]
pub(super) struct Client {
    /// Bytes of a request.
    request: u32,
    /// Bytes of a page.
    page: u64,
    think_time: Duration,
    /// Pages still to request; `None` means no limit.
    left: Option<u32>,
    /// Time of the next request; `None` while it waits for a page.
    next: Option<Instant>,
    /// Bytes received of the present page.
    received: u64,
}

/// Server, which answers each request with a page.
#[derive(Debug)]
pub(super) struct Server {
    /// Bytes of a request.
    request: u64,
    /// Bytes of a page.
    page: u64,
    /// Bytes of an incomplete request.
    received: u64,
}

/// Progress of the client's page after received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Incomplete page.
    Partial,
    /// Complete page.
    Complete,
    /// Complete last page.
    Last,
}

impl Client {
    /// Creates a client whose first request is due at `start`.
    pub fn new(
        (request, page): (u32, u64),
        think_time: Duration,
        count: Option<u32>,
        start: Instant,
    ) -> Client {
        Client {
            request,
            page,
            think_time,
            left: count,
            next: (count != Some(0)).then_some(start),
            received: 0,
        }
    }

    /// Returns the bytes of the request, if one is due before `stop`.
    pub fn ask(&mut self, now: Instant, stop: Option<Instant>) -> Option<u64> {
        let is_due = |next: &mut Instant| *next <= now && stop.is_none_or(|stop| *next < stop);
        self.next.take_if(is_due)?;
        Some(u64::from(self.request))
    }

    /// Returns the time of the next request.
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Takes in `bytes` of a page.
    pub fn take(&mut self, now: Instant, bytes: u64) -> PageState {
        self.received += bytes;
        if self.received < self.page {
            return PageState::Partial;
        }
        self.received = 0;
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.left == Some(0) {
            return PageState::Last;
        }
        self.next = Some(now + self.think_time);
        PageState::Complete
    }
}

impl Server {
    /// Creates a server of pages of this size for requests of that size.
    pub fn new((request, page): (u32, u64)) -> Server {
        Server {
            request: u64::from(request.max(1)),
            page,
            received: 0,
        }
    }

    /// Takes in `bytes` of requests; returns the bytes of the answers.
    pub fn serve(&mut self, bytes: u64) -> u64 {
        self.received += bytes;
        let complete = self.received / self.request;
        self.received %= self.request;
        complete * self.page
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
        let mut client = Client::new((100, 1000), Duration::from_secs(2), Some(2), at(500));
        let mut server = Server::new((100, 1000));
        assert_eq!(client.ask(at(499), None), None);
        assert_eq!(client.ask(at(500), None), Some(100));
        assert_eq!((server.serve(60), server.serve(40)), (0, 1000));
        assert_eq!(client.deadline(), None);
        assert_eq!(client.take(at(600), 400), PageState::Partial);
        assert_eq!(client.take(at(700), 600), PageState::Complete);
        assert_eq!(client.deadline(), Some(at(2700)));
        assert_eq!(client.ask(at(2700), Some(at(2700))), None);
        assert_eq!(client.ask(at(2700), None), Some(100));
        assert_eq!(server.serve(100), 1000);
        assert_eq!(client.take(at(2800), 1000), PageState::Last);
        assert_eq!(client.deadline(), None);
    }
}
