//! What a key can mean.

use crate::Edit;

macro_rules! actions {
    ($($action:ident $name:literal $description:literal)*) => {
        /// Something that a key does. The names are those of the keybindings file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $description] $action,)*
        }

        impl Action {
            /// Every action, by namespace.
            pub const ALL: &[Self] = &[$(Self::$action),*];

            /// Its name in the keybindings file: `namespace:verb`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)*
                }
            }

            /// What it does, for the help view.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$action => $description,)*
                }
            }
        }
    };
}

actions! {
    AppInterrupt "app:interrupt" "Interrupt the running work; when idle, clear the prompt, then exit."
    AppExit "app:exit" "Exit; with text in the prompt, delete the next character."
    AppRedraw "app:redraw" "Draw the screen again."
    AppToggleTodos "app:toggleTodos" "Show or hide the task list."
    AppToggleTranscript "app:toggleTranscript" "Show or hide the transcript in full."

    HistorySearch "history:search" "Search earlier prompts."
    HistoryPrevious "history:previous" "Up, then the prompt before."
    HistoryNext "history:next" "Down, then the prompt after."

    ChatCancel "chat:cancel" "Interrupt, or cancel the input."
    ChatKillAgents "chat:killAgents" "Stop all agents in the background."
    ChatCycleMode "chat:cycleMode" "Go to the next permission mode."
    ChatModelPicker "chat:modelPicker" "Choose the model."
    ChatThinkingToggle "chat:thinkingToggle" "Turn extended thinking on or off."
    ChatSubmit "chat:submit" "Submit the prompt."
    ChatNewline "chat:newline" "Start a new line."
    ChatUndo "chat:undo" "Undo the last edit."
    ChatExternalEditor "chat:externalEditor" "Edit the prompt in your editor."
    ChatStash "chat:stash" "Put the prompt aside, or bring it back."
    ChatImagePaste "chat:imagePaste" "Paste an image from the clipboard."

    AutocompleteAccept "autocomplete:accept" "Accept the suggestion."
    AutocompleteDismiss "autocomplete:dismiss" "Close the suggestions."
    AutocompletePrevious "autocomplete:previous" "The suggestion before."
    AutocompleteNext "autocomplete:next" "The suggestion after."

    ConfirmYes "confirm:yes" "Yes."
    ConfirmNo "confirm:no" "No."
    ConfirmAlways "confirm:always" "Yes, and do not ask again."
    ConfirmPrevious "confirm:previous" "The answer before."
    ConfirmNext "confirm:next" "The answer after."
    ConfirmNextField "confirm:nextField" "The next field, such as a comment."
    ConfirmPreviousField "confirm:previousField" "The field before."
    ConfirmToggle "confirm:toggle" "Select the answer, or no longer."
    ConfirmCycleMode "confirm:cycleMode" "Go to the next permission mode."
    ConfirmToggleExplanation "confirm:toggleExplanation" "Show or hide the explanation."

    TranscriptToggleShowAll "transcript:toggleShowAll" "Show everything, or less."
    TranscriptExit "transcript:exit" "Leave the transcript."

    HistorySearchNext "historySearch:next" "The next older match."
    HistorySearchAccept "historySearch:accept" "Take the match into the prompt."
    HistorySearchCancel "historySearch:cancel" "Leave the search without a match."
    HistorySearchExecute "historySearch:execute" "Submit the match."

    TaskBackground "task:background" "Let the running work go on in the background."

    ThemeToggleSyntaxHighlighting "theme:toggleSyntaxHighlighting" "Turn the colours of code on or off."

    HelpDismiss "help:dismiss" "Close the help."

    TabsNext "tabs:next" "The next tab."
    TabsPrevious "tabs:previous" "The tab before."

    AttachmentsNext "attachments:next" "The next image."
    AttachmentsPrevious "attachments:previous" "The image before."
    AttachmentsRemove "attachments:remove" "Remove the image."
    AttachmentsExit "attachments:exit" "Back to the prompt."

    FooterNext "footer:next" "The next indicator."
    FooterPrevious "footer:previous" "The indicator before."
    FooterUp "footer:up" "Up; from the top, back to the prompt."
    FooterDown "footer:down" "Down."
    FooterOpenSelected "footer:openSelected" "Open the indicator's view."
    FooterClearSelection "footer:clearSelection" "Back to the prompt."

    MessageSelectorUp "messageSelector:up" "The message before."
    MessageSelectorDown "messageSelector:down" "The message after."
    MessageSelectorTop "messageSelector:top" "The first message."
    MessageSelectorBottom "messageSelector:bottom" "The last message."
    MessageSelectorSelect "messageSelector:select" "Choose the message."

    DiffPreviousSource "diff:previousSource" "The source of changes before."
    DiffNextSource "diff:nextSource" "The next source of changes."
    DiffPreviousFile "diff:previousFile" "The file before."
    DiffNextFile "diff:nextFile" "The next file."
    DiffViewDetails "diff:viewDetails" "Show the file's changes."
    DiffBack "diff:back" "Back to the list of files."
    DiffDismiss "diff:dismiss" "Close the view of changes."

    ModelPickerDecreaseEffort "modelPicker:decreaseEffort" "Less effort."
    ModelPickerIncreaseEffort "modelPicker:increaseEffort" "More effort."

    SelectPrevious "select:previous" "The option before."
    SelectNext "select:next" "The next option."
    SelectAccept "select:accept" "Choose the option."
    SelectCancel "select:cancel" "Close without a choice."

    PluginToggle "plugin:toggle" "Select the plugin, or no longer."
    PluginInstall "plugin:install" "Install the selected plugins."

    SettingsSearch "settings:search" "Search the settings."
    SettingsRetry "settings:retry" "Try to load it again."

    ScrollLineUp "scroll:lineUp" "One line up."
    ScrollLineDown "scroll:lineDown" "One line down."
    ScrollPageUp "scroll:pageUp" "Half a screen up."
    ScrollPageDown "scroll:pageDown" "Half a screen down."
    ScrollFullPageUp "scroll:fullPageUp" "A screen up."
    ScrollFullPageDown "scroll:fullPageDown" "A screen down."
    ScrollTop "scroll:top" "To the start."
    ScrollBottom "scroll:bottom" "To the end."

    ResumePreview "resume:preview" "Look into the session."
    ResumeRename "resume:rename" "Give the session a name."
    ResumeSearch "resume:search" "Search the sessions."
    ResumeToggleAllProjects "resume:toggleAllProjects" "Sessions of all projects, or of this one."
    ResumeToggleBranch "resume:toggleBranch" "Sessions of all branches, or of this one."

    EditCharLeft "edit:charLeft" "One character to the left."
    EditCharRight "edit:charRight" "One character to the right."
    EditWordLeft "edit:wordLeft" "One word to the left."
    EditWordRight "edit:wordRight" "One word to the right."
    EditLineStart "edit:lineStart" "To the start of the line."
    EditLineEnd "edit:lineEnd" "To the end of the line."
    EditTextStart "edit:textStart" "To the start of the prompt."
    EditTextEnd "edit:textEnd" "To the end of the prompt."
    EditDeleteCharBackward "edit:deleteCharBackward" "Delete the character before."
    EditDeleteCharForward "edit:deleteCharForward" "Delete the next character."
    EditDeleteWordBackward "edit:deleteWordBackward" "Delete the word before."
    EditDeleteBigWordBackward "edit:deleteBigWordBackward" "Delete back to white space."
    EditDeleteWordForward "edit:deleteWordForward" "Delete the next word."
    EditKillToLineEnd "edit:killToLineEnd" "Delete to the end of the line."
    EditKillToLineStart "edit:killToLineStart" "Delete to the start of the line."
    EditYank "edit:yank" "Insert what was deleted last."
    EditYankPop "edit:yankPop" "Insert what was deleted before that instead."
    EditTransposeChars "edit:transposeChars" "Swap the last two characters."
    EditRedo "edit:redo" "Make an undone edit again."
}

