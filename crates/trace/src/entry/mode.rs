//! A change of a file's permissions, as a warning of an entry tells it.

use std::fmt;

const PREFIX: &str = "mode_changed: ";

/// The permissions of a file before and after. As a warning: `mode_changed: PATH OLD NEW`, in octal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    /// From the workspace, with `/`.
    pub path: String,
    /// Before.
    pub old: u32,
    /// After.
    pub new: u32,
}

impl ModeChange {
    /// Reads a warning, if it is one about permissions.
    pub fn parse(warning: &str) -> Option<Self> {
        let (rest, new) = warning.strip_prefix(PREFIX)?.rsplit_once(' ')?;
        let (path, old) = rest.rsplit_once(' ')?;
        let octal = |text| u32::from_str_radix(text, 8).ok();
        Some(Self { path: path.to_owned(), old: octal(old)?, new: octal(new)? })
    }

    /// Whether the file could be executed before, and whether it can be now.
    pub fn executable(&self) -> (bool, bool) {
        let any = |mode: u32| mode & 0o111 != 0;
        (any(self.old), any(self.new))
    }
}

impl fmt::Display for ModeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{} {:o} {:o}", self.path, self.old, self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_as_it_is_written() {
        let change = ModeChange { path: "src/a b.sh".to_owned(), old: 0o644, new: 0o755 };
        assert_eq!(change.to_string(), "mode_changed: src/a b.sh 644 755");
        assert_eq!(ModeChange::parse(&change.to_string()), Some(change.clone()));
        assert_eq!(change.executable(), (false, true));
        for other in ["mode_changed: a 644", "mode_changed: a 644 9", "a 644 755", ""] {
            assert_eq!(ModeChange::parse(other), None, "{other}");
        }
    }
}
