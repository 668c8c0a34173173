//! T/TCP (RFC 1644). The timelines are those of its section 2, with counts of our own.

use super::*;
use crate::tcp::transaction::OpeningCache;
use crate::wire::tcp::ConnectionCount;
use core::net::IpAddr;

/// Without timestamps, so that lengths are easily seen.
fn speaking() -> Profile {
    Profile {
        transaction_opening: true,
        ..profile("rfc")
    }
}

/// Two hosts, of which the first opens connections to the second.
struct Hosts {
    now: Instant,
    caches: [OpeningCache; 2],
    profile: Profile,
    ports: u16,
}

/// A connection of the two: its ends, the second from when the SYN has come.
struct Talk {
    client: Connection,
    server: Option<Connection>,
}

impl Hosts {
    fn new() -> Hosts {
        Hosts {
            now: Instant::ZERO,
            caches: Default::default(),
            profile: speaking(),
            ports: 40_000,
        }
    }

    /// The client's next connection, with what it writes, closed behind it or not.
    fn open(&mut self, bytes: u64, closes: bool) -> Talk {
        self.ports += 1;
        let (local, remote) = (end_point(1, self.ports), end_point(2, 80));
        let mut client = Connection::connect(self.now, local, remote, &self.profile, ISS_A, 1500);
        client.open_transaction(self.now, self.caches[0].open(remote.address));
        if bytes > 0 {
            assert_eq!(client.write_pattern(1, bytes), bytes);
        }
        if closes {
            client.close();
        }
        Talk {
            client,
            server: None,
        }
    }

    /// Delivers the segments that the client sends now, and returns them in words.
    fn forth(&mut self, talk: &mut Talk) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(segment) = talk.client.poll_transmit(self.now) {
            words.push(describe(&segment, &talk.client));
            self.arrive(talk, segment);
        }
        words
    }

    fn arrive(&mut self, talk: &mut Talk, segment: Segment) {
        let (local, remote) = (talk.client.remote(), talk.client.local());
        let (header, payload) = (segment.header, segment.payload);
        let Some(server) = &mut talk.server else {
            let (profile, now) = (&self.profile, self.now);
            let mut server = Connection::accept(now, local, remote, profile, ISS_B, 1500, &header);
            if let Some(accepted) = self.caches[1].accept(remote.address, &header) {
                server.accept_transaction(now, accepted, &header, payload);
            }
            talk.server = Some(server);
            return;
        };
        server.handle_segment(self.now, &header, payload);
        if let Some(learnt) = server.take_learnt() {
            self.caches[1].learn(remote.address, learnt);
        }
    }

    /// Delivers the segments that the server sends now, and returns them in words.
    fn back(&mut self, talk: &mut Talk) -> Vec<String> {
        let mut words = Vec::new();
        let server = talk.server.as_mut().unwrap();
        while let Some(segment) = server.poll_transmit(self.now) {
            words.push(describe(&segment, server));
            let client = &mut talk.client;
            client.handle_segment(self.now, &segment.header, segment.payload);
            if let Some(learnt) = client.take_learnt() {
                self.caches[0].learn(client.remote().address, learnt);
            }
        }
        words
    }

    /// A first connection, after which the two know each other.
    fn acquaint(&mut self) {
        let mut talk = self.open(0, false);
        while !self.forth(&mut talk).is_empty() {
            self.back(&mut talk);
        }
    }
}

impl Talk {
    fn server(&mut self) -> &mut Connection {
        self.server.as_mut().unwrap()
    }
}

fn events(connection: &mut Connection) -> Vec<Event> {
    std::iter::from_fn(|| connection.poll_event()).collect()
}

/// The caches of two hosts that have spoken before.
pub(super) fn acquainted(addresses: [IpAddr; 2]) -> [OpeningCache; 2] {
    let mut hosts = Hosts::new();
    assert_eq!(addresses, [1, 2].map(|last| end_point(last, 0).address));
    hosts.acquaint();
    hosts.caches
}

/// RFC 1644 section 2.2, the minimal transaction: three segments, SYN-SENT* to TIME-WAIT at the client, CLOSE-WAIT* and LAST-ACK* at
/// the server, whose application has the request when the first segment has come.
#[test]
fn a_transaction_takes_three_segments() {
    let mut hosts = Hosts::new();
    hosts.acquaint();
    let mut talk = hosts.open(300, true);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..301 FIN 301 CC=2"]);
    let server = talk.server();
    let all = [Event::Connected, Event::Readable, Event::PeerClosed];
    assert_eq!(events(server), all);
    assert_eq!(server.state(), State::CloseWait);
    assert_eq!(server.discard(u64::MAX), 300);
    server.write_pattern(2, 500);
    server.close();
    let answer = "SYN 1..501 FIN 501 ack 302 CC=2 CC.echo=2";
    assert_eq!(hosts.back(&mut talk), [answer]);
    assert_eq!(talk.server().state(), State::LastAck);
    assert_eq!(talk.client.state(), State::TimeWait);
    assert_eq!(talk.client.discard(u64::MAX), 500);
    assert_eq!(hosts.forth(&mut talk), ["ack 502 CC=2"]);
    assert_eq!(talk.server().state(), State::Closed);
    // Section 2.4: eight timeouts, here of a second each, instead of a minute.
    assert_eq!(talk.client.poll_timeout(), Some(at_ms(8_000)));
}

