//! Nothing that a model, a tool, a file or a server says acts on the terminal.

use std::time::Duration;

use ona_front::{AskRequest, Event, Reply};
use ona_render::theme::Depth;
use ona_tui::screen::Reflow;
use serde_json::json;

use crate::hostile_text::{ACTING, TURNING, spoiled};
use crate::scenes::{ask, permission};
use crate::script::{Then, menu, turn, views};
use crate::sequences::{foreign, hidden};
use crate::stage::{Stage, facts};

/// Everything that was written while all of that happened, with a text in every text of it.
fn written_with(evil: &str) -> Vec<u8> {
    let mut stage = Stage::bare(facts(Depth::True, Reflow::Cuts), 400, 60);
    stage.exact = false;
    stage.prefers(|preferences| preferences.verbose = true);
    stage.app.focus(false);
    for (event, then) in turn().into_iter().chain(views()) {
        stage.hears(spoiled(&event, evil));
        match then {
            Then::Nothing => {}
            Then::Press(key) => {
                // A person lets a key go before the next dialog.
                stage.waits(Duration::from_secs(1));
                stage.press(key);
            }
            Then::Type(text) => stage.types(text),
        }
        if let Event::ToolEnded { .. } = event {
            stage.resize(60, 30);
            stage.resize(400, 60);
        }
    }
    stage.written().to_vec()
}

#[test]
fn no_text_of_any_event_acts_on_the_terminal() {
    for (what, evil) in ACTING {
        let found = foreign(&written_with(evil));
        assert!(found.is_empty(), "{what}: {}", found.join("\n"));
    }
}

#[test]
fn every_text_of_the_script_is_shown() {
    let bytes = written_with("!");
    let shown = String::from_utf8_lossy(&bytes);
    for place in [
        ".request.input.command",
        ".request.reason",
        ".request.suggestions.0.toolName",
        ".request.input.questions.0.options.0.label",
        ".request.input.schema.properties.a.title",
        ".request.input.runs.0",
        ".request.input.url",
        ".request.agent",
        ".request.always_in",
        ".reply.menu.title",
        ".reply.menu.items.0.detail",
        ".reply.sources.0.name",
        ".files.0",
        ".entries.0.text",
        ".todos.1.activeForm",
        ".message",
        ".refused.reason",
        ".status.phase",
        ".commands.0.description",
        ".end.ending.reason",
        ".what.refused.reason",
    ] {
        assert!(shown.contains(&format!("{place}!")), "{place} was never written");
    }
}

#[test]
fn no_text_of_any_event_turns_or_hides_what_is_shown() {
    for (what, evil) in TURNING {
        let found = hidden(&written_with(evil));
        assert!(found.is_empty(), "{what}: {found:#?}");
    }
}

#[test]
fn no_paste_acts_on_the_terminal() {
    for (what, evil) in ACTING {
        let mut stage = Stage::new(80, 24);
        stage.pastes(&format!("a{evil}b"));
        stage.press("ctrl+u");
        stage.hears(ask(permission("Bash", json!({"command": "x"}))));
        stage.press("tab");
        stage.pastes(&format!("a{evil}b"));
        stage.press("esc");
        stage.press("n");
        stage.hears(Event::Reply { command: String::new(), reply: Reply::Menu { menu: menu(1) } });
        stage.press("1");
        stage.pastes(&format!("a{evil}b"));
        let found = foreign(stage.written());
        assert!(found.is_empty(), "{what}: {}", found.join("\n"));
    }
}

/// What a title and a notification say, with this text in them.
fn title_and_notification(evil: &str) -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.exact = false;
    stage.app.focus(false);
    stage.status(|status| status.name = Some(format!("name{evil}")));
    stage.hears(ask(AskRequest { tool: format!("tool{evil}"), ..permission("", json!({})) }));
    stage
}

#[test]
fn no_title_or_notification_acts_on_the_terminal() {
    for (what, evil) in ACTING {
        let found = foreign(title_and_notification(evil).written());
        assert!(found.is_empty(), "{what}: {}", found.join("\n"));
    }
}

#[test]
fn no_title_or_notification_turns_or_hides_what_it_says() {
    for (what, evil) in TURNING {
        let stage = title_and_notification(evil);
        let text = String::from_utf8(stage.written().to_vec()).unwrap();
        let commands = text.split("\u{1b}]").skip(1).filter_map(|part| part.split('\u{1b}').next());
        let found = hidden(commands.collect::<String>().as_bytes());
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}
