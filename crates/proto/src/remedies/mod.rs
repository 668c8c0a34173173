//! Schemes against what a handover does to a transport, published ones and two of our own, one file each. Each is a [`Remedy`]: signals in, controls
//! out. [`Kind`] says which there are, where they are installed, and makes them; a [`Scheme`] may also come from outside.

mod adaptive_timer;
mod astart;
mod atcp;
mod buffer_notification;
mod closing_window;
mod combined;
mod duplicate_acks;
mod ebsn;
mod eclair;
mod external;
mod faster_timeout_decrease;
mod forgotten_path;
mod freeze_tcp;
mod notice;
mod path_window;
mod ready_gateway;
mod ready_mobile;
mod reordering;
pub mod snoop;
#[cfg(test)]
mod tests;

pub use external::{External, Side};

use crate::crosslayer::Remedy;

/// Remedy of a flow against a handover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One of these here: published, or our own ([`Kind::is_own`]).
    Published(Kind),
    /// One from outside.
    External(External),
}

impl Scheme {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Scheme::Published(kind) => kind.name(),
            Scheme::External(external) => external.name(),
        }
    }

    /// Returns the means by which its part at the correspondent, if there is one, is told of a handover.
    pub fn tells(&self) -> Tells {
        match self {
            Scheme::Published(kind) => kind.tells(),
            Scheme::External(external) => match external.side() {
                Side::Mobile => Tells::Own,
                Side::Correspondent => Tells::BindingUpdate,
            },
        }
    }

    /// Returns its kind if it is one of ours.
    pub const fn published(&self) -> Option<Kind> {
        match self {
            Scheme::Published(kind) => Some(*kind),
            Scheme::External(_) => None,
        }
    }

    /// Returns its part at the gateway, if it is installed there.
    pub const fn at_gateway(&self) -> Option<GatewayPart> {
        match self {
            Scheme::Published(kind) => kind.at_gateway(),
            Scheme::External(_) => None,
        }
    }

    /// Returns its part at one side of a connection, which sends or receives the data, if it has one there.
    pub fn part(&self, side: Side, sends: bool) -> Option<Box<dyn Remedy>> {
        match (self, side) {
            (Scheme::Published(kind), Side::Mobile) => kind.at_mobile(sends),
            (Scheme::Published(kind), Side::Correspondent) => kind.at_correspondent(sends),
            (Scheme::External(external), _) => external.part(side, sends),
        }
    }
}

/// The nodes that a remedy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The mobile alone, in both directions of data.
    Mobile,
    /// The mobile alone, as receiver.
    MobileReceiver,
    /// The correspondent alone, as sender.
    CorrespondentSender,
    /// Both ends; the sender is the correspondent.
    BothEnds,
    /// The sender alone if it is the mobile, else both ends.
    Sender,
    /// The sender alone, mobile or correspondent.
    SenderAlone,
    /// The sender, mobile or correspondent, and the base station of a link with link-layer retransmission.
    SenderAndBaseStation,
    /// The gateway alone: each router at the network's end of the mobile's access links.
    Gateway,
}

impl Place {
    /// Returns that place for data that goes to the mobile: "mobile", "sender", "gateway", or several of them.
    pub const fn for_downloads(self) -> &'static [&'static str] {
        match self {
            Place::Mobile | Place::MobileReceiver => &["mobile"],
            Place::CorrespondentSender | Place::SenderAlone => &["sender"],
            Place::BothEnds | Place::Sender => &["sender", "mobile"],
            Place::SenderAndBaseStation => &["sender", "gateway"],
            Place::Gateway => &["gateway"],
        }
    }
}

/// Encryptions of the transport with which a remedy works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encrypted {
    /// In QUIC (RFC 9000), whose packets are opaque to the network, and whose receiver cannot withdraw credit.
    pub quic: bool,
    /// IPsec (RFC 4303), which hides the transport from the network and leaves the ends as before.
    pub ipsec: bool,
}

/// The part of a remedy at a gateway, which [`crate::gateways::path`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayPart {
    /// Watches connections, and retransmits from copies.
    Watch,
    /// Ends connections and opens connections of its own.
    Split,
}

