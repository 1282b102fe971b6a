//! A checkpoint of TensorFlow: the numbers of its variables, by their names.
//!
//! Source: TensorFlow's `tensor_bundle.proto` and the table format of `LevelDB` (`table_format.md`). A checkpoint has an index, which is
//! such a table from each variable's name to its shape, its place in the data file and its CRC-32C, and the data file. Departures: only
//! whole variables of little-endian 32-bit floats in one data file, and blocks that are not compressed, as `tf.train.Saver` writes them.

use std::collections::BTreeMap;

use prost::Message;
use prost::encoding::decode_varint;

use super::PolicyError;

/// Octets at the end of an index: the places of two blocks, padded, and [`MAGIC`].
const FOOTER: usize = 48;
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
/// Octets after a block: its compression and its checksum.
const TRAILER: usize = 5;
/// The longest name of a variable, octets.
const LONGEST_NAME: usize = 1 << 10;
/// The longest index, octets, and the most blocks in it; those of networks have some kilobytes, in a few blocks.
const LONGEST_INDEX: usize = 1 << 18;
const MOST_BLOCKS: usize = 64;
/// The number of 32-bit floats in TensorFlow's list of types.
const FLOAT: i32 = 1;
const INDEX_SUFFIX: &str = ".index";
const DATA_SUFFIX: &str = ".data-00000-of-00001";

#[derive(Clone, PartialEq, Message)]
struct BundleHeader {
    #[prost(int32, tag = "1")]
    num_shards: i32,
    /// Zero for little-endian numbers.
    #[prost(int32, tag = "2")]
    endianness: i32,
}

#[derive(Clone, PartialEq, Message)]
struct BundleEntry {
    #[prost(int32, tag = "1")]
    dtype: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
    #[prost(int64, tag = "4")]
    offset: i64,
    #[prost(int64, tag = "5")]
    size: i64,
    #[prost(fixed32, tag = "6")]
    crc32c: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "2")]
    dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
struct Dimension {
    #[prost(int64, tag = "1")]
    size: i64,
}

/// A checkpoint of TensorFlow, with its data file.
#[derive(Clone, Debug)]
pub struct Checkpoint<'a> {
    variables: BTreeMap<String, BundleEntry>,
    data: &'a [u8],
}

fn wrong(what: impl std::fmt::Display) -> PolicyError {
    let remedy = format!("copy the authors' two files again, NAME{INDEX_SUFFIX} and NAME{DATA_SUFFIX}");
    PolicyError::of_file(format!("must be a whole checkpoint of TensorFlow: {what}"), remedy)
}

impl<'a> Checkpoint<'a> {
    /// True if a file is the index of a checkpoint.
    pub fn is_index(content: &[u8]) -> bool {
        content.last_chunk().is_some_and(|last| u64::from_le_bytes(*last) == MAGIC)
    }

    /// The name of the data file beside an index of this name; `None` if no index has such a name.
    pub fn data_of(index: &str) -> Option<String> {
        index.strip_suffix(INDEX_SUFFIX).map(|stem| format!("{stem}{DATA_SUFFIX}"))
    }

    /// The name of the index beside a data file of this name; `None` if no data file has such a name.
    pub fn index_of(data: &str) -> Option<String> {
        data.strip_suffix(DATA_SUFFIX).map(|stem| format!("{stem}{INDEX_SUFFIX}"))
    }

    /// Reads an index, for variables in `data`.
    pub fn read(index: &[u8], data: &'a [u8]) -> Result<Self, PolicyError> {
        if !Self::is_index(index) || index.len() < FOOTER {
            return Err(wrong("the index has no end"));
        }
        if index.len() > LONGEST_INDEX {
            return Err(wrong(format!("the index has {} octets, more than {LONGEST_INDEX}", index.len())));
        }
        let mut footer = &index[index.len() - FOOTER..];
        let _unused = handle(&mut footer)?;
        let blocks = entries(block(index, handle(&mut footer)?)?)?;
        if blocks.len() > MOST_BLOCKS {
            return Err(wrong(format!("the index has {} blocks, more than {MOST_BLOCKS}", blocks.len())));
        }
        let mut found = BTreeMap::new();
        for (_, mut place) in blocks {
            for (name, value) in entries(block(index, handle(&mut place)?)?)? {
                let name = String::from_utf8(name).map_err(|_| wrong("a name in the index is not text"))?;
                found.insert(name, value);
            }
        }
        let header = found.remove("").and_then(|header| BundleHeader::decode(header).ok());
        if header.is_none_or(|header| header.num_shards != 1 || header.endianness != 0) {
            return Err(wrong("the index must be of one little-endian data file"));
        }
        let read = |(name, value): (String, &[u8])| match BundleEntry::decode(value) {
            Ok(entry) => Ok((name, entry)),
            Err(error) => Err(wrong(format!("the index entry of {name:?} cannot be read: {error}"))),
        };
        Ok(Self { variables: found.into_iter().map(read).collect::<Result<_, _>>()?, data })
    }

