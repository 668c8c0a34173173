//! Rules of conversion, as in a scenario.

use crate::config::{Network, Time};
use baton_proto::aerotp::{self, Coding, Configuration};
use baton_proto::fec::erasure::BlockSize;
use baton_proto::gateways::aerotp::{Rule, Selector};
use baton_proto::rate::DataRate;
use baton_proto::tcp::profile::Profile;
use baton_proto::wire::aerotp::{Mode, ServiceClass};
use core::num::NonZeroU16;
use schemars::JsonSchema;
use serde::Deserialize;

/// Buffer of a connection at each gateway, in bytes (chosen: two round trips of 600 ms at 200 Mbit/s). It takes memory only
/// for the data that it holds.
const BUFFER: u32 = 32 << 20;

/// A rule of conversion. To TCP, mode "unreliable-datagram" is "unreliable-connection".
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// The port to which alone it applies: that of the end that did not open the connection.
    pub port: Option<NonZeroU16>,
    /// The code point (RFC 2474) to which alone it applies: that of the opening packet.
    pub code_point: Option<CodePoint>,
    /// The network of destinations to which alone it applies.
    pub destination: Option<Network>,
    /// The guarantees of delivery.
    #[serde(default)]
    pub mode: ModeName,
    /// The service class, 0 (first to wait) to 7 (first to go).
    #[serde(default)]
    pub class: Class,
    /// Redundant packets that restore lost ones.
    pub blocks: Option<Blocks>,
    /// The longest wait for a gap to be filled, in modes without retransmission.
    pub reordering_wait: Option<Time>,
    /// The longest silence of the other gateway that a connection survives.
    pub close_timeout: Option<Time>,
}

/// The guarantees of delivery of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModeName {
    /// All data arrives, and the sender is told so only when the receiver has it.
    Reliable,
    /// All data arrives; the gateway acknowledges it at once, and keeps it until the other gateway has it.
    #[default]
    NearReliable,
    /// Redundancy alone, and no return channel.
    QuasiReliable,
    /// Order alone.
    UnreliableConnection,
    /// A packet for each datagram, and no state.
    UnreliableDatagram,
}

/// A code point of six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
#[schemars(inline, extend("maximum" = 63))]
pub struct CodePoint(u8);

/// A service class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
#[schemars(inline, extend("maximum" = 7))]
pub struct Class(#[schemars(with = "u8")] ServiceClass);

/// An erasure code across packets: any packets of a block, as many as it has with data, restore all its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "BlocksKey")]
#[schemars(with = "BlocksKey")]
pub struct Blocks(aerotp::Blocks);

/// Blocks as the file has them.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "Blocks")]
#[serde(
    untagged,
    expecting = "expected \"adaptive\", or numbers such as { data = 8, repair = 2 }"
)]
enum BlocksKey {
    /// By the loss.
    Named(BlocksName),
    /// A fixed number of repair packets.
    Numbers(BlockNumbers),
}

/// Repair packets by a measurement.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BlocksName {
    /// As few repair packets as restore 999 of 1000 blocks at the measured loss; more over a link that is about to go down.
    Adaptive,
}

/// A block of fixed size.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BlockNumbers {
    /// Packets with data.
    data: u8,
    /// Redundant packets behind them.
    repair: u8,
}

impl TryFrom<u8> for CodePoint {
    type Error = String;

    fn try_from(number: u8) -> Result<CodePoint, String> {
        match number {
            0..=63 => Ok(CodePoint(number)),
            _ => Err(format!("{number}: expected a code point from 0 to 63")),
        }
    }
}

impl TryFrom<u8> for Class {
    type Error = String;

    fn try_from(number: u8) -> Result<Class, String> {
        let class = ServiceClass::new(number).map(Class);
        class.ok_or_else(|| format!("{number}: expected a class from 0 to 7"))
    }
}

impl TryFrom<BlocksKey> for Blocks {
    type Error = String;

    fn try_from(key: BlocksKey) -> Result<Blocks, String> {
        let BlockNumbers { data, repair } = match key {
            BlocksKey::Named(BlocksName::Adaptive) => return Ok(Blocks(aerotp::Blocks::Adaptive)),
            BlocksKey::Numbers(numbers) => numbers,
        };
        let size = BlockSize::new(data, repair).map_err(|_| {
            format!("{data} data and {repair} repair packets: expected at least one of each, and at most 255 in all")
        })?;
        Ok(Blocks(aerotp::Blocks::Fixed(size)))
    }
}

impl RuleConfig {
    /// Returns the rules that convert everything.
    pub fn for_everything() -> Vec<RuleConfig> {
        vec![RuleConfig::default()]
    }

    /// Checks the keys of the rule at `key` against each other.
    ///
    /// # Errors
    /// The key, and the value that was expected.
    pub fn check(&self, key: &str) -> Result<(), String> {
        let follows = self.blocks == Some(Blocks(aerotp::Blocks::Adaptive));
        match follows && !self.mode.mode().repeats() {
            true => Err(format!(
                "{key}.blocks: \"adaptive\" follows acknowledgments, which its mode has not; expected {{ data = 8, repair = 2 }}"
            )),
            false => Ok(()),
        }
    }

    /// Returns the rule for the node. Its rates come from the links.
    pub fn rule(&self) -> Rule {
        let mut configuration = Configuration::new(DataRate::ZERO);
        configuration.mode = self.mode.mode();
        configuration.class = self.class.0;
        // A path delivers no damaged packets, and none of others.
        configuration.coding = Coding::Fixed(Default::default());
        configuration.send_buffer = BUFFER;
        configuration.receive_buffer = BUFFER;
        configuration.blocks = self.blocks.map(|blocks| blocks.0);
        if let Some(Time(wait)) = self.reordering_wait {
            configuration.reordering_wait = wait;
        }
        if let Some(Time(longest)) = self.close_timeout {
            configuration.close_timeout = longest;
        }
        Rule {
            selector: Selector {
                port: self.port.map(NonZeroU16::get),
                code_point: self.code_point.map(|point| point.0),
                destination: self
                    .destination
                    .map(|Network(prefix)| (prefix.address(), prefix.length())),
            },
            configuration,
            profile: Profile::linux_6(),
        }
    }
}

impl ModeName {
    const fn mode(self) -> Mode {
        match self {
            ModeName::Reliable => Mode::Reliable,
            ModeName::NearReliable => Mode::NearReliable,
            ModeName::QuasiReliable => Mode::QuasiReliable,
            ModeName::UnreliableConnection => Mode::UnreliableConnection,
            ModeName::UnreliableDatagram => Mode::UnreliableDatagram,
        }
    }
}
