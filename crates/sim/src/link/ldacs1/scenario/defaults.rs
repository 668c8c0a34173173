//! Default values of a scenario, for the model's page.

use crate::link::ldacs1::HandoverType;
use crate::scenario::defaults::{DECIMAL_SIZES, size, whole};
use crate::scenario::model::Radio;
use serde_json::{Value, json};

/// Lists a radio network's keys; null for those whose default is a word, given in their comments.
pub(crate) fn json_defaults(network: &Radio) -> Option<Value> {
    let (config, station) = (&network.config, network.stations.first()?);
    Some(json!({
        "mtu": size(station.link.mtu),
        "queue": whole(config.queue_bytes.into(), &DECIMAL_SIZES),
        "cells": null,
        "user_rate": null,
        "handover_type": match config.handover {
            HandoverType::One => 1,
            HandoverType::Two => 2,
        },
        "packet_bit": config.packet_bit,
        "base_station_buffering": config.forwards_queue,
        "modulation": null,
        "errors": null,
        "error_table": null,
        "joint_coding": config.joint_coding,
        "standing_grant": config.standing_grant,
        "slot_delivery": config.slot_delivery,
        "common_control_frames": config.common_control_frames,
    }))
}
