//! The operator's browser.

use std::ffi::OsString;
use std::path::Path;

use crate::CliError;
use crate::env::oauth::browser;

/// Opens an address in $BROWSER, else by xdg-open. Where there is none, somebody opens it elsewhere.
pub fn open(url: &str) -> Result<(), CliError> {
    let browser = browser()?.unwrap_or_else(|| "xdg-open".to_owned());
    let mut words = browser.split_whitespace();
    let program = words.next().unwrap_or("xdg-open");
    let mut args: Vec<OsString> = words.map(|word| word.replace("%s", url).into()).collect();
    if !browser.contains("%s") {
        args.push(url.into());
    }
    let _ = ona_sandbox::start_detached(Path::new(program), &args, Path::new("/"), &[], b"");
    Ok(())
}
