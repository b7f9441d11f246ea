//! `rye man`: manual pages, made from the help.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::bytes::write_atomic;
use crate::diagnostic::{EXIT_STATUSES, Failure};

/// Print the manual page of rye, or write one for each verb into a folder
///
/// To read one: `rye man | man -l -`. To install them: `rye man ~/.local/share/man/man1`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The folder to write `rye.1`, `rye-execute.1` and the others into; it is made if it is not
    /// there
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &Args, _: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let mut top = super::command().disable_help_subcommand(true);
    top.build();
    let Some(folder) = &args.folder else {
        let page = page(&top, "rye")?;
        match out.is_json() {
            true => out.success(json!({"page": page})),
            false => out.exact(&page),
        }
        return Ok(Exit::DONE);
    };
    let failed = |source| CliError::InputFile { path: folder.display().to_string(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut written = Vec::new();
    let mut todo = vec![("rye".to_owned(), top)];
    while let Some((name, command)) = todo.pop() {
        let path = folder.join(format!("{name}.1"));
        write_atomic(&path, page(&command, &name)?.as_bytes(), 0o644).map_err(failed)?;
        written.push(format!("{name}.1"));
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs = verbs.filter(|verb| verb.get_name() != "help");
        todo.extend(verbs.map(|verb| (format!("{name}-{}", verb.get_name()), verb.clone())));
    }
    written.sort();
    match out.is_json() {
        true => out.success(json!({"folder": folder, "pages": written})),
        false => out.line(&format!("{} pages in {}", written.len(), folder.display())),
    }
    Ok(Exit::DONE)
}

fn page(command: &Command, name: &str) -> Result<String, Failure> {
    let mut page = Vec::new();
    // The grammar is built from the top, so each verb knows its full name.
    let command = command.clone();
    let manual = format!("rye {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).title(name.to_uppercase()).manual("rye").source(manual).date("");
    man.render(&mut page)
        .map_err(|source| CliError::InputFile { path: name.to_owned(), source })?;
    let page = String::from_utf8_lossy(&page).into_owned();
    // The date is empty, because a date would make each build differ. It needs its quotes, or the
    // next argument would be taken for the date.
    let page = page.replacen(" 1  \"", " 1 \"\" \"", 1);
    let statuses =
        EXIT_STATUSES.iter().map(|(status, meaning)| format!(".TP\n{status}\n{meaning}\n"));
    let statuses: String = statuses.collect();
    Ok(format!("{}\n.SH \"EXIT STATUS\"\n{statuses}{SEE_ALSO}", page.trim_end()))
}

const SEE_ALSO: &str = r#".SH "SEE ALSO"
\fBrye explain\fR prints the page of any error code, \fBrye fetch knowledge:rye/overview\fR the
overview.
"#;
