//! Codes of registration replies.

/// The code of a registration reply (RFC 5944 section 3.4; for reverse tunnels RFC 3024 section 3.4, for
/// header compression RFC 2002 section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(pub u8);

/// Declares the codes with the standard's texts, which are also their names in records.
macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = $text] pub const $name: Code = Code($number);)*

            /// Returns the standard's text; "unknown" for an unassigned number.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)*
                    _ => "unknown",
                }
            }

            /// All named codes.
            pub const ALL: &[Code] = &[$(Code::$name),*];
        }
    };
}

codes! {
    ACCEPTED = 0, "registration accepted";
    ACCEPTED_WITHOUT_SIMULTANEOUS = 1, "registration accepted, but simultaneous mobility bindings unsupported";
    FOREIGN_UNSPECIFIED = 64, "foreign agent: reason unspecified";
    FOREIGN_PROHIBITED = 65, "foreign agent: administratively prohibited";
    FOREIGN_RESOURCES = 66, "foreign agent: insufficient resources";
    FOREIGN_MOBILE_AUTHENTICATION = 67, "foreign agent: mobile node failed authentication";
    FOREIGN_HOME_AUTHENTICATION = 68, "foreign agent: home agent failed authentication";
    FOREIGN_LIFETIME = 69, "foreign agent: requested lifetime too long";
    FOREIGN_POORLY_FORMED_REQUEST = 70, "foreign agent: poorly formed request";
    FOREIGN_POORLY_FORMED_REPLY = 71, "foreign agent: poorly formed reply";
    FOREIGN_ENCAPSULATION = 72, "foreign agent: requested encapsulation unavailable";
    FOREIGN_COMPRESSION = 73, "foreign agent: requested Van Jacobson compression unavailable";
    FOREIGN_REVERSE_TUNNEL_UNAVAILABLE = 74, "foreign agent: requested reverse tunnel unavailable";
    FOREIGN_REVERSE_TUNNEL_MANDATORY = 75, "foreign agent: reverse tunnel is mandatory and T bit not set";
    FOREIGN_TOO_DISTANT = 76, "foreign agent: mobile node too distant";
    FOREIGN_CARE_OF_ADDRESS = 77, "foreign agent: invalid care-of address";
    FOREIGN_TIMEOUT = 78, "foreign agent: registration timeout";
    FOREIGN_DELIVERY_STYLE = 79, "foreign agent: delivery style not supported";
    HOME_NETWORK_UNREACHABLE = 80, "foreign agent: home network unreachable";
    HOME_AGENT_HOST_UNREACHABLE = 81, "foreign agent: home agent host unreachable";
    HOME_AGENT_PORT_UNREACHABLE = 82, "foreign agent: home agent port unreachable";
    HOME_AGENT_UNREACHABLE = 88, "foreign agent: home agent unreachable";
    HOME_UNSPECIFIED = 128, "home agent: reason unspecified";
    HOME_PROHIBITED = 129, "home agent: administratively prohibited";
    HOME_RESOURCES = 130, "home agent: insufficient resources";
    HOME_MOBILE_AUTHENTICATION = 131, "home agent: mobile node failed authentication";
    HOME_FOREIGN_AUTHENTICATION = 132, "home agent: foreign agent failed authentication";
    IDENTIFICATION_MISMATCH = 133, "home agent: registration identification mismatch";
    HOME_POORLY_FORMED = 134, "home agent: poorly formed request";
    TOO_MANY_BINDINGS = 135, "home agent: too many simultaneous mobility bindings";
    UNKNOWN_HOME_AGENT = 136, "home agent: unknown home agent address";
    HOME_REVERSE_TUNNEL_UNAVAILABLE = 137, "home agent: requested reverse tunnel unavailable";
    HOME_REVERSE_TUNNEL_MANDATORY = 138, "home agent: reverse tunnel is mandatory and T bit not set";
    HOME_ENCAPSULATION = 139, "home agent: requested encapsulation unavailable";
    INVALID_HOME_AGENT = 194, "foreign agent: invalid home agent address";
}

impl Code {
    /// Returns true if the registration was accepted.
    pub const fn is_accepted(self) -> bool {
        self.0 <= 1
    }

    /// Returns true if a foreign agent refused, without the home agent.
    pub const fn is_foreign_refusal(self) -> bool {
        matches!(self.0, 64..=127 | 194)
    }
}
