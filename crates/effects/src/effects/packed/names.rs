//! The names of files in archives and patches.
//!
//! They are not on the command line. Where the archive can be read, they are known; where not, a human has to decide,
//! because some paths are protected.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use ona_programs::files::Format;

/// The limit for the names that are looked at.
const MAX_MEMBERS: usize = 5_000;
/// The limit for an archive once it is decompressed, in bytes.
const MAX_UNPACKED: u64 = 256 << 20;
const BLOCK: usize = 512;

/// The files that an archive or a patch makes a program write, and what its links lead to; nothing if it cannot be read
/// with certainty, or holds too many.
pub(super) fn members(format: Format, bytes: &[u8]) -> Option<Vec<String>> {
    let names = match format {
        Format::Tar if bytes.starts_with(&[0x1f, 0x8b]) => {
            let mut plain = Vec::new();
            MultiGzDecoder::new(bytes).take(MAX_UNPACKED + 1).read_to_end(&mut plain).ok()?;
            (plain.len() as u64 <= MAX_UNPACKED).then(|| in_tar(&plain))??
        }
        Format::Tar => in_tar(bytes)?,
        Format::Zip => in_zip(bytes)?,
        Format::Patch => in_patch(std::str::from_utf8(bytes).ok()?)?,
    };
    (names.len() <= MAX_MEMBERS).then_some(names)
}

fn in_tar(bytes: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    // Names that stand before the header they are for.
    let (mut long_name, mut long_link): (Option<String>, Option<String>) = (None, None);
    let mut at = 0;
    while let Some(header) = bytes.get(at..at + BLOCK) {
        at += BLOCK;
        if header.iter().all(|byte| *byte == 0) {
            continue;
        }
        if !checks_out(header) || names.len() > MAX_MEMBERS {
            return None;
        }
        let size = octal(&header[124..136])?;
        let body = bytes.get(at..at.checked_add(size)?)?;
        let kind = header[156];
        // Links and directories have no content, whatever their size says; readers differ if it says something.
        if size > 0 && matches!(kind, b'1'..=b'6') {
            return None;
        }
        at += size.div_ceil(BLOCK) * BLOCK;
        match kind {
            b'L' => long_name = Some(text(body)?),
            b'K' => long_link = Some(text(body)?),
            b'x' | b'g' => {
                for (key, value) in records(body)? {
                    match key.as_str() {
                        "path" => long_name = Some(value),
                        "linkpath" => long_link = Some(value),
                        _ if key == "size" || key.starts_with("GNU.") => return None,
                        _ => {}
                    }
                }
                // It would be for all that follow.
                if kind == b'g' && (long_name.is_some() || long_link.is_some()) {
                    return None;
                }
            }
            b'0' | 0 | b'7' | b'1'..=b'6' => {
                let name = match long_name.take() {
                    Some(name) => name,
                    None => short_name(header)?,
                };
                let link = match long_link.take() {
                    Some(link) => link,
                    None => text(&header[157..257])?,
                };
                if kind == b'2' {
                    let parent = name
                        .trim_end_matches('/')
                        .rsplit_once('/')
                        .map_or("", |(parent, _)| parent);
                    let absolute = link.starts_with('/') || parent.is_empty();
                    names.push(if absolute { link } else { format!("{parent}/{link}") });
                } else if kind == b'1' {
                    names.push(link);
                }
                names.push(name);
            }
            _ => return None,
        }
    }
    // Less than a block: it is cut short, or no such archive.
    (bytes.len().is_multiple_of(BLOCK) && !bytes.is_empty()).then_some(names)
}

fn checks_out(header: &[u8]) -> bool {
    let sum = |(at, byte): (usize, &u8)| match at {
        148..156 => u64::from(b' '),
        _ => u64::from(*byte),
    };
    let total: u64 = header.iter().enumerate().map(sum).sum();
    octal(&header[148..156]).is_some_and(|written| written as u64 == total)
}

fn octal(field: &[u8]) -> Option<usize> {
    let digits = std::str::from_utf8(field).ok()?.trim_matches(|c| c == ' ' || c == '\0');
    if digits.is_empty() { Some(0) } else { usize::from_str_radix(digits, 8).ok() }
}

fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).ok().map(str::to_owned)
}

fn short_name(header: &[u8]) -> Option<String> {
    let name = text(&header[..100])?;
    // GNU's own format has times where the other has the first part of the name.
    let prefix =
        if header[257..263] == *b"ustar\0" { text(&header[345..500])? } else { String::new() };
    Some(if prefix.is_empty() { name } else { format!("{prefix}/{name}") })
}

/// The records of an extended header: `length key=value`.
fn records(mut body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    while !body.is_empty() {
        let space = body.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&body[..space]).ok()?.parse().ok()?;
        let record = body.get(space + 1..length.checked_sub(1)?)?;
        let record = std::str::from_utf8(record).ok()?;
        let (key, value) = record.split_once('=')?;
        found.push((key.to_owned(), value.to_owned()));
        body = body.get(length..)?;
    }
    Some(found)
}

