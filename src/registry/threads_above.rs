//! Which threads a process was started by, and what each of them may reach.

use rusqlite::{Connection, OptionalExtension};

use super::db::Registry;
use super::error::RegistryError;
use super::requests::approver;
use super::thread_row::{ThreadRow, rows_of};

/// A thread that runs above a process.
#[derive(Debug)]
pub(crate) struct ThreadAbove {
    pub(crate) row: ThreadRow,
    /// The items that it may reach, as they were written down when it began.
    pub(crate) grants: Option<String>,
}

impl ThreadAbove {
    /// The running threads with one of these ids, and those that run in one of these processes,
    /// each named by its number and its start, the nearest first.
    ///
    /// The first process is the one that asks, whose own threads do not count. Behind a process of
    /// a detached run nothing counts but by its id: only what is not below a run starts one.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn all(
        registry: &Registry,
        processes: &[(u32, u64)],
        ids: &[String],
    ) -> Result<Vec<Self>, RegistryError> {
        let found = || -> rusqlite::Result<Vec<Self>> {
            let db = &registry.db;
            let mut rows = rows_of(db, "AND state = 'running'")?;
            rows.retain(|row| !row.is_left(db));
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            let detached = detached_processes(db)?;
            let bound = processes.iter().position(|process| detached.contains(process));
            let counts = bound.map_or(processes, |bound| &processes[..=bound]);
            let above = counts.get(1..).unwrap_or_default();
            rows.retain(|row| {
                ids.contains(&row.id) || above.iter().any(|process| row.is_in(*process))
            });
            rows.into_iter()
                .map(|row| {
                    let sql = "SELECT grants FROM thread WHERE run = ?1";
                    let grants = db.query_row(sql, [&row.id], |row| row.get(0)).optional()?;
                    Ok(Self { row, grants })
                })
                .collect()
        };
        found().map_err(|error| registry.fail(error))
    }

    /// The threads of snippets that one of these processes goes on with, since a person approved
    /// them. The first process is the one that asks, which knows its own.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn of_snippets(
        registry: &Registry,
        processes: &[(u32, u64)],
    ) -> Result<Vec<String>, RegistryError> {
        let above = processes.get(1..).unwrap_or_default();
        let found = || -> rusqlite::Result<Vec<String>> {
            let db = &registry.db;
            let mut query = db.prepare(
                "SELECT iif(json_valid(snippet), snippet ->> '$.thread', NULL),
                 approver_pid, approver_start, approver_place FROM request
                 WHERE snippet IS NOT NULL AND state = 'approved' AND approver_pid IS NOT NULL",
            )?;
            let rows = query
                .query_map([], |row| Ok((row.get::<_, Option<String>>(0)?, approver(row, 1)?)))?;
            let mut threads = Vec::new();
            for row in rows {
                let (thread, by) = row?;
                if by.is_some_and(|by| above.contains(&(by.pid, by.start))) {
                    threads.extend(thread);
                }
            }
            Ok(threads)
        };
        found().map_err(|error| registry.fail(error))
    }
}

/// The processes of detached runs.
fn detached_processes(db: &Connection) -> rusqlite::Result<Vec<(u32, u64)>> {
    let mut query = db.prepare(
        "SELECT pid, start FROM run WHERE pid IS NOT NULL AND start IS NOT NULL
         AND places IS NOT NULL",
    )?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