/// RFC 1644 section 2.1: without a remembered count CC.new asks for the three-way handshake, and the data waits for its end at the
/// server, which then has them without their being sent again.
#[test]
fn hosts_that_do_not_know_each_other_shake_hands() {
    let mut hosts = Hosts::new();
    let mut talk = hosts.open(300, true);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..301 FIN 301 CC.new=1"]);
    assert_eq!(talk.server().state(), State::SynReceived);
    assert_eq!(events(talk.server()), []);
    assert_eq!(hosts.back(&mut talk), ["SYN ack 1 CC=1 CC.echo=1"]);
    assert_eq!(talk.client.state(), State::FinWait1);
    assert_eq!(hosts.forth(&mut talk), ["ack 1 CC=1"]);
    assert_eq!(talk.server().state(), State::CloseWait);
    assert_eq!(talk.server().discard(u64::MAX), 300);
    assert_eq!(hosts.back(&mut talk), ["ack 302 CC=1"]);
    assert_eq!(talk.client.state(), State::FinWait2);
    // The next one is trusted.
    let mut talk = hosts.open(10, false);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..11 CC=2"]);
    assert_eq!(talk.server().state(), State::Established);
}

/// A server that has restarted knows no counts; a client that has restarted must not be believed.
#[test]
fn who_has_forgotten_falls_back() {
    let mut hosts = Hosts::new();
    hosts.acquaint();
    hosts.caches[1] = OpeningCache::default();
    let mut talk = hosts.open(300, false);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..301 CC=2"]);
    assert_eq!(talk.server().state(), State::SynReceived);
    let mut hosts = Hosts::new();
    hosts.acquaint();
    hosts.caches[0] = OpeningCache::default();
    let mut talk = hosts.open(300, false);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..301 CC.new=1"]);
    assert_eq!(talk.server().state(), State::SynReceived);
    // And what was remembered is void: a count above the old one proves nothing until a handshake has ended.
    hosts.caches[0].open(end_point(2, 80).address);
    let mut next = hosts.open(300, false);
    assert_eq!(hosts.forth(&mut next), ["SYN 1..301 CC.new=3"]);
    assert_eq!(next.server().state(), State::SynReceived);
}

/// An old SYN that comes again has an old count: its data are held, and the reset that its client answers with throws them away.
#[test]
fn an_old_syn_is_not_taken() {
    let mut hosts = Hosts::new();
    hosts.acquaint();
    let mut first = hosts.open(300, true);
    let syn = first.client.poll_transmit(hosts.now).unwrap();
    hosts.arrive(&mut first, syn.clone());
    assert_eq!(first.server().state(), State::CloseWait);
    let mut again = Talk {
        client: hosts.open(0, false).client,
        server: None,
    };
    hosts.arrive(&mut again, syn);
    assert_eq!(again.server().state(), State::SynReceived);
    assert_eq!(again.server().discard(u64::MAX), 0);
}

/// To a peer that speaks no T/TCP the data are sent again at once: it may have thrown them away.
#[test]
fn a_plain_peer_gets_the_data_after_its_syn() {
    let profile = speaking();
    let mut solo = Solo::connecting(&profile);
    let mut cache = OpeningCache::default();
    let (local, remote) = (end_point(1, 40_000), end_point(2, 80));
    solo.connection = Connection::connect(solo.now, local, remote, &profile, ISS_A, 1500);
    solo.connection
        .open_transaction(solo.now, cache.open(remote.address));
    solo.write(800);
    // 536 bytes less 20 of options: no MSS of the peer's is remembered.
    assert_eq!(solo.sends(), ["SYN 1..517 CC.new=1"]);
    solo.at(1_000);
    assert_eq!(solo.sends(), ["SYN 1..517 CC.new=1"]);
    solo.at(3_000);
    assert_eq!(solo.sends(), ["SYN 1..517 CC.new=1"]);
    solo.at(7_000);
    assert_eq!(
        solo.sends(),
        ["SYN"],
        "something may not let others through"
    );
    solo.at(7_100).receive(Incoming::syn_ack(&profile));
    assert_eq!(solo.sends(), ["1..517"]);
    // The rest goes in a window of one segment, which a lost SYN leaves.
    solo.at(7_200).receive(ack(517));
    assert_eq!(solo.sends(), ["517..801"]);
    solo.at(7_300).receive(ack(801));
    assert_eq!(solo.connection.bytes_acknowledged(), 800);
}

