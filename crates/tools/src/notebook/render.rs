//! A notebook as text: every cell with its outputs, its pictures beside it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ona_policy::secrets::Redactor;
use ona_types::Attachment;
use serde_json::Value;

use super::{NotebookError, cells, joined, labels, language, open};
use crate::picture::{self, Picture};

/// Characters of output shown per cell.
const OUTPUT_CAP: usize = 10_000;
/// Pictures attached per notebook: a request to a model holds only so many.
const PICTURE_CAP: usize = 20;

/// A notebook as a model sees it.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) content: String,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) cells: usize,
}

/// Shows all cells with their outputs.
pub(crate) fn render(text: &str, redactor: &Redactor) -> Result<Rendered, NotebookError> {
    let root = open(text)?;
    let cells = cells(&root);
    let mut content = String::new();
    let mut attachments = Vec::new();
    for (cell, label) in cells.iter().zip(labels(cells)) {
        let kind = match cell["cell_type"].as_str() {
            Some("code") => format!("code, {}", language(&root)),
            other => other.unwrap_or_default().to_owned(),
        };
        let source = joined(&cell["source"], "");
        content.push_str(&format!("--- cell {label} ({kind}) ---\n{source}\n"));
        let Some(outputs) = cell["outputs"].as_array().filter(|outputs| !outputs.is_empty()) else {
            continue;
        };
        content.push_str(&format!("--- output of {label} ---\n"));
        let mut shown =
            Outputs { text: &mut content, chars: 0, attachments: &mut attachments, redactor };
        outputs.iter().for_each(|output| shown.output(output));
        if shown.chars > OUTPUT_CAP {
            let all = shown.chars;
            shown.note(&format!("[output cut: {OUTPUT_CAP} of {all} characters shown]"));
        }
    }
    Ok(Rendered { content, attachments, cells: cells.len() })
}

/// The outputs of one cell while they are written down.
struct Outputs<'a> {
    text: &'a mut String,
    /// How long the outputs are, shown or not.
    chars: usize,
    attachments: &'a mut Vec<Attachment>,
    redactor: &'a Redactor,
}

