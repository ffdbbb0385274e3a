//! Variables that switch off slash commands.

use super::{Variable, switch};

macro_rules! variables {
    ($($name:ident = $variable:literal, $command:literal, $meaning:literal;)*) => {
        $(const $name: Variable =
            Variable { name: $variable, default: "0", meaning: $meaning };)*
        /// All of them, in the order of the documentation.
        #[cfg(test)]
        pub(super) const READ: &[&Variable] = &[$(&$name),*];
        /// Each with its command.
        const SWITCHES: &[(&Variable, &str)] = &[$((&$name, $command)),*];
    };
}

variables! {
    LOGIN = "DISABLE_LOGIN_COMMAND", "login", "1: `/login` is hidden and refused.";
    LOGOUT = "DISABLE_LOGOUT_COMMAND", "logout", "1: the same for `/logout`.";
    DOCTOR = "DISABLE_DOCTOR_COMMAND", "doctor", "1: the same for `/doctor`.";
    UPGRADE = "DISABLE_UPGRADE_COMMAND", "upgrade", "1: the same for `/upgrade`, which ona does not have anyway.";
    FEEDBACK = "DISABLE_FEEDBACK_COMMAND", "feedback", "1: the same for `/feedback` and `/bug`.";
    EXTRA_USAGE = "DISABLE_EXTRA_USAGE_COMMAND", "extra-usage", "1: the same for `/extra-usage`.";
    GITHUB_APP = "DISABLE_INSTALL_GITHUB_APP_COMMAND", "install-github-app", "1: the same for `/install-github-app`.";
}

/// The variable that switches off a command. One with an invalid value switches it off too: whoever sets it wants that.
pub fn switched_off_by(command: &str) -> Option<&'static str> {
    let (variable, _) = SWITCHES.iter().find(|(_, name)| *name == command)?;
    switch(variable, false).unwrap_or(true).then_some(variable.name)
}
