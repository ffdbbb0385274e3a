//! What a server answered, as a result: text within bounds, pictures beside it, everything else in files.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ona_mcp::{Body, CallOutcome, ContentPart, ResourceContent};
use ona_types::{OutcomeClass, TRUNCATED_SUFFIX, ToolOutput, ToolUseId};

use crate::attached::attach_picture;
use crate::context::ToolContext;

/// What a call answered.
pub(crate) fn of_call(
    outcome: CallOutcome,
    own_limit: Option<usize>,
    cx: &ToolContext<'_>,
) -> ToolOutput {
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for part in outcome.parts {
        match part {
            ContentPart::Text(text) => texts.push(text),
            // What is no picture would be refused by the provider, now and in every later question.
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
            output.content = "the tool says that it failed, and not why".to_owned();
        }
    }
    output.attachments = attachments;
    output
}

/// What a resource is, as a result.
pub(crate) fn of_resources(contents: &[ResourceContent], cx: &ToolContext<'_>) -> ToolOutput {
    let texts: Vec<String> = contents.iter().map(|one| of_resource(one, cx)).collect();
    ToolOutput::success(bounded(texts.join("\n"), cx.settings.mcp_output_chars, cx))
}

/// What is in a resource, in words: text as it is, bytes in a file.
fn of_resource(resource: &ResourceContent, cx: &ToolContext<'_>) -> String {
    match &resource.body {
        Body::Text(text) => format!("[{}]\n{text}", resource.uri),
        Body::Blob(data) => {
            let mime = resource.mime.as_deref().unwrap_or("application/octet-stream");
            format!("[{}] {}", resource.uri, saved(data, mime, cx))
        }
    }
}

/// Keeps bytes in a file, and says where.
fn saved(data: &str, mime: &str, cx: &ToolContext<'_>) -> String {
    let Ok(bytes) = STANDARD.decode(data) else {
        return format!("[{mime} that is no valid base64 was left out]");
    };
    let ending = mime.rsplit('/').next().unwrap_or_default().chars();
    let ending: String = ending.filter(char::is_ascii_alphanumeric).take(8).collect();
    let name = format!("mcp-{}.{ending}", ToolUseId::generate());
    match keep(&name, &bytes, cx) {
        Ok(path) => format!("[{mime}, {} bytes, in {path}]", bytes.len()),
        Err(error) => format!("[{mime}, {} bytes, could not be kept: {error}]", bytes.len()),
    }
}

/// Text within a limit; the whole is in a file.
pub(crate) fn bounded(text: String, limit: usize, cx: &ToolContext<'_>) -> String {
    let Some((cut, _)) = text.char_indices().nth(limit) else { return text };
    let name = format!("mcp-{}.txt", ToolUseId::generate());
    let whole = match keep(&name, text.as_bytes(), cx) {
        Ok(path) => format!("the whole is in {path}"),
        Err(error) => format!("the whole could not be kept: {error}"),
    };
    format!("{}\n{TRUNCATED_SUFFIX} (cut after {limit} characters; {whole})", &text[..cut])
}

fn keep(name: &str, bytes: &[u8], cx: &ToolContext<'_>) -> std::io::Result<String> {
    let (path, mut file) = cx.host.new_output(cx.session, name)?;
    file.write_all(bytes)?;
    Ok(path.display().to_string())
}