/// By the directory at its end, as `unzip` goes.
fn in_zip(bytes: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize, length: usize| -> Option<usize> {
        let field = bytes.get(at..at + length)?;
        Some(field.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte)))
    };
    let tail = bytes.len().saturating_sub(22 + 0xffff);
    let ends: Vec<usize> =
        (tail..bytes.len()).filter(|at| bytes[*at..].starts_with(b"PK\x05\x06")).collect();
    // With two ends it is not certain which one counts.
    let [end] = ends[..] else { return None };
    let (count, start) = (number(end + 10, 2)?, number(end + 16, 4)?);
    if count == 0xffff || start == 0xffff_ffff || number(end + 12, 4)?.checked_add(start)? != end {
        return None;
    }
    let mut names = Vec::new();
    let mut at = start;
    while at < end {
        if !bytes.get(at..)?.starts_with(b"PK\x01\x02") || names.len() > MAX_MEMBERS {
            return None;
        }
        let (name, extra, comment) =
            (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?);
        // The upper half of the attributes is the mode: where a link leads is in its content.
        let is_link = number(at + 38, 4)? >> 28 == 0xa;
        // A name in the extra field would take the place of this one.
        let renamed =
            bytes.get(at + 46 + name..at + 46 + name + extra)?.windows(2).any(|two| two == b"up");
        let written = std::str::from_utf8(bytes.get(at + 46..at + 46 + name)?).ok()?;
        // What `unzip` leaves out of a name: versions, signs that cannot be shown, the way up.
        let altered = written.contains(';')
            || written.contains(char::is_control)
            || written.split(['/', '\\']).any(|part| part == "..");
        if is_link || renamed || altered {
            return None;
        }
        names.push(written.replace('\\', "/"));
        at += 46 + name + extra + comment;
    }
    Some(names)
}

/// What stands before a name in a patch.
const HEADERS: &[&str] = &[
    "--- ",
    "+++ ",
    "*** ",
    "Index: ",
    "Prereq: ",
    "rename to ",
    "rename from ",
    "copy to ",
    "copy from ",
    "diff --git ",
];

fn in_patch(patch: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for line in patch.lines() {
        // It may be indented, or quoted in a mail.
        let line = line.trim_start_matches(|c: char| c.is_whitespace()).trim_start_matches("- ");
        if is_editor_command(line) {
            return None;
        }
        let Some(rest) = HEADERS.iter().find_map(|header| line.strip_prefix(header)) else {
            continue;
        };
        // A name in quotes may have escapes in it.
        if rest.contains('"') || names.len() > MAX_MEMBERS {
            return None;
        }
        let whole = rest.split('\t').next().unwrap_or_default().trim_end();
        for name in std::iter::once(whole).chain(whole.split_whitespace()) {
            let plain =
                !name.is_empty() && name != "/dev/null" && !names.iter().any(|known| known == name);
            if plain {
                names.push(name.to_owned());
            }
        }
    }
    (!names.is_empty()).then_some(names)
}

/// `3,5d` and the like: a script for an editor, which `patch` would run.
fn is_editor_command(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
    rest.len() < line.len() && matches!(rest.trim_end(), "a" | "c" | "d" | "i" | "s" | "s/.//")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, kind: u8, link: &str, size: usize) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block[157..157 + link.len()].copy_from_slice(link.as_bytes());
        block[257..263].copy_from_slice(b"ustar\0");
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block
    }

    #[test]
    fn names_in_tar_archives() {
        let mut archive = header("a/b", b'0', "", 3);
        archive.extend([b'x'; BLOCK]);
        archive.extend(header("q", b'2', ".git/hooks", 0));
        archive.extend(header("d/q", b'2', "../x", 0));
        archive.extend([0; 2 * BLOCK]);
        archive.extend(header("behind/the/end", b'0', "", 0));
        let names = members(Format::Tar, &archive).unwrap();
        assert_eq!(names, ["a/b", ".git/hooks", "q", "d/../x", "d/q", "behind/the/end"]);

        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &archive).unwrap();
        assert_eq!(members(Format::Tar, &packed.finish().unwrap()).unwrap(), names);

        assert_eq!(members(Format::Tar, &archive[..700]), None, "cut short");
        assert_eq!(members(Format::Tar, b"BZh91AY"), None);
        let path = ".git/hooks/x";
        let record = format!("{} path={path}\n", path.len() + 9);
        let mut extended = header("pax", b'x', "", record.len());
        extended.extend(record.bytes());
        extended.resize(2 * BLOCK, 0);
        extended.extend(header("harmless", b'0', "", 0));
        assert_eq!(members(Format::Tar, &extended).unwrap(), [path]);
    }

    #[test]
    fn names_that_unzip_would_alter_are_unknown() {
        let zip = |name: &str| {
            let length = u16::try_from(name.len()).unwrap().to_le_bytes();
            let mut bytes = b"PK\x01\x02".to_vec();
            bytes.resize(28, 0);
            bytes.extend(length);
            bytes.resize(46, 0);
            bytes.extend(name.bytes());
            let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
            bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
            bytes.extend(size);
            bytes.extend([0; 6]);
            bytes
        };
        assert_eq!(members(Format::Zip, &zip("a/b")).unwrap(), ["a/b"]);
        for name in [".mcp.json;1", ".env\u{1}rc", "../.mcp.json"] {
            assert_eq!(members(Format::Zip, &zip(name)), None, "{name:?}");
        }
    }

    #[test]
    fn names_in_patches() {
        let names = |patch: &str| members(Format::Patch, patch.as_bytes());
        assert_eq!(names("--- a/x\t2020\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").unwrap(), ["a/x", "b/x"]);
        assert_eq!(names("  Index: y\n  ...").unwrap(), ["y"]);
        assert!(names("rename to .git/hooks/x\n").unwrap().contains(&".git/hooks/x".to_owned()));
        for unclear in ["1,2d\n.\n", "--- \"a\\056b\"\n", "no patch"] {
            assert_eq!(names(unclear), None, "{unclear}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_archive_makes_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2000)) {
            for format in [Format::Tar, Format::Zip, Format::Patch] {
                let _ = members(format, &bytes);
            }
        }
    }
}
