//! A look at a shared library before the dynamic loader maps it.
//!
//! The loader trusts the headers: it maps the file as they say, and touching a page that a cut
//! file no longer has raises SIGBUS, which ends the process. So all that the headers promise must
//! lie inside the file. Nothing here panics, whatever the bytes.

use std::io::{self, Read, Seek, SeekFrom};

use thiserror::Error;

/// Why a file is no library that this process could map.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ElfError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// The file does not begin as an ELF file does.
    #[error("is no ELF file")]
    NotElf,
    /// The library is for another kind of machine.
    #[error("is for another machine ({0})")]
    Foreign(String),
    /// The file is ELF, but an executable or object file.
    #[error("is an ELF file of type {0}, no shared library")]
    NotShared(u16),
    /// The file ends before something that its headers promise.
    #[error("is cut short: its {part} ends at byte {end}, the file at {length}")]
    Cut {
        /// What the headers promise.
        part: &'static str,
        /// The byte where that ends.
        end: u64,
        /// The file's length in bytes.
        length: u64,
    },
    /// The file has its full length, but a part that was never written.
    #[error("is damaged: its {0} makes no sense")]
    Hollow(&'static str),
}

/// ELF's numbers for the machines that this code may be compiled for.
const MACHINE: Option<u16> = if cfg!(target_arch = "x86_64") {
    Some(62)
} else if cfg!(target_arch = "aarch64") {
    Some(183)
} else if cfg!(target_arch = "riscv64") {
    Some(243)
} else {
    None
};

/// A header or table is read whole up to this many bytes; more is no library.
const MAX_TABLE: u64 = 8 << 20;

const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;
const DYNAMIC_ENTRY: usize = 16;

/// Checks that `file` is a 64-bit little-endian ELF shared library for this machine, and that all
/// that its headers promise lies inside it.
///
/// # Errors
/// The first thing that is wrong.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<(), ElfError> {
    let length = file.seek(SeekFrom::End(0)).map_err(read)?;
    let mut magic = [0; 4];
    if length >= 4 {
        at(file, 0, &mut magic)?;
    }
    if magic != *b"\x7fELF" {
        return Err(ElfError::NotElf);
    }
    let header = table(file, 0, 64, length, "header")?;
    if header[4] != 2 || header[5] != 1 {
        let word = if header[4] == 2 { "64" } else { "32" };
        let order = if header[5] == 1 { "little" } else { "big" };
        return Err(ElfError::Foreign(format!("{word} bit, {order} endian")));
    }
    let machine = u16_at(&header, 18);
    if MACHINE.is_some_and(|own| own != machine) {
        return Err(ElfError::Foreign(format!("ELF machine {machine}")));
    }
    let kind = u16_at(&header, 16);
    if kind != 3 {
        return Err(ElfError::NotShared(kind));
    }
    check_sections(file, &header, length)?;
    check_segments(file, &header, length)
}

/// The section headers: a linker writes them at the very end, so they show any cut.
fn check_sections(
    file: &mut (impl Read + Seek),
    header: &[u8],
    length: u64,
) -> Result<(), ElfError> {
    let start = u64_at(header, 40);
    let (size, count) = (u16_at(header, 58), u16_at(header, 60));
    if start == 0 || count == 0 {
        return Ok(()); // stripped of them
    }
    if u64::from(size) != SECTION_HEADER {
        return Err(ElfError::Hollow("section header size"));
    }
    let bytes = SECTION_HEADER * u64::from(count);
    let sections = table(file, start, bytes, length, "section header table")?;
    let names = usize::from(u16_at(header, 62)) * SECTION_HEADER as usize;
    // The section that holds the names is a string table in every file that has sections.
    match sections.get(names..names + SECTION_HEADER as usize) {
        Some(section) if u32_at(section, 4) == 3 => Ok(()),
        _ => Err(ElfError::Hollow("section header table")),
    }
}

/// The program headers: what the loader maps, and the dynamic section that it reads first.
fn check_segments(
    file: &mut (impl Read + Seek),
    header: &[u8],
    length: u64,
) -> Result<(), ElfError> {
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    let start = u64_at(header, 32);
    let (size, count) = (u16_at(header, 54), u16_at(header, 56));
    if u64::from(size) != PROGRAM_HEADER || count == 0 {
        return Err(ElfError::Hollow("program header table"));
    }
    let bytes = PROGRAM_HEADER * u64::from(count);
    let segments = table(file, start, bytes, length, "program header table")?;
    let (mut loads, mut dynamic) = (false, None);
    for segment in segments.chunks_exact(PROGRAM_HEADER as usize) {
        let kind = u32_at(segment, 0);
        let (offset, size) = (u64_at(segment, 8), u64_at(segment, 32));
        if kind == LOAD || kind == DYNAMIC {
            inside(offset, size, length, "segment")?;
        }
        loads |= kind == LOAD;
        if kind == DYNAMIC {
            dynamic = Some((offset, size));
        }
    }
    let Some((offset, size)) = dynamic.filter(|_| loads) else {
        return Err(ElfError::Hollow("program header table"));
    };
    let entries = table(file, offset, size, length, "dynamic section")?;
    let mut tags = entries.chunks_exact(DYNAMIC_ENTRY).map(|entry| u64_at(entry, 0));
    // The loader walks to the null tag, and looks symbols up by these two tables.
    let (mut strings, mut symbols) = (false, false);
    let ended = tags.any(|tag| {
        strings |= tag == 5;
        symbols |= tag == 6;
        tag == 0
    });
    if ended && strings && symbols { Ok(()) } else { Err(ElfError::Hollow("dynamic section")) }
}

