//! The processes that start what waits for a place, each in one environment (remote 1).

use rusqlite::{Connection, params};

use super::alive;
use super::detached::{DetachedRuns, process};
use super::error::RegistryError;
use super::process_id::{ProcessId, place_of};

impl DetachedRuns<'_> {
    /// This process starts the runs that wait with this launcher; false if there is none.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn claim_launcher(&mut self, id: &str) -> Result<bool, RegistryError> {
        let (own, is_new) = alive::hold_new(&self.registry.path, id);
        let claimed = self.registry.in_one_step(|step| {
            let changed = step.execute(
                "UPDATE launcher SET pid = ?2, start = ?3, place = ?4 WHERE id = ?1",
                params![id, own.map(|own| own.pid), own.map(|own| own.start), place_of(own)],
            )?;
            Ok(changed == 1)
        });
        if is_new && !matches!(claimed, Ok(true)) {
            alive::release(&self.registry.path, id);
        }
        claimed
    }

    /// Ends a launcher; false if a run waits for it.
    ///
    /// # Errors
    /// `registry.io`
    pub(crate) fn end_launcher(&mut self, id: &str) -> Result<bool, RegistryError> {
        self.registry
            .in_one_step(|step| {
                let sql = "SELECT count(*) FROM detached WHERE state = 'created' AND launcher = ?1";
                let waiting: u64 = step.query_row(sql, [id], |row| row.get(0))?;
                if waiting == 0 {
                    step.execute("DELETE FROM launcher WHERE id = ?1", [id])?;
                }
                Ok(waiting == 0)
            })
            .inspect(|has_ended| {
                if *has_ended {
                    alive::release(&self.registry.path, id);
                }
            })
    }
}

/// A process that starts the runs that wait, in one environment.
pub(super) struct Launcher {
    pub(super) id: String,
    pub(super) key: String,
    pub(super) env: String,
    pub(super) process: Option<ProcessId>,
}

pub(super) fn launchers(db: &Connection) -> rusqlite::Result<Vec<Launcher>> {
    let mut query = db.prepare("SELECT id, key, env, pid, start, place FROM launcher")?;
    let rows = query.query_map([], |row| {
        let (id, key, env) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Launcher { id, key, env, process: process(row, 3)? })
    })?;
    rows.collect()
}
