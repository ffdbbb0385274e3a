//! Commands about what governs the session: hooks, intent, the story of calls.

use ona_front::Reply;

use super::{first_word, paths};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// `/hooks`.
pub(super) fn hooks<O: Outside>(desk: &Desk<O>) -> Act {
    let hooks = desk.session.gate.governance.hooks.entries();
    if hooks.is_empty() {
        return Act::plain("no hooks are configured");
    }
    let mut text = "| # | Event | Matcher | Command | Source |\n|--:|---|---|---|---|\n".to_owned();
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for hook in hooks {
        let matcher = if hook.matcher_text.is_empty() { "*" } else { &hook.matcher_text };
        let off = if hook.off { " (off)" } else { "" };
        text.push_str(&format!(
            "| {} | {} | `{}` | `{}`{off} | {} |\n",
            hook.ordinal,
            hook.event,
            cell(matcher),
            cell(hook.handler.label()),
            cell(&hook.source.to_string())
        ));
    }
    Act::text(text)
}

/// `/intent`.
pub(super) async fn intent<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let Some(workspace) = &desk.session.gate.workspace else {
        return Ok(Act::plain(
            "this project has no intents; `ona init` or `ona intent init` sets them up",
        ));
    };
    let (word, rest) = first_word(arguments);
    match word {
        "" => {
            let selected = desk.session.gate.selected_intent(workspace)?;
            let listed = desk.printed(&["intent", "list"]).await.text;
            let now =
                selected.map_or("no intent is selected".to_owned(), |id| format!("selected: {id}"));
            Ok(Act::plain(format!("{now}\n{}\n/intent ID selects one", listed.trim_end())))
        }
        "show" if rest.is_empty() => {
            Ok(Act::error("which intent? /intent show ID; /intent lists them"))
        }
        "none" | "off" | "clear" | "deselect" => {
            let session = desk.session_id().to_string();
            let cleared = desk.printed(&["intent", "clear", "--session", &session]).await;
            Ok(match cleared.ok {
                true => Act::plain("no intent is selected in this session now"),
                false => Act::error(cleared.text.trim_end()),
            })
        }
        "list" | "show" | "add" | "set" | "lint" | "status" | "scope" | "check" | "map"
        | "init" => Ok(desk.print_typed(&["intent", word], rest).await),
        word => {
            let id = if word == "select" { rest } else { word };
            if id.is_empty() {
                return Ok(Act::error("which intent? /intent ID; /intent lists them"));
            }
            let selected = match workspace.select(id) {
                Ok(selected) => selected.intent,
                Err(refusal) => {
                    let why = refusal.message();
                    return Ok(Act::error(format!("{why}\n/intent lists the intents")));
                }
            };
            let (title, status) = (selected.title(), selected.status());
            let said = format!("{id} ({title}, {status}) is the intent of this session now");
            let input = serde_json::json!({"intent_id": id});
            Ok(Act::Call { tool: ona_gate::intents::select::ALIAS, input, then: None, said })
        }
    }
}

/// `/why`.
pub(super) async fn why<O: Outside>(desk: &Desk<O>, id: &str) -> Result<Act, CommandError> {
    let latest = match id {
        "" => desk.store().latest_call(desk.session_id())?,
        _ => None,
    };
    let Some(latest) = latest else {
        return Ok(match id {
            "" => Act::plain("no call in this session yet"),
            id => desk.print(&["why", id]).await,
        });
    };
    // Whoever asks wants to know why something was refused, if something was.
    let turn = desk.store().calls_of_turn(desk.session_id())?;
    let refused = turn.iter().rev().find(|(_, _, refused)| *refused);
    let shown = refused.map_or(latest.as_str(), |(id, ..)| id.as_str());
    let mut told = desk.print(&["why", shown]).await;
    let others: Vec<String> = turn
        .iter()
        .filter(|(id, ..)| id != shown)
        .map(|(id, tool, refused)| {
            format!("{id} {tool}{}", if *refused { " (refused)" } else { "" })
        })
        .collect();
    if let (Act::Reply(Reply::Plain { text }), false) = (&mut told, others.is_empty()) {
        let hidden = others.len().saturating_sub(MAX_OTHERS);
        let last = &others[hidden..];
        let more = if hidden > 0 { format!("{hidden} earlier ones, ") } else { String::new() };
        text.push_str(&format!(
            "\n\nother calls since the prompt (/why ID): {more}{}",
            last.join(", ")
        ));
    }
    Ok(told)
}

/// How many other calls are named.
const MAX_OTHERS: usize = 8;

/// `/explain`.
pub(super) async fn explain<O: Outside>(
    desk: &Desk<O>,
    command: &str,
) -> Result<Act, CommandError> {
    if command.is_empty() {
        return Ok(Act::error("which command? /explain git push"));
    }
    let mut session = desk.session.beside()?;
    let input = serde_json::json!({"command": command});
    let found = session.explain(ona_tools::names::BASH, &input).await?;
    let mut text = format!("{}\n", found.verdict);
    for because in &found.because {
        text.push_str(&format!("  because  {because}\n"));
    }
    for hook in &found.hooks {
        text.push_str(&format!("  hook     {hook} would run first; its answer is not known yet\n"));
    }
    for change in &found.to_change_it {
        text.push_str(&format!("  change   {change}\n"));
    }
    Ok(Act::plain(text.trim_end().to_owned()))
}

/// `/blame`.
pub(super) async fn blame<O: Outside>(desk: &Desk<O>, target: &str) -> Result<Act, CommandError> {
    if target.is_empty() {
        return Ok(Act::error("which file? /blame FILE or /blame FILE:LINE"));
    }
    let target = paths::unquoted(target);
    let target = match target.starts_with('~') {
        true => paths::typed(desk, target).display().to_string(),
        false => target.to_owned(),
    };
    Ok(desk.print(&["blame", &target]).await)
}