/// Means by which a remedy at a correspondent is told of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// None: the mobile's own layers tell the mobile.
    Own,
    /// By a binding update of Mobile IPv6.
    BindingUpdate,
    /// By an option in the mobile's acknowledgments.
    TcpOption,
}

macro_rules! kinds {
    ($($variant:ident = $name:literal, $place:ident, $tells:ident, $about:literal;)*) => {
        /// A published scheme, or one of our own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $(#[doc = $about] $variant,)* }

        impl Kind {
            /// All.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// Returns its name in scenarios.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// Describes it in a sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Kind::$variant => $about,)* }
            }

            /// Returns the place where it is installed.
            pub const fn place(self) -> Place {
                match self { $(Kind::$variant => Place::$place,)* }
            }

            /// Returns the means by which its part at the correspondent, if there is one, is told of a handover.
            pub const fn tells(self) -> Tells {
                match self { $(Kind::$variant => Tells::$tells,)* }
            }
        }
    };
}

kinds! {
    FreezeTcp = "freeze-tcp", MobileReceiver, Own,
        "A zero window ahead of the disconnection, three acknowledgments after it (Goff et al., 2000).";
    DuplicateAcks = "duplicate-acks", Mobile, Own,
        "Three duplicate acknowledgments, or a fast retransmission, after reconnection (Cáceres and Iftode, 1995).";
    Atcp = "atcp", Mobile, Own,
        "TCP that hears of disconnection and connection (Singh and Iyer, 2002).";
    Eclair = "eclair", Mobile, Own,
        "The cross-layer scheme of study C, whichever way the data goes.";
    ClosingWindow = "closing-window", CorrespondentSender, BindingUpdate,
        "At the sender the window closed, then slow start to the new pipe (study S, Table 2).";
    Reordering = "reordering", BothEnds, BindingUpdate,
        "Gaps are no losses while packets are on two ways (Kim and Lee, 2009).";
    AdaptiveTimer = "adaptive-timer", CorrespondentSender, BindingUpdate,
        "The timeout follows the binding update's delay (Kim and Lee, 2009).";
    BufferNotification = "buffer-notification", CorrespondentSender, BindingUpdate,
        "The new link's queue bounds the window (Liu et al., 2008).";
    Method1 = "method-1", BothEnds, BindingUpdate,
        "Study S: reordering towards the shorter path, adaptive-timer towards the longer one.";
    Method2 = "method-2", CorrespondentSender, BindingUpdate,
        "Study S: the window bounded towards the shorter path, the threshold restored towards the longer one.";
    ForgottenPath = "forgotten-path", CorrespondentSender, BindingUpdate,
        "The congestion control forgets the old path, as Westwood+ its shortest round-trip time (study S, section 8).";
    Astart = "astart", CorrespondentSender, BindingUpdate,
        "The threshold follows what the new path delivers (Wang et al., 2004; study S, section 6).";
    FasterTimeoutDecrease = "faster-timeout-decrease", SenderAlone, Own,
        "The timeout follows a round-trip time that has become much shorter (study T, section 7.2.2).";
    TimeoutReset = "timeout-reset", Sender, TcpOption,
        "The timeout begins anew (study T, section 7).";
    WindowReset = "window-reset", Sender, TcpOption,
        "Slow start from one segment (study T, section 7).";
    PathReset = "path-reset", Sender, TcpOption,
        "The timeout begins anew, and slow start from one segment (study T, section 7).";
    PathWindow = "path-window", MobileReceiver, Own,
        "The receiver offers what the link in use holds (studies T and D).";
    ReadyMobile = "ready-mobile", Mobile, Own,
        "Baton's own: a window by the link whose edge never goes back, shut and opened after a break.";
    ReadyGateway = "ready-gateway", Gateway, Own,
        "Baton's own: a split connection whose half towards the mobile knows the link in use.";
    Ebsn = "ebsn", SenderAndBaseStation, Own,
        "The timer starts again whenever the base station has failed to pass a segment on (Bakshi et al., 1997).";
    Snoop = "snoop", Gateway, Own,
        "The gateway sends again what the last hop loses, and tells a mobile of what it has lost (Balakrishnan et al., 1995).";
    SplitConnection = "split-connection", Gateway, Own,
        "The gateway ends the connection and opens its own towards the mobile (I-TCP; Bakre and Badrinath, 1995).";
    SatellitePep = "satellite-pep", Gateway, Own,
        "A split connection with a stack for long paths on the mobile's side (RFC 3135).";
}

