//! `/trust`: how far the files of this folder are trusted.

use ona_config::settings::{self, Loaded};
use ona_config::trust::{TrustItem, Trusted};
use ona_extensions::trust_request;
use ona_types::trust::{TrustRecord as _, TrustedContent};

use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

pub(super) fn trust<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let roots = desk.session.gate.governance.roots();
    let config = &desk.engine.core.config;
    let Loaded { layers, .. } = settings::load(roots, &config.given);
    let request = trust_request(roots, &layers, !config.skills_off);
    let name = request.name();
    let kept = desk.store().trusted(&name)?;
    let with_this_run = desk.engine.core.trusted(&name)?;
    let mut text = request.root.display().to_string();
    if request.files.is_empty() {
        text.push_str("\nnothing in it needs trust");
        return Ok(Act::plain(text));
    }
    let of_the_record = request.files_with_trust(&kept);
    let mut waits = false;
    for ((file, by_record), (_, now)) in of_the_record.zip(request.files_with_trust(&with_this_run))
    {
        waits |= now != Trusted::Everything;
        text.push_str(&format!("\n{}: {}", file.place, how(file, by_record, now, &kept)));
        let what = request.told(&file.runs).into_iter().chain(request.told_also(&file.permits));
        text.extend(what.map(|what| format!("\n  {what}")));
    }
    if waits {
        text.push_str("\n`ona trust` trusts all of it as it is now");
    } else if !kept.is_empty() {
        text.push_str("\n`ona untrust` takes the trust back");
    }
    Ok(Act::plain(text))
}

/// How far a file is trusted, and since when.
fn how(file: &TrustItem, by_record: Trusted, now: Trusted, kept: &[TrustedContent]) -> String {
    if now != by_record {
        return "trusted for this run, by --trust".to_owned();
    }
    let since = kept.iter().filter(|content| content.place == file.place);
    let since = since.map(|content| content.trusted_at.as_str()).max().unwrap_or_default();
    match now {
        Trusted::Everything => format!("trusted, {since}"),
        Trusted::WhatRuns => "trusted in what it runs, not yet in what it permits".to_owned(),
        Trusted::Nothing if since.is_empty() => "not trusted".to_owned(),
        Trusted::Nothing => format!("not trusted: changed since {since}"),
    }
}
