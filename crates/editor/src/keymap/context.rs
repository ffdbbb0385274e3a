//! Where a key is pressed.

macro_rules! contexts {
    ($($context:ident $description:literal)*) => {
        /// A place that keys have a meaning in. The names are those of the keybindings file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Context {
            $(#[doc = $description] $context,)*
        }

        impl Context {
            /// Every context, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$context),*];

            /// Its name in the keybindings file.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$context => stringify!($context),)*
                }
            }

            /// What it is, for the help view.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$context => $description,)*
                }
            }
        }
    };
}

contexts! {
    Global "Everywhere."
    Chat "The prompt."
    Autocomplete "The menu of suggestions."
    Settings "The settings menu."
    Confirmation "A question: permissions and confirmations."
    Tabs "Tabs of a dialog."
    Help "The help view."
    Transcript "The transcript view."
    HistorySearch "The search in the prompt's history."
    Task "While a command or an agent runs in the foreground. It goes before `Chat`."
    ThemePicker "The list of themes."
    Attachments "The images of a prompt."
    Footer "The indicators below the prompt."
    MessageSelector "The list of messages to go back to."
    DiffDialog "The view of changes."
    ModelPicker "The list of models."
    Select "Any list to choose from."
    Plugin "The list of plugins."
    ResumePicker "The list of sessions to resume; ona's own."
}

impl Context {
    /// The context of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|context| context.as_str() == name)
    }
}
