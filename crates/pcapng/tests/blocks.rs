//! Blocks as draft-ietf-opsawg-pcapng lays them out, written out by hand. Packets are tested where they come from, in `baton-sim`.

use baton_pcapng::Capture;
use std::time::Duration;

/// 2^32 + 7 ns, so that both halves of the time are seen.
const AT: Duration = Duration::from_nanos((1 << 32) + 7);

/// Returns the last block of a file.
fn last_block(file: &[u8]) -> &[u8] {
    let length = u32::from_le_bytes(*file.last_chunk().unwrap()) as usize;
    &file[file.len() - length..]
}

#[test]
fn statistics_tell_what_has_come_and_what_is_not_in_the_file() {
    let mut capture = Capture::new(Vec::new(), "").unwrap();
    capture.add_interface("lo", None).unwrap();
    let interface = capture.add_interface("baton0", None).unwrap();
    capture.write_statistics(interface, AT, (300, 2)).unwrap();
    let file = capture.finish().unwrap();
    // Section 4.6: type, length, interface, the upper and the lower half of the time; isb_ifrecv (4), isb_ifdrop (5), the end.
    let expected = [
        [5, 0, 0, 0],
        [52, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 0, 0],
        [7, 0, 0, 0],
        [4, 0, 8, 0],
        [44, 1, 0, 0],
        [0; 4],
        [5, 0, 8, 0],
        [2, 0, 0, 0],
        [0; 4],
        [0; 4],
        [52, 0, 0, 0],
    ];
    assert_eq!(last_block(&file), expected.concat());
}

#[test]
fn words_are_a_comment_and_a_line_of_the_list_of_packets() {
    let mut capture = Capture::new(Vec::new(), "").unwrap();
    let journal = capture.add_journal("events").unwrap();
    let interface = capture.finish().unwrap();
    // LINKTYPE_WIRESHARK_UPPER_PDU.
    assert_eq!(last_block(&interface)[8..12], [252, 0, 0, 0]);
    let mut capture = Capture::new(Vec::new(), "").unwrap();
    assert_eq!(capture.add_journal("events").unwrap(), journal);
    capture.write_words(journal, AT, "up").unwrap();
    let file = capture.finish().unwrap();
    // Section 4.3: type, length, interface, time, twice the length of the data; tag 12 (a dissector's name) of 8 bytes, the end of
    // tags, the words; opt_comment (1), the end.
    let expected: [&[u8]; 8] = [
        &[6, 0, 0, 0, 64, 0, 0, 0],
        &[0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0],
        &[18, 0, 0, 0, 18, 0, 0, 0],
        b"\x00\x0C\x00\x08syslog\x00\x00\x00\x00\x00\x00",
        b"up\x00\x00",
        &[1, 0, 2, 0],
        b"up\x00\x00",
        &[0, 0, 0, 0, 64, 0, 0, 0],
    ];
    let expected = expected.concat();
    assert_eq!(last_block(&file), expected);
}
