//! A request's body, put together from pieces: what was written for the last request is not written again.

use serde::Serialize;

/// An object that begins with the fields of `before` and ends with those of `after`, neither of which may be
/// empty, and between them `messages`.
pub(crate) fn body(
    before: &impl Serialize,
    messages: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    after: &impl Serialize,
) -> serde_json::Result<Vec<u8>> {
    let mut body = serde_json::to_vec(before)?;
    body.pop();
    body.extend_from_slice(b",\"messages\":[");
    messages(&mut body)?;
    body.extend_from_slice(b"],");
    body.extend_from_slice(&serde_json::to_vec(after)?[1..]);
    Ok(body)
}

/// Adds an element to the array that `out` ends with.
pub(crate) fn add(out: &mut Vec<u8>, element: &impl Serialize) -> serde_json::Result<()> {
    separate(out);
    serde_json::to_writer(out, element)
}

/// Adds elements that are written already.
pub(crate) fn add_written(out: &mut Vec<u8>, elements: &[u8]) {
    if !elements.is_empty() {
        separate(out);
        out.extend_from_slice(elements);
    }
}

fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'[')) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn pieces_make_one_object() {
        for written in ["", "1", "1,[]"] {
            for more in [vec![], vec![json!({"a": 2})], vec![json!(2), json!([3])]] {
                let messages = |out: &mut Vec<u8>| {
                    add_written(out, written.as_bytes());
                    more.iter().try_for_each(|one| add(out, one))
                };
                let body = body(&json!({"m": "x"}), messages, &json!({"s": true})).unwrap();
                let read: Value = serde_json::from_slice(&body).unwrap();
                let mut expected: Vec<Value> =
                    serde_json::from_str(&format!("[{written}]")).unwrap();
                expected.extend(more.clone());
                assert_eq!(read, json!({"m": "x", "messages": expected, "s": true}));
            }
        }
    }
}
