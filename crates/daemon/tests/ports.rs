//! Ports whose media fail and come back, before a driver.

use baton_daemon::config::Config;
use baton_daemon::driver::Driver;
use baton_daemon::engine::Owner;
use baton_daemon::medium::{Medium, MediumEvent, Received};
use baton_daemon::node;
use baton_daemon::port::Port;
use baton_linux::addresses::AddressMonitor;
use baton_linux::links::{LinkChange, LinkMonitor};
use baton_linux::netlink::RouteSocket;
use baton_linux::readiness::Waker;
use baton_proto::host::{Host, HostEvent};
use baton_proto::interface::InterfaceId;
use baton_proto::mobility::attachment::Signal;
use baton_proto::packet::Packet;
use baton_proto::time::{Duration, Instant};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

/// The time for which a driver is driven: longer than a port rests.
const TURNS: Duration = Duration::from_secs(2);

/// A device that may fail.
#[derive(Clone, Debug)]
struct Modem {
    readable: Waker,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_broken: bool,
    events: VecDeque<MediumEvent>,
    /// Packets that wait: each is no IP packet, which the driver counts.
    waiting: u32,
    /// Reads that failed.
    failures: u32,
}

impl Medium for Modem {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.readable.as_fd()]
    }

    fn receive(&mut self, _now: Instant) -> io::Result<Option<Received>> {
        let mut state = self.state.lock().unwrap();
        if state.is_broken {
            state.failures += 1;
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.readable.clear();
        let Some(left) = state.waiting.checked_sub(1) else {
            return Ok(None);
        };
        state.waiting = left;
        Ok(Some(Packet::verbatim(&[])))
    }

    fn send(&mut self, _now: Instant, _packet: &Packet) -> bool {
        true
    }

    fn handle_link(&mut self, _now: Instant, _change: &LinkChange) {}

    fn poll_event(&mut self) -> Option<MediumEvent> {
        self.state.lock().unwrap().events.pop_front()
    }

    fn dropped_unread(&self, _kernel: &mut RouteSocket) -> io::Result<u64> {
        Ok(0)
    }
}

/// An owner who notes whether the link is up.
#[derive(Debug, Default)]
struct Notes(Vec<bool>);

impl Owner for Notes {
    fn handle_event(&mut self, _now: Instant, _host: &mut Host, _event: HostEvent) {}
    fn handle_attachment(&mut self, _now: Instant, _signal: Signal) {}
    fn handle_link(&mut self, _now: Instant, (_, is_up): (InterfaceId, bool)) {
        self.0.push(is_up);
    }
}

/// A driver of a node with a modem, which is up and has brought a packet.
fn driver() -> (Driver, Modem, Notes) {
    let modem = Modem {
        readable: Waker::new().unwrap(),
        state: Arc::default(),
    };
    let host = node::host(&Config::default(), &[("modem", 1500)], || Ok([7; 16])).unwrap();
    let port = Port::new("modem", 1500, Box::new(modem.clone()));
    let monitors = (
        LinkMonitor::open().unwrap(),
        AddressMonitor::open().unwrap(),
    );
    let mut driver = Driver::new(host, vec![port], monitors);
    let mut notes = Notes::default();
    modem
        .state
        .lock()
        .unwrap()
        .events
        .push_back(MediumEvent::Up);
    bring(&modem);
    until(&mut driver, &mut notes, |driver, _| malformed(driver) == 1);
    assert_eq!(notes.0, [true]);
    (driver, modem, notes)
}

/// Lets a packet come.
fn bring(modem: &Modem) {
    modem.state.lock().unwrap().waiting += 1;
    modem.readable.wake();
}

fn malformed(driver: &mut Driver) -> u64 {
    driver.counts(&mut RouteSocket::open().unwrap()).malformed
}

fn until(driver: &mut Driver, notes: &mut Notes, is_so: impl Fn(&mut Driver, &Notes) -> bool) {
    let most = driver.now() + TURNS.saturating_mul(10);
    while !is_so(driver, notes) {
        assert!(driver.now() < most, "{notes:?}");
        driver.turn(notes, &[], TURNS).unwrap();
    }
}

#[test]
fn a_device_that_cannot_be_read_is_down_and_read_again_later() {
    let (mut driver, modem, mut notes) = driver();
    modem.state.lock().unwrap().is_broken = true;
    bring(&modem);
    until(&mut driver, &mut notes, |_, notes| notes.0 == [true, false]);
    // It stays readable, and the driver does not turn in a circle.
    let end = driver.now() + TURNS;
    while driver.now() < end {
        driver.turn(&mut notes, &[], TURNS).unwrap();
    }
    let failures = modem.state.lock().unwrap().failures;
    assert!((1..10).contains(&failures), "{failures}");
    modem.state.lock().unwrap().is_broken = false;
    until(&mut driver, &mut notes, |driver, _| malformed(driver) == 2);
    assert_eq!(notes.0, [true, false, true]);
}

#[test]
fn a_device_that_says_that_it_is_back_is_read_at_once() {
    let (mut driver, modem, mut notes) = driver();
    modem.state.lock().unwrap().is_broken = true;
    bring(&modem);
    until(&mut driver, &mut notes, |_, notes| notes.0 == [true, false]);
    let mut state = modem.state.lock().unwrap();
    state.is_broken = false;
    state.events.extend([MediumEvent::Down, MediumEvent::Up]);
    drop(state);
    until(&mut driver, &mut notes, |driver, _| malformed(driver) == 2);
    assert_eq!(notes.0, [true, false, true]);
}
