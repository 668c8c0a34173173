//! Custody: its bound, and gateways that die and come back with what their journals have.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A row whose gateways have journals.
struct Kept {
    row: Net,
    disks: [Disk; 2],
    client: SocketId,
    /// Bytes written and read, at the client and the server.
    written: [u64; 2],
    read: [u64; 2],
    age: Duration,
}

/// A journal's file, and the step that is not yet durable.
#[derive(Default)]
struct Disk {
    file: Vec<u8>,
    under_way: Option<JournalStep>,
    is_full: bool,
}

fn fresh_host(node: usize, gateway: AerotpGateway) -> Host {
    let mut row = Hosts::row(&[1, 20, 1].map(Duration::from_millis));
    let mut host = row.hosts.swap_remove(node);
    host.add_layer(gateway);
    host
}

/// Starts a gateway with the journal in a file, which it replaces.
fn gateway(node: usize, file: &mut Vec<u8>, age: Duration) -> AerotpGateway {
    let airborne = InterfaceId(usize::from(node == 1));
    let links = [(airborne, DataRate::from_bits_per_second(RATE))];
    let secret = [node as u8 ^ file.len() as u8; 16];
    let mut gateway = AerotpGateway::new(&links, rules(Mode::NearReliable), secret);
    let settings = JournalSettings {
        age,
        zero: WallTime(1_790_000_000_000),
        salt: *b"nobody's",
    };
    let recovered = Recovered::read(file).unwrap();
    *file = gateway.keep_journal(settings, recovered).unwrap();
    gateway
}

impl Kept {
    fn new(age: Duration) -> Kept {
        let mut row = Net::of(Hosts::row(&[1, 20, 1].map(Duration::from_millis)));
        let mut disks: [Disk; 2] = Default::default();
        for (node, disk) in (1..).zip(&mut disks) {
            row.hosts[node].add_layer(gateway(node, &mut disk.file, age));
        }
        let (row, client) = begin(row);
        Kept {
            row,
            disks,
            client,
            written: [0; 2],
            read: [0; 2],
            age,
        }
    }

    /// Lets a millisecond pass, in which each disk does a step.
    fn turn(&mut self) {
        let until = self.row.now() + Duration::from_millis(1);
        self.row.run_until(until);
        for (node, disk) in (1..).zip(&mut self.disks) {
            let gateway = self.row.hosts[node].layer_mut::<AerotpGateway>().unwrap();
            if !disk.is_full
                && let Some(step) = disk.under_way.take()
            {
                match step {
                    JournalStep::Append(bytes) => disk.file.extend(bytes),
                    JournalStep::Replace(bytes) => disk.file = bytes,
                }
                gateway.journal_is_durable();
            }
            if disk.under_way.is_none() {
                disk.under_way = gateway.poll_journal();
            }
        }
        self.row.settle();
    }

    /// Writes at both ends up to so many bytes, then ends, and reads, until a time.
    fn talk_until(&mut self, bytes: u64, until: Instant) {
        while self.row.now() < until {
            self.turn();
            let server = self.row.accepted(3).first().copied();
            let ends = [(0, Some(self.client)), (3, server)];
            for (place, (node, socket)) in ends.into_iter().enumerate() {
                let Some(socket) = socket else { continue };
                let connection = self.row.hosts[node].connection_mut(socket).unwrap();
                let written = &mut self.written[place];
                *written += connection.write_pattern(7, bytes - *written);
                if *written == bytes {
                    connection.close();
                }
                self.read[place] = self.row.read(node, socket, self.read[place]);
            }
        }
    }

    /// Lets both ends finish, and asserts that each has got all bytes of the other.
    fn finish(&mut self, bytes: u64, limit: Instant) {
        let is_over = |row: &Net, node| row.seen(node, SocketEvent::PeerClosed).is_some();
        while self.row.now() < limit && !(is_over(&self.row, 0) && is_over(&self.row, 3)) {
            let until = self.row.now() + Duration::from_millis(50);
            self.talk_until(bytes, until);
        }
        self.assert_whole(bytes);
    }

    /// Kills a gateway; of the step under way a part reaches the disk. Another one starts at once.
    fn kill(&mut self, node: usize, part: f64) {
        let disk = &mut self.disks[node - 1];
        if let Some(JournalStep::Append(bytes)) = disk.under_way.take() {
            let count = (bytes.len() as f64 * part) as usize;
            disk.file.extend(&bytes[..count]);
        }
        let gateway = gateway(node, &mut disk.file, self.age);
        self.row.hosts[node] = fresh_host(node, gateway);
    }

    fn assert_whole(&self, bytes: u64) {
        let events: Vec<_> = self
            .row
            .log
            .iter()
            .filter(|logged| [0, 3].contains(&logged.host))
            .collect();
        assert_eq!(self.read, [bytes; 2], "{events:?}");
        for node in [0, 3] {
            assert!(self.row.seen(node, SocketEvent::PeerClosed).is_some());
            assert!(self.row.seen(node, SocketEvent::Reset).is_none());
        }
        assert_eq!(self.row.accepted(3).len(), 1, "connections at the server");
    }
}

const LONG: Duration = Duration::from_secs(3_600);

#[test]
fn data_is_acknowledged_only_when_it_is_durable() {
    let mut kept = Kept::new(LONG);
    let mut most = 0;
    for step in 1..200 {
        kept.talk_until(400_000, at(step * 7));
        let told = kept.row.hosts[0].connection(kept.client).unwrap();
        let told = told.bytes_acknowledged();
        let recovered = Recovered::read(&kept.disks[0].file).unwrap();
        let durable = match recovered.connections() {
            0 => 0,
            _ => recovered.taken(),
        };
        assert!(told <= durable, "{told} > {durable} in step {step}");
        most = most.max(told);
    }
    assert!(most > 100_000, "{most}");
}

