//! Tables of a Markdown page, as GitHub reads them.

/// One table: its header's cells and the cells of its rows.
#[derive(Debug, Default, PartialEq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// All tables outside code fences: a header line, a separator line and rows.
pub fn tables(page: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut current: Option<Table> = None;
    let mut previous: Option<Vec<String>> = None;
    let mut fenced = false;
    for line in page.lines().map(str::trim) {
        fenced ^= line.starts_with("```");
        if fenced || !line.starts_with('|') {
            tables.extend(current.take());
            previous = None;
            continue;
        }
        let cells = cells(line);
        if let Some(table) = &mut current {
            table.rows.push(cells);
        } else if let (true, Some(header)) = (is_separator(&cells), previous.take()) {
            current = Some(Table { header, rows: Vec::new() });
        } else {
            previous = Some(cells);
        }
    }
    tables.extend(current);
    tables
}

/// The cells of one line. `\|` is a pipe inside a cell, also in code spans.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{1}");
    let line = line.strip_prefix('|').unwrap_or(&line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

fn is_separator(cells: &[String]) -> bool {
    cells.iter().all(|cell| cell.contains('-') && cell.trim_matches(':').chars().all(|c| c == '-'))
}

/// The text of a cell that is one code span, such as `` `types` ``.
pub fn code(cell: &str) -> Option<&str> {
    let inner = cell.strip_prefix('`')?.strip_suffix('`')?;
    (!inner.is_empty() && !inner.contains('`')).then_some(inner)
}

#[test]
fn tables_are_found_with_their_cells() {
    let page = "# Page\n\n| a | b |\n|---|:-:|\n| 1 | `x \\| y` |\n|  | 2 |\ntext\n\n\
                ```\n| no | table |\n|---|---|\n```\n| c |\n|---|\n";
    let table = |header: &[&str], rows: &[&[&str]]| Table {
        header: header.iter().map(ToString::to_string).collect(),
        rows: rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect(),
    };
    assert_eq!(
        tables(page),
        [table(&["a", "b"], &[&["1", "`x | y`"], &["", "2"]]), table(&["c"], &[])]
    );
    assert_eq!(tables("| a line | alone |\n"), []);
}

#[test]
fn code_is_one_span_and_nothing_else() {
    assert_eq!(code("`types`"), Some("types"));
    assert_eq!(code("types"), None);
    assert_eq!(code("`a` and `b`"), None);
    assert_eq!(code("``"), None);
}
