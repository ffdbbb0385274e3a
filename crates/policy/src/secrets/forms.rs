//! The forms in which a secret value may stand in a text: as it is, in JSON, in base64. Percent-encoding is undone before a text
//! is searched: everybody encodes something else.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// How many JSON texts, one inside the other, a value is found in.
const NESTED_JSON: usize = 3;
/// Where programs break lines of base64. A line may be shown alone.
const BASE64_LINES: [usize; 2] = [64, 76];

/// As it stands inside a JSON text, which may itself be a string of another one.
pub(super) fn in_json(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut written = value.to_owned();
    for _ in 0..=NESTED_JSON {
        let quoted = Value::from(written.as_str()).to_string();
        let escaped = quoted[1..quoted.len() - 1].to_owned();
        let is_plain = escaped == written;
        all.push(std::mem::replace(&mut written, escaped));
        if is_plain {
            break;
        }
    }
    if !value.is_ascii() {
        let escaped = all.get(1).map_or(value, String::as_str);
        let in_ascii = [false, true].map(|upper| in_ascii(escaped, upper));
        all.extend(in_ascii);
    }
    all
}

/// With an escape of JSON for everything that is not ASCII.
fn in_ascii(value: &str, upper: bool) -> String {
    let mut written = String::new();
    for c in value.chars() {
        match c.is_ascii() {
            true => written.push(c),
            false => written.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| match upper {
                true => format!("\\u{unit:04X}"),
                false => format!("\\u{unit:04x}"),
            })),
        }
    }
    written
}

/// What is certain of it in base64, wherever it stands in what is encoded: three bytes become four characters, so it
/// depends on how many bytes stand before it. At the ends a few bits are shared with what stands beside it.
pub(super) fn in_base64(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 3][..before], value.as_bytes()].concat();
        let (first, last) = ([0, 2, 3][before], bytes.len() * 8 / 6);
        for encoded in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let certain = &encoded[first..last];
            all.push(certain.to_owned());
            if before == 0 {
                for line in BASE64_LINES.into_iter().filter(|line| certain.len() > *line) {
                    let pieces = certain.as_bytes().chunks(line).filter(|piece| piece.len() > 15);
                    all.extend(pieces.map(|piece| String::from_utf8_lossy(piece).into_owned()));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::Redactor;
    use super::*;

    #[test]
    fn a_value_is_found_in_every_form() {
        for secret in
            ["sk-live/päss+word=1", "plain-secret-1", "abcdefgh", &"long key! ".repeat(20)]
        {
            let redactor = Redactor::knowing([secret.to_owned()]);
            let secret = secret.trim();
            let shown = |text: String| {
                let masked = redactor.mask_live(&text).into_owned();
                assert_ne!(masked, text, "{secret}");
                masked
            };
            for kept in ["-._~", "-._~/", "-._~!*'()", "*-._", ""] {
                for upper in [true, false] {
                    let form = percent_encoded(secret, kept, upper);
                    assert_eq!(shown(format!("a={form}&b")), "a=[REDACTED:live]&b");
                    let blank = form.replace("%20", "+");
                    assert_eq!(shown(format!("a={blank}&b")), "a=[REDACTED:live]&b");
                }
            }
            if !secret.is_ascii() {
                assert_eq!(shown(in_ascii(secret, true)), "[REDACTED:live]");
                assert_eq!(shown(in_ascii(secret, false)), "[REDACTED:live]");
            }
            for before in ["", "x", "xy", "user:", "a b c d"] {
                for behind in ["", "z", "\n"] {
                    let text = format!("{before}{secret}{behind}");
                    for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                        shown(format!("got {encoded}."));
                    }
                }
            }
            // As `base64` breaks it, wherever in a longer text it begins.
            for (before, width) in
                (0..80).flat_map(|before| [30, 64, 76].map(|width| (before, width)))
            {
                let encoded = STANDARD.encode(format!("{}{secret}\n", "x".repeat(before)));
                let lines: Vec<&str> = encoded
                    .as_bytes()
                    .chunks(width)
                    .map(|line| std::str::from_utf8(line).unwrap())
                    .collect();
                let joined = |between: &str| shown(lines.join(between)).replace(between, "");
                let numbered = |(number, line): (usize, &&str)| format!("{number:>6}\t{line}");
                let numbered: Vec<String> = lines.iter().enumerate().map(numbered).collect();
                let numbered = shown(numbered.join("\n"));
                let numbered: String =
                    numbered.lines().filter_map(|line| line.split('\t').next_back()).collect();
                let left = [joined("\n"), joined("\r\n"), joined("\\n"), joined("\n+"), numbered]
                    .join(" ");
                for form in in_base64(secret) {
                    let mut parts = form.as_bytes().windows(9);
                    assert!(
                        !parts.any(|part| left.as_bytes().windows(9).any(|one| one == part)),
                        "{left}"
                    );
                }
                if before == 0 && width == 76 {
                    for line in lines.iter().filter(|line| line.len() > 20) {
                        shown((*line).to_owned());
                    }
                }
            }
        }
    }

    /// Encodes everything but letters, digits and these.
    fn percent_encoded(value: &str, kept: &str, upper: bool) -> String {
        let encoded = value.bytes().map(|byte| match char::from(byte) {
            c if (c.is_ascii_alphanumeric() && !kept.is_empty()) || kept.contains(c) => {
                c.to_string()
            }
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        });
        encoded.collect()
    }

    #[test]
    fn nothing_else_is() {
        let redactor = Redactor::knowing(["plain-secret-1".to_owned()]);
        for text in ["plain-secret-2", &STANDARD.encode("plain-other-1"), "%70lain", "cGxhaW4"] {
            assert_eq!(redactor.mask_live(text), text);
        }
        assert_eq!(redactor.live_values(), ["plain-secret-1"], "what another process is told");
    }
}
