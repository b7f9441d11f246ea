//! A server that is a child: one message a line on its standard streams.

use std::time::Instant;

use serde_json::{Map, Value};

use super::session::{Carrier, Lost, Talk};
use super::wire::{Heard, bad, heard};
use crate::base::limits::{MCP_ANSWER_BYTES, MCP_REPLY_BYTES};
use crate::base::lines::{FramedLine, Framer};
use crate::exec_protocol::StderrLog;
use crate::execute::{McpFault, RunFolders};
use crate::host::{IoRound, PersistentChild, Traffic};

/// Looks at what came between two calls, each at what a pipe holds.
const DRAIN_TURNS: usize = 16;

pub(super) struct StdioCarrier {
    child: PersistentChild,
    folders: RunFolders,
    framer: Framer,
    stderr_log: StderrLog,
    list_changed: bool,
    is_over: bool,
}

impl StdioCarrier {
    pub(super) fn new(child: PersistentChild, folders: RunFolders) -> Self {
        let stderr_log = StderrLog::new(folders.authors_paths());
        let framer = Framer::new(MCP_ANSWER_BYTES);
        Self { child, folders, framer, stderr_log, list_changed: false, is_over: false }
    }

    /// One turn of the pipes.
    fn turn(&mut self, out: &mut Vec<u8>, until: Instant, talk: &Talk<'_>) -> Result<bool, Lost> {
        let turn = self.child.turn(out, until, Some(talk.signals));
        let turn = turn.unwrap_or_else(|_| IoRound { is_over: true, ..IoRound::default() });
        self.stderr_log.take(talk.item, &turn.stderr, talk.mask);
        self.framer.push(&turn.stdout);
        self.is_over |= turn.is_over;
        match turn.signal {
            Some(signal) => Err(Lost::Interrupted(signal)),
            None => Ok(turn.stdout.is_empty() && turn.stderr.is_empty()),
        }
    }

    /// Takes the lines that are there, until the answer to `id`.
    fn take(&mut self, id: u64, out: &mut Vec<u8>) -> Result<Option<Map<String, Value>>, McpFault> {
        while let Some(line) = self.framer.next_line() {
            let line = match line {
                FramedLine::Whole(line) => line,
                FramedLine::TooLong => {
                    return Err(bad(format!("a message has more than {MCP_ANSWER_BYTES} bytes")));
                }
            };
            let text = std::str::from_utf8(line).map_err(|_| bad("it is not UTF-8"))?;
            if text.trim().is_empty() {
                continue;
            }
            match heard(text, id)? {
                Heard::Answer(answer) => return Ok(Some(answer)),
                Heard::ListChanged => self.list_changed = true,
                Heard::Asked(reply) if out.len() < MCP_REPLY_BYTES => {
                    out.extend_from_slice(format!("{reply}\n").as_bytes());
                }
                Heard::Asked(_) => return Err(bad("it asks more than it hears answers to")),
                Heard::Nothing => {}
            }
        }
        Ok(None)
    }
}

fn ended() -> Lost {
    McpFault::ServerFailed { why: "it ended before it answered".into() }.into()
}

impl Carrier for StdioCarrier {
    fn ask(
        &mut self,
        message: &Value,
        id: u64,
        talk: &Talk<'_>,
    ) -> Result<Map<String, Value>, Lost> {
        let mut out = format!("{message}\n").into_bytes();
        loop {
            if let Some(answer) = self.take(id, &mut out)? {
                return Ok(answer);
            }
            if self.is_over {
                return Err(ended());
            }
            if Instant::now() >= talk.until {
                return Err(Lost::TimedOut);
            }
            self.turn(&mut out, talk.until, talk)?;
        }
    }

    fn tell(&mut self, message: &Value, talk: &Talk<'_>) -> Result<(), Lost> {
        let mut out = format!("{message}\n").into_bytes();
        while !out.is_empty() {
            if self.is_over {
                return Err(ended());
            }
            if Instant::now() >= talk.until {
                return Err(Lost::TimedOut);
            }
            // Written at once where the pipe takes it; what comes meanwhile is kept for later.
            let soon = Instant::now() + std::time::Duration::from_millis(5);
            self.turn(&mut out, soon.min(talk.until), talk)?;
        }
        Ok(())
    }

    fn list_changed(&mut self, talk: &Talk<'_>) -> Result<bool, Lost> {
        let mut out = Vec::new();
        for _ in 0..DRAIN_TURNS {
            let is_silent = self.turn(&mut out, Instant::now(), talk)?;
            // No call waits, so no answer is one's.
            self.take(0, &mut out)?;
            if self.is_over {
                return Err(ended());
            }
            if is_silent && out.is_empty() {
                break;
            }
        }
        Ok(self.changed_meanwhile())
    }

    fn changed_meanwhile(&mut self) -> bool {
        std::mem::take(&mut self.list_changed)
    }

    fn agreed(&mut self, _: &str) {}

    fn tail(&mut self, talk: &Talk<'_>) -> String {
        self.stderr_log.tail(talk.item, talk.mask, false)
    }

    fn take_traffic(&self) -> Option<Traffic> {
        self.child.take_traffic()
    }

    fn end(self: Box<Self>) -> Option<(PersistentChild, RunFolders)> {
        Some((self.child, self.folders))
    }
}