#[test]
fn neither_end_notices_that_a_gateway_dies() {
    for nodes in [[1, 1], [2, 2], [1, 2]] {
        let mut kept = Kept::new(LONG);
        let lose = outage(at(1_000)..at(3_000));
        kept.row.decide(lose);
        kept.talk_until(600_000, at(700));
        kept.kill(nodes[0], 0.5);
        kept.talk_until(600_000, at(1_500));
        kept.kill(nodes[1], 1.0);
        kept.talk_until(600_000, at(2_000));
        kept.kill(nodes[0], 0.0);
        kept.finish(600_000, at(20_000));
    }
}

/// An hour without a link, with a restart in it.
#[test]
fn custody_outlives_an_hour_without_a_link() {
    let mut kept = Kept::new(LONG + LONG);
    let hour = at(3_600_000);
    kept.row.decide(outage(at(500)..hour));
    kept.talk_until(900_000, at(1_500));
    let gateway = kept.row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert!(gateway.custody() > 100_000, "{}", gateway.custody());
    kept.kill(1, 1.0);
    kept.talk_until(900_000, at(3_000));
    kept.row.run_until(hour);
    assert!(kept.read[1] < 900_000);
    kept.finish(900_000, at(3_620_000));
}

/// With the client gone and its data acknowledged, the data still arrives.
#[test]
fn custody_arrives_when_its_sender_is_gone() {
    let mut kept = Kept::new(LONG);
    let lose = outage(at(500)..at(5_000));
    kept.row.decide(lose);
    kept.talk_until(100_000, at(1_000));
    let told = kept.row.hosts[0].connection(kept.client).unwrap();
    assert_eq!(told.bytes_acknowledged(), 100_000);
    let lose = outage(at(500)..at(5_000));
    kept.row.decide(
        move |packet, entering| match entering.from.max(entering.to) {
            1 => Passage::Lost,
            _ => lose(packet, entering),
        },
    );
    kept.kill(1, 1.0);
    kept.talk_until(100_000, at(10_000));
    assert_eq!(kept.read[1], 100_000);
}

/// A disk that takes nothing closes the window, and opens it when it does.
#[test]
fn a_full_disk_closes_the_window() {
    let mut kept = Kept::new(LONG);
    kept.talk_until(4_000_000, at(500));
    kept.disks[0].is_full = true;
    kept.talk_until(4_000_000, at(600));
    let told = |kept: &Kept| {
        let connection = kept.row.hosts[0].connection(kept.client).unwrap();
        connection.bytes_acknowledged()
    };
    let before = told(&kept);
    kept.talk_until(4_000_000, at(3_000));
    assert_eq!(told(&kept), before);
    kept.disks[0].is_full = false;
    kept.finish(4_000_000, at(60_000));
}

#[test]
fn custody_that_is_too_old_ends_with_resets() {
    let mut kept = Kept::new(Duration::from_secs(5));
    kept.talk_until(3_000_000, at(1_000));
    kept.row.decide(outage(at(1_000)..at(10_000)));
    kept.talk_until(3_000_000, at(12_000));
    for node in [0, 3] {
        assert!(kept.row.seen(node, SocketEvent::Reset).is_some(), "{node}");
    }
    let gateway = kept.row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert_eq!(gateway.custody_counts().expired, 1);
    assert_eq!(Recovered::read(&kept.disks[0].file).unwrap().bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Whenever a gateway dies, and whatever part of its last write is on the disk.
    #[test]
    fn each_byte_comes_once(deaths in proptest::collection::vec((1..400_u64, 1..3_usize, 0.0..1.2_f64), 1..5)) {
        let mut kept = Kept::new(LONG);
        // Both journals have the connection by then.
        let mut time = 60;
        for (after, node, part) in deaths {
            time += after;
            kept.talk_until(200_000, at(time));
            kept.kill(node, part.min(1.0));
        }
        kept.finish(200_000, at(time + 20_000));
    }
}

/// One bound holds for all connections, whose windows close; nothing is lost.
#[test]
fn one_bound_holds_for_the_custody_of_all_connections() {
    let mut row = row(rules(Mode::NearReliable));
    row.hosts[3].tcp_listen(PORT, Profile::linux_6(), 16, None);
    let gateway = row.hosts[1].layer_mut::<AerotpGateway>().unwrap();
    gateway.limit_custody(300_000);
    row.decide(outage(at(500)..at(3_000)));
    let clients: Vec<SocketId> = (0..5).map(|_| row.connect(&Profile::linux_6())).collect();
    row.run_until(at(490));
    let mut written = [0; 5];
    let (mut most, mut closed) = (0, 0);
    let mut there = [0; 5];
    for tenth in 5..200 {
        for (written, client) in written.iter_mut().zip(&clients) {
            let connection = row.hosts[0].connection_mut(*client).unwrap();
            *written += connection.write_pattern(7, 400_000 - *written);
        }
        row.run_until(at(100 * tenth));
        let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
        most = most.max(gateway.custody());
        closed = closed.max(gateway.closed_windows());
        for (there, server) in there.iter_mut().zip(row.accepted(3)) {
            *there = row.read(3, server, *there);
        }
    }
    assert_eq!(most, 300_000);
    assert_eq!(closed, 5);
    assert_eq!(there, [400_000; 5]);
    let gateway = row.hosts[1].layer::<AerotpGateway>().unwrap();
    assert_eq!((gateway.custody(), gateway.closed_windows()), (0, 0));
    assert!(gateway.custody_counts().closed_windows >= 5);
}
