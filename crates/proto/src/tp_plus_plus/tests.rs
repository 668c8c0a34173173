//! Two ends over a path whose fates a test decides: timelines by hand, closed forms, and properties.

mod error_control;
mod hostile;
mod pair;
mod timelines;

use super::*;
use crate::fec::erasure::BlockSize;
use crate::packet::{Payload, pattern_byte};
use crate::rate::DataRate;
use crate::time::{Duration, Instant};
use crate::wire::tp_plus_plus::{Chunk, ConnectionLabel, Content, TpPlusPlusPacket};
use core::net::IpAddr;
use pair::{End, Pair, at, configuration};