    /// True if it has a variable of this name.
    pub fn has(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Names of its variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The numbers of a variable, the last dimension fastest.
    pub fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, PolicyError> {
        let entry = self.variables.get(name).ok_or_else(|| wrong(format!("it has no variable {name:?}")))?;
        let found: Vec<i64> = entry.shape.iter().flat_map(|shape| &shape.dim).map(|dimension| dimension.size).collect();
        if entry.dtype != FLOAT
            || found.iter().map(|size| usize::try_from(*size).ok()).ne(shape.iter().copied().map(Some))
        {
            let what =
                format!("{name:?} has type {} and shape {found:?}, not type {FLOAT} and shape {shape:?}", entry.dtype);
            return Err(PolicyError::of_file(what, "use the checkpoint that the authors published"));
        }
        let octets = 4 * shape.iter().product::<usize>();
        let place = usize::try_from(entry.offset).ok().filter(|_| usize::try_from(entry.size) == Ok(octets));
        let Some(bytes) = place.and_then(|from| self.data.get(from..from.checked_add(octets)?)) else {
            let what = format!(
                "{name:?} has {} octets from {} on, and the data file {} in all",
                entry.size,
                entry.offset,
                self.data.len()
            );
            return Err(wrong(what));
        };
        check(entry.crc32c, bytes, &format!("{name:?} in the data file"))?;
        let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            Some(at) => Err(PolicyError::of_file(
                format!("has a weight that is not a finite number: {name:?} has {} at {at}", numbers[at]),
                "use the checkpoint that the authors published",
            )),
            None => Ok(numbers),
        }
    }
}

/// The place of a block: its offset and its length.
fn handle(bytes: &mut &[u8]) -> Result<(u64, u64), PolicyError> {
    let mut next = || decode_varint(bytes).map_err(|_| wrong("the index ends within the place of a block"));
    Ok((next()?, next()?))
}

/// The content of a block of an index.
fn block(index: &[u8], (offset, length): (u64, u64)) -> Result<&[u8], PolicyError> {
    let within = |from: u64, length: u64| {
        let [from, length] = [from, length].map(|octets| usize::try_from(octets).ok());
        index.get(from?..from?.checked_add(length?)?.checked_add(TRAILER)?)
    };
    let Some((content, [compression, checksum @ ..])) =
        within(offset, length).and_then(|all| all.split_last_chunk::<TRAILER>())
    else {
        let what = format!("the index has {} octets, and a block of {length} from {offset} on", index.len());
        return Err(wrong(what));
    };
    if *compression != 0 {
        return Err(wrong(format!("a block of the index has compression {compression}, and only 0 is known")));
    }
    let checked = &index[offset as usize..][..=content.len()];
    check(u32::from_le_bytes(*checksum), checked, &format!("the index block at {offset}"))?;
    Ok(content)
}

/// A key and its value.
type Pair<'a> = (Vec<u8>, &'a [u8]);

/// The keys and values of a block.
fn entries(block: &[u8]) -> Result<Vec<Pair<'_>>, PolicyError> {
    let cut = || wrong("the index ends within a name");
    let (rest, count) = block.split_last_chunk().ok_or_else(cut)?;
    let restarts = (u32::from_le_bytes(*count) as usize).checked_mul(4).ok_or_else(cut)?;
    let mut rest = &rest[..rest.len().checked_sub(restarts).ok_or_else(cut)?];
    let (mut key, mut found) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let mut next = || decode_varint(&mut rest).ok().and_then(|number| usize::try_from(number).ok()).ok_or_else(cut);
        let [shared, own, length] = [next()?, next()?, next()?];
        if shared > key.len() || own > LONGEST_NAME - shared.min(LONGEST_NAME) {
            return Err(cut());
        }
        key.truncate(shared);
        key.extend_from_slice(rest.split_off(..own).ok_or_else(cut)?);
        found.push((key.clone(), rest.split_off(..length).ok_or_else(cut)?));
    }
    Ok(found)
}

fn check(masked: u32, bytes: &[u8], place: &str) -> Result<(), PolicyError> {
    let found = mask(crc32c(bytes));
    if found == masked { Ok(()) } else { Err(wrong(format!("{place} has the CRC {found:08x}, not {masked:08x}"))) }
}

