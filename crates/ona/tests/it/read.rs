//! Read.

use serde_json::{Value, json};

use crate::project;

#[test]
fn text_is_numbered_and_counted() {
    let project = project();
    let file = project.file("a.txt", "one\ntwo\n");
    assert_eq!(
        project.ok("Read", json!({"file_path": file})),
        format!("{file} (2 lines)\n1\tone\n2\ttwo\n")
    );
    assert_eq!(
        project.ok("Read", json!({"file_path": "a.txt", "offset": "2", "limit": 1})),
        format!("{file} (lines 2-2 of 2 lines)\n2\ttwo\n")
    );
}

#[test]
fn windows_long_lines_and_ends() {
    let project = project();
    let many: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    let file = project.file("many.txt", many);
    let shown = project.ok("Read", json!({"file_path": file}));
    assert!(shown.starts_with(&format!("{file} (lines 1-2000 of 3000 lines)\n1\t1\n")));
    assert!(shown.ends_with("2000\t2000\n"));
    let past = project.ok("Read", json!({"file_path": file, "offset": 4000}));
    assert_eq!(past, format!("{file} has only 3000 lines: offset 4000 is past the end"));

    let long = project.file("long.txt", "x".repeat(5000));
    let shown = project.ok("Read", json!({"file_path": long}));
    assert!(shown.contains("(1 line, 1 line cut at 2000 characters)"), "{}", &shown[..100]);
    assert!(shown.len() < 2300);

    let empty = project.file("empty.txt", "");
    assert_eq!(
        project.ok("Read", json!({"file_path": empty})),
        format!("{empty} exists but is empty (0 lines)")
    );
}

#[test]
fn large_files_want_a_window() {
    let project = project();
    let file = project.file("large.log", "0123456789\n".repeat(30_000));
    let refusal = project.refused("Read", json!({"file_path": file}));
    assert!(refusal.contains("offset and limit") && refusal.contains("Grep"), "{refusal}");
    let shown = project.ok("Read", json!({"file_path": file, "offset": 29_999, "limit": 10}));
    assert!(shown.contains("(lines 29999-30000 of 30000 lines)"), "{shown}");
    let tokens = project.refused("Read", json!({"file_path": file, "limit": 20_000}));
    assert!(tokens.contains("tokens"), "{tokens}");
}

#[test]
fn encodings_and_binary() {
    let project = project();
    let latin = project.file("latin1.txt", b"gr\xfc\xdfe\n");
    let shown = project.ok("Read", json!({"file_path": latin}));
    assert!(shown.contains("grüße") && shown.contains("windows-1252"), "{shown}");

    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("hé\nyo\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let shown = project.ok("Read", json!({"file_path": project.file("utf16.txt", utf16)}));
    assert!(shown.contains("(2 lines, decoded from UTF-16LE)\n1\thé\n2\tyo"), "{shown}");

    let bom = project.file("bom.txt", "\u{feff}first\n");
    assert!(project.ok("Read", json!({"file_path": bom})).ends_with("1\tfirst\n"));

    let binary: Vec<u8> = (0..=255).cycle().take(8192).collect();
    let file = project.file("data.bin", binary);
    let shown = project.ok("Read", json!({"file_path": file}));
    assert!(shown.contains("is binary (8192 bytes"), "{shown}");
    assert!(shown.contains("00000000  00 01 02 03"), "{shown}");
    assert_eq!(shown.lines().count(), 257);
    let row = project.ok("Read", json!({"file_path": file, "offset": 3, "limit": 1}));
    assert!(row.contains("00000020  20 21 22") && row.contains(" !\"#$"), "{row}");
}

#[test]
fn a_picture_comes_as_an_attachment() {
    let project = project();
    // A PNG of one pixel.
    let png: &[u8] = &[
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0,
        0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44,
        0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 0x05, 0, 0x01, 0xff, 0x89,
        0x99, 0x3d, 0x1d, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ];
    // Named otherwise: the bytes decide.
    let file = project.file("pixel.txt", png);
    let shown = project.ok("Read", json!({"file_path": file}));
    assert_eq!(shown, format!("{file} is an image (image/png, 1x1, {} bytes)", png.len()));
    let rows =
        project.sql("SELECT payload_json FROM transcript_entries WHERE entry_type = 'attachment'");
    let payload: Value = serde_json::from_str(&rows[0]).unwrap();
    assert_eq!(payload["_t"], "attachment");
    assert_eq!(payload["attachment"]["type"], "image");
    assert_eq!(payload["attachment"]["media_type"], "image/png");
    assert!(payload["attachment"]["data"].as_str().unwrap().starts_with("iVBOR"));

    for end in [20, 45, 60] {
        let broken = project.file("broken.png", &png[..end]);
        assert!(project.refused("Read", json!({"file_path": broken})).contains("broken"));
    }
}

/// A PDF with one line of text on each page.
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!(
            "<</Type/Pages/Count {}/Kids[{}]>>",
            pages.len(),
            (0..pages.len()).map(|n| format!("{} 0 R ", 4 + 2 * n)).collect::<String>()
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    for (n, text) in pages.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
            5 + 2 * n
        ));
        let stream = format!("BT /F1 12 Tf 20 200 Td ({text}) Tj ET");
        objects.push(format!("<</Length {}>>stream\n{stream}\nendstream", stream.len()));
    }
    pdf_of(&objects)
}

