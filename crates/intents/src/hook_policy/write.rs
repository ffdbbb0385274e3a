//! Writing a policy, in ona's shape.

use super::{FailureMode, HookPolicy, MutationClassCheck, OutOfScopeWrite, WriteMetadata};
use crate::file::yaml_list;

/// What `ona init` writes: closed where the gate fails, else the defaults.
pub const NEW_POLICY: &str = "\
# How strict the intent gate is. A missing key has its default.
version: \"1\"
# Read-only commands, as regular expressions that match a whole command.
# Without this list, ona's own table applies.
# command:
#   readonly_allowlist: ['^git (status|diff|log)( .*)?$', '^(ls|pwd|rg|wc)( .*)?$']
#   destructive_patterns: []
mcp:
  default_classification: DESTRUCTIVE
  readonly_tools: []
# Writes when the gate itself fails: open allows them, closed refuses them.
failure_mode: closed
# Files that a command changed outside the scope: report or revert.
on_out_of_scope_write: report
# A change of another class than it claims: record or refuse.
mutation_class_check: record
# Whether a write must name its intent and class: optional or required.
write_metadata: optional
";

impl HookPolicy {
    /// The policy as text. Reading it gives the same policy.
    pub fn to_yaml(&self) -> String {
        let mut text = "version: \"1\"\n".to_owned();
        let mut line = |line: String| {
            text += &line;
            text.push('\n');
        };
        let sources = |list: &[super::Whole]| -> Vec<String> {
            list.iter().map(|pattern| pattern.text.clone()).collect()
        };
        // Prefixes become regular expressions, so that one list remains.
        let prefixes = self.prefixes.iter().flatten().map(|prefix| {
            let words: Vec<String> = prefix.split_whitespace().map(regex::escape).collect();
            format!("{}( (.|\\n)*)?", words.join(" "))
        });
        let allowed: Option<Vec<String>> = match (&self.readonly, &self.prefixes) {
            (None, None) => None,
            (regexes, _) => Some(
                sources(regexes.as_deref().unwrap_or_default())
                    .into_iter()
                    .chain(prefixes)
                    .collect(),
            ),
        };
        if allowed.is_some() || !self.destructive.is_empty() {
            line("command:".to_owned());
            if let Some(allowed) = allowed {
                line(format!("  readonly_allowlist: {}", yaml_list(&allowed)));
            }
            if !self.destructive.is_empty() {
                line(format!("  destructive_patterns: {}", yaml_list(&sources(&self.destructive))));
            }
        }
        line("mcp:".to_owned());
        line(format!("  default_classification: {}", self.mcp_default.as_str()));
        line(format!("  readonly_tools: {}", yaml_list(&self.mcp_readonly)));
        if !self.tools_readonly.is_empty() || !self.tools_write.is_empty() {
            line("tools:".to_owned());
            line(format!("  readonly: {}", yaml_list(&self.tools_readonly)));
            line(format!("  write: {}", yaml_list(&self.tools_write)));
        }
        let choice = |second: bool, words: [&'static str; 2]| words[usize::from(second)];
        let closed = choice(self.failure_mode == FailureMode::Closed, ["open", "closed"]);
        let revert =
            choice(self.on_out_of_scope_write == OutOfScopeWrite::Revert, ["report", "revert"]);
        let refuse =
            choice(self.mutation_class_check == MutationClassCheck::Refuse, ["record", "refuse"]);
        let required =
            choice(self.write_metadata == WriteMetadata::Required, ["optional", "required"]);
        line(format!("failure_mode: {closed}"));
        line(format!("on_out_of_scope_write: {revert}"));
        line(format!("mutation_class_check: {refuse}"));
        line(format!("write_metadata: {required}"));
        if let Some(classes) = &self.mutation_classes {
            line(format!("mutation_classes: {}", yaml_list(classes)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::hook_policy::Class;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "",
            NEW_POLICY,
            "command: {readonly_allowlist: ['^ls( .*)?$', 'say \"x\"'], destructive_patterns: [rm]}\nmcp: {default_classification: SAFE, readonly_tools: [mcp__a__b]}\ntools: {readonly: [A], write: [B]}\nwrite_metadata: required\nmutation_classes: [BUG_FIX]\nfailure_mode: closed\non_out_of_scope_write: revert\nmutation_class_check: refuse\n",
            "safe_read_commands: [ls, 'git log']\ndestructive_command_patterns: ['x{2}']\n",
        ] {
            let policy = HookPolicy::read(text);
            assert_eq!((policy.broken.as_deref(), &policy.warnings[..]), (None, &[][..]), "{text}");
            let again = HookPolicy::read(&policy.to_yaml());
            assert_eq!(
                (again.broken.as_deref(), &again.warnings[..]),
                (None, &[][..]),
                "{}",
                policy.to_yaml()
            );
            assert_eq!(again.to_yaml(), policy.to_yaml());
            for line in
                ["ls", "ls -a", "lsof", "git log -3", "git push", "rm x", "say \"x\"", "ls xx"]
            {
                let no = Path::new("/no");
                let of = |policy: &HookPolicy| policy.classify_command(line, no, no).class;
                assert_eq!(of(&policy), of(&again), "{line}");
            }
            assert_eq!(policy.failure_mode, again.failure_mode);
            assert_eq!(policy.mcp_default == Class::Safe, again.mcp_default == Class::Safe);
        }
        assert_eq!(HookPolicy::read(NEW_POLICY).failure_mode, FailureMode::Closed);
    }
}
