//! Linux's network devices: TUN devices, packet and UDP sockets for traffic, route netlink for configuration and
//! monitoring, and the wait for any of these.

pub mod addresses;
pub mod links;
pub mod monitor;
pub mod netlink;
pub mod offload;
pub mod packet_socket;
pub mod readiness;
pub mod tun;
pub mod udp;
