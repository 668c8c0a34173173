//! The journal of custody: records in batches, in one file.
//!
//! A file begins with [`MAGIC`] and a salt of eight random bytes. A *batch* is what one write makes durable: the salt,
//! the batch's number in the file, the length of its records, their check (CRC-32C, over number, length and records),
//! and the records. A batch is written only after the one before it is durable. So a bad batch at the end of a file is
//! torn: nothing in it was ever acknowledged; but a bad batch with a good one behind it is damage. Numbers are
//! big-endian.

use super::record::Record;
use crc::{CRC_32_ISCSI, Crc, Table};

/// First bytes of a file: the format and its version.
const MAGIC: &[u8; 8] = b"BTNCUST1";
/// Length of a file's header, and of a batch's.
const FILE_HEADER: usize = 16;
const BATCH_HEADER: usize = 24;
const CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// A journal that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file is of another format or version.
    Format,
    /// The batch at this byte is damaged, although there are good ones behind it.
    Batch(usize),
    /// The record at this byte of the file contradicts those before it.
    Record(usize),
}

impl core::fmt::Display for Damage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Damage::Format => f.write_str("not a journal of this version"),
            Damage::Batch(at) => write!(f, "damaged at byte {at}"),
            Damage::Record(at) => write!(f, "a record that contradicts others at byte {at}"),
        }
    }
}

/// The writer of a file: it makes records into batches.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    salt: [u8; 8],
    /// Number of the next batch.
    number: u64,
    /// Length of the file, with all batches made.
    length: u64,
    records: Vec<u8>,
}

impl Writer {
    pub(super) fn new(salt: [u8; 8]) -> Writer {
        Writer {
            salt,
            number: 0,
            length: 0,
            records: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, record: &Record) {
        record.encode(&mut self.records);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the bytes of records that no batch has.
    pub(super) fn waiting(&self) -> usize {
        self.records.len()
    }

    /// Returns the length of the file, with all batches made.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds a record to a file that is made as a whole: as a batch with those before it, once they are many.
    pub(super) fn add_to(&mut self, file: &mut Vec<u8>, record: &Record) {
        /// Most bytes of a batch in such a file.
        const MOST: usize = 16 << 20;
        self.add(record);
        if self.records.len() > MOST {
            file.extend(self.batch());
        }
    }

    /// Begins a new file: the records before it are dropped.
    pub(super) fn begin_file(&mut self) {
        self.records.clear();
        (self.number, self.length) = (0, 0);
    }

    /// Makes a batch of all records so far; in a new file behind its header.
    pub(super) fn batch(&mut self) -> Vec<u8> {
        let records = core::mem::take(&mut self.records);
        let mut out = Vec::with_capacity(FILE_HEADER + BATCH_HEADER + records.len());
        if self.length == 0 {
            out.extend_from_slice(MAGIC);
            out.extend_from_slice(&self.salt);
        }
        out.extend_from_slice(&self.salt);
        let number = self.number.to_be_bytes();
        let length = (records.len() as u32).to_be_bytes();
        out.extend_from_slice(&number);
        out.extend_from_slice(&length);
        out.extend_from_slice(&check(&number, &length, &records).to_be_bytes());
        out.extend_from_slice(&records);
        self.number += 1;
        self.length += out.len() as u64;
        out
    }
}

fn check(number: &[u8], length: &[u8], records: &[u8]) -> u32 {
    let mut digest = CRC.digest();
    digest.update(number);
    digest.update(length);
    digest.update(records);
    digest.finalize()
}

/// Reads a file; calls `each` for every record of its whole batches, in order, until it returns false.
///
/// # Errors
/// Damage; a torn end is none.
pub(super) fn read(file: &[u8], mut each: impl FnMut(Record) -> bool) -> Result<(), Damage> {
    let Some((header, _)) = file.split_at_checked(FILE_HEADER) else {
        // A file gets its name when its first batch is durable.
        return if file.is_empty() {
            Ok(())
        } else {
            Err(Damage::Format)
        };
    };
    let (magic, salt) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(Damage::Format);
    }
    let (mut at, mut number) = (FILE_HEADER, 0);
    while at < file.len() {
        let Some(mut records) = batch_at(file, at, salt)
            .filter(|batch| batch.0 == number)
            .map(|batch| batch.1)
        else {
            return match has_later_batch(file, at, salt, number) {
                true => Err(Damage::Batch(at)),
                false => Ok(()),
            };
        };
        at += BATCH_HEADER;
        while !records.is_empty() {
            let decoded = Record::decode(records);
            let Some((record, taken)) = decoded else {
                return Err(Damage::Record(at));
            };
            if !each(record) {
                return Err(Damage::Record(at));
            }
            (records, at) = (&records[taken..], at + taken);
        }
        number += 1;
    }
    Ok(())
}

/// Returns the number and the records of the batch at a place, if it is whole.
fn batch_at<'a>(file: &'a [u8], at: usize, salt: &[u8]) -> Option<(u64, &'a [u8])> {
    let (header, rest) = file.get(at..)?.split_at_checked(BATCH_HEADER)?;
    let (number, length, sum) = (&header[8..16], &header[16..20], &header[20..24]);
    let count = u32::from_be_bytes(length.try_into().ok()?) as usize;
    let records = rest.get(..count)?;
    let is_whole = header[..8] == *salt && check(number, length, records).to_be_bytes() == *sum;
    is_whole.then_some((u64::from_be_bytes(number.try_into().ok()?), records))
}

/// Returns true if there is a whole batch behind a place, with a higher number than the one that is expected there.
fn has_later_batch(file: &[u8], at: usize, salt: &[u8], number: u64) -> bool {
    let places = file[at..].windows(salt.len()).enumerate();
    let mut found = places.filter(|(_, bytes)| *bytes == salt);
    found.any(|(place, _)| {
        let batch = batch_at(file, at + place, salt);
        batch.is_some_and(|(later, _)| later > number)
    })
}
