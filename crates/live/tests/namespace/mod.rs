//! Network namespaces of the test's own: one with nothing in it but loopback, or two with a cable between.

#![allow(unsafe_code)] // interfaces are brought up by ioctl
#![allow(dead_code, reason = "no test uses all of it")]

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Name of the interface at either end of the cable.
pub const CABLE: &str = "cable";

/// A namespace that is gone when this and all its sockets are.
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new one; nothing, with the reason on standard output, where it may not be made.
    pub fn new() -> Option<Namespace> {
        let made = std::thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            bring_up("lo");
            // ICMP echo sockets for whoever runs the test.
            std::fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")?;
            File::open("/proc/thread-self/ns/net")
        });
        match made.join().unwrap() {
            Ok(file) => Some(Namespace(file.into())),
            Err(error) => {
                println!("skipped: no network namespace ({error}); run as root");
                None
            }
        }
    }

    /// Two new ones, with a cable between them and the given addresses.
    pub fn pair(addresses: [Ipv4Addr; 2]) -> Option<[Namespace; 2]> {
        let pair = [Namespace::new()?, Namespace::new()?];
        pair[0].inside(|| add_cable(&pair[1]));
        for (namespace, address) in pair.iter().zip(addresses) {
            namespace.inside(|| {
                set_address(CABLE, address);
                bring_up(CABLE);
            });
        }
        wait_for_cable(&pair, addresses);
        Some(pair)
    }

    /// Does `work` in a thread of its own inside.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            inside.join().unwrap()
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Joins the present namespace to another.
fn add_cable(other: &Namespace) {
    let mut peer = LinkMessage::default();
    peer.attributes = vec![
        LinkAttribute::IfName(CABLE.to_owned()),
        LinkAttribute::NetNsFd(other.0.as_raw_fd()),
    ];
    let mut link = LinkMessage::default();
    link.attributes = vec![
        LinkAttribute::IfName(CABLE.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK;
    let mut message = NetlinkMessage::new(header, RouteNetlinkMessage::NewLink(link).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let socket = Socket::new(NETLINK_ROUTE).unwrap();
    socket.send_to(&bytes, &SocketAddr::new(0, 0), 0).unwrap();
    let (answer, _) = socket.recv_from_full().unwrap();
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .unwrap()
        .payload
    {
        NetlinkPayload::Error(error) => assert_eq!(error.code, None, "{}", error.to_io()),
        other => panic!("{other:?}"),
    }
}

/// The kernel notices somewhat later that a new cable is plugged in at both ends, and drops packets until then.
fn wait_for_cable(pair: &[Namespace; 2], addresses: [Ipv4Addr; 2]) {
    let bind = |end: usize| pair[end].inside(|| UdpSocket::bind((addresses[end], 0)).unwrap());
    let [here, there] = [0, 1].map(bind);
    let wait = Some(std::time::Duration::from_millis(10));
    there.set_read_timeout(wait).unwrap();
    for _ in 0..500 {
        here.send_to(&[0], there.local_addr().unwrap()).unwrap();
        if there.recv(&mut [0]).is_ok() {
            return;
        }
    }
    panic!("nothing gets through the cable");
}

/// Brings an interface of the present namespace up.
pub fn bring_up(name: &str) {
    set_flags(name, libc::IFF_UP);
}

/// Takes an interface of the present namespace down.
pub fn take_down(name: &str) {
    set_flags(name, 0);
}

fn set_flags(name: &str, flags: libc::c_int) {
    let ifru_flags = flags as libc::c_short;
    set(
        name,
        libc::SIOCSIFFLAGS,
        libc::__c_anonymous_ifr_ifru { ifru_flags },
    );
}

/// Makes an interface of the present namespace take packets of so many bytes.
pub fn set_mtu(name: &str, ifru_mtu: i32) {
    set(
        name,
        libc::SIOCSIFMTU,
        libc::__c_anonymous_ifr_ifru { ifru_mtu },
    );
}

/// Gives an interface of the present namespace an address in its class's network.
fn set_address(name: &str, address: Ipv4Addr) {
    let [a, b, c, d] = address.octets().map(|byte| byte as libc::c_char);
    let ifru_addr = libc::sockaddr {
        sa_family: libc::AF_INET as libc::sa_family_t,
        // A sockaddr_in: port and address.
        sa_data: [0, 0, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    set(
        name,
        libc::SIOCSIFADDR,
        libc::__c_anonymous_ifr_ifru { ifru_addr },
    );
}

fn set(name: &str, what: libc::Ioctl, ifr_ifru: libc::__c_anonymous_ifr_ifru) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let mut ifr_name = [0; libc::IFNAMSIZ];
    for (place, byte) in ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    let request = libc::ifreq { ifr_name, ifr_ifru };
    // SAFETY: the kernel reads a whole ifreq, which lives through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), what, &request) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