impl Outputs<'_> {
    fn output(&mut self, output: &Value) {
        match output["output_type"].as_str().unwrap_or("unknown") {
            "stream" => {
                if output["name"] == "stderr" {
                    self.note("[stderr]");
                }
                self.say(&joined(&output["text"], ""));
            }
            "execute_result" | "display_data" => {
                for (mime, data) in output["data"].as_object().into_iter().flatten() {
                    match mime.as_str() {
                        "text/plain" => self.say(&joined(data, "")),
                        "image/png" | "image/jpeg" => self.picture(mime, &joined(data, "")),
                        _ => self.note(&format!("[{mime} output not shown]")),
                    }
                }
            }
            "error" => match joined(&output["traceback"], "\n") {
                none if none.is_empty() => {
                    let [name, value] = ["ename", "evalue"].map(|key| joined(&output[key], ""));
                    self.say(&format!("{name}: {value}"));
                }
                traceback => self.say(&traceback),
            },
            other => self.note(&format!("[{other} output not shown]")),
        }
    }

    /// Text of the notebook's, as far as the cap lets it.
    fn say(&mut self, text: &str) {
        let plain = without_escapes(text);
        let room = OUTPUT_CAP.saturating_sub(self.chars);
        self.chars += plain.chars().count();
        self.text.push_str(&self.redactor.first_chars(&plain, room));
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// A line of our own.
    fn note(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn picture(&mut self, mime: &str, data: &str) {
        if self.attachments.len() == PICTURE_CAP {
            return self.note(&format!("[{mime} output not shown: only {PICTURE_CAP} are]"));
        }
        let bytes = STANDARD.decode(data.split_whitespace().collect::<String>()).ok();
        let picture =
            bytes.and_then(|bytes| picture::prepare(&bytes, picture::sniff(&bytes)?).ok());
        let Some(Picture { media_type, data_base64, width, height, .. }) = picture else {
            return self.note(&format!("[{mime} output not shown: it is broken]"));
        };
        self.attachments
            .push(Attachment::Image { media_type: media_type.to_owned(), data: data_base64 });
        let number = self.attachments.len();
        self.note(&format!(
            "[{mime} output of {width}x{height} pixels: attached picture {number}]"
        ));
    }
}

/// Drops the escape sequences that colour text on a terminal.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\u{1b}' {
            plain.push(char);
            continue;
        }
        match chars.next() {
            Some('[') => _ = chars.find(|char| ('@'..='~').contains(char)),
            // A title or link; ends with BEL or with ESC and a backslash.
            Some(']') if chars.find(|char| "\u{7}\u{1b}".contains(*char)) == Some('\u{1b}') => {
                chars.next();
            }
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::JUPYTER;
    use super::*;

    /// The text shown of a code cell's outputs, and how many pictures came with it.
    fn shown(outputs: &Value) -> (String, usize) {
        let cell = json!({"cell_type": "code", "source": "x", "outputs": outputs});
        let notebook = json!({"nbformat": 4, "cells": [cell]}).to_string();
        let rendered = render(&notebook, &Redactor::default()).unwrap();
        let (_, text) = rendered.content.split_once("--- output of cell-0 ---\n").unwrap();
        (text.to_owned(), rendered.attachments.len())
    }

    #[test]
    fn a_notebook_is_shown_cell_by_cell() {
        let rendered = render(JUPYTER, &Redactor::default()).unwrap();
        assert_eq!(rendered.cells, 4);
        assert_eq!(
            rendered.content,
            "--- cell 6ea1b0f1 (markdown) ---\n# Größe 📏\n\nsome *text*\n\
             --- cell 0c5a8d3e (code, python) ---\nprint(\"hi\")\n1 / 0\n\
             --- output of 0c5a8d3e ---\nhi\n\
             [image/png output of 1x1 pixels: attached picture 1]\n<Figure>\n\
             ZeroDivisionError: division by zero\n\
             --- cell 77ab12cd (raw) ---\nraw\n\
             --- cell e3b0c442 (code, python) ---\n\n"
        );
        let [Attachment::Image { media_type, data }] = rendered.attachments.as_slice() else {
            panic!("one picture expected: {:?}", rendered.attachments);
        };
        assert_eq!(media_type, "image/png");
        assert!(data.starts_with("iVBOR") && !data.contains('\n'));
    }

    #[test]
    fn cells_without_an_id_of_their_own_go_by_place() {
        let cells = json!([
            {"cell_type": "code", "source": "a", "id": "x"},
            {"cell_type": "code", "source": ["b\n", "c"]},
            {"cell_type": "code", "source": 5, "id": "x"},
        ]);
        let metadata = json!({"kernelspec": {"language": "R"}});
        let notebook = json!({"nbformat": 4, "cells": cells, "metadata": metadata});
        assert_eq!(
            render(&notebook.to_string(), &Redactor::default()).unwrap().content,
            "--- cell x (code, R) ---\na\n--- cell cell-1 (code, R) ---\nb\nc\n\
             --- cell cell-2 (code, R) ---\n\n"
        );
    }

    #[test]
    fn outputs_of_every_kind_are_shown_or_named() {
        for (output, expected) in [
            (json!({"output_type": "stream", "name": "stderr", "text": "oh\n"}), "[stderr]\noh\n"),
            (
                json!({"output_type": "execute_result",
                    "data": {"text/html": "<b>5</b>", "text/plain": ["4\n", "5"]}}),
                "[text/html output not shown]\n4\n5\n",
            ),
            (
                json!({"output_type": "display_data", "data": {"image/jpeg": "no base64"}}),
                "[image/jpeg output not shown: it is broken]\n",
            ),
            (
                json!({"output_type": "error", "ename": "E", "evalue": "why", "traceback": []}),
                "E: why\n",
            ),
            (json!({"output_type": "new"}), "[new output not shown]\n"),
            (json!(7), "[unknown output not shown]\n"),
        ] {
            assert_eq!(shown(&json!([output])), (expected.to_owned(), 0));
        }
    }

    #[test]
    fn long_outputs_and_many_pictures_are_cut() {
        let stream = json!({"output_type": "stream", "text": "é".repeat(6000)});
        let (text, _) = shown(&json!([stream, stream, stream]));
        assert_eq!(text.matches('é').count(), 10_000);
        assert!(text.ends_with("é\n[output cut: 10000 of 18000 characters shown]\n"));

        let picture = render(JUPYTER, &Redactor::default()).unwrap().attachments.remove(0);
        let data = serde_json::to_value(picture).unwrap()["data"].clone();
        let output = json!({"output_type": "display_data", "data": {"image/png": data}});
        let (text, pictures) = shown(&Value::Array(vec![output; 21]));
        assert_eq!(pictures, 20);
        assert!(text.ends_with("[image/png output not shown: only 20 are]\n"));
    }

    #[test]
    fn escape_sequences_are_dropped() {
        let colour = "\u{1b}[0;31mred\u{1b}[0m \u{1b}]8;;http://x\u{1b}\\link\u{1b}]0;t\u{7}.";
        assert_eq!(without_escapes(colour), "red link.");
        assert_eq!(without_escapes("a\u{1b}"), "a");
        assert_eq!(without_escapes("a\u{1b}[12"), "a");
        assert_eq!(without_escapes("a\u{1b}]12"), "a");
    }

    #[test]
    fn an_output_is_masked_before_it_is_cut() {
        let secret = "live-Secret-0123456789";
        let redactor = Redactor::knowing([secret.to_owned()]);
        let text = format!("{}{secret} tail", "x".repeat(OUTPUT_CAP - 6));
        let output = json!({"output_type": "stream", "name": "stdout", "text": text});
        let notebook = json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1,
             "outputs": [output]}]});
        let shown = render(&notebook.to_string(), &redactor).unwrap().content;
        assert!(shown.contains("x[REDACTED:live]\n[output cut"), "{}", &shown[shown.len() - 90..]);
        assert!(!shown.contains("live-S"));
    }
}
