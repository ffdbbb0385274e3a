//! The report as one page that needs nothing else: no script, no font, no address.

use std::fmt::Write as _;

use super::{CriterionPart, Report, TestPart};

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--soft:#5b6570;--line:#dfe3e8;--card:#f7f8fa;--ok:#18794e;--okbg:#e6f6ec;\
--bad:#c62a2f;--badbg:#ffe9e9;--open:#946800;--openbg:#fff4d5}\
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--fg:#eceef0;--soft:#9ba5ae;--line:#2f363c;--card:#1c2024;--ok:#4cc38a;\
--okbg:#0f2e20;--bad:#ff8c8c;--badbg:#3c1618;--open:#f0c000;--openbg:#342a05}}\
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.55 system-ui,sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.55rem;line-height:1.25;margin:0 0 .25rem}\
h2{font-size:1.1rem;margin:2.25rem 0 .75rem}.soft{color:var(--soft)}code,pre{font:13px/1.5 ui-monospace,monospace}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:1rem 0}dt{color:var(--soft)}dd{margin:0;\
overflow-wrap:anywhere}.sums{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.25rem 0}.sum{background:var(--card);border:1px solid \
var(--line);border-radius:10px;padding:.6rem 1rem;min-width:8rem}.sum b{display:block;font-size:1.4rem}\
.bar{height:8px;border-radius:4px;background:var(--badbg);overflow:hidden}.bar i{display:block;height:100%;background:var(--ok)}\
table{width:100%;border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.5rem .6rem;border-bottom:1px solid \
var(--line)}th{color:var(--soft);font-weight:500}.tag{display:inline-block;border-radius:6px;padding:0 .5rem;font-size:.85em;\
white-space:nowrap;background:var(--openbg);color:var(--open)}.passed{background:var(--okbg);color:var(--ok)}\
.failed,.flaky,.timed,.uncovered{background:var(--badbg);color:var(--bad)}details{border:1px solid var(--line);border-radius:10px;\
margin:.6rem 0;background:var(--card)}summary{cursor:pointer;padding:.6rem .9rem}details>div{padding:0 .9rem .9rem}\
pre{background:var(--bg);border:1px solid var(--line);border-radius:8px;padding:.7rem;margin:.3rem 0 .8rem;overflow:auto;\
max-height:32rem;white-space:pre-wrap;overflow-wrap:anywhere}@media print{details{break-inside:avoid}pre{max-height:none}}";

pub(super) fn page(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Report: {}</title><style>{STYLE}</style></head><body><main>\n",
        escaped(&report.plan.title)
    );
    head(report, &mut page);
    matrix(report, &mut page);
    page.push_str("<h2>Tests and what they printed</h2>\n");
    for part in &report.criteria {
        for test in &part.tests {
            details(&part.id, test, &mut page);
        }
    }
    for test in &report.untraced {
        details("not in the plan", test, &mut page);
    }
    page.push_str("</main></body></html>\n");
    page
}

fn head(report: &Report, page: &mut String) {
    let (plan, totals) = (&report.plan, report.totals);
    let _ = writeln!(
        page,
        "<p class=\"soft\">Report on plan {}</p><h1>{}</h1>",
        plan.id,
        escaped(&plan.title)
    );
    let share = (totals.passed * 100).checked_div(totals.tests).unwrap_or_default();
    page.push_str("<div class=\"sums\">");
    for (number, of, what) in [
        (totals.covered, totals.criteria, "criteria covered"),
        (totals.passed, totals.tests, "tests passed"),
    ] {
        let _ = write!(page, "<div class=\"sum\"><b>{number} of {of}</b>{what}</div>");
    }
    for (number, what) in [(totals.failed, "failed"), (totals.open, "not run on this work tree")] {
        if number > 0 {
            let _ = write!(page, "<div class=\"sum\"><b>{number}</b>{what}</div>");
        }
    }
    let _ = writeln!(page, "</div><div class=\"bar\"><i style=\"width:{share}%\"></i></div><dl>");
    for (name, value) in [
        ("Report", report.hash().to_string()),
        ("Plan", plan.hash.clone()),
        ("Work tree", report.tree_hash.clone()),
        ("Project", plan.project.clone()),
        ("Conversation", plan.conversation.clone()),
    ] {
        let _ = write!(page, "<dt>{name}</dt><dd><code>{}</code></dd>", escaped(&value));
    }
    page.push_str("</dl>\n");
    if !report.uncovered.is_empty() {
        let _ = writeln!(
            page,
            "<p><span class=\"tag uncovered\">uncovered</span> {}</p>",
            escaped(&report.uncovered.join(", "))
        );
    }
}

fn matrix(report: &Report, page: &mut String) {
    page.push_str(
        "<h2>Success criteria</h2>\n<table><thead><tr><th>Criterion</th><th>Seen in</th><th>Tests</th><th></th></tr></thead><tbody>\n",
    );
    for CriterionPart { id, text, surface, status, tests } in &report.criteria {
        let links: Vec<String> = tests
            .iter()
            .map(|test| {
                format!(
                    "<a href=\"#test-{}\">{}</a> {}",
                    test.id,
                    escaped(&test.name),
                    tag(test.status)
                )
            })
            .collect();
        let links = if links.is_empty() { "none".to_owned() } else { links.join("<br>") };
        let _ = writeln!(
            page,
            "<tr><td><b>{}</b> {}</td><td>{}</td><td>{links}</td><td>{}</td></tr>",
            escaped(id),
            escaped(text),
            surface.words(),
            tag(status)
        );
    }
    page.push_str("</tbody></table>\n");
}

fn details(criterion: &str, test: &TestPart, page: &mut String) {
    let open = if test.status == "passed" { "" } else { " open" };
    let _ = writeln!(
        page,
        "<details id=\"test-{}\"{open}><summary>{} <b>{}</b> {} <span class=\"soft\">test {}, {}</span></summary><div>",
        test.id,
        tag(test.status),
        escaped(criterion),
        escaped(&test.name),
        test.id,
        escaped(&test.origin)
    );
    let ending = test.ending();
    if !ending.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escaped(&ending));
    }
    for (name, stream) in [("Standard output", &test.stdout), ("Standard error", &test.stderr)] {
        if !stream.is_empty() {
            let _ =
                writeln!(page, "<div class=\"soft\">{name}</div><pre>{}</pre>", escaped(stream));
        }
    }
    if let Some(second) = &test.second {
        let text = format!("{second:#}");
        let _ =
            writeln!(page, "<div class=\"soft\">The second run</div><pre>{}</pre>", escaped(&text));
    }
    let _ = writeln!(
        page,
        "<div class=\"soft\">Script</div><pre>{}</pre></div></details>",
        escaped(&test.script)
    );
}

fn tag(status: &str) -> String {
    // `timed out` is two classes.
    format!("<span class=\"tag {status}\">{status}</span>")
}

/// A text that is shown as it is. Control characters are shown too.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
