//! Blocks of a fixed size of a code across packets, as AeroTP and TP++ have them.

use crate::scenario::document::Path;
use crate::scenario::resolve::Report;
use baton_proto::fec::erasure::BlockSize;
use schemars::JsonSchema;
use serde::Deserialize;

/// A fixed amount of redundancy across packets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct RawFixedBlocks {
    /// Data packets per block. An incomplete block is closed after half of `reordering_wait`.
    #[schemars(range(min = 1, max = 254))]
    pub data: u32,
    /// Redundant packets behind them; with the data packets at most 255.
    #[schemars(range(min = 1, max = 254))]
    pub repair: u32,
}

/// Resolves the size of a block of the transport at `path`.
pub(crate) fn block_size(
    RawFixedBlocks { data, repair }: RawFixedBlocks,
    path: &Path,
    report: &mut Report<'_>,
) -> Option<BlockSize> {
    let [sources, repairs] = [data, repair].map(u8::try_from);
    let size = BlockSize::new(sources.ok()?, repairs.ok()?);
    if size.is_err() {
        let message = format!(
            "{data} and {repair} make a block of {} packets, and the code allows at most 255; expected fewer of either",
            data + repair
        );
        report.wrong(&path.key("blocks"), message);
    }
    size.ok()
}
