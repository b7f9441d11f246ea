//! One run under observation, and the change that it would take.

use std::time::Instant;

use super::error::LearnError;
use super::needs::{Needed, needed};
use super::shown::Shown;
use crate::base::bytes::replace_if;
use crate::base::diff::unified;
use crate::diagnostic::Failure;
use crate::host::{SANDBOX_FAILED, can_watch};
use crate::id::{Query, Ref};
use crate::parse::{Needs, declaration, declare};
use crate::plan::{Plan, SandboxChoice};
use crate::report::{Report, ToolReport};
use crate::resolve::Found;
use crate::rye::{Failed, Request, Rye};
use crate::trace::Sink;

/// How often a run is tried whose sandbox could not be made.
const TRIES: usize = 5;

/// The result of a run under observation.
#[derive(Debug)]
pub(crate) struct Learned {
    /// The run; `None` where an earlier look showed the same and nothing ran again.
    pub(crate) report: Option<Report>,
    pub(crate) item: Ref,
    pub(crate) found: Found,
    /// Its needs, by paths as an item names them.
    pub(crate) needs: Needs,
    /// Accesses that cannot be declared, or that are more than they look like.
    pub(crate) remarks: Vec<String>,
    /// The whole file as it would be, or why that cannot be written.
    pub(crate) text: Result<String, String>,
    pub(crate) unified: String,
    /// The block by itself, in the language of the file.
    pub(crate) block: String,
}

impl Learned {
    /// The run's status; what was shown before came of one that did well.
    pub(crate) fn exit_status(&self) -> u8 {
        self.report.as_ref().map_or(0, Report::exit_status)
    }
}

/// Runs the request once and watches it. What came of it is remembered: with `reuse` what the last
/// look showed is given back, as long as everything that would run is the same, and nothing runs.
///
/// # Errors
/// `learn.cannot_watch`, `learn.no_process`; those of a run.
pub(crate) fn learn(
    rye: &Rye,
    mut request: Request,
    reuse: bool,
    start: Instant,
    sink: &dyn Sink,
) -> Result<Learned, Failure> {
    can_watch().map_err(|source| LearnError::CannotWatch { source })?;
    request.sandbox = SandboxChoice::Learn;
    // Nothing is sent or handed over before it is known to be a process.
    let tried = rye.runs().run(&request.clone().dry_run(true), start, sink)?;
    let tool = match &tried {
        Report::Tool(tool) if tool.plan.serves_many_calls() => {
            return Err(LearnError::NoEnd { item: tool.item.clone() }.into());
        }
        Report::Tool(tool) if tool.plan.base_policy().is_some() => tool,
        Report::Tool(tool) => return Err(LearnError::NoProcess { item: tool.item.clone() }.into()),
        Report::Knowledge { item, .. } => {
            return Err(LearnError::NoProcess { item: item.clone() }.into());
        }
        Report::Thread(thread) => {
            return Err(LearnError::NoProcess { item: thread.item.clone() }.into());
        }
        Report::Detached(detached) => {
            return Err(LearnError::NoProcess { item: detached.item.clone() }.into());
        }
        Report::Directive(directive) => {
            return Err(LearnError::NoProcess { item: directive.item.clone() }.into());
        }
        Report::Remote(remote) => {
            return Err(LearnError::NoProcess { item: remote.item.clone() }.into());
        }
    };
    let (item, space) = (tool.item.clone(), tool.details.first().map(|detail| detail.space));
    // Before the run, so that what is changed is what ran.
    let found = rye.signing().find(&Query::from(item.clone()), space)?;
    let plan = tool.plan.digest_without_sandbox()?;
    let shown = Shown::of(rye, &found);
    if let Some(needed) = shown.as_ref().filter(|_| reuse).and_then(|shown| shown.read(&plan)) {
        return Ok(proposed(None, found, needed));
    }
    if let Some(shown) = &shown {
        shown.forget();
    }
    let report = watched(rye, &request, start, sink)?;
    let no_process = || LearnError::NoProcess { item: item.clone() };
    let Report::Tool(tool) = &report else { return Err(no_process().into()) };
    let needed = seen(tool).ok_or_else(no_process)?;
    let mut learned = proposed(Some(report), found, needed);
    if learned.exit_status() == 0 {
        let kept = shown.map(|shown| (shown.keep(&plan, &learned), shown));
        if let Some((Err(error), shown)) = kept {
            let at = shown.folder().display();
            let why = format!(
                "it cannot be remembered below `{at}` ({error}), so `--write` runs the tool again"
            );
            learned.remarks.push(why);
        }
    }
    Ok(learned)
}

