//! Where other programs' credentials are, if variables have moved them: the sandbox hides them there too.

use std::path::PathBuf;

use super::Variable;

/// Says what the sandbox does with it.
const HIDDEN: &str = "Commands in the sandbox do not see what it names.";

const fn place(name: &'static str) -> Variable {
    Variable { name, default: "unset", meaning: HIDDEN }
}

const KUBECONFIG: Variable = place("KUBECONFIG");
const GNUPG: Variable = place("GNUPGHOME");
const AWS_CREDENTIALS: Variable = place("AWS_SHARED_CREDENTIALS_FILE");
const AWS_CONFIG: Variable = place("AWS_CONFIG_FILE");
const AZURE: Variable = place("AZURE_CONFIG_DIR");
const GCLOUD: Variable = place("CLOUDSDK_CONFIG");
const GOOGLE: Variable = place("GOOGLE_APPLICATION_CREDENTIALS");
const DOCKER: Variable = place("DOCKER_CONFIG");
const CONTAINERS: Variable = place("REGISTRY_AUTH_FILE");
const GH: Variable = place("GH_CONFIG_DIR");
const NETRC: Variable = place("NETRC");
const PGPASS: Variable = place("PGPASSFILE");
const PASSWORD_STORE: Variable = place("PASSWORD_STORE_DIR");

/// Read by ona.
pub(super) const READ: &[&Variable] = &[
    &KUBECONFIG,
    &GNUPG,
    &AWS_CREDENTIALS,
    &AWS_CONFIG,
    &AZURE,
    &GCLOUD,
    &GOOGLE,
    &DOCKER,
    &CONTAINERS,
    &GH,
    &NETRC,
    &PGPASS,
    &PASSWORD_STORE,
];

/// Directories below `XDG_CONFIG_HOME` with credentials.
const BELOW_CONFIG: [&str; 6] =
    ["gh", "glab-cli", "gcloud", "git/credentials", "containers/auth.json", "ona"];

/// The places that the variables name. Some are lists.
pub(super) fn moved() -> Vec<PathBuf> {
    let values = READ.iter().filter_map(|variable| std::env::var_os(variable.name));
    let named = values.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
    let config = super::path(&super::CONFIG_HOME);
    let below = config.iter().flat_map(|dir| BELOW_CONFIG.iter().map(|name| dir.join(name)));
    named.chain(below).filter(|path| path.is_absolute()).collect()
}
