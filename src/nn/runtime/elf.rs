//! Validation of a shared library before the dynamic loader maps it.
//!
//! The loader trusts the headers: it maps the file as they specify, and access to a page that a truncated
//! file does not have raises SIGBUS, which ends the process. So all parts that the headers describe must lie
//! inside the file. Nothing here panics, whatever the bytes.

use std::io::{self, Read, Seek, SeekFrom};

use thiserror::Error;

/// Why a file is not a library that this process can map.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ElfError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// The file does not begin with the magic number of ELF.
    #[error("is not an ELF file")]
    NotElf,
    /// The library is for another kind of machine.
    #[error("is for another machine ({0})")]
    Foreign(String),
    /// The file is ELF, but an executable or object file.
    #[error("is an ELF file of type {0}, not a shared library")]
    NotShared(u16),
    /// The file ends before a part that its headers describe.
    #[error("is truncated: its {part} ends at byte {end}, the file at {length}")]
    Truncated {
        /// The part that the headers describe.
        part: &'static str,
        /// The byte where the part ends.
        end: u64,
        /// The file's length in bytes.
        length: u64,
    },
    /// A part has invalid content, for example because it was never written.
    #[error("is damaged: its {0} is invalid")]
    Invalid(&'static str),
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

/// The maximum size of a header or table.
const MAX_TABLE_BYTES: u64 = 8 << 20;

const PROGRAM_HEADER_BYTES: u64 = 56;
const SECTION_HEADER_BYTES: u64 = 64;
const DYNAMIC_ENTRY_BYTES: usize = 16;

/// Checks that `file` is a 64-bit little-endian ELF shared library for this machine, and that all parts that
/// its headers describe lie inside it.
///
/// # Errors
/// The first problem found.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<(), ElfError> {
    let length = file.seek(SeekFrom::End(0)).map_err(read_error)?;
    let mut magic = [0; 4];
    if length >= 4 {
        read_at(file, 0, &mut magic)?;
    }
    if magic != *b"\x7fELF" {
        return Err(ElfError::NotElf);
    }
    let header = read_part(file, 0, 64, length, "header")?;
    if header[4] != 2 || header[5] != 1 {
        let bits = if header[4] == 2 { "64" } else { "32" };
        let order = if header[5] == 1 { "little" } else { "big" };
        return Err(ElfError::Foreign(format!("{bits} bit, {order} endian")));
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

/// Checks the section headers. A linker writes them at the very end, so they reveal truncation.
fn check_sections(
    file: &mut (impl Read + Seek),
    header: &[u8],
    length: u64,
) -> Result<(), ElfError> {
    let start = u64_at(header, 40);
    let size = u16_at(header, 58);
    let count = u16_at(header, 60);
    if start == 0 || count == 0 {
        return Ok(()); // stripped
    }
    if u64::from(size) != SECTION_HEADER_BYTES {
        return Err(ElfError::Invalid("section header size"));
    }
    let bytes = SECTION_HEADER_BYTES * u64::from(count);
    let sections = read_part(file, start, bytes, length, "section header table")?;
    let names = usize::from(u16_at(header, 62)) * SECTION_HEADER_BYTES as usize;
    // The section with the names is a string table in every file with sections.
    match sections.get(names..names + SECTION_HEADER_BYTES as usize) {
        Some(section) if u32_at(section, 4) == 3 => Ok(()),
        _ => Err(ElfError::Invalid("section header table")),
    }
}

/// Checks the program headers, the segments that the loader maps, and the dynamic section, which it reads
/// first.
fn check_segments(
    file: &mut (impl Read + Seek),
    header: &[u8],
    length: u64,
) -> Result<(), ElfError> {
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    let start = u64_at(header, 32);
    let size = u16_at(header, 54);
    let count = u16_at(header, 56);
    if u64::from(size) != PROGRAM_HEADER_BYTES || count == 0 {
        return Err(ElfError::Invalid("program header table"));
    }
    let bytes = PROGRAM_HEADER_BYTES * u64::from(count);
    let segments = read_part(file, start, bytes, length, "program header table")?;
    let mut has_load = false;
    let mut dynamic = None;
    for segment in segments.chunks_exact(PROGRAM_HEADER_BYTES as usize) {
        let kind = u32_at(segment, 0);
        let offset = u64_at(segment, 8);
        let size = u64_at(segment, 32);
        if kind == LOAD || kind == DYNAMIC {
            check_inside(offset, size, length, "segment")?;
        }
        has_load |= kind == LOAD;
        if kind == DYNAMIC {
            dynamic = Some((offset, size));
        }
    }
    let (Some((offset, size)), true) = (dynamic, has_load) else {
        return Err(ElfError::Invalid("program header table"));
    };
    let entries = read_part(file, offset, size, length, "dynamic section")?;
    let mut tags = entries.chunks_exact(DYNAMIC_ENTRY_BYTES).map(|entry| u64_at(entry, 0));
    // The loader reads up to the null tag, and needs the string table (5) and the symbol table (6).
    let mut has_strings = false;
    let mut has_symbols = false;
    let has_end = tags.any(|tag| {
        has_strings |= tag == 5;
        has_symbols |= tag == 6;
        tag == 0
    });
    if has_end && has_strings && has_symbols {
        Ok(())
    } else {
        Err(ElfError::Invalid("dynamic section"))
    }
}

/// Checks that `size` bytes from `start` lie inside a file of `length` bytes.
fn check_inside(start: u64, size: u64, length: u64, part: &'static str) -> Result<(), ElfError> {
    let end = start.saturating_add(size);
    if end > length { Err(ElfError::Truncated { part, end, length }) } else { Ok(()) }
}

/// Reads `size` bytes from `start`, if the file has them.
fn read_part(
    file: &mut (impl Read + Seek),
    start: u64,
    size: u64,
    length: u64,
    part: &'static str,
) -> Result<Vec<u8>, ElfError> {
    check_inside(start, size, length, part)?;
    if size > MAX_TABLE_BYTES {
        return Err(ElfError::Invalid(part));
    }
    let mut bytes = vec![0; size as usize];
    read_at(file, start, &mut bytes)?;
    Ok(bytes)
}

fn read_at(file: &mut (impl Read + Seek), start: u64, bytes: &mut [u8]) -> Result<(), ElfError> {
    file.seek(SeekFrom::Start(start)).map_err(read_error)?;
    file.read_exact(bytes).map_err(read_error)
}

fn read_error(error: io::Error) -> ElfError {
    ElfError::Read(error.to_string())
}

/// Returns `N` bytes at `start`, zeros if the slice does not have them.
fn bytes_at<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    bytes.get(start..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(bytes: &[u8], start: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, start))
}

fn u32_at(bytes: &[u8], start: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, start))
}

