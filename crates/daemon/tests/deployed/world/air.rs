//! The network between a router's uplinks and its home agent, and the cables of the others: one thread that carries packets between
//! TUN devices. Each uplink has a delay, may be cut, and has an address translator.

use super::datagram::{endpoints, set_destination, set_source};
use baton_linux::readiness::{Waker, wait_readable};
use baton_linux::tun::Tun;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wait that takes longer has nothing to wait for.
const IDLE: Duration = Duration::from_secs(1);

/// A relay on an uplink: the number of a datagram and the datagram, as it becomes none, one or several, each with a
/// further delay.
pub type Relay = fn(u64, Vec<u8>) -> Vec<(Duration, Vec<u8>)>;

/// An uplink as the network treats it.
#[derive(Debug, Default)]
pub struct Uplink {
    /// The time of a datagram in either direction.
    pub delay: Duration,
    /// True if nothing passes, and nobody is told.
    pub is_cut: bool,
    /// Bytes of a datagram for each flipped bit in it, at least one bit; without a number none is flipped.
    pub bytes_a_flip: Option<usize>,
    /// The translator's address and port for the router; without one the router's own are seen.
    pub outside: Option<SocketAddr>,
    /// The router's address and port, from its last datagram.
    pub inside: Option<SocketAddr>,
    /// Packets that the router has sent or got by the device.
    pub seen: Vec<Vec<u8>>,
    /// A relay that does not only pass packets on.
    pub relay: Option<Relay>,
}

/// The state of the network.
#[derive(Debug, Default)]
pub struct State {
    pub uplinks: Vec<Uplink>,
    /// Packets of the home agent for nobody's address.
    pub astray: Vec<Vec<u8>>,
    /// Packets of somebody else, and where they arrive.
    injected: Vec<(At, Vec<u8>)>,
    /// Devices that take the place of an uplink's.
    replaced: Vec<(usize, Tun)>,
    /// Times at which a packet was late, and by how much.
    late: Vec<(Instant, Duration)>,
    is_over: bool,
}

/// The devices: those of the router's uplinks, that of the home agent, and both ends of each cable.
pub struct Devices {
    pub uplinks: Vec<Tun>,
    pub home_agent: Tun,
    pub cables: Vec<[Tun; 2]>,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Uplink(usize),
    HomeAgent,
    Cable(usize, usize),
}