impl Kind {
    /// Returns the remedy of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns true if the remedy is Baton's own and not a published one.
    pub const fn is_own(self) -> bool {
        matches!(self, Kind::ReadyMobile | Kind::ReadyGateway)
    }

    /// Returns the encryptions with which the remedy works: at the ends all, on the path none, unless a remedy says
    /// otherwise.
    pub fn encrypted(self) -> Encrypted {
        let at_ends = !self.place().for_downloads().contains(&"gateway");
        match self {
            // These stop the sender by a zero window, or send duplicate ACKs. QUIC's credit is never withdrawn (RFC
            // 9000 section 4.1), and its packet numbers are never repeated (section 12.3).
            Kind::FreezeTcp
            | Kind::DuplicateAcks
            | Kind::Atcp
            | Kind::Eclair
            | Kind::ReadyMobile => Encrypted {
                quic: false,
                ipsec: true,
            },
            _ => Encrypted {
                quic: at_ends,
                ipsec: at_ends,
            },
        }
    }

    /// Returns its part at the mobile, which sends or receives the data, if it has one there.
    pub fn at_mobile(self, sends: bool) -> Option<Box<dyn Remedy>> {
        let remedy: Box<dyn Remedy> = match self {
            Kind::FreezeTcp => Box::new(freeze_tcp::FreezeTcp),
            Kind::DuplicateAcks => Box::new(duplicate_acks::DuplicateAcks { sends }),
            Kind::Atcp => Box::new(atcp::Atcp::new(sends)),
            Kind::Eclair => Box::new(eclair::Eclair::new(sends)),
            Kind::Reordering | Kind::Method1 => Box::new(reordering::Receiver::default()),
            Kind::TimeoutReset | Kind::WindowReset | Kind::PathReset if !sends => {
                Box::new(notice::Announcer::default())
            }
            Kind::TimeoutReset | Kind::WindowReset | Kind::PathReset => {
                Box::new(notice::Reset::new(self))
            }
            Kind::PathWindow => Box::new(path_window::PathWindow),
            Kind::FasterTimeoutDecrease if sends => {
                Box::new(faster_timeout_decrease::FasterTimeoutDecrease::default())
            }
            Kind::ReadyMobile if sends => Box::new(ready_mobile::Sender::default()),
            Kind::ReadyMobile => Box::new(ready_mobile::Receiver::default()),
            Kind::Ebsn if sends => Box::new(ebsn::Ebsn),
            Kind::Ebsn
            | Kind::ClosingWindow
            | Kind::Astart
            | Kind::FasterTimeoutDecrease
            | Kind::ForgottenPath
            | Kind::AdaptiveTimer
            | Kind::BufferNotification
            | Kind::Method2
            | Kind::Snoop
            | Kind::SplitConnection
            | Kind::SatellitePep
            | Kind::ReadyGateway => return None,
        };
        Some(remedy)
    }

    /// Returns its part at the gateway, if it is installed there.
    pub const fn at_gateway(self) -> Option<GatewayPart> {
        match self {
            Kind::Snoop => Some(GatewayPart::Watch),
            Kind::SplitConnection | Kind::SatellitePep | Kind::ReadyGateway => {
                Some(GatewayPart::Split)
            }
            _ => None,
        }
    }

    /// Returns true if the half towards the mobile of a split connection begins with the pipe of its access link for a
    /// slow-start threshold.
    pub const fn knows_path(self) -> bool {
        matches!(self, Kind::SatellitePep)
    }

    /// Returns true if a split connection goes from gateway to gateway with its mobile.
    pub const fn transfers_context(self) -> bool {
        matches!(self, Kind::SatellitePep)
    }

    /// Returns the remedy that steers the half towards the mobile of a split connection, if there is one.
    pub fn steering(self) -> Option<Box<dyn Remedy>> {
        match self {
            Kind::ReadyGateway => Some(Box::new(ready_gateway::TowardsMobile::default())),
            _ => None,
        }
    }

