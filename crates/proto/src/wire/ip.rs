//! IPv4 (RFC 791) and IPv6 (RFC 8200) headers, and whole packets as bytes.
