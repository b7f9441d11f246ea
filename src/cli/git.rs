//! `rye git`: checks what is staged, and merges signed files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::git::{
    GitError, Merged, PlaceState, Repository, Row, SetupAction, Sides, Weight, check, merge,
    projects, set_up,
};
use crate::lock::LaterRow;
use crate::space::FileTypes;

/// Check what is staged before each commit, and merge signed files
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Set up the check before a commit, the merge driver and its attribute, here
    ///
    /// A hook that is there already is kept, with the check before it. Files of `.ai` whose line
    /// ends git changed get back those that were signed.
    Install,
    /// Take out what `install` put there
    Uninstall,
    /// Say what is set up
    Status,
    /// Check what is staged: unsigned or altered items, invisible text, a lock that says otherwise
    ///
    /// The staged bytes are judged, not the files in the folder. The hooks call this.
    Check,
    /// Merge three versions of a file; git calls this
    #[command(hide = true)]
    Merge(Merge),
}

/// The arguments that git gives for `%O %A %B %L %P`.
#[derive(clap::Args)]
struct Merge {
    base: PathBuf,
    ours: PathBuf,
    theirs: PathBuf,
    marker: u32,
    #[arg(allow_hyphen_values = true)]
    path: String,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Install => places(SetupAction::In, context, out),
        Verb::Uninstall => places(SetupAction::Out, context, out),
        Verb::Status => places(SetupAction::Look, context, out),
        Verb::Check => staged(context, out),
        Verb::Merge(args) => Ok(drive(args, context, out)),
    }
}

fn places(wanted: SetupAction, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let project = rye.spaces().project_path();
    let repository = Repository::discover(project)?;
    let program = std::env::current_exe().unwrap_or_else(|_| "rye".into());
    let rows = set_up(&repository, project, &program, wanted)?;
    let kept: Vec<PathBuf> = rows
        .iter()
        .filter(|row| row.state == PlaceState::Kept && wanted != SetupAction::Look)
        .map(|row| row.path.clone())
        .collect();
    if out.is_json() && kept.is_empty() {
        let rows: Vec<Value> = rows.iter().map(to_json).collect();
        out.success(json!({"places": rows}));
        return Ok(Exit::DONE);
    }
    if !out.is_json() {
        for row in &rows {
            show(row, out);
        }
    }
    if wanted == SetupAction::In && kept.is_empty() && !out.is_json() {
        out.line("\neach commit is checked from here on; `.gitattributes` is for the others too: commit it");
        if super::trust::is_unproposed(&rye) {
            out.line("others who run what you sign here need your key: `rye trust propose`");
        }
    }
    match kept.is_empty() {
        true => Ok(Exit::DONE),
        false => Err(GitError::ForeignFile { files: kept }.into()),
    }
}

fn word(state: PlaceState) -> &'static str {
    match state {
        PlaceState::Added => "added",
        PlaceState::Updated => "updated",
        PlaceState::Removed => "removed",
        PlaceState::There => "there",
        PlaceState::Outdated => "outdated",
        PlaceState::Absent => "absent",
        PlaceState::Kept => "kept",
    }
}

fn show(row: &Row, out: &mut Out) {
    let style = match row.state {
        PlaceState::Kept | PlaceState::Outdated => Style::Warning,
        PlaceState::Absent => Style::Dim,
        _ => Style::Good,
    };
    let state = out.paint().style(style, &format!("{:8}", word(row.state)));
    let path = escape_line(&row.path.display().to_string());
    let why = row.why.map(|why| format!("  ({why})")).unwrap_or_default();
    out.line(&format!("{state}  {:16}  {path}{why}", row.what));
}

fn to_json(row: &Row) -> Value {
    json!({"what": row.what, "path": row.path.display().to_string(), "state": row.state, "why": row.why})
}

