//! A column of names in a Parquet file, written from the numbers that the table already has. The library's writer would
//! hash the name of every row to number it again, which takes longer than everything else about a row.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Column in a row group under construction: a page per batch, and the names at the end.
pub(super) struct NameColumn {
    description: ColumnDescPtr,
    pages: TrackedWrite<Vec<u8>>,
    values: u32,
    names: Option<ArrayRef>,
}

impl NameColumn {
    pub(super) fn new(description: ColumnDescPtr) -> NameColumn {
        NameColumn {
            description,
            pages: TrackedWrite::new(Vec::new()),
            values: 0,
            names: None,
        }
    }

    /// Adds a batch's column, a dictionary array of strings. Later batches have the names of earlier ones, under the
    /// same numbers, and perhaps more.
    pub(super) fn write(&mut self, column: &ArrayRef) -> Result<()> {
        let column = column
            .as_dictionary_opt::<Int32Type>()
            .ok_or_else(|| ParquetError::General("a column of names is none".to_owned()))?;
        let (keys, names) = (column.keys(), column.values());
        let width = width(names.len());
        let mut page = Vec::new();
        let present: Vec<i32>;
        let numbers = match keys.nulls() {
            Some(valid) => {
                present = keys.iter().flatten().collect();
                let levels: Vec<i32> = valid.iter().map(i32::from).collect();
                self.write_levels(&levels, &mut page);
                &present[..]
            }
            None => {
                self.write_levels(&vec![1; keys.len()], &mut page);
                keys.values()
            }
        };
        page.push(width);
        write_hybrid(numbers, width, &mut page);
        self.values += keys.len() as u32;
        self.names = Some(names.clone());
        write_page(
            &mut self.pages,
            Page::DataPage {
                buf: page.into(),
                num_values: keys.len() as u32,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
        )
    }

    /// Writes the definition levels, preceded by their length, for a nullable column.
    fn write_levels(&self, levels: &[i32], page: &mut Vec<u8>) {
        if self.description.max_def_level() > 0 {
            page.extend([0; 4]);
            write_hybrid(levels, 1, page);
            let length = page.len() as u32 - 4;
            page[..4].copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Ends the column and adds it to its row group.
    pub(super) fn append_to<W: Write + Send>(
        self,
        row_group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let mut chunk = TrackedWrite::new(Vec::new());
        let names = self.names.iter().flat_map(|names| names.as_string::<i32>());
        let mut dictionary = Vec::new();
        let mut count = 0;
        for name in names.flatten() {
            dictionary.extend((name.len() as u32).to_le_bytes());
            dictionary.extend(name.as_bytes());
            count += 1;
        }
        let page = Page::DictionaryPage {
            buf: dictionary.into(),
            num_values: count,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        write_page(&mut chunk, page)?;
        let data_offset = chunk.bytes_written() as i64;
        chunk.write_all(&self.pages.into_inner()?)?;
        let bytes = Bytes::from(chunk.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(self.description)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_num_values(i64::from(self.values))
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(bytes.len() as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(data_offset)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: u64::from(self.values),
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        row_group.append_column(&bytes, close)
    }
}

fn write_page(out: &mut TrackedWrite<Vec<u8>>, page: Page) -> Result<()> {
    let size = page.buffer().len();
    SerializedPageWriter::new(out)
        .write_page(CompressedPage::new(page, size))
        .map(drop)
}

/// Returns the bits of the largest of so many numbers, from zero.
fn width(numbers: usize) -> u8 {
    (usize::BITS - numbers.saturating_sub(1).leading_zeros()) as u8
}

/// Appends numbers of `width` bits in the hybrid of runs and packed groups of eight (Parquet format, "Run Length
/// Encoding / Bit-Packing Hybrid"). A run needs at least eight equal numbers.
fn write_hybrid(numbers: &[i32], width: u8, out: &mut Vec<u8>) {
    let (mut at, mut packed_from) = (0, 0);
    while at < numbers.len() {
        let rest = &numbers[at..];
        let run = rest.iter().take_while(|number| **number == rest[0]).count();
        if run < 8 {
            at = numbers.len().min(at + 8);
            continue;
        }
        write_packed(&numbers[packed_from..at], width, out);
        write_varint(run << 1, out);
        out.extend(&rest[0].to_le_bytes()[..usize::from(width).div_ceil(8)]);
        at += run;
        packed_from = at;
    }
    write_packed(&numbers[packed_from..], width, out);
}

/// Returns numbers in groups of eight, the last one padded with zeros.
fn write_packed(numbers: &[i32], width: u8, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    write_varint(numbers.len().div_ceil(8) << 1 | 1, out);
    for group in numbers.chunks(8) {
        let end = out.len() + usize::from(width);
        let (mut bits, mut filled) = (0u128, 0);
        for number in group {
            bits |= u128::from(*number as u32) << filled;
            filled += width;
            if filled >= 64 {
                out.extend((bits as u64).to_le_bytes());
                bits >>= 64;
                filled -= 64;
            }
        }
        out.extend(bits.to_le_bytes());
        out.resize(end, 0);
    }
}

fn write_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the Parquet format's page on encodings: 0 to 7 in three bits.
    #[test]
    fn packs_as_published() {
        let mut out = Vec::new();
        write_hybrid(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut out);
        assert_eq!(out, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
    }

    #[test]
    fn runs_stand_between_packed_groups() {
        let mut out = Vec::new();
        let numbers: Vec<i32> = [1, 2].into_iter().chain([300; 200]).collect();
        write_hybrid(&numbers, 9, &mut out);
        // A group of 1, 2 and six times 300; then a run of 194, which takes two bytes of seven bits.
        assert_eq!(out[0], 0b11);
        assert_eq!(out[10..], [0b1000_0100, 0b11, 44, 1]);
        let bits = |index: usize| {
            let word = u16::from_le_bytes([out[1 + 9 * index / 8], out[2 + 9 * index / 8]]);
            word >> (9 * index % 8) & 0x1FF
        };
        assert_eq!([bits(0), bits(1), bits(2)], [1, 2, 300]);
    }

    #[test]
    fn widths_hold_every_number() {
        assert_eq!([0, 1, 2, 3, 256, 257].map(width), [0, 0, 1, 2, 8, 9]);
    }
}
