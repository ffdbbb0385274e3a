//! Brief: the agent says something to the user while it works.

use ona_effects::{Effects, path};
use ona_mcp::Hints;
use ona_repo::Disk;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::InputError;
use crate::tool::{BuiltIn, Refusal};

/// The limit for one message, in bytes.
const MAX_MESSAGE: usize = 100_000;
/// The limit for the files of one message.
const MAX_FILES: usize = 20;

pub(crate) struct Brief;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BriefInput {
    /// What to tell the user, in Markdown.
    message: String,
    /// Files that belong to it, by path.
    #[serde(default)]
    attachments: Vec<String>,
    /// `proactive` where the user has not asked for it.
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Normal,
    Proactive,
}

impl BuiltIn for Brief {
    const NAME: &'static str = "Brief";
    const DESCRIPTION: &'static str = "Shows the user a message immediately, while you continue working: something they \
        should know before you are done, or a file they asked for. Markdown is rendered. Your final answer needs no \
        Brief.";
    const FACTS: Facts = Facts { speaks_to_user: true, ..Facts::plain(Hints::ADDS) };
    type Input = BriefInput;

    fn effects(input: &BriefInput, place: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        if input.message.trim().is_empty() {
            return wrong("`message` is empty".to_owned());
        }
        if input.message.len() > MAX_MESSAGE {
            return wrong(format!("`message` is longer than {MAX_MESSAGE} bytes: attach a file"));
        }
        if input.attachments.len() > MAX_FILES {
            return wrong(format!("`attachments`: more than {MAX_FILES} files"));
        }
        let mut effects = Effects::default();
        for file in &input.attachments {
            let target = path::Target::of(&Disk, &place.cwd, file)
                .map_err(|error| InputError::path(Self::NAME, "attachments", &error))?;
            effects.reads.push(target);
        }
        Ok(effects)
    }

    async fn run(input: BriefInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let mut files = Vec::new();
        for target in &cx.judged.reads {
            let path = target.real.clone();
            if !path.is_file() {
                let why = format!("{} is not a file: nothing was shown", path.display());
                return Err(Refusal::rejected(why));
            }
            files.push(path);
        }
        let status = match input.status {
            Status::Normal => "normal",
            Status::Proactive => "proactive",
        };
        cx.services.say(&input.message, &files, status);
        let with = match files.len() {
            0 => String::new(),
            1 => " with 1 file".to_owned(),
            many => format!(" with {many} files"),
        };
        Ok(ToolOutput::success(format!("The message{with} was shown to the user"))
            .with_detail("status", status))
    }
}
