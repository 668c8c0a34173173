use super::file::{Layout, Partial, TableFile};
use super::table::BATCH;
use super::*;
use crate::link::{DropReason, End};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use baton_proto::packet::{BitErrors, Body, FlowId, Identity, IpHeader, Packet, Payload};
use baton_proto::wire::icmp::{Echo, IcmpMessage};
use baton_proto::wire::sequence::SequenceNumber;
use baton_proto::wire::tcp::{TcpFlags, TcpHeader, TcpOptions};
use baton_proto::wire::udp::UdpHeader;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Returns an empty folder for one test.
pub(super) fn temporary(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("baton-record-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

const BOTH: RecordSettings = RecordSettings {
    series: Quantities::ALL,
    packets: true,
    signals: false,
};

fn recorder(settings: RecordSettings, sink: Sink) -> Recorder {
    let names = RecordNames {
        links: vec!["wavelan".into(), "gsm".into()],
        radios: Vec::new(),
        flows: vec!["download".into()],
        nodes: Vec::new(),
    };
    Recorder::new(settings, names, sink).unwrap()
}

fn live(sink: Sink, lost: &LostRows) -> Recorder {
    let names = RecordNames {
        links: vec!["wavelan".into(), "gsm".into()],
        radios: Vec::new(),
        flows: vec!["download".into()],
        nodes: Vec::new(),
    };
    Recorder::live(BOTH, names, sink, lost.clone()).unwrap()
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn packet(body: Body) -> Packet {
    Packet {
        ip: IpHeader {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            hop_limit: 64,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        },
        body,
        flow: Some(FlowId(0)),
        retransmission: false,
        bit_errors: BitErrors::NONE,
        identity: Identity::NONE,
    }
}

fn segment(sequence: u32, flags: TcpFlags, length: u32) -> Packet {
    let header = TcpHeader {
        source_port: 80,
        destination_port: 40_000,
        sequence: SequenceNumber(sequence),
        acknowledgment: SequenceNumber(7),
        flags,
        window: 4096,
        options: TcpOptions::default(),
    };
    packet(Body::Tcp(
        header,
        Payload::Pattern {
            stream: 0,
            offset: 0,
            length,
        },
    ))
}

fn row(number: u64, packet: &Packet) -> PacketRecord<'_> {
    PacketRecord {
        number,
        link: 0,
        from: End::A,
        sent: at(number),
        decided: Some(at(number + 5)),
        dropped: None,
        packet,
    }
}

fn batches(table: Option<Table>) -> Vec<RecordBatch> {
    match table {
        Some(Table::Batches { batches, .. }) => batches,
        other => panic!("expected a table in memory, found {other:?}"),
    }
}

/// Returns the strings of a dictionary-encoded column; `None` is null.
fn strings(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(column).unwrap();
    column
        .as_dictionary::<Int32Type>()
        .downcast_dict::<arrow_array::StringArray>()
        .unwrap()
        .into_iter()
        .map(|name| name.map(str::to_owned))
        .collect()
}

fn times(batches: &[RecordBatch]) -> Vec<i64> {
    batches
        .iter()
        .flat_map(|batch| batch["time_ns"].as_primitive::<Int64Type>().values())
        .copied()
        .collect()
}

#[test]
fn states_give_a_row_when_they_change_and_samples_always() {
    let mut recorder = recorder(BOTH, Sink::Memory);
    let download = recorder.subject("flow download");
    let queue = recorder.subject("link gsm down");
    assert_eq!(recorder.subject("flow download"), download);
    recorder.series(at(0), download, Quantity::CongestionWindow, 1460.0);
    recorder.series(at(1), download, Quantity::CongestionWindow, 1460.0);
    recorder.series(at(2), queue, Quantity::QueuePackets, 0.0);
    recorder.series(at(3), download, Quantity::RoundTripTime, 0.25);
    recorder.series(at(4), download, Quantity::RoundTripTime, 0.25);
    recorder.series(at(5), download, Quantity::CongestionWindow, 2920.0);

    let batches = batches(recorder.finish().unwrap().series);
    let batch = &batches[0];
    assert_eq!(
        times(&batches),
        [0, 2_000_000, 3_000_000, 4_000_000, 5_000_000]
    );
    let names = strings(batch, "series");
    assert_eq!(names[0].as_deref(), Some("congestion window"));
    assert_eq!(names[1].as_deref(), Some("queue packets"));
    assert_eq!(names[2].as_deref(), Some("round-trip time"));
    assert_eq!(
        strings(batch, "subject")[1].as_deref(),
        Some("link gsm down")
    );
    let values = batch["value"].as_primitive::<Float64Type>();
    assert_eq!(values.values()[..], [1460.0, 0.0, 0.25, 0.25, 2920.0]);
}

#[test]
fn rows_that_are_recorded_late_find_their_place() {
    let mut recorder = recorder(BOTH, Sink::Memory);
    let queue = recorder.subject("link gsm down");
    // Every second row is four milliseconds late, across the ends of batches too.
    let rows = 3 * BATCH as u64 + 2;
    for number in 0..rows {
        let late = if number % 2 == 0 { 4 } else { 0 };
        recorder.series(
            at(number + 4 - late),
            queue,
            Quantity::RoundTripTime,
            number as f64,
        );
    }
    let times = times(&batches(recorder.finish().unwrap().series));
    assert_eq!(times.len() as u64, rows);
    assert!(times.is_sorted());
}

#[test]
fn a_row_that_is_too_late_is_reported() {
    let mut recorder = recorder(BOTH, Sink::Memory);
    let queue = recorder.subject("link gsm down");
    for number in 1..=2 * BATCH as u64 {
        recorder.series(at(number), queue, Quantity::RoundTripTime, 1.0);
    }
    assert_eq!(recorder.check(), Ok(()));
    for number in 0..=BATCH as u64 {
        recorder.series(at(1 + number), queue, Quantity::RoundTripTime, 1.0);
    }
    recorder.flush();
    let late = RecordError::OutOfOrder {
        series: "round-trip time",
        time_ns: 1_000_000,
    };
    // The writing thread reports in its own time.
    while recorder.check().is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(recorder.check(), Err(late.clone()));
    assert_eq!(recorder.finish().unwrap_err(), late);
}

#[test]
fn a_packets_row_says_what_became_of_it() {
    let mut recorder = recorder(BOTH, Sink::Memory);
    let mut acknowledgment = segment(7, TcpFlags::ACK, 0);
    if let Body::Tcp(header, _) = &mut acknowledgment.body {
        let sack = &mut header.options.sack;
        sack.push(SequenceNumber(100), SequenceNumber(200));
        sack.push(SequenceNumber(300), SequenceNumber(400));
    }
    let syn = segment(u32::MAX, TcpFlags::SYN, 0);
    let udp = UdpHeader {
        source_port: 5,
        destination_port: 6,
    };
    let datagram = packet(Body::Udp(udp, Payload::Bytes(Box::new([0; 10]))));
    let mut ping = packet(Body::Icmp(IcmpMessage::EchoRequest(Echo::counting(
        1, 1, 56,
    ))));
    ping.flow = None;
    recorder.packet(&row(0, &acknowledgment));
    recorder.packet(&PacketRecord {
        from: End::B,
        link: 1,
        dropped: Some(DropReason::BurstLoss),
        ..row(1, &syn)
    });
    recorder.packet(&PacketRecord {
        decided: None,
        ..row(2, &datagram)
    });
    recorder.packet(&row(3, &ping));

    let batches = batches(recorder.finish().unwrap().packets);
    let batch = &batches[0];
    let all = |column| {
        strings(batch, column)
            .into_iter()
            .map(|name| name.unwrap_or_else(|| "null".into()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(all("link"), "wavelan, gsm, wavelan, wavelan");
    assert_eq!(all("direction"), "down, up, down, down");
    assert_eq!(all("flow"), "download, download, download, null");
    assert_eq!(all("fate"), "delivered, burst loss, under way, delivered");
    assert_eq!(all("protocol"), "tcp, tcp, udp, icmp");
    assert_eq!(
        all("source"),
        "10.0.0.1:80, 10.0.0.1:80, 10.0.0.1:5, 10.0.0.1"
    );
    assert_eq!(all("flags"), "ACK, SYN, null, null");

    let sequence = batch["sequence"].as_primitive::<UInt32Type>();
    assert_eq!(
        sequence.iter().collect::<Vec<_>>(),
        [Some(7), Some(u32::MAX), None, None]
    );
    let acknowledgment = batch["acknowledgment"].as_primitive::<UInt32Type>();
    assert_eq!(
        acknowledgment.iter().collect::<Vec<_>>(),
        [Some(7), None, None, None]
    );
    let decided = batch["decided_ns"].as_primitive::<Int64Type>();
    assert!(decided.is_null(2) && decided.value(3) == 8_000_000);
    let payload = batch["payload_bytes"].as_primitive::<UInt32Type>();
    assert_eq!(payload.values()[..], [0, 0, 10, 56]);
    let wire = batch["wire_bytes"].as_primitive::<UInt32Type>();
    assert_eq!(wire.values()[..], [60, 40, 38, 84]);
    let sack = batch["sack"].as_list::<i32>();
    assert!(sack.is_null(1) && sack.is_null(2) && sack.is_null(3));
    assert_eq!(
        sack.value(0).as_primitive::<UInt32Type>().values()[..],
        [100, 200, 300, 400]
    );
}

/// Returns enough rows for two batches and one row, in both tables.
fn fill(recorder: &mut Recorder) {
    let flow = recorder.subject("flow download");
    let mut segment = segment(0, TcpFlags::ACK.with(TcpFlags::PSH), 1460);
    for number in 0..2 * BATCH as u64 + 1 {
        segment.ip.identification = number as u16;
        segment.retransmission = number % 10 == 0;
        recorder.packet(&row(number, &segment));
        recorder.series(at(number), flow, Quantity::RoundTripTime, number as f64);
    }
}

#[test]
fn no_row_is_lost_between_batches() {
    let mut recorder = recorder(BOTH, Sink::Memory);
    fill(&mut recorder);
    let tables = recorder.finish().unwrap();
    let packets = batches(tables.packets);
    let sizes: Vec<usize> = packets.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [BATCH, BATCH, 1]);
    let numbers = packets
        .iter()
        .flat_map(|batch| batch["packet"].as_primitive::<UInt64Type>().values());
    assert!(numbers.copied().eq(0..2 * BATCH as u64 + 1));
    let series = times(&batches(tables.series));
    assert!(
        series
            .into_iter()
            .eq((0..2 * BATCH as i64 + 1).map(|ms| ms * 1_000_000))
    );
}

#[test]
fn files_hold_what_memory_holds_and_equal_rows_give_equal_bytes() {
    let folders = [temporary("equal-a"), temporary("equal-b")];
    for folder in &folders {
        let mut recorder = recorder(BOTH, Sink::Folder(folder.clone()));
        fill(&mut recorder);
        assert!(!folder.join(PACKETS_FILE).exists());
        let tables = recorder.finish().unwrap();
        assert_eq!(tables.packets.unwrap().rows(), 2 * BATCH as u64 + 1);
    }
    for file in [SERIES_FILE, PACKETS_FILE] {
        let bytes = fs::read(folders[0].join(file)).unwrap();
        assert!(bytes == fs::read(folders[1].join(file)).unwrap());
    }

    let mut recorder = recorder(BOTH, Sink::Memory);
    fill(&mut recorder);
    let memory = batches(recorder.finish().unwrap().packets);
    let file = read_table(&folders[0].join(PACKETS_FILE)).unwrap().1;
    assert_eq!(memory.len(), file.len());
    for (memory, file) in memory.iter().zip(&file) {
        assert_eq!(memory["packet"].as_ref(), file["packet"].as_ref());
        assert_eq!(memory["sack"].as_ref(), file["sack"].as_ref());
        assert_eq!(strings(memory, "flags"), strings(file, "flags"));
    }
    for folder in folders {
        fs::remove_dir_all(folder).unwrap();
    }
}

/// Names that are few and many, in runs and in turns, that appear late, and that are missing.
#[test]
fn a_file_has_the_names_of_every_row() {
    let folder = temporary("names");
    let sinks = [Sink::Memory, Sink::Folder(folder.clone())];
    let [memory, file] = sinks.map(|sink| {
        let mut recorder = recorder(BOTH, sink);
        for number in 0..BATCH as u64 + 3_000 {
            let mut packet = segment(0, TcpFlags((number % 13) as u8), 1460);
            if let Body::Tcp(header, _) = &mut packet.body {
                header.source_port = (number * number % 5_000) as u16;
            }
            if number % 1_000 > 700 {
                packet.body = Body::Opaque {
                    protocol: (number % 300 / 7) as u8,
                    fragment: 0,
                    bytes: Box::new([0; 4]),
                };
            }
            packet.flow = (number % 5 < 4).then_some(FlowId(0));
            recorder.packet(&PacketRecord {
                link: usize::from(number % 100 < 50),
                dropped: (number % 9 == 0).then_some(DropReason::QueueFull),
                ..row(number, &packet)
            });
        }
        recorder.finish().unwrap().packets
    });
    let Some(Table::File { rows, .. }) = file else {
        panic!("expected a file");
    };
    assert_eq!(rows, BATCH as u64 + 3_000);
    let read = read_table(&folder.join(PACKETS_FILE)).unwrap().1;
    let memory = batches(memory);
    for column in [
        "link",
        "flow",
        "fate",
        "protocol",
        "source",
        "destination",
        "flags",
    ] {
        let all = |batches: &[RecordBatch]| -> Vec<Option<String>> {
            let each = batches.iter().map(|batch| strings(batch, column));
            each.flatten().collect()
        };
        assert!(all(&memory) == all(&read), "{column}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_dictionary_travels_with_the_file() {
    let folder = temporary("dictionary");
    recorder(BOTH, Sink::Folder(folder.clone()))
        .finish()
        .unwrap();
    let (schema, batches) = read_table(&folder.join(SERIES_FILE)).unwrap();
    assert!(batches.is_empty());
    let dictionary: serde_json::Value =
        serde_json::from_str(schema.metadata().get(SERIES_KEY).unwrap()).unwrap();
    assert_eq!(dictionary["version"], SCHEMA_VERSION);
    assert_eq!(dictionary["series"][2]["name"], "round-trip time");
    assert_eq!(dictionary["series"][2]["unit"], "s");
    let (schema, _) = read_table(&folder.join(PACKETS_FILE)).unwrap();
    let dictionary: serde_json::Value =
        serde_json::from_str(schema.metadata().get(PACKETS_KEY).unwrap()).unwrap();
    let described: Vec<&str> = dictionary["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    let columns: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(described, columns);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn of_chosen_series_alone_rows_are_kept() {
    let chosen = RecordSettings {
        series: Quantities::from_iter([Quantity::QueuePackets]),
        packets: false,
        signals: false,
    };
    let mut recorder = recorder(chosen, Sink::Memory);
    assert!(recorder.records_series() && recorder.records_queues());
    let subject = recorder.subject("link gsm down");
    recorder.series(at(0), subject, Quantity::QueueBytes, 1500.0);
    recorder.series(at(1), subject, Quantity::QueuePackets, 1.0);
    recorder.series(at(2), subject, Quantity::RoundTripTime, 0.25);
    let batches = batches(recorder.finish().unwrap().series);
    assert_eq!(
        strings(&batches[0], "series"),
        [Some("queue packets".to_owned())]
    );
}

#[test]
fn nothing_is_kept_of_what_is_off() {
    let folder = temporary("off");
    let off = RecordSettings {
        series: Quantities::NONE,
        packets: false,
        signals: false,
    };
    let mut recorder = recorder(off, Sink::Folder(folder.clone()));
    fill(&mut recorder);
    let tables = recorder.finish().unwrap();
    assert!(tables.series.is_none() && tables.packets.is_none());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_recorder_that_is_dropped_leaves_no_file() {
    let folder = temporary("dropped");
    let mut recorder = recorder(BOTH, Sink::Folder(folder.clone()));
    fill(&mut recorder);
    drop(recorder);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

/// Disk with room for so many bytes.
struct SmallDisk(usize);

impl io::Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fills_at_any_byte_is_reported() {
    let folder = temporary("small-disk");
    let mut source = recorder(BOTH, Sink::Memory);
    fill(&mut source);
    let table = source.finish().unwrap().series.unwrap();
    let Table::Batches { schema, batches } = table else {
        panic!("the table is in memory");
    };
    let layout = Layout {
        delta: &[],
        plain: &[],
        ordered: &[],
    };
    let write = |room: usize| {
        let disk = Box::new(SmallDisk(room));
        let mut file = TableFile::over(
            disk,
            Partial::new(&folder, SERIES_FILE),
            schema.clone(),
            &layout,
        )?;
        for batch in &batches {
            file.write(batch)?;
        }
        file.close().map(drop)
    };
    fs::write(folder.join(".partial-series.parquet"), "").unwrap();
    assert_eq!(write(100_000_000), Ok(()));
    for room in [0, 3, 4, 1000, 100_000, 500_000] {
        match write(room) {
            Err(RecordError::Write { file, full, .. }) => {
                assert!(full && file.ends_with(SERIES_FILE));
            }
            other => panic!("with room for {room} bytes: {other:?}"),
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The system's own full disk, by a link in the place of the file to be created.
#[test]
#[cfg(target_os = "linux")]
fn the_systems_full_disk_is_reported() {
    let folder = temporary("full-disk");
    let device = std::path::Path::new("/dev/full");
    if !device.exists() {
        eprintln!("skipped: this system has no /dev/full");
        return;
    }
    std::os::unix::fs::symlink(device, folder.join(format!(".partial-{PACKETS_FILE}"))).unwrap();
    let mut recorder = recorder(BOTH, Sink::Folder(folder.clone()));
    fill(&mut recorder);
    let error = recorder.finish().unwrap_err().to_string();
    assert!(
        error.contains("packets.parquet: cannot be written") && error.contains("free some space"),
        "{error}"
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_live_record_has_the_bytes_of_another() {
    let folders = [temporary("waiting"), temporary("live")];
    let lost = LostRows::default();
    let recorders = [
        recorder(BOTH, Sink::Folder(folders[0].clone())),
        live(Sink::Folder(folders[1].clone()), &lost),
    ];
    for mut recorder in recorders {
        let mut segment = segment(0, TcpFlags::ACK, 1460);
        for number in 0..5_000 {
            // Names appear during the run, states repeat, and flushes happen anywhere.
            let subject = recorder.subject(&format!("flow {}", number / 1_000));
            if number % 1_000 == 0 {
                recorder.add_flow(&format!("tcp-443-{number}"));
                segment.flow = Some(FlowId(number as u32 / 1_000 + 1));
            }
            if number % 300 == 0 {
                recorder.flush();
            }
            recorder.packet(&row(number, &segment));
            let window = (number / 10) as f64;
            recorder.series(at(number), subject, Quantity::CongestionWindow, window);
            recorder.series(at(number), subject, Quantity::RoundTripTime, 0.1);
        }
        let tables = recorder.finish().unwrap();
        assert_eq!(tables.packets.unwrap().rows(), 5_000);
        assert_eq!(tables.series.unwrap().rows(), 5_500);
    }
    for file in [SERIES_FILE, PACKETS_FILE] {
        let bytes = fs::read(folders[0].join(file)).unwrap();
        assert!(bytes == fs::read(folders[1].join(file)).unwrap(), "{file}");
    }
    assert_eq!(lost.count(), 0);
    for folder in folders {
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_live_recorder_that_is_dropped_leaves_no_file() {
    let folder = temporary("live-dropped");
    let mut recorder = live(Sink::Folder(folder.clone()), &LostRows::default());
    recorder.packet(&row(0, &segment(0, TcpFlags::ACK, 1460)));
    recorder.flush();
    drop(recorder);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}