fn staged(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let folder = match &context.common.project {
        Some(project) => project.clone(),
        None => std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
    };
    let repository = Repository::discover(&folder)?;
    let here = folder.canonicalize().unwrap_or(folder);
    let here = here.ancestors().find(|folder| folder.join(".ai").is_dir()).unwrap_or(&here);
    let projects = projects(&repository, here)?;
    for prefix in &projects.passed_over {
        if out.is_json() {
            break;
        }
        let prefix = escape_line(prefix);
        out.note(&format!(
            "not checked: `{prefix}.ai`; `rye git install` in `{prefix}` has it checked"
        ));
    }
    let (mut files, mut refused) = (0, 0);
    let mut rows = Vec::new();
    for prefix in &projects.judged {
        let builder = context.builder().project(repository.top().join(prefix));
        let found = check(&repository, prefix, builder)?;
        files += found.files;
        for finding in found.findings {
            let diagnostic = finding.diagnostic;
            let is_refused = finding.weight == Weight::Refused;
            if is_refused {
                refused += 1;
            }
            if out.is_json() {
                let mut row = diagnostic.to_json();
                row.insert("refused".into(), is_refused.into());
                rows.push(Value::Object(row));
            } else if is_refused {
                out.note(diagnostic.to_text(out.paint_err()).trim_end());
            } else {
                let code = diagnostic.code;
                out.warn(&format!("{}  ({code})", escape_line(&diagnostic.message)));
            }
        }
    }
    let counts = json!({
        "files": files, "refused": refused, "findings": rows, "not_checked": projects.passed_over,
    });
    let error = match (refused, out.is_json()) {
        (0, true) => {
            out.success(counts);
            return Ok(Exit::DONE);
        }
        (0, false) => return Ok(Exit::DONE),
        (_, false) => return Err(GitError::Refused(refused).into()),
        (_, true) => Diagnostic::from(&GitError::Refused(refused)),
    };
    let mut fields = error.to_json();
    fields.insert("status".into(), "error".into());
    fields.extend(counts.as_object().cloned().unwrap_or_default());
    out.object(&Value::Object(fields));
    Ok(Exit::Status(error.code.exit_status()))
}

/// The status that git expects: 0 if the merge is clean, else 1.
fn drive(args: &Merge, context: &Context, out: &mut Out) -> Exit {
    let sides = Sides {
        base: &args.base,
        ours: &args.ours,
        theirs: &args.theirs,
        marker: args.marker,
        path: &args.path,
    };
    // A refused folder has signed files as well; the built-in types suffice for most of them.
    let types = context.rye().map_or_else(|_| FileTypes::default(), |rye| rye.types.clone());
    let merged = match merge(&sides, &types) {
        Ok(merged) => merged,
        Err(error) => {
            // Git takes any other status for a broken driver and stops the whole merge.
            out.fail(&error.into());
            return Exit::Status(1);
        }
    };
    match merged {
        Merged::Kept | Merged::Plain { conflicts: 0 } => Exit::DONE,
        Merged::Lock { later, gone } => {
            for row in gone {
                out.note(&format!(
                    "rye: one side took `{row}` out of the lock, and so does the merge: see \
                     `rye lock --check`"
                ));
            }
            for LaterRow { name, signer } in later {
                let by = signer.map(|key| format!(", signed by {}", key.short()));
                let by = by.unwrap_or_default();
                out.note(&format!(
                    "rye: both sides signed `{name}` again; the lock keeps the later one{by}: see \
                     `rye lock --check`"
                ));
            }
            Exit::DONE
        }
        Merged::Plain { .. } => Exit::Status(1),
        Merged::Unsigned { item, conflicts } => {
            let path = escape_line(&args.path);
            let first = match conflicts {
                0 => "look at it".to_owned(),
                1 => "resolve the conflict".to_owned(),
                many => format!("resolve the {many} conflicts"),
            };
            out.note(&format!(
                "rye: `{path}` is another text than either side signed: {first}, then run \
                 `rye sign {item}` and `git add {path}`"
            ));
            Exit::Status(1)
        }
    }
}
