//! Reads one file of instructions.

use std::path::Path;

use ona_files::read_at_most;

use super::Problem;

/// The maximum size of a file.
pub(super) const MAX_BYTES: u64 = 4 << 20;

/// A file's text.
pub(super) struct Text {
    pub(super) text: String,
    /// Whether some of it could not be read as UTF-8.
    pub(super) lossy: bool,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Text, Problem> {
    let bytes = read_at_most(path, MAX_BYTES)?.ok_or(Problem::Missing)?;
    // Text in an old encoding is mostly legible; an imported picture is not.
    if bytes.contains(&0) {
        return Err(Problem::Binary);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let text = String::from_utf8_lossy(bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    Ok(Text { text: text.into_owned(), lossy })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_files::ReadError;

    use super::*;

    #[test]
    fn a_files_bytes_decide_what_becomes_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let big = |size: u64| vec![b'a'; usize::try_from(size).unwrap()];
        let cases: &[(Vec<u8>, &str)] = &[
            (b"plain".to_vec(), "plain"),
            (b"\xef\xbb\xbfmarked".to_vec(), "marked"),
            (b"caf\xe9!".to_vec(), "caf\u{fffd}! (lossy)"),
            (b"\x89PNG\0\0".to_vec(), "it is not a text file"),
            (b"".to_vec(), ""),
            (big(MAX_BYTES + 1), "it is larger than 4 MiB"),
        ];
        for (bytes, expected) in cases {
            fs::write(&path, bytes).unwrap();
            let found = match read(&path) {
                Ok(Text { text, lossy }) => text + if lossy { " (lossy)" } else { "" },
                Err(problem) => problem.to_string(),
            };
            assert_eq!(found, *expected);
        }
        fs::write(&path, big(MAX_BYTES)).unwrap();
        assert_eq!(read(&path).unwrap().text.len() as u64, MAX_BYTES);
    }

    #[test]
    fn special_files_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(read(dir.path()), Err(Problem::Read(ReadError::Directory))));
        assert!(matches!(read(&dir.path().join("none")), Err(Problem::Missing)));
        assert!(matches!(read(Path::new("/dev/zero")), Err(Problem::Read(ReadError::NotRegular))));
    }
}
