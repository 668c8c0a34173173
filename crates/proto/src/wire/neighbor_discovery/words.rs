//! Messages of Neighbor Discovery as text.

use super::super::Words;
use super::NeighborDiscovery;
use core::net::IpAddr;

impl NeighborDiscovery {
    /// Describes the message, which is from `source`.
    pub(in super::super) fn words(&self, source: IpAddr) -> Words {
        match self {
            NeighborDiscovery::RouterSolicitation(_) => ("Router Solicitation", String::new()),
            NeighborDiscovery::RouterAdvertisement(advertisement) => {
                let prefixes = advertisement.prefixes.iter();
                let prefixes = prefixes.map(|option| {
                    format!(
                        "prefix {}/{}",
                        option.prefix.address(),
                        option.prefix.length()
                    )
                });
                let points = advertisement.anchor_points.iter();
                let points = points.map(|point| format!("anchor point {}", point.address));
                let details: Vec<String> = prefixes.chain(points).collect();
                ("Router Advertisement", details.join(", "))
            }
            NeighborDiscovery::NeighborSolicitation(solicitation) => {
                // RFC 4862 section 5.4.2: an unspecified source shows duplicate address detection.
                let purpose = match source.is_unspecified() {
                    true => ", duplicate address detection",
                    false => "",
                };
                let details = format!("target {}{purpose}", solicitation.target);
                ("Neighbor Solicitation", details)
            }
            NeighborDiscovery::NeighborAdvertisement(advertisement) => (
                "Neighbor Advertisement",
                format!("target {}", advertisement.target),
            ),
            NeighborDiscovery::ProxySolicitation(_) => {
                ("Router Solicitation for Proxy Advertisement", String::new())
            }
            NeighborDiscovery::ProxyAdvertisement(advertisement) => {
                let details = match advertisement.router {
                    Some(router) => format!(
                        "router {}, prefix {}/{}",
                        router.address,
                        router.prefix.address(),
                        router.prefix.length()
                    ),
                    None => "no router known".to_owned(),
                };
                ("Proxy Router Advertisement", details)
            }
        }
    }
}