/// RFC 1644 section 3.4: an answer to another SYN is dropped, and so is a segment with another count.
#[test]
fn counts_tell_connections_apart() {
    let mut hosts = Hosts::new();
    hosts.acquaint();
    let mut talk = hosts.open(300, false);
    hosts.forth(&mut talk);
    let mut syn_ack = talk.server().poll_transmit(hosts.now).unwrap();
    let sack = &mut syn_ack.header.options.sack;
    sack.set_connection_count(ConnectionCount::Echo { own: 2, echo: 9 });
    let payload = syn_ack.payload.clone();
    talk.client
        .handle_segment(hosts.now, &syn_ack.header, payload.clone());
    assert_eq!(talk.client.state(), State::SynSent);
    let sack = &mut syn_ack.header.options.sack;
    sack.set_connection_count(ConnectionCount::Echo { own: 2, echo: 2 });
    talk.client
        .handle_segment(hosts.now, &syn_ack.header, payload);
    assert_eq!(talk.client.state(), State::Established);
    hosts.forth(&mut talk);
    talk.client.write_pattern(1, 100);
    let mut more = talk.client.poll_transmit(hosts.now).unwrap();
    let sack = &mut more.header.options.sack;
    sack.set_connection_count(ConnectionCount::Count(77));
    hosts.arrive(&mut talk, more.clone());
    assert_eq!(talk.server().readable(), 300);
    assert_eq!(talk.server().statistics().challenge_acks, 1);
    more.header.options.sack = SackBlocks::default();
    hosts.arrive(&mut talk, more.clone());
    assert_eq!(talk.server().readable(), 300, "none at all");
    let sack = &mut more.header.options.sack;
    sack.set_connection_count(ConnectionCount::Count(2));
    hosts.arrive(&mut talk, more);
    assert_eq!(talk.server().readable(), 400);
}

/// The answer is lost: the server sends it again with its SYN, and answers a SYN that comes again.
#[test]
fn a_lost_answer_comes_again_with_its_syn() {
    let mut hosts = Hosts::new();
    hosts.acquaint();
    let mut talk = hosts.open(300, false);
    hosts.forth(&mut talk);
    let server = talk.server();
    server.write_pattern(2, 500);
    let sent = |server: &mut Connection, now| {
        let segment = server.poll_transmit(now).unwrap();
        assert!(server.poll_transmit(now).is_none());
        describe(&segment, server)
    };
    assert_eq!(sent(server, hosts.now), "SYN 1..501 ack 301 CC=2 CC.echo=2");
    hosts.now = at_ms(1_000);
    talk.server().handle_timeout(hosts.now);
    let again = sent(talk.server(), hosts.now);
    assert_eq!(again, "SYN 1..501 ack 301 CC=2 CC.echo=2");
    talk.client.handle_timeout(hosts.now);
    assert_eq!(hosts.forth(&mut talk), ["SYN 1..301 CC=2"]);
    assert_eq!(hosts.back(&mut talk), ["SYN ack 301 CC=2 CC.echo=2"]);
    // Counted by the SYN's repetition, no round-trip time is known.
    assert_eq!(talk.client.state(), State::Established);
    assert_eq!(talk.client.smoothed_rtt(), None);
    assert_eq!(hosts.forth(&mut talk), ["ack 1 CC=2"]);
}

/// A segment that carries our SYN has room for its options: no packet is longer than the path lets through.
#[test]
fn no_segment_is_longer_than_the_path() {
    let mut hosts = Hosts::new();
    hosts.profile.timestamps = true;
    hosts.acquaint();
    let mut talk = hosts.open(20_000, false);
    let length = |segment: &Segment| 20 + segment.header.wire_length() + segment.payload.length();
    let syn = talk.client.poll_transmit(hosts.now).unwrap();
    assert_eq!(length(&syn), 1500);
    hosts.arrive(&mut talk, syn);
    talk.server().write_pattern(2, 20_000);
    while let Some(segment) = talk.server().poll_transmit(hosts.now) {
        // Room is left for as many options as a header takes, of which a SYN has four bytes less.
        let syn = segment.header.flags.contains(TcpFlags::SYN);
        assert_eq!(length(&segment), if syn { 1496 } else { 1500 });
        talk.client
            .handle_segment(hosts.now, &segment.header, segment.payload);
    }
    assert!(talk.client.readable() > 10_000, "a whole first window");
}

#[test]
fn a_host_remembers_a_bounded_number_of_others() {
    let mut cache = OpeningCache::default();
    assert!(cache.is_empty());
    for host in 0..3_000_u32 {
        cache.open(IpAddr::from(host.to_be_bytes()));
    }
    assert_eq!(cache.len(), 1024);
}
