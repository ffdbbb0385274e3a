//! What a line looks like, without its context: when it is worth to ask the parser.
//!
//! Nothing here has to be right. A line that is overlooked makes a block wait for the next one.

/// Whether a line says nothing.
pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// Whether the line at `from` may close or begin a block, in a text that ends with it.
pub(super) fn may_settle(text: &str, from: usize) -> bool {
    let (before, line) = text.split_at(from);
    let first = match from {
        0 => line,
        _ => before.split('\n').next().unwrap_or(""),
    };
    let in_list = is_item(first);
    if is_blank(line) {
        // Neither an item nor code that is indented ends here.
        return !in_list && indent(first) < 4;
    }
    let most = if in_list { 1 } else { 3 };
    if indent(line) > most {
        return false;
    }
    let line = line.trim_start();
    let after_blank = before.lines().next_back().is_some_and(is_blank);
    let in_quote = first.trim_start().starts_with('>');
    after_blank || (begins_block(line) && !(in_quote && line.starts_with('>')))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Whether a line looks as if it could begin a block behind a paragraph.
fn begins_block(line: &str) -> bool {
    line.starts_with(['#', '<', '>'])
        || line.starts_with("```")
        || line.starts_with("~~~")
        || is_item(line)
        || is_rule(line)
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let bullet = line.strip_prefix(['-', '*', '+']);
    let behind_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = (behind_number.len() < line.len()).then_some(behind_number);
    let behind = bullet.or_else(|| number?.strip_prefix(['.', ')']));
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with([' ', '\t', '\n']))
}

fn is_rule(line: &str) -> bool {
    ['-', '*', '_'].iter().any(|mark| {
        line.starts_with(*mark) && line.trim_matches([*mark, ' ', '\t', '\n']).is_empty()
    })
}
