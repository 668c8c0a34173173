//! Linux's network devices: TUN devices, packet and UDP sockets to speak by, route netlink to configure and to watch them, and
//! the wait for any of these.

pub mod addresses;
pub mod links;
pub mod monitor;
pub mod netlink;
pub mod offload;
pub mod packet_socket;
pub mod readiness;
pub mod tun;
pub mod udp;
