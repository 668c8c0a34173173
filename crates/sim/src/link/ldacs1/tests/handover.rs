//! From one cell to the next, read as timelines. An aircraft is midway between two cells 350 km apart after six
//! seconds, so that the foreign cell is better from then on. Th1 is received at 168.75 km: the aircraft scans from the
//! start.

use super::*;
use crate::link::DropReason;
use crate::link::ldacs1::coverage::Cells;

/// Sets Th2 of the first cell to the power at a distance in metres.
fn force_below(config: &mut NetworkConfig, distance_m: f64) {
    let mut cells = config.cells.to_vec();
    cells[0].force_below_dbm = cells[0].forward.received_dbm(distance_m);
    config.cells = Cells::new(cells);
}

fn names(ladder: &[(&'static str, f64)]) -> Vec<&'static str> {
    ladder.iter().map(|line| line.0).collect()
}

fn time_of(lab: &Lab, name: &str) -> f64 {
    let ladder = lab.ladder();
    ladder
        .iter()
        .find(|line| line.0 == name)
        .expect("it happened")
        .1
}

#[test]
fn type_1_without_the_packet_bit() {
    let mut lab = Lab::two_cells(6.0, |_| {});
    lab.run_until(ms(12_000.0));
    // Then it scans in the new cell, where it is still below Th1.
    let expected = [
        "Link_Up",
        "Link_Parameters_Report",
        "STB",
        "Link_Detected",
        "HO_COM",
        "Link_Handover_Imminent",
        "CELL_EXIT",
        "Link_Down",
        "CELL_RQST",
        "CELL_RESP",
        "Link_Up",
        "Link_Handover_Complete",
    ];
    assert_eq!(names(&lab.ladder())[..expected.len()], expected);
    // Midway at 6000 ms, both cells are received equally: superframe 25, or 26 by rounding, is the first that measures
    // more.
    let detected = time_of(&lab, "Link_Detected");
    assert!(detected == 6000.0 || detected == 6240.0, "{detected}");
    // The report is in the first slot of the superframe, the command in the common control channel after it, which has
    // three frames; the exit in the slot of the next multiframe.
    let command = detected + 6.72 + 25.92 + 3.0 * 2.16;
    assert!((time_of(&lab, "HO_COM") - command).abs() < 1e-6);
    let exit = detected + 6.72 + 58.32 + 2.0 * 0.72;
    assert!((time_of(&lab, "CELL_EXIT") - exit).abs() < 1e-6);
    // One of the two opportunities of the next superframe, and the answer in its first common control channel.
    let request = time_of(&lab, "CELL_RQST") - detected - 240.0;
    assert!(request == 0.0 || (request - 3.36).abs() < 1e-6, "{request}");
    let response = detected + 240.0 + 6.72 + 25.92 + 3.0 * 2.16;
    assert!((time_of(&lab, "CELL_RESP") - response).abs() < 1e-6);
    assert_eq!(lab.network.serving_cell(StationId(0)), Some(CellId(1)));
    assert_eq!(
        (
            lab.network.registered(CellId(0)).len(),
            lab.network.registered(CellId(1)).len()
        ),
        (0, 1)
    );
}

#[test]
fn the_packet_bit_lets_packets_drain_first() {
    let mut lab = Lab::two_cells(6.0, |config| {
        config.packet_bit = true;
        config.user_rate = Some(baton_proto::rate::DataRate::from_bits_per_second(31_500));
        // Below the power at 180 km, which is 22 s farther.
        force_below(config, 180e3);
    });
    // 10 kB at 31.5 kbit/s are 2.5 s.
    let packets: Vec<PacketId> = (0..10)
        .map(|_| lab.offer(ms(5_900.0), 0, HOME, 993))
        .collect();
    lab.run_until(ms(12_000.0));
    // Then it scans in the new cell, where it is still below Th1.
    let expected = [
        "Link_Up",
        "Link_Parameters_Report",
        "STB",
        "Link_Detected",
        "HO_COM P",
        "Link_Going_Down",
        "Queue drained",
        "HO_COM",
        "Link_Handover_Imminent",
        "CELL_EXIT",
        "Link_Down",
        "CELL_RQST",
        "CELL_RESP",
        "Link_Up",
        "Link_Handover_Complete",
    ];
    assert_eq!(names(&lab.ladder())[..expected.len()], expected);
    let last = packets
        .iter()
        .map(|&packet| lab.fate(packet))
        .inspect(|fate| assert!(delivered(fate)));
    let last = last
        .map(|fate| fate.at.as_secs_f64() * 1e3)
        .fold(0.0, f64::max);
    // The base station knows it from the aircraft's next slot, and reports it in that multiframe.
    let drained = time_of(&lab, "Queue drained") - last;
    assert!((0.0..=125.0).contains(&drained), "{drained}");
    // 5900 + 10 000 B x 8 / 31.5 kbit/s = 8440 ms, and at most two multiframes for beginning and end.
    assert!((8_400.0..=8_560.0).contains(&last), "{last}");
}

#[test]
fn below_th2_a_handover_is_forced() {
    let mut lab = Lab::two_cells(6.0, |config| {
        config.packet_bit = true;
        config.user_rate = Some(baton_proto::rate::DataRate::from_bits_per_second(31_500));
        // 444 m farther than midway: two seconds.
        force_below(config, 175.444e3);
    });
    let packets: Vec<PacketId> = (0..100)
        .map(|_| lab.offer(ms(5_900.0), 0, HOME, 993))
        .collect();
    lab.run_until(ms(12_000.0));
    let ladder = names(&lab.ladder());
    assert!(
        ladder.contains(&"HO_COM P") && !ladder.contains(&"Queue drained"),
        "{ladder:?}"
    );
    let forced = time_of(&lab, "HO_COM");
    assert!((8_000.0..=8_350.0).contains(&forced), "{forced}");
    // Packets still at the base station are lost with the link.
    let exit = ms(time_of(&lab, "Link_Down"));
    let (arrived, lost): (Vec<_>, Vec<_>) = packets
        .iter()
        .map(|&packet| lab.fate(packet))
        .partition(|fate| delivered(fate));
    assert!((7..=10).contains(&arrived.len()), "{}", arrived.len());
    let down = Outcome::Dropped(DropReason::LinkDown);
    assert!(
        lost.iter()
            .all(|fate| fate.outcome == down && fate.at == exit)
    );
}

#[test]
fn without_waiting_packets_the_packet_bit_is_not_set() {
    let mut lab = Lab::two_cells(6.0, |config| config.packet_bit = true);
    lab.run_until(ms(12_000.0));
    assert!(!names(&lab.ladder()).contains(&"HO_COM P"));
}

#[test]
fn type_2_spares_the_random_access() {
    let mut lab = Lab::two_cells(6.0, |config| config.handover = HandoverType::Two);
    lab.run_until(ms(12_000.0));
    let exit = time_of(&lab, "CELL_EXIT");
    let ladder = names(&lab.ladder());
    assert!(!ladder.contains(&"CELL_RQST"), "{ladder:?}");
    // From its slot in one multiframe to the end of the common control channel in the next.
    let poll = time_of(&lab, "SYNC_POLL") - exit;
    assert!(
        (poll - (58.32 + 25.92 + 3.0 * 2.16 - 2.0 * 0.72)).abs() < 1e-6,
        "{poll}"
    );
    assert_eq!(lab.network.serving_cell(StationId(0)), Some(CellId(1)));
}

#[test]
fn what_waits_in_the_aircraft_goes_on_in_the_new_cell() {
    let mut lab = Lab::two_cells(6.0, |_| {});
    let packets: Vec<PacketId> = (0..40)
        .map(|number| lab.offer(ms(6_000.0 + 20.0 * f64::from(number)), 0, Way::Return, 500))
        .collect();
    lab.run_until(ms(12_000.0));
    let cells: Vec<u16> = packets
        .iter()
        .map(|&packet| lab.fate(packet))
        .inspect(|fate| assert!(delivered(fate)))
        .filter_map(|fate| fate.cell.map(|cell| cell.0))
        .collect();
    assert!(
        cells.is_sorted() && cells.contains(&0) && cells.contains(&1),
        "{cells:?}"
    );
}

#[test]
fn a_base_station_that_buffers_hands_its_queue_on() {
    for keeps in [false, true] {
        let mut lab = Lab::two_cells(6.0, |config| config.forwards_queue = keeps);
        let packets: Vec<PacketId> = (0..100)
            .map(|number| lab.offer(ms(5_800.0 + 10.0 * f64::from(number)), 0, HOME, 993))
            .collect();
        lab.run_until(ms(20_000.0));
        let arrived = packets
            .iter()
            .filter(|&&packet| delivered(lab.fate(packet)))
            .count();
        // Packets offered at the old base station after Link_Up in the new cell are lost in any case.
        let up = lab
            .events()
            .iter()
            .rfind(|event| event.2 == LinkEvent::Up)
            .map(|event| event.0);
        let before = (0..100)
            .filter(|&number| Some(ms(5_800.0 + 10.0 * f64::from(number))) < up)
            .count();
        if keeps {
            assert!(arrived.abs_diff(before) <= 1, "{arrived} {before}");
        } else {
            assert!(arrived + 20 < before, "{arrived} {before}");
        }
    }
}

#[test]
fn aircraft_that_collide_come_in_one_after_another() {
    let mut lab = Lab::two_cells(6.0, |_| {});
    let track = Arc::new(lab.network.stations[0].track().clone());
    for _ in 1..40 {
        lab.network
            .add_station(Instant::ZERO, track.clone(), Some(CellId(0)));
    }
    lab.run_until(ms(60_000.0));
    let ladder = names(&lab.ladder());
    let count = |name| ladder.iter().filter(|&&other| other == name).count();
    assert_eq!(
        (count("CELL_RESP"), count("Link_Handover_Complete")),
        (40, 40)
    );
    assert!(
        count("collision") > 38,
        "the first access of all but two at most is in vain"
    );
    assert_eq!(count("CELL_RQST"), 40 + count("collision"));
}

#[test]
fn an_aircraft_out_of_reach_loses_its_link_and_finds_it_again() {
    let at = |kilometres: f64| Position::new(0.0, kilometres / 111.19508, 0.0);
    let cell = CellConfig::new("cell", at(0.0), 225e3);
    let mut lab = Lab::new(NetworkConfig::new("radio", vec![cell]), 1);
    let there = Track::legs(Instant::ZERO, &[at(400.0), at(600.0), at(200.0)], 1000.0).unwrap();
    lab.network
        .add_station(Instant::ZERO, Arc::new(there), Some(CellId(0)));
    let packet = lab.offer(ms(300_000.0), 0, HOME, 100);
    let waits = lab.offer(ms(300_000.0), 0, Way::Return, 100);
    lab.run_until(ms(700_000.0));
    // Sensitivity, -102.33 dBm, is 6.40 dB less than the power received at 225 km, so at 470.1 km through the air, 0.1
    // km more along the ground; rounded to 0.01 dB that is within 0.6 km. The cell may be entered again at 225 km, 200
    // + 375 s on.
    let events = lab.events();
    let down = events
        .iter()
        .find(|event| event.2 == LinkEvent::Down)
        .unwrap()
        .0
        .as_secs_f64();
    assert!((69.6..=71.1).contains(&down), "{down}");
    let back = events
        .iter()
        .find(|event| event.2 == LinkEvent::Detected)
        .unwrap()
        .0
        .as_secs_f64();
    assert!((575.0..=575.5).contains(&back), "{back}");
    assert_eq!(
        lab.fate(packet).outcome,
        Outcome::Dropped(DropReason::LinkDown)
    );
    assert!(delivered(lab.fate(waits)) && lab.fate(waits).at > ms(575_000.0));
}

#[test]
fn no_handover_without_a_better_cell() {
    // It turns back before midway.
    let at = |kilometres: f64| Position::new(0.0, kilometres / 111.19508, 0.0);
    let mut lab = Lab::two_cells(6.0, |_| {});
    let back = Track::legs(
        Instant::ZERO,
        &[at(160.0), at(174.0), at(160.0)],
        800.0 / 3.6,
    )
    .unwrap();
    lab.network
        .add_station(Instant::ZERO, Arc::new(back), Some(CellId(0)));
    lab.run_until(ms(200_000.0));
    assert_eq!(lab.network.serving_cell(StationId(1)), Some(CellId(0)));
    let reports = lab.outputs.iter().filter(|output| {
        matches!(output, Output::Event(event) if event.station == StationId(1)
            && event.event == LinkEvent::ParametersReport)
    });
    assert_eq!(reports.count(), 2, "below Th1, and above it again");
}

#[test]
fn a_jump_by_timetable_is_noticed_by_measuring() {
    let at = |kilometres: f64| Position::new(0.0, kilometres / 111.19508, 0.0);
    let mut lab = Lab::two_cells(6.0, |_| {});
    let there = vec![(ms(0.0), at(100.0)), (ms(5_000.0), at(300.0))];
    let track = Track::timetable(there).unwrap();
    lab.network
        .add_station(Instant::ZERO, Arc::new(track), Some(CellId(0)));
    lab.run_until(ms(7_000.0));
    let detected = lab.outputs.iter().find_map(|output| match output {
        Output::Event(event)
            if event.station == StationId(1) && event.event == LinkEvent::Detected =>
        {
            Some(event.at)
        }
        _ => None,
    });
    // Noticed in the superframe that begins at 5040 ms, told to scan in the next one, measured in the one after that.
    assert_eq!(detected, Some(ms(5_520.0)));
    assert_eq!(lab.network.serving_cell(StationId(1)), Some(CellId(1)));
}

#[test]
fn an_aircraft_that_stands_below_th1_in_vain_is_not_looked_at_for_ever() {
    let cell = CellConfig::new("cell", Position::new(0.0, 0.0, 0.0), 225e3);
    let mut lab = Lab::new(NetworkConfig::new("radio", vec![cell]), 1);
    let track = Arc::new(Track::fixed(Position::new(1.8, 0.0, 0.0)));
    lab.network
        .add_station(Instant::ZERO, track, Some(CellId(0)));
    lab.run_until(ms(3_000.0));
    assert_eq!(lab.network.next_deadline(), None);
}
