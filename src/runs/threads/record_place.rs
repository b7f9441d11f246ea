//! Where the record of a thread lies: where it was written, or in the project that was moved since.

use std::path::Path;

use super::{Threads, missing, read};
use crate::diagnostic::Failure;
use crate::id::Space;
use crate::registry::{RunState, ThreadRow};
use crate::thread::{
    CheckedRecord, RecordFinding, ThreadError, ThreadId, check_record, transcript,
};

/// A thread with the folder of its record as that lies now. Where it lies no more where it was
/// written, a record in the present project is taken for it if it holds, and is the newest that
/// the registry knows; or if nothing of it was signed yet, as then nothing in it is used.
///
/// # Errors
/// `thread.record_invalid` and those of its kind where another record lies there,
/// `thread.record_io`
pub(super) fn placed(
    threads: Threads<'_>,
    mut row: ThreadRow,
    id: &ThreadId,
) -> Result<ThreadRow, Failure> {
    let is_in = |base: &Path| transcript(base, id).symlink_metadata().is_ok();
    let project = threads.rye.spaces().get(Space::Project).map(|root| root.base().to_owned());
    let here = project.filter(|here| !is_in(Path::new(&row.base)) && is_in(here));
    let Some(here) = here else { return Ok(row) };
    let (_, bytes) = read(&here, id)?;
    let checked = check_record(&bytes, id, &|key| threads.key(key));
    match finding(&checked, Some(&row)) {
        None => {}
        Some(RecordFinding::Unsigned) if row.checkpoint.is_none() => {}
        Some(finding) => {
            return Err(ThreadError::RecordInvalid { id: id.clone(), finding }.into());
        }
    }
    row.run.base = here.to_string_lossy().into_owned();
    Ok(row)
}

/// The first fault of a record, by itself and by what the registry knows.
pub(super) fn finding(checked: &CheckedRecord, row: Option<&ThreadRow>) -> Option<RecordFinding> {
    let can_start_over =
        row.is_some_and(|row| row.began.is_some() && row.state != RunState::Running);
    match checked.is_unsigned() && can_start_over {
        true => Some(RecordFinding::Unsigned),
        false => checked.finding.clone().or_else(|| missing(checked, row)),
    }
}
