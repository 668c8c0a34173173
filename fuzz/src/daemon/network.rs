//! The Internet between two uplinks and a home agent, and a stranger in it. All sockets are on the loopback device,
//! where a datagram arrives when it is sent, so that an input has the same effect each time.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// Datagrams under way in each direction of an uplink; further ones are lost.
const MOST_FLYING: usize = 64;
/// Buffer larger than any datagram.
const LONGEST: usize = 65_536;

/// Path of one uplink.
pub struct Way {
    /// The home agent's address, for the router.
    to_router: UdpSocket,
    /// The router's address, for the home agent.
    to_home: UdpSocket,
    router: Option<SocketAddr>,
    /// Datagrams under way to the home agent, and from it.
    flying: [VecDeque<Vec<u8>>; 2],
}

/// Paths of all uplinks.
pub struct Network {
    pub ways: Vec<Way>,
    stranger: UdpSocket,
    home_agent: SocketAddr,
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

impl Network {
    /// Creates paths to a home agent.
    pub fn new(uplinks: usize, home_agent: SocketAddr) -> Network {
        let way = |_| Way {
            to_router: socket(),
            to_home: socket(),
            router: None,
            flying: [VecDeque::new(), VecDeque::new()],
        };
        Network {
            ways: (0..uplinks).map(way).collect(),
            stranger: socket(),
            home_agent,
        }
    }

    /// Returns the address at which the router of an uplink finds the home agent.
    pub fn endpoint(&self, uplink: usize) -> SocketAddr {
        self.ways[uplink].to_router.local_addr().expect("a socket")
    }

    /// Changes the home agent's address.
    pub fn lead_to(&mut self, home_agent: SocketAddr) {
        self.home_agent = home_agent;
    }

    /// Takes in the datagrams sent by both ends, and returns those that the stranger received.
    pub fn gather(&mut self) -> Vec<Vec<u8>> {
        for way in &mut self.ways {
            way.gather();
        }
        let answers = core::iter::from_fn(|| receive(&self.stranger));
        answers.map(|(datagram, _)| datagram).collect()
    }

    /// Delivers the first datagram of an uplink's direction, unchanged or modified by `change`, and keeps it if
    /// `again`.
    pub fn deliver(
        &mut self,
        (uplink, up): (usize, bool),
        again: bool,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let home_agent = self.home_agent;
        let way = &mut self.ways[uplink];
        let Some(mut datagram) = way.flying[usize::from(!up)].pop_front() else {
            return false;
        };
        if again {
            way.flying[usize::from(!up)].push_front(datagram.clone());
        }
        change(&mut datagram);
        way.send(up, home_agent, &datagram);
        true
    }

    /// Loses the first datagram.
    pub fn lose(&mut self, (uplink, up): (usize, bool)) {
        self.ways[uplink].flying[usize::from(!up)].pop_front();
    }

    /// Moves the first datagram behind all others.
    pub fn delay(&mut self, (uplink, up): (usize, bool)) {
        let flying = &mut self.ways[uplink].flying[usize::from(!up)];
        if let Some(first) = flying.pop_front() {
            flying.push_back(first);
        }
    }

    /// Sends bytes of a stranger's to the home agent, or in the home agent's name to the router.
    pub fn forge(&mut self, (uplink, up): (usize, bool), bytes: &[u8]) {
        match up {
            // A full socket loses the datagram.
            true => drop(self.stranger.send_to(bytes, self.home_agent)),
            false => self.ways[uplink].send(false, self.home_agent, bytes),
        }
    }
}

impl Way {
    fn gather(&mut self) {
        while let Some((datagram, from)) = receive(&self.to_router) {
            self.router = Some(from);
            keep(&mut self.flying[0], datagram);
        }
        while let Some((datagram, _)) = receive(&self.to_home) {
            keep(&mut self.flying[1], datagram);
        }
    }

    fn send(&self, up: bool, home_agent: SocketAddr, datagram: &[u8]) {
        let sent = match (up, self.router) {
            (true, _) => self.to_home.send_to(datagram, home_agent),
            (false, Some(router)) => self.to_router.send_to(datagram, router),
            (false, None) => return,
        };
        // The end is gone, or its socket full.
        drop(sent);
    }
}

fn keep(flying: &mut VecDeque<Vec<u8>>, datagram: Vec<u8>) {
    if flying.len() < MOST_FLYING {
        flying.push_back(datagram);
    }
}

fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut buffer = vec![0; LONGEST];
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => {
                buffer.truncate(length);
                return Some((buffer, from));
            }
            // The receiver of an earlier datagram is gone.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(_) => return None,
        }
    }
}