/// Runs the tool once. Each entry of `/tmp` is granted by its name, and another process may remove
/// one before the sandbox is made: then nothing ran, and the run is tried again.
///
/// # Errors
/// Those of a run.
fn watched(
    rye: &Rye,
    request: &Request,
    start: Instant,
    sink: &dyn Sink,
) -> Result<Report, Failed> {
    let mut tries = 1;
    loop {
        match rye.runs().run(request, start, sink) {
            Err(failed) if failed.failure.reason() == SANDBOX_FAILED && tries < TRIES => tries += 1,
            came => return came,
        }
    }
}

/// The change that these needs make of a file.
fn proposed(report: Option<Report>, found: Found, needed: Needed) -> Learned {
    let Needed { needs, remarks } = needed;
    let (text, unified) = changed(&found, &needs);
    let block = declaration(&found.file_type.header, &needs);
    Learned { report, item: found.item.clone(), found, needs, remarks, text, unified, block }
}

fn seen(tool: &ToolReport) -> Option<Needed> {
    let ToolReport { plan, outcome, .. } = tool;
    let write = &Plan::confinement(plan)?.policy.write;
    let outcome = outcome.as_ref()?;
    let traffic = outcome.traffic.clone().unwrap_or_default();
    let base = plan.base_policy()?;
    let mut needed =
        needed(&outcome.accesses, &traffic, base, write, &|path| plan.as_template(path));
    needed.remarks.extend(service_instead(&base.secrets, &needed.needs.hosts));
    Some(needed)
}

/// A remark for a tool that has a secret and calls a host: the secret could stay with rye. TLS
/// hides what the tool sends, so the reader must know whether the secret is sent there.
fn service_instead(secrets: &[String], hosts: &[String]) -> Option<String> {
    let (secret, host) = (secrets.first()?, hosts.first()?);
    let others = if hosts.len() > 1 { " or another of these hosts" } else { "" };
    let variable = format!("{secret}_URL");
    Some(format!(
        "it holds `{secret}`; if that goes to `{host}`{others}, the tool need not see it: \
         `services: {{name: {{upstream: \"https://{host}\", secret: {secret}, allow: \
         [\"GET /**\"], env: {variable}}}}}`, and let it call what `{variable}` says"
    ))
}

fn changed(found: &Found, needs: &Needs) -> (Result<String, String>, String) {
    let text = std::str::from_utf8(&found.bytes).map_err(|_| "it is not UTF-8".to_owned());
    let text = text.and_then(|text| declare(text, &found.file_type.header, needs));
    let Ok(new) = &text else { return (text, String::new()) };
    let old = String::from_utf8_lossy(&found.bytes);
    let unified = unified(&found.place.path, ("on disk", &old), ("learned", new));
    (text, unified)
}

/// Puts the change into the file, whose signature no longer holds then.
///
/// # Errors
/// `learn.cannot_write`
pub(crate) fn put(learned: &Learned) -> Result<(), Failure> {
    let Learned { item, found, .. } = learned;
    let cannot = |why: String| {
        let (item, place) = (item.clone(), found.place.clone());
        Failure::from(LearnError::CannotWrite { item, place, why })
    };
    let text = learned.text.as_ref().map_err(|why| cannot(why.clone()))?;
    if found.embedded {
        return Err(cannot("it lies in the binary".into()));
    }
    match replace_if(&found.path, &found.bytes, text.as_bytes()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(cannot("it was saved in the meantime".into())),
        Err(error) => Err(cannot(error.to_string())),
    }
}
