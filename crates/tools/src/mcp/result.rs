//! Turns a server's answer into a result: text up to a limit, pictures as attachments, everything else in files.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ona_mcp::{Body, CallOutcome, ContentPart, ResourceContent};
use ona_types::{OutcomeClass, TRUNCATED_SUFFIX, ToolOutput, ToolUseId};

use crate::attached::attach_picture;
use crate::context::Outputs;

/// What a call answered.
pub(crate) fn of_call(
    outcome: CallOutcome,
    own_limit: Option<usize>,
    cx: &Outputs<'_>,
) -> ToolOutput {
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for part in outcome.parts {
        match part {
            ContentPart::Text(text) => texts.push(text),
            // The provider would refuse an invalid picture, now and in every later request.
            ContentPart::Image { media_type, data } => match attach_picture(&data) {
                Ok(picture) => {
                    texts.push(format!("[a picture, {media_type}]"));
                    attachments.push(picture);
                }
                Err(_) => texts.push(saved(&data, &media_type, cx)),
            },
            ContentPart::Audio { media_type, data } => texts.push(saved(&data, &media_type, cx)),
            ContentPart::Resource(resource) => texts.push(of_resource(&resource, cx)),
            ContentPart::Link { uri, name, mime, description } => {
                let mime = mime.map(|mime| format!(", {mime}")).unwrap_or_default();
                let about = description.map(|about| format!(": {about}")).unwrap_or_default();
                texts.push(format!("[resource {name} ({uri}{mime}){about}]"));
            }
        }
    }
    // A tool that answers with a value alone means that to be read.
    if texts.is_empty()
        && let Some(value) = &outcome.structured
    {
        texts.push(value.to_string());
    }
    let limit = own_limit.unwrap_or(cx.settings.mcp_output_chars);
    let mut output = ToolOutput::success(bounded(texts.join("\n"), limit, cx));
    if outcome.is_error {
        output.class = OutcomeClass::ToolRejected;
        if output.content.is_empty() {
            output.content = "the tool failed without giving a reason".to_owned();
        }
    }
    output.attachments = attachments;
    output
}

/// What a resource is, as a result.
pub(crate) fn of_resources(contents: &[ResourceContent], cx: &Outputs<'_>) -> ToolOutput {
    let texts: Vec<String> = contents.iter().map(|one| of_resource(one, cx)).collect();
    ToolOutput::success(bounded(texts.join("\n"), cx.settings.mcp_output_chars, cx))
}

/// What is in a resource, in words: text as it is, bytes in a file.
fn of_resource(resource: &ResourceContent, cx: &Outputs<'_>) -> String {
    match &resource.body {
        Body::Text(text) => format!("[{}]\n{text}", resource.uri),
        Body::Blob(data) => {
            let mime = resource.mime.as_deref().unwrap_or("application/octet-stream");
            format!("[{}] {}", resource.uri, saved(data, mime, cx))
        }
    }
}

/// Keeps bytes in a file, and says where.
fn saved(data: &str, mime: &str, cx: &Outputs<'_>) -> String {
    let Ok(bytes) = STANDARD.decode(data) else {
        return format!("[{mime} left out: it is not valid base64]");
    };
    let name = format!("mcp-{}.{}", ToolUseId::generate(), ending(mime));
    match keep(&name, &bytes, cx) {
        Ok(path) => format!("[{mime}, {} bytes, in {path}]", bytes.len()),
        Err(error) => format!("[{mime}, {} bytes, could not be saved: {error}]", bytes.len()),
    }
}

/// Endings of files that are not the end of their type.
const ENDINGS: &[(&str, &str)] = &[
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/javascript", "js"),
    ("application/javascript", "js"),
    ("application/octet-stream", "bin"),
    ("application/gzip", "gz"),
    ("application/msword", "doc"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.ms-powerpoint", "ppt"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("image/jpeg", "jpg"),
    ("image/svg+xml", "svg"),
    ("image/x-icon", "ico"),
    ("image/vnd.microsoft.icon", "ico"),
    ("audio/mpeg", "mp3"),
    ("audio/mp4", "m4a"),
    ("video/quicktime", "mov"),
];

/// How the name of a file of this type ends. A type that says nothing of that is bytes.
fn ending(mime: &str) -> String {
    let kind = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if let Some((_, ending)) = ENDINGS.iter().find(|(known, _)| *known == kind) {
        return (*ending).to_owned();
    }
    // `application/geo+json` is JSON, and `audio/x-wav` a wav.
    let inner = kind.split_once('/').map_or("", |(_, inner)| inner);
    let inner = inner.rsplit('+').next().unwrap_or_default();
    let inner = inner.strip_prefix("x-").unwrap_or(inner);
    let plain = (1..=5).contains(&inner.len()) && inner.bytes().all(|b| b.is_ascii_alphanumeric());
    if plain { inner.to_owned() } else { "bin".to_owned() }
}

/// Text up to a limit; the full text is in a file.
pub(crate) fn bounded(text: String, limit: usize, cx: &Outputs<'_>) -> String {
    if text.char_indices().nth(limit).is_none() {
        return text;
    }
    // The file stays as it is, and a secret that is cut in two would not be known any more.
    let text = cx.redactor.mask(&text);
    let Some((cut, _)) = text.char_indices().nth(limit) else { return text.into_owned() };
    let name = format!("mcp-{}.txt", ToolUseId::generate());
    let whole = match keep(&name, text.as_bytes(), cx) {
        Ok(path) => format!("the full text is in {path}"),
        Err(error) => format!("the full text could not be saved: {error}"),
    };
    format!("{}\n{TRUNCATED_SUFFIX} (cut after {limit} characters; {whole})", &text[..cut])
}

fn keep(name: &str, bytes: &[u8], cx: &Outputs<'_>) -> std::io::Result<String> {
    let (path, mut file) = cx.host.new_output(cx.session, name)?;
    file.write_all(bytes)?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_end_as_their_type_does() {
        for (mime, expected) in [
            ("application/octet-stream", "bin"),
            ("image/svg+xml", "svg"),
            ("application/json", "json"),
            ("application/geo+json", "json"),
            ("text/plain; charset=utf-8", "txt"),
            ("Application/PDF", "pdf"),
            ("image/png", "png"),
            ("image/jpeg", "jpg"),
            ("audio/x-wav", "wav"),
            ("application/x-tar", "tar"),
            ("application/vnd.example.thing", "bin"),
            ("application/../../x", "bin"),
            ("nothing", "bin"),
            ("", "bin"),
        ] {
            assert_eq!(ending(mime), expected, "{mime}");
        }
    }
}
