//! The journal of a gateway's custody: a file is refused or taken up, and what the gateway then writes has all of it.

use baton_proto::aerotp::Configuration;
use baton_proto::gateways::aerotp::{
    AerotpGateway, JournalSettings, JournalStep, Recovered, Rule, Selector, WallTime,
};
use baton_proto::host::Host;
use baton_proto::interface::InterfaceId;
use baton_proto::rate::DataRate;
use baton_proto::tcp::profile::Profile;
use baton_proto::time::{Duration, Instant};
use baton_proto::wire::aerotp::Mode;
use core::net::{IpAddr, Ipv4Addr};

/// Time for which the gateway runs: questions to both sides are repeated, and custody expires.
const RUNS: Duration = Duration::from_secs(40);
const MOST_STEPS: u32 = 2_000;
/// Longest custody.
const AGE: Duration = Duration::from_secs(30);
/// Beginning of a file: the format, and the salt.
const HEADER: &[u8; 16] = b"BTNCUST1nobody's";

/// Takes the input as a file, and as the records of its only batch.
pub fn check(data: &[u8]) {
    take_up(data);
    let mut file = HEADER.to_vec();
    let (number, length) = (0_u64.to_be_bytes(), (data.len() as u32).to_be_bytes());
    file.extend_from_slice(&HEADER[8..]);
    file.extend_from_slice(&number);
    file.extend_from_slice(&length);
    let sum = crc32c(number.iter().chain(&length).chain(data));
    file.extend_from_slice(&sum.to_be_bytes());
    file.extend_from_slice(data);
    take_up(&file);
}

/// Returns the CRC-32C (RFC 3720, appendix B.4), bit by bit.
fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = (sum & 1) * 0x82F6_3B78;
            sum = (sum >> 1) ^ carry;
        }
    }
    !sum
}

/// Starts a gateway with a file, and runs it alone.
fn take_up(file: &[u8]) {
    let Ok(recovered) = Recovered::read(file) else {
        return;
    };
    let (connections, bytes) = (recovered.connections(), recovered.bytes());
    let mut host = Host::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), [1; 16]);
    let [airborne, inside] = [0, 1].map(|_| host.add_interface(1_500));
    host.routes_mut().set_default(Some(inside));
    let mut gateway = gateway(airborne);
    let settings = JournalSettings {
        age: AGE,
        zero: WallTime(1_790_000_000_000),
        salt: *b"nobody's",
    };
    let first = gateway.keep_journal(settings, recovered);
    let mut file = first.expect("there is a rule for all");
    let again = Recovered::read(&file).expect("what is written can be read");
    assert_eq!((again.connections(), again.bytes()), (connections, bytes));
    host.add_layer(gateway);
    run(&mut host, &mut file);
}

fn gateway(airborne: InterfaceId) -> AerotpGateway {
    let mut configuration = Configuration::new(DataRate::ZERO);
    configuration.mode = Mode::NearReliable;
    let rule = Rule {
        selector: Selector::default(),
        configuration,
        profile: Profile::linux_6(),
    };
    let links = [(airborne, DataRate::from_bits_per_second(5_000_000))];
    let mut gateway = AerotpGateway::new(&links, vec![rule], [1; 16]);
    gateway.leave_authentication_to_links();
    gateway
}

/// Runs a gateway that hears nothing, and reads its file after each step.
fn run(host: &mut Host, file: &mut Vec<u8>) {
    let mut now = Instant::ZERO;
    for _ in 0..MOST_STEPS {
        host.handle_timeout(now);
        while host.poll_transmit(now).is_some() {}
        while host.poll_event().is_some() {}
        let gateway = host.layer_mut::<AerotpGateway>().expect("it was added");
        if let Some(step) = gateway.poll_journal() {
            match step {
                JournalStep::Replace(new) => *file = new,
                JournalStep::Append(bytes) => file.extend(bytes),
            }
            gateway.journal_is_durable();
            Recovered::read(file).expect("what is written can be read");
            continue;
        }
        let Some(due) = host.poll_timeout() else {
            return;
        };
        now = now.max(due);
        if now > Instant::ZERO + RUNS {
            return;
        }
    }
}
