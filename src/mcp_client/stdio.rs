//! A server that is a child: one message a line on its standard streams.

use std::time::Instant;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::session::{Carrier, Lost, Talk};
use super::wire::{Heard, bad, heard};
use crate::base::limits::MCP_ANSWER_BYTES;
use crate::base::lines::{FramedLine, Framer};
use crate::base::text::brief_line;
use crate::exec_protocol::StderrLog;
use crate::execute::{McpFault, RunFolders};
use crate::host::{IoRound, PersistentChild, Traffic};

/// Most bytes that wait to be written to an MCP server beside a call: answers to what it asks.
const MCP_REPLY_BYTES: usize = 1 << 20;

/// Looks at what came between two calls, each at what a pipe holds.
const DRAIN_TURNS: usize = 16;

/// Lines that are no messages and are told of, beside those in the log.
const PASSED_OVER: usize = 5;

pub(super) struct StdioCarrier {
    child: PersistentChild,
    folders: RunFolders,
    framer: Framer,
    stderr_log: StderrLog,
    list_changed: bool,
    is_over: bool,
    /// Lines that are no messages.
    passed_over: Vec<String>,
}

impl StdioCarrier {
    pub(super) fn new(child: PersistentChild, folders: RunFolders) -> Self {
        let stderr_log = StderrLog::new(folders.authors_paths());
        let framer = Framer::new(MCP_ANSWER_BYTES);
        let (list_changed, is_over, passed_over) = (false, false, Vec::new());
        Self { child, folders, framer, stderr_log, list_changed, is_over, passed_over }
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

    /// Takes the lines that are there, until the answer to `id`. One that is no message is passed
    /// over, as most clients do: servers print words there, and objects of their own.
    fn take(
        &mut self,
        id: u64,
        out: &mut Vec<u8>,
        talk: &Talk<'_>,
    ) -> Result<Option<Map<String, Value>>, McpFault> {
        while let Some(line) = self.framer.next_line() {
            let line = match line {
                FramedLine::Whole(line) => line,
                FramedLine::TooLong => {
                    return Err(bad(format!("a message has more than {MCP_ANSWER_BYTES} bytes")));
                }
            };
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
            if !is_message(line) {
                if !line.is_empty() {
                    self.stderr_log.take(talk.item, &[line, b"\n"].concat(), talk.mask);
                }
                if !line.is_empty() && self.passed_over.len() < PASSED_OVER {
                    self.passed_over.push(String::from_utf8_lossy(line).into_owned());
                }
                continue;
            }
            let text = std::str::from_utf8(line).map_err(|_| bad("it is not UTF-8"))?;
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

/// Says if a line is a message, also one that is spoilt: it begins an object and, if that is no
/// JSON, names the protocol.
fn is_message(line: &[u8]) -> bool {
    let names = || memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
    line.starts_with(b"{") && (names() || serde_json::from_slice::<IgnoredAny>(line).is_ok())
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
            if let Some(answer) = self.take(id, &mut out, talk)? {
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
            self.take(0, &mut out, talk)?;
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

    fn passed_over(&mut self, talk: &Talk<'_>) -> Vec<String> {
        self.passed_over.drain(..).map(|line| brief_line(&talk.mask.words(&line))).collect()
    }

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