fn u64_at(bytes: &[u8], start: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, start))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Returns a small library: header, two segments, dynamic section, sections.
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
    fn intact_library_passes() {
        assert_eq!(check(&library()), Ok(()));
    }

    #[test]
    fn truncation_is_detected() {
        let whole = library();
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "truncated to {length} bytes");
        }
    }

    #[test]
    fn unwritten_tail_is_detected() {
        let whole = library();
        for written in 0..whole.len() - 60 {
            let mut bytes = whole.clone();
            bytes[written..].fill(0);
            assert!(check(&bytes).is_err(), "written to {written} bytes");
        }
    }

    #[test]
    fn errors_name_the_problem() {
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
            "is an ELF file of type 2, not a shared library"
        );
        assert_eq!(check(b"#!/bin/sh\n").unwrap_err(), ElfError::NotElf);
        assert_eq!(check(b"").unwrap_err(), ElfError::NotElf);
        let whole = library();
        let error = check(&whole[..whole.len() - 1]).unwrap_err().to_string();
        assert!(
            error.starts_with("is truncated: its section header table ends at byte"),
            "{error}"
        );
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        let whole = library();
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                let _ = check(&bytes);
                // Fields of ones provoke overflows.
                let end = (place + 8).min(bytes.len());
                bytes[place..end].fill(value);
                let _ = check(&bytes);
            }
        }
    }
}
