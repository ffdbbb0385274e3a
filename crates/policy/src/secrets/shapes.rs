//! The shapes of secrets: what is masked for its form alone. `docs/CREDENTIALS.md` shows this table.

/// A form that a kind of secret has.
pub(super) struct Shape {
    /// What the mask says.
    pub(super) name: &'static str,
    /// The pattern is tried only where one of these occurs.
    pub(super) hints: &'static [&'static str],
    /// Its first group, or all of it, is the secret.
    pub(super) pattern: &'static str,
}

#[rustfmt::skip]
pub(super) const SHAPES: [Shape; 17] = [
    Shape { name: "private_key", hints: &["PRIVATE KEY-----"],
        pattern: r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s:,.\\→|-]{40,}?-----END [A-Z ]{0,20}PRIVATE KEY-----|[A-Za-z0-9+/=\s\\→|]{40,})" },
    Shape { name: "aws_access_key", hints: &["AKIA", "ASIA"], pattern: r"(?-u:\b)(?:AKIA|ASIA)[A-Z2-7]{16}(?-u:\b)" },
    Shape { name: "aws_secret_key", hints: &["ecret", "ECRET"],
        pattern: r#"(?i-u:aws_?secret_?(?:access_?)?key)\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?([A-Za-z0-9/+=]{40})(?-u:\b)"# },
    Shape { name: "github_token", hints: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], pattern: r"(?-u:\b)gh[pousr]_[A-Za-z0-9]{36,255}" },
    Shape { name: "github_token", hints: &["github_pat_"], pattern: r"(?-u:\b)github_pat_[A-Za-z0-9_]{22,255}" },
    Shape { name: "gitlab_token", hints: &["glpat-"], pattern: r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,255}" },
    Shape { name: "anthropic_key", hints: &["sk-ant-"], pattern: r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{20,255}" },
    Shape { name: "openai_key", hints: &["sk-"], pattern: r"(?-u:\b)sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,255}|[A-Za-z0-9]{32,255})" },
    Shape { name: "slack_token", hints: &["xox"], pattern: r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,255}" },
    Shape { name: "slack_webhook", hints: &["hooks.slack.com/services/"], pattern: r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,255})" },
    Shape { name: "google_key", hints: &["AIza"], pattern: r"(?-u:\b)AIza[A-Za-z0-9_-]{35}" },
    Shape { name: "stripe_key", hints: &["k_live_"], pattern: r"(?-u:\b)[sr]k_live_[A-Za-z0-9]{16,255}" },
    Shape { name: "npm_token", hints: &["npm_"], pattern: r"(?-u:\b)npm_[A-Za-z0-9]{36}(?-u:\b)" },
    Shape { name: "pypi_token", hints: &["pypi-"], pattern: r"(?-u:\b)pypi-[A-Za-z0-9_-]{50,255}" },
    Shape { name: "jwt", hints: &["eyJ"], pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}" },
    Shape { name: "authorization", hints: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i-u:authorization)\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?i-u:bearer|basic)\s{1,4}([A-Za-z0-9._~+/=-]{16,})"# },
    Shape { name: "url_password", hints: &["://"],
        pattern: r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s:/@'"<>]{0,255}:([^\s@/'"$<>{}\[\]*%][^\s@/'"<>]{2,255})@"# },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The table, as the page has it.
    fn table() -> String {
        let mut table =
            String::from("| Mask | Where one of these occurs | Pattern |\n|---|---|---|\n");
        for Shape { name, hints, pattern } in &SHAPES {
            let hints: Vec<String> = hints.iter().map(|hint| format!("`{hint}`")).collect();
            let pattern = pattern.replace('|', "\\|");
            let hints = hints.join(" ");
            table.push_str(&format!("| `[REDACTED:{name}]` | {hints} | `{pattern}` |\n"));
        }
        table
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the page is updated only where it is asked for")]
    fn the_published_table_is_true() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CREDENTIALS.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (start, end) = ("<!-- shapes -->\n", "<!-- end of shapes -->");
        let (before, rest) = page.split_once(start).unwrap();
        let (published, after) = rest.split_once(end).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, format!("{before}{start}{}{end}{after}", table())).unwrap();
        } else {
            assert_eq!(published, table(), "run `UPDATE_DOCS=1 cargo test -p ona-policy shapes`");
        }
    }
}