/// A PDF of these objects; the first one is its catalogue.
pub fn pdf_of(objects: &[String]) -> Vec<u8> {
    let mut out = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", n + 1));
    }
    let xref = out.len();
    out.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        out.push_str(&format!("{offset:010} 00000 n \n"));
    }
    out.push_str(&format!(
        "trailer<</Size {}/Root 1 0 R>>\nstartxref\n{xref}\n%%EOF\n",
        objects.len() + 1
    ));
    out.into_bytes()
}

#[test]
fn pdfs_come_page_by_page() {
    let project = project();
    let short = project.file("short.pdf", pdf(&["Alpha", "Beta"]));
    let shown = project.ok("Read", json!({"file_path": short}));
    assert!(shown.contains("(PDF, 2 pages)") && shown.contains("--- page 2 ---"), "{shown}");
    assert!(shown.contains("Alpha") && shown.contains("Beta"), "{shown}");
    let attached = project.sql(
        "SELECT json_extract(payload_json, '$.attachment.media_type') FROM transcript_entries
         WHERE entry_type = 'attachment'",
    );
    assert_eq!(attached, ["application/pdf"]);

    let texts: Vec<String> = (1..=12).map(|n| format!("Page number {n}")).collect();
    let long = project.file("long.pdf", pdf(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let refusal = project.refused("Read", json!({"file_path": long}));
    assert!(refusal.contains("12 pages") && refusal.contains("pages"), "{refusal}");
    let shown = project.ok("Read", json!({"file_path": long, "pages": "3-4"}));
    assert!(shown.contains("Page number 3") && shown.contains("Page number 4"), "{shown}");
    assert!(!shown.contains("Page number 5"), "{shown}");
    assert!(project.refused("Read", json!({"file_path": long, "pages": "13"})).contains("12 page"));
    assert!(project.refused("Read", json!({"file_path": long, "pages": "1-30"})).contains("20"));

    let broken = project.file("broken.pdf", "%PDF-1.4\nnothing of use");
    project.refused("Read", json!({"file_path": broken}));
    let text = project.file("a.txt", "x");
    assert!(
        project.refused("Read", json!({"file_path": text, "pages": "1"})).contains("not a PDF")
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let project = project();
    std::fs::create_dir(project.path("dir")).unwrap();
    let dir = project.refused("Read", json!({"file_path": "dir"}));
    assert!(dir.contains("is a directory") && dir.contains("Glob"), "{dir}");
    project.file("Config.yaml", "x");
    let missing = project.refused("Read", json!({"file_path": "config.yml"}));
    assert!(missing.contains("does not exist; did you mean Config.yaml?"), "{missing}");
    assert!(
        project.refused("Read", json!({"file_path": "/dev/zero"})).contains("not a regular file")
    );
    if std::path::Path::new("/proc/kmsg").exists() {
        project.refused("Read", json!({"file_path": "/proc/kmsg"}));
    }
    assert!(project.refused("Read", json!({"file_path": "a\u{0}b"})).contains("NUL"));
    assert!(project.refused("Read", json!({"file_path": ""})).contains("empty"));
    std::os::unix::fs::symlink("loop", project.path("loop")).unwrap();
    assert!(project.refused("Read", json!({"file_path": "loop"})).contains("loop"));
    let under_file = project.refused("Read", json!({"file_path": "Config.yaml/x"}));
    assert!(under_file.contains("a part of the path is a file"), "{under_file}");
}