/// The network.
pub struct Air {
    state: Arc<Mutex<State>>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Air {
    /// Begins to carry packets.
    pub fn new(devices: Devices, uplinks: Vec<Uplink>) -> Air {
        let state = State {
            uplinks,
            ..State::default()
        };
        let state = Arc::new(Mutex::new(state));
        let waker = Waker::new().unwrap();
        let mut carrier = Carrier {
            devices,
            state: state.clone(),
            waker: waker.clone(),
            under_way: BTreeMap::new(),
            number: 0,
        };
        Air {
            state,
            waker,
            thread: Some(std::thread::spawn(move || while carrier.turn() {})),
        }
    }

    /// Returns the state, to look at and to change.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Cuts an uplink, or mends it; returns when.
    pub fn cut(&self, uplink: usize, is_cut: bool) -> Instant {
        self.state().uplinks[uplink].is_cut = is_cut;
        Instant::now()
    }

    /// Sends the home agent a packet of somebody else.
    pub fn inject(&self, packet: Vec<u8>) {
        self.inject_at(At::HomeAgent, packet);
    }

    /// Sends the router a packet of somebody else, by an uplink.
    pub fn inject_by(&self, uplink: usize, packet: Vec<u8>) {
        self.inject_at(At::Uplink(uplink), packet);
    }

    /// Sends the router a packet of a machine behind it.
    pub fn inject_from_behind(&self, packet: Vec<u8>) {
        self.inject_at(At::Cable(0, 0), packet);
    }

    fn inject_at(&self, at: At, packet: Vec<u8>) {
        self.state().injected.push((at, packet));
        self.waker.wake();
    }

    /// Puts a device in the place of an uplink's, which is gone then.
    pub fn replace(&self, uplink: usize, device: Tun) {
        self.state().replaced.push((uplink, device));
        self.waker.wake();
        while !self.state().replaced.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the longest time by which a packet was late since a moment.
    pub fn lateness(&self, since: Instant) -> Duration {
        let late = &self.state().late;
        let late = late.iter().filter(|(when, _)| *when >= since);
        late.map(|(_, late)| *late).max().unwrap_or_default()
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        // A test that has failed may have poisoned it.
        let mut state = self.state.lock().unwrap_or_else(|error| error.into_inner());
        state.is_over = true;
        drop(state);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that carries.
struct Carrier {
    devices: Devices,
    state: Arc<Mutex<State>>,
    waker: Waker,
    /// Packets on their way, by the time of their arrival and their number.
    under_way: BTreeMap<(Instant, u64), (At, At, Vec<u8>)>,
    number: u64,
}

impl Carrier {
    /// Waits for packets, and carries them; returns false when it is over.
    fn turn(&mut self) -> bool {
        let all = self.devices.all();
        let mut waited = vec![self.waker.as_fd()];
        waited.extend(all.iter().map(|(_, tun)| tun.as_fd()));
        let due = self.under_way.keys().next();
        let left = due.map_or(IDLE, |(due, _)| {
            due.saturating_duration_since(Instant::now())
        });
        let ready = wait_readable(&waited, left).unwrap();
        self.waker.clear();
        let state = self.state.clone();
        let mut state = state.lock().unwrap();
        let mut buffer = [0; 2000];
        let places: Vec<At> = all.iter().map(|(at, _)| *at).collect();
        for (at, _) in places.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
            while let Some(length) = self.devices.at(*at).receive(&mut buffer).unwrap() {
                self.take(&mut state, *at, buffer[..length].to_vec());
            }
        }
        for (at, packet) in core::mem::take(&mut state.injected) {
            self.devices.at(at).send(&packet).unwrap();
        }
        for (uplink, device) in core::mem::take(&mut state.replaced) {
            self.devices.uplinks[uplink] = device;
        }
        self.deliver(&mut state);
        !state.is_over
    }

    /// Takes a packet from a device.
    fn take(&mut self, state: &mut State, from: At, mut packet: Vec<u8>) {
        let (to, uplink) = match from {
            At::Cable(cable, end) => (At::Cable(cable, 1 - end), None),
            At::Uplink(place) => {
                let uplink = &mut state.uplinks[place];
                uplink.seen.push(packet.clone());
                let Some((source, _)) = endpoints(&packet) else {
                    return;
                };
                uplink.inside = Some(source);
                if let Some(outside) = uplink.outside {
                    set_source(&mut packet, outside);
                }
                (At::HomeAgent, Some(place))
            }
            At::HomeAgent => {
                let destination = endpoints(&packet).map(|(_, destination)| destination);
                let mut uplinks = state.uplinks.iter();
                let place = uplinks.position(|uplink| {
                    destination.is_some() && uplink.outside.or(uplink.inside) == destination
                });
                let Some(place) = place else {
                    return state.astray.push(packet);
                };
                if let Some(inside) = state.uplinks[place].inside {
                    set_destination(&mut packet, inside);
                }
                (At::Uplink(place), Some(place))
            }
        };
        let uplink = uplink.map(|place| &state.uplinks[place]);
        if uplink.is_some_and(|uplink| uplink.is_cut) {
            return;
        }
        let delay = uplink.map_or(Duration::ZERO, |uplink| uplink.delay);
        if let Some(bytes) = uplink.and_then(|uplink| uplink.bytes_a_flip) {
            flip(&mut packet, bytes, self.number);
        }
        let due = Instant::now() + delay;
        let packets = match uplink.and_then(|uplink| uplink.relay) {
            Some(relay) => relay(self.number, packet),
            None => vec![(Duration::ZERO, packet)],
        };
        self.number += 1;
        for (later, packet) in packets {
            self.number += 1;
            let key = (due + later, self.number);
            self.under_way.insert(key, (from, to, packet));
        }
    }

    /// Delivers what is due. What is under way when an uplink is cut does not arrive.
    fn deliver(&mut self, state: &mut State) {
        let now = Instant::now();
        while let Some(entry) = self.under_way.first_entry() {
            let due = entry.key().0;
            if due > now {
                break;
            }
            let (from, to, packet) = entry.remove();
            if let At::Uplink(place) = to {
                state.uplinks[place].seen.push(packet.clone());
            }
            let is_cut = |at| matches!(at, At::Uplink(place) if state.uplinks[place].is_cut);
            if !is_cut(from) && !is_cut(to) {
                self.devices.at(to).send(&packet).unwrap();
            }
            state.late.push((now, now - due));
        }
    }
}

/// Flips a bit in each part of so many bytes of what a datagram carries, at places that differ from datagram to datagram.
fn flip(packet: &mut [u8], bytes: usize, number: u64) {
    let headers = if packet[0] >> 4 == 4 { 28 } else { 48 };
    for (part, place) in packet[headers..].chunks_mut(bytes).zip(number..) {
        let mixed = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        part[mixed as usize % part.len()] ^= 1 << (mixed >> 16 & 7);
    }
}

impl Devices {
    fn all(&self) -> Vec<(At, &Tun)> {
        let uplinks = self.uplinks.iter().enumerate();
        let uplinks = uplinks.map(|(place, tun)| (At::Uplink(place), tun));
        let cables = self.cables.iter().enumerate();
        let cables = cables.flat_map(|(place, [one, other])| {
            [(At::Cable(place, 0), one), (At::Cable(place, 1), other)]
        });
        let home_agent = [(At::HomeAgent, &self.home_agent)];
        home_agent
            .into_iter()
            .chain(uplinks)
            .chain(cables)
            .collect()
    }

    fn at(&self, at: At) -> &Tun {
        match at {
            At::Uplink(place) => &self.uplinks[place],
            At::HomeAgent => &self.home_agent,
            At::Cable(cable, end) => &self.cables[cable][end],
        }
    }
}