    /// Returns its part at the correspondent, which sends or receives the data, if it has one there.
    pub fn at_correspondent(self, sends: bool) -> Option<Box<dyn Remedy>> {
        if !sends {
            return None;
        }
        let remedy: Box<dyn Remedy> = match self {
            Kind::ClosingWindow => Box::new(closing_window::ClosingWindow::default()),
            Kind::Reordering => Box::new(reordering::Sender::default()),
            Kind::ForgottenPath => Box::new(forgotten_path::ForgottenPath),
            Kind::Astart => Box::new(astart::Astart::default()),
            Kind::FasterTimeoutDecrease => {
                Box::new(faster_timeout_decrease::FasterTimeoutDecrease::default())
            }
            Kind::AdaptiveTimer => Box::new(adaptive_timer::AdaptiveTimer),
            Kind::BufferNotification => Box::new(buffer_notification::BufferNotification),
            Kind::Method1 => Box::new(combined::Method1::default()),
            Kind::Method2 => Box::new(combined::Method2::default()),
            Kind::Ebsn => Box::new(ebsn::Ebsn),
            Kind::TimeoutReset | Kind::WindowReset | Kind::PathReset => {
                Box::new(notice::Reset::new(self))
            }
            Kind::FreezeTcp
            | Kind::DuplicateAcks
            | Kind::Atcp
            | Kind::Eclair
            | Kind::PathWindow
            | Kind::ReadyMobile
            | Kind::Snoop
            | Kind::SplitConnection
            | Kind::SatellitePep
            | Kind::ReadyGateway => return None,
        };
        Some(remedy)
    }

    /// Lists the parts of a connection that the remedy controls.
    const fn holds(self) -> &'static [Held] {
        match self {
            Kind::FreezeTcp | Kind::PathWindow => &[Held::Offer],
            Kind::DuplicateAcks | Kind::BufferNotification => &[Held::Window],
            Kind::Method2 | Kind::WindowReset | Kind::Astart => &[Held::Window],
            Kind::Atcp | Kind::Eclair | Kind::ReadyMobile => {
                &[Held::Offer, Held::Window, Held::Sending]
            }
            Kind::ClosingWindow => &[Held::Window, Held::Sending],
            Kind::Reordering => &[Held::Gaps],
            Kind::ForgottenPath => &[Held::Path],
            Kind::AdaptiveTimer | Kind::TimeoutReset | Kind::FasterTimeoutDecrease => {
                &[Held::Timing]
            }
            Kind::Method1 => &[Held::Gaps, Held::Timing],
            Kind::PathReset => &[Held::Window, Held::Timing],
            // The value is left to other remedies.
            Kind::Ebsn => &[Held::Start],
            Kind::Snoop | Kind::SplitConnection | Kind::SatellitePep | Kind::ReadyGateway => {
                &[Held::Answers]
            }
        }
    }

    /// Returns the part that this remedy and another one on the same flow would both set, each in its own way.
    pub fn contradicts(self, other: Kind) -> Option<Held> {
        let mut own = self.holds().iter().copied();
        own.find(|held| other.holds().contains(held))
    }
}

/// A part of a connection that a remedy controls: two that control the same part contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The window that the receiver offers.
    Offer,
    /// The congestion window.
    Window,
    /// Permission of the sender to send at all.
    Sending,
    /// The retransmission timeout.
    Timing,
    /// Start of the retransmission timer.
    Start,
    /// Meaning of gaps.
    Gaps,
    /// Memory of the congestion control.
    Path,
    /// Signals from the receiver to the sender.
    Answers,
}

impl Held {
    /// Describes the part in words, for a message.
    pub const fn text(self) -> &'static str {
        match self {
            Held::Offer => "the window that the receiver offers",
            Held::Window => "the congestion window",
            Held::Sending => "whether the sender sends",
            Held::Timing => "the retransmission timeout",
            Held::Start => "when the retransmission timer starts",
            Held::Gaps => "what gaps mean",
            Held::Path => "what the congestion control remembers",
            Held::Answers => "what the sender hears of the receiver",
        }
    }
}
