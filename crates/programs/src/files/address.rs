//! Files that are named by an address: `file:///path`.

/// The path in an address of a file, with what stands there as `%61` decoded.
pub(super) fn file(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find("file:")?;
    let rest = &text[at + "file:".len()..];
    let path = match rest.strip_prefix("//") {
        // The path may begin in a variable or a pattern.
        Some(path) if path.starts_with(['$', '~', '"', '\'', '{', '[']) => path,
        // A host may stand before it, and it is this one.
        Some(path) => &path[path.find('/').unwrap_or(0)..],
        None => rest,
    };
    Some(decoded(&path.replace(['"', '\''], "")))
}

/// A path with patterns of `curl`, as a loose one of the shell; nothing if it has none. What stands in front may be a host.
pub(super) fn pattern(path: &str) -> Option<String> {
    if !path.contains(['{', '[']) {
        return None;
    }
    let (mut parts, mut rest) = (String::new(), path);
    while let Some(at) = rest.find(['{', '[']) {
        let close = if rest[at..].starts_with('{') { '}' } else { ']' };
        let (inner, behind) = rest[at..].split_once(close).unwrap_or((&rest[at..], ""));
        parts.push_str(&rest[..at]);
        // With a slash it stands for several directories.
        parts.push_str(if inner.contains('/') { "**" } else { "*" });
        rest = behind;
    }
    parts.push_str(rest);
    let part = |part: &str| if part.contains("**") { "**".to_owned() } else { part.to_owned() };
    let host = |part: &str| if part.is_empty() { String::new() } else { "**".to_owned() };
    let mut all = parts.split('/');
    let first = all.next().map(host).into_iter();
    let pattern: Vec<String> = first.chain(all.map(part)).collect();
    Some(format!("/{}", pattern.join("/").trim_start_matches('/')))
}

/// A text with its percent-encoded bytes as they are.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.filter(|_| first == b'%').and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes.push(value.unwrap_or(first));
        rest = if value.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_files_they_name() {
        for (address, path) in [
            ("file:///a/b", Some("/a/b")),
            ("FILE:/a/b", Some("/a/b")),
            ("file://localhost/a/b", Some("/a/b")),
            ("file://127.0.0.1/a", Some("/a")),
            ("--url=file:///%61/b%2", Some("/a/b%2")),
            ("file://$PWD/.%65nv", Some("$PWD/.env")),
            ("https://x.example/a", None),
        ] {
            assert_eq!(file(address).as_deref(), path, "{address}");
        }
        for (path, shell) in [
            ("/a/{b}/c", Some("/a/*/c")),
            ("/a/va[u-u]lt/[1-3", Some("/a/va*lt/*")),
            ("{localhost}/a", Some("/**/a")),
            ("{/a/b}/c{d/e}f/g", Some("/**/**/g")),
            ("/a/b", None),
        ] {
            assert_eq!(pattern(path).as_deref(), shell, "{path}");
        }
    }
}
