//! Threads whose process is gone: what they held is given back (threads 2).

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::threads::{ThreadRow, rows_of, with_those_above};

/// Takes note of threads whose process is gone: they were killed, with all threads below them, and
/// hold nothing any more, neither for themselves nor for those above. Says whether there were any.
pub(super) fn reap_threads(step: &Connection) -> rusqlite::Result<bool> {
    let running = rows_of(step, "WHERE status = 'running'")?;
    let left = running.iter().filter(|row| row.is_left()).map(|row| row.id.as_str());
    let mut dead: BTreeSet<String> = left.map(str::to_owned).collect();
    if dead.is_empty() {
        return Ok(false);
    }
    let chains = running.iter().map(|row| with_those_above(step, &row.id));
    let chains: Vec<Vec<ThreadRow>> = chains.collect::<Result<_, _>>()?;
    let is_below = |chain: &&Vec<ThreadRow>| chain.iter().any(|above| dead.contains(&above.id));
    let all: Vec<&Vec<ThreadRow>> = chains.iter().filter(is_below).collect();
    dead.extend(all.iter().map(|chain| chain[0].id.clone()));
    for chain in &all {
        let held = chain[0].held;
        // What is held below a thread is part of what it holds itself, so a dead one above gives
        // back the rest.
        for above in chain[1..].iter().take_while(|above| !dead.contains(&above.id)) {
            step.execute(
                "UPDATE thread SET held_turns = held_turns - ?2, held_tokens = held_tokens - ?3,
                 held_spend = held_spend - ?4 WHERE id = ?1",
                params![above.id, held.turns, held.tokens, held.spend],
            )?;
        }
    }
    for id in &dead {
        step.execute(
            "UPDATE thread SET status = 'killed', held_turns = 0, held_tokens = 0, held_spend = 0,
             ended_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = ?1",
            [id],
        )?;
    }
    Ok(true)
}
