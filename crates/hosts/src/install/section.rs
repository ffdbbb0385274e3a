//! ona's section in somebody else's text file, between two marks.

/// How a file writes a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// `<!-- … -->`
    Markdown,
    /// `# …`
    Hash,
}

/// A part with its name, which is the host's it is for.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub comment: Comment,
    pub name: &'a str,
    /// Whole lines.
    pub body: &'a str,
}

/// The marks are not as they were written.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, counted from 1.
    pub line: usize,
    pub why: &'static str,
}

/// Said in the first mark: there was no file before, or its last line did not end.
const CREATED: &str = "created";
const JOINED: &str = "joined";

/// The place of a section in bytes, and the text of its first mark.
struct Found {
    start: usize,
    body: std::ops::Range<usize>,
    end: usize,
    created: bool,
    joined: bool,
}

impl Section<'_> {
    fn mark(&self, words: &str) -> String {
        let name = self.name;
        match self.comment {
            Comment::Markdown => format!("<!-- ona:{words} {name} -->"),
            Comment::Hash => format!("# ona:{words} {name}"),
        }
    }

    fn begin(&self, note: Option<&str>) -> String {
        self.mark(&note.map_or_else(|| "begin".to_owned(), |note| format!("begin:{note}")))
    }

    /// The text with the part in it as it is now; `None` is a missing file.
    pub fn put(&self, text: Option<&str>) -> Result<String, Broken> {
        let newline = newline(text.unwrap_or_default());
        let body = self.body.replace('\n', newline);
        let Some(text) = text else {
            return Ok(format!("{}\n{body}{}\n", self.begin(Some(CREATED)), self.mark("end")));
        };
        if let Some(found) = self.find(text)? {
            return Ok(format!("{}{body}{}", &text[..found.body.start], &text[found.body.end..]));
        }
        let joined = !text.is_empty() && !text.ends_with('\n');
        let begin = self.begin(joined.then_some(JOINED));
        let mut new = text.to_owned();
        if joined {
            new.push_str(newline);
        }
        if !text.is_empty() {
            new.push_str(newline);
        }
        new.push_str(&format!("{begin}{newline}{body}{}{newline}", self.mark("end")));
        Ok(new)
    }

    /// The text with the part in it at a place that begins a line, indented.
    pub fn insert(&self, text: &str, at: usize, indent: &str) -> String {
        let newline = newline(text);
        let (before, after) = text.split_at(at);
        let joined = !before.is_empty() && !before.ends_with('\n');
        let (begin, end) = (self.begin(joined.then_some(JOINED)), self.mark("end"));
        let mut new = before.to_owned();
        if joined {
            new.push_str(newline);
        }
        for line in [begin.as_str()].into_iter().chain(self.body.lines()).chain([end.as_str()]) {
            new.push_str(&format!("{indent}{line}{newline}"));
        }
        new + after
    }

    /// The text without the part; nothing if it was made for the part and holds nothing else.
    pub fn take(&self, text: &str) -> Result<Option<String>, Broken> {
        let Some(found) = self.find(text)? else { return Ok(Some(text.to_owned())) };
        let mut before = &text[..found.start];
        let after = &text[found.end..];
        // The empty line before it came with it.
        for newline in ["\r\n", "\n"] {
            if let Some(shorter) = before.strip_suffix(newline)
                && (shorter.ends_with('\n') || shorter.is_empty())
            {
                before = shorter;
                break;
            }
        }
        if found.joined && after.is_empty() {
            before = before.strip_suffix('\n').unwrap_or(before);
            before = before.strip_suffix('\r').unwrap_or(before);
        }
        let left = format!("{before}{after}");
        Ok(Some(left).filter(|left| !(found.created && left.trim().is_empty())))
    }

    fn find(&self, text: &str) -> Result<Option<Found>, Broken> {
        let begins = [None, Some(CREATED), Some(JOINED)].map(|note| (note, self.begin(note)));
        let end_mark = self.mark("end");
        let mut open: Option<(usize, usize, usize, Option<&str>)> = None;
        let mut found = None;
        let mut at = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let (start, words) = (at, line.trim());
            at += line.len();
            if let Some((note, _)) = begins.iter().find(|(_, mark)| mark == words) {
                if open.is_some() || found.is_some() {
                    return Err(Broken { line: number, why: "ona's section begins a second time" });
                }
                open = Some((number, start, at, *note));
            } else if words == end_mark {
                let Some((_, begin, body, note)) = open.take() else {
                    return Err(Broken {
                        line: number,
                        why: "ona's section ends without a beginning",
                    });
                };
                let (created, joined) = (note == Some(CREATED), note == Some(JOINED));
                found = Some(Found { start: begin, body: body..start, end: at, created, joined });
            }
        }
        match open {
            Some((line, ..)) => Err(Broken { line, why: "ona's section has no end" }),
            None => Ok(found),
        }
    }
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: Section<'_> =
        Section { comment: Comment::Markdown, name: "codex", body: "## One\n\ntwo\n" };

    #[test]
    fn what_is_put_in_comes_out_to_the_byte() {
        for text in
            ["", "a\n", "a", "a\r\nb\r\n", "a\r\nb", "a\n\n", "\n", "a\n<!-- ona:begin other -->\n"]
        {
            let with = SECTION.put(Some(text)).unwrap();
            assert!(with.contains("two"), "{with}");
            assert_eq!(SECTION.put(Some(&with)).unwrap(), with);
            assert_eq!(SECTION.take(&with).unwrap().as_deref(), Some(text), "{with:?}");
        }
        let new = SECTION.put(None).unwrap();
        assert_eq!(SECTION.take(&new).unwrap(), None);
        assert_eq!(SECTION.take(&format!("{new}\nmine\n")).unwrap().as_deref(), Some("\nmine\n"));
        let with = SECTION.put(Some("a\n")).unwrap();
        let more = format!("{with}b\n").replace("two", "2");
        assert_eq!(SECTION.put(Some(&more)).unwrap(), format!("{with}b\n"), "it is ona's own");
        assert_eq!(SECTION.take(&more).unwrap().as_deref(), Some("a\nb\n"));
    }

    #[test]
    fn marks_that_make_no_sense_are_named() {
        let begin = "<!-- ona:begin codex -->\n";
        let end = "<!-- ona:end codex -->\n";
        for (text, line) in [
            (format!("a\n{begin}"), 2),
            (end.to_owned(), 1),
            (format!("{begin}{begin}{end}"), 2),
            (format!("{begin}{end}x\n{begin}{end}"), 4),
        ] {
            assert_eq!(SECTION.put(Some(&text)).unwrap_err().line, line, "{text}");
            assert_eq!(SECTION.take(&text).unwrap_err().line, line);
        }
    }
}