/// Errs unless `size` bytes from `start` lie inside a file of `length` bytes.
fn inside(start: u64, size: u64, length: u64, part: &'static str) -> Result<(), ElfError> {
    let end = start.saturating_add(size);
    if end > length { Err(ElfError::Cut { part, end, length }) } else { Ok(()) }
}

/// Reads `size` bytes from `start`, if the file has them.
fn table(
    file: &mut (impl Read + Seek),
    start: u64,
    size: u64,
    length: u64,
    part: &'static str,
) -> Result<Vec<u8>, ElfError> {
    inside(start, size, length, part)?;
    if size > MAX_TABLE {
        return Err(ElfError::Hollow(part));
    }
    let mut bytes = vec![0; size as usize];
    at(file, start, &mut bytes)?;
    Ok(bytes)
}

fn at(file: &mut (impl Read + Seek), start: u64, bytes: &mut [u8]) -> Result<(), ElfError> {
    file.seek(SeekFrom::Start(start)).map_err(read)?;
    file.read_exact(bytes).map_err(read)
}

fn read(error: io::Error) -> ElfError {
    ElfError::Read(error.to_string())
}

/// The little-endian number of `N` bytes at `start`, nought where there are none.
fn number<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    bytes.get(start..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], start: usize) -> u16 {
    u16::from_le_bytes(number(bytes, start))
}

fn u32_at(bytes: &[u8], start: usize) -> u32 {
    u32::from_le_bytes(number(bytes, start))
}

fn u64_at(bytes: &[u8], start: usize) -> u64 {
    u64::from_le_bytes(number(bytes, start))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A small library as a linker would lay it: header, two segments, dynamic section, sections.
    fn library() -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let set = |bytes: &mut Vec<u8>, at: usize, value: u64, size: usize| {
            bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        };
        set(&mut bytes, 16, 3, 2);
        set(&mut bytes, 18, u64::from(MACHINE.unwrap_or(0)), 2);
        set(&mut bytes, 32, 64, 8); // program headers
        set(&mut bytes, 54, 56, 2);
        set(&mut bytes, 56, 2, 2);
        let dynamic = 64 + 2 * 56;
        for (kind, offset, size) in [(1, 0, dynamic + 48), (2, dynamic, 48)] {
            let start = bytes.len();
            bytes.resize(start + 56, 0);
            set(&mut bytes, start, kind, 4);
            set(&mut bytes, start + 8, offset, 8);
            set(&mut bytes, start + 32, size, 8);
        }
        for tag in [5_u64, 6, 0] {
            bytes.extend(tag.to_le_bytes());
            bytes.extend([0; 8]);
        }
        let sections = bytes.len() as u64;
        set(&mut bytes, 40, sections, 8);
        set(&mut bytes, 58, 64, 2);
        set(&mut bytes, 60, 2, 2);
        set(&mut bytes, 62, 1, 2);
        bytes.resize(bytes.len() + 128, 0);
        set(&mut bytes, sections as usize + 64 + 4, 3, 4);
        bytes
    }

    fn check(bytes: &[u8]) -> Result<(), ElfError> {
        super::check(&mut Cursor::new(bytes))
    }

    #[test]
    fn a_whole_library_passes() {
        assert_eq!(check(&library()), Ok(()));
    }

    #[test]
    fn every_cut_is_seen() {
        let whole = library();
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn a_tail_never_written_is_seen() {
        let whole = library();
        for written in 0..whole.len() - 60 {
            let mut bytes = whole.clone();
            bytes[written..].fill(0);
            assert!(check(&bytes).is_err(), "written to {written} bytes");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut other = library();
        other[18] = 40;
        assert_eq!(
            check(&other).unwrap_err().to_string(),
            "is for another machine (ELF machine 40)"
        );
        other[4] = 1;
        assert_eq!(
            check(&other).unwrap_err().to_string(),
            "is for another machine (32 bit, little endian)"
        );
        let mut program = library();
        program[16] = 2;
        assert_eq!(
            check(&program).unwrap_err().to_string(),
            "is an ELF file of type 2, no shared library"
        );
        assert_eq!(check(b"#!/bin/sh\n").unwrap_err(), ElfError::NotElf);
        assert_eq!(check(b"").unwrap_err(), ElfError::NotElf);
        let whole = library();
        let cut = check(&whole[..whole.len() - 1]).unwrap_err().to_string();
        assert!(cut.starts_with("is cut short: its section header table ends at byte"), "{cut}");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = library();
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                let _ = check(&bytes);
                // Whole fields of ones overflow whatever adds them up.
                let end = (place + 8).min(bytes.len());
                bytes[place..end].fill(value);
                let _ = check(&bytes);
            }
        }
    }
}