/// The checksum as files have it, so that the checksum of a text that has its own is not a constant.
fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (RFC 3720, appendix B.4), bit by bit: a network is read once.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, octet| (0..8).fold(crc ^ u32::from(*octet), step))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn with_trailer(file: &mut Vec<u8>, content: &[u8]) -> Vec<u8> {
        let offset = file.len() as u64;
        file.extend(content);
        file.push(0);
        let crc = mask(crc32c(&file[offset as usize..]));
        file.extend(crc.to_le_bytes());
        let mut handle = Vec::new();
        prost::encoding::encode_varint(offset, &mut handle);
        prost::encoding::encode_varint(content.len() as u64, &mut handle);
        handle
    }

    /// A block of entries whose keys share what they can with the one before, and one restart.
    fn block_of(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
        let (mut block, mut before) = (Vec::new(), "");
        for (key, value) in entries {
            let shared = key.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
            for number in [shared, key.len() - shared, value.len()] {
                prost::encoding::encode_varint(number as u64, &mut block);
            }
            block.extend(&key.as_bytes()[shared..]);
            block.extend(value);
            before = key;
        }
        block.extend([0_u32, 1].into_iter().flat_map(u32::to_le_bytes));
        block
    }

    /// The two files of a checkpoint with these variables, sorted by name; the index has two blocks.
    pub(crate) fn written(variables: &[(&str, &[usize], Vec<f32>)]) -> (Vec<u8>, Vec<u8>) {
        let header = BundleHeader { num_shards: 1, endianness: 0 };
        let (mut data, mut found) = (Vec::new(), vec![(String::new(), header.encode_to_vec())]);
        for (name, shape, numbers) in variables {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let dim = shape.iter().map(|size| Dimension { size: *size as i64 }).collect();
            let (offset, size, crc32c) = (data.len() as i64, bytes.len() as i64, mask(crc32c(&bytes)));
            let entry = BundleEntry { dtype: FLOAT, shape: Some(Shape { dim }), offset, size, crc32c };
            data.extend(bytes);
            found.push(((*name).to_owned(), entry.encode_to_vec()));
        }
        let (mut index, mut handles) = (Vec::new(), Vec::new());
        for part in found.chunks(found.len().div_ceil(2)) {
            let handle = with_trailer(&mut index, &block_of(part));
            handles.push((part.last().expect("it is not empty").0.clone(), handle));
        }
        let mut footer = with_trailer(&mut index, &block_of(&[]));
        footer.extend(with_trailer(&mut index, &block_of(&handles)));
        footer.resize(FOOTER - 8, 0);
        index.extend(footer);
        index.extend(MAGIC.to_le_bytes());
        (index, data)
    }

    fn two() -> (Vec<u8>, Vec<u8>) {
        written(&[("net/bias", &[2], vec![1.5, -2.0]), ("net/kernel", &[1, 2], vec![0.25, 4.0]), ("x", &[], vec![7.0])])
    }

    #[test]
    fn variables_are_found_by_their_names() {
        let (index, data) = two();
        let checkpoint = Checkpoint::read(&index, &data).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["net/bias", "net/kernel", "x"]);
        assert_eq!(checkpoint.numbers("net/bias", &[2]), Ok(vec![1.5, -2.0]));
        assert_eq!(checkpoint.numbers("net/kernel", &[1, 2]), Ok(vec![0.25, 4.0]));
        assert_eq!(checkpoint.numbers("x", &[]), Ok(vec![7.0]));
        assert_eq!(Checkpoint::data_of("m.ckpt-7.index").as_deref(), Some("m.ckpt-7.data-00000-of-00001"));
    }

    /// RFC 3720, appendix B.4: 32 octets of zeros, of ones, and ascending.
    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!([crc32c(&[0; 32]), crc32c(&[0xff; 32])], [0x8a91_36aa, 0x62a8_ab43]);
        assert_eq!(crc32c(&std::array::from_fn::<u8, 32, _>(|place| place as u8)), 0x46dd_794e);
    }

    #[test]
    fn mistakes_say_where_they_are_and_what_to_do() {
        let (index, data) = two();
        let said = |index: &[u8], data: &[u8], name: &str, shape: &[usize]| {
            let read = Checkpoint::read(index, data).and_then(|checkpoint| checkpoint.numbers(name, shape));
            read.expect_err("wrong").to_string()
        };
        let mut flipped = data.clone();
        flipped[3] ^= 1;
        let mut turned = index.clone();
        turned[4] ^= 1;
        let (not_a_number, its_data) = written(&[("net/bias", &[2], vec![0.0, f32::NAN])]);
        for (found, words) in [
            (said(&index, &flipped, "net/bias", &[2]), vec!["\"net/bias\" in the data file has the CRC", "copy"]),
            (said(&turned, &data, "net/bias", &[2]), vec!["index block at 0 has the CRC"]),
            (said(&index, &data[..7], "net/bias", &[2]), vec!["8 octets from 0 on", "7 in all"]),
            (said(&index[1..], &data, "net/bias", &[2]), vec!["block"]),
            (said(&index[index.len() - 20..], &data, "net/bias", &[2]), vec!["has no end"]),
            (said(&index, &data, "net/bias", &[3]), vec!["shape [2]", "shape [3]", "authors"]),
            (said(&index, &data, "net/biases", &[2]), vec!["no variable \"net/biases\""]),
            (said(&not_a_number, &its_data, "net/bias", &[2]), vec!["\"net/bias\" has NaN at 1", "authors"]),
        ] {
            for word in words {
                assert!(found.contains(word), "{word:?} is not in: {found}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn octets_at_random_never_panic(
            changes in proptest::collection::vec((proptest::arbitrary::any::<proptest::sample::Index>(), proptest::arbitrary::any::<u8>()), 1..6),
        ) {
            let (mut index, data) = two();
            for (place, octet) in changes {
                let place = place.index(index.len() - 8);
                index[place] = octet;
            }
            let _ = Checkpoint::read(&index, &data).and_then(|checkpoint| checkpoint.numbers("net/bias", &[2]));
            // Past the checksums, too.
            let _ = entries(&index[..index.len() / 2]);
        }
    }
}