/// The actions that are commands of the editor.
const EDITS: &[(Action, Edit)] = &[
    (Action::ChatNewline, Edit::Newline),
    (Action::ChatUndo, Edit::Undo),
    (Action::EditCharLeft, Edit::CharLeft),
    (Action::EditCharRight, Edit::CharRight),
    (Action::EditWordLeft, Edit::WordLeft),
    (Action::EditWordRight, Edit::WordRight),
    (Action::EditLineStart, Edit::LineStart),
    (Action::EditLineEnd, Edit::LineEnd),
    (Action::EditTextStart, Edit::TextStart),
    (Action::EditTextEnd, Edit::TextEnd),
    (Action::EditDeleteCharBackward, Edit::DeleteCharBackward),
    (Action::EditDeleteCharForward, Edit::DeleteCharForward),
    (Action::EditDeleteWordBackward, Edit::DeleteWordBackward),
    (Action::EditDeleteBigWordBackward, Edit::DeleteBigWordBackward),
    (Action::EditDeleteWordForward, Edit::DeleteWordForward),
    (Action::EditKillToLineEnd, Edit::KillToLineEnd),
    (Action::EditKillToLineStart, Edit::KillToLineStart),
    (Action::EditYank, Edit::Yank),
    (Action::EditYankPop, Edit::YankPop),
    (Action::EditTransposeChars, Edit::Transpose),
    (Action::EditRedo, Edit::Redo),
];

impl Action {
    /// The action of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.as_str() == name)
    }

    /// The command of the editor that it stands for. Going through the history first moves within the text.
    pub fn edit(self) -> Option<Edit> {
        EDITS.iter().find(|(action, _)| *action == self).map(|(_, edit)| *edit)
    }
}
