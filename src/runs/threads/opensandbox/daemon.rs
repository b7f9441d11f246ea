//! The daemon in a sandbox, after its published description (execd API): commands, whose answer is
//! a stream of events, and files.
//!
//! Daemons differ in what they tell of output: lines without their ends, and other characters for
//! bytes that are no text. So what a command prints goes into files, which are fetched; of the
//! stream only the last word counts, which is rye's own.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Remote, Server, apart, is_plain, soon, with_body, with_json};
use crate::base::bytes::temporary_name;
use crate::host::{AnswerPart, NetFault};
use crate::parse::json as read_json;
use crate::thread::BackendFault;

/// Largest answer to a command, in bytes: a few words, and a sign of life now and then.
const EVENTS_BYTES: usize = 4 << 20;
/// The first word of the line that a script of rye ends with.
const MARK: &str = "rye ";

/// The stream of events of one command, as far as it came.
#[derive(Default)]
struct Events {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    line: Vec<u8>,
    /// By which the command is ended.
    id: Option<String>,
    /// The output of the script, or an answer that is no stream.
    said: String,
    /// Why it is none, or what the daemon says of the command.
    fault: Option<String>,
}

impl Events {
    fn is_good(&self) -> bool {
        (200..=299).contains(&self.status)
    }

    fn begin(&mut self, status: u16, headers: &[(String, Vec<u8>)]) {
        (self.status, self.headers) = (status, headers.to_vec());
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        let kind = kind.map_or(&b""[..], |(_, kind)| kind).to_ascii_lowercase();
        if self.is_good() && !kind.starts_with(b"text/event-stream") {
            self.fault = Some("its answer is not a stream of events".into());
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> ControlFlow<()> {
        if !self.is_good() || self.fault.is_some() {
            self.said.push_str(&String::from_utf8_lossy(bytes));
            return ControlFlow::Continue(());
        }
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            self.end_line()?;
        }
        self.line.extend_from_slice(bytes);
        ControlFlow::Continue(())
    }

    /// Each event is one line of JSON: alone, or as the field `data`.
    fn end_line(&mut self) -> ControlFlow<()> {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        let is_other = [&b":"[..], b"event:", b"id:", b"retry:"];
        if line.is_empty() || is_other.iter().any(|field| line.starts_with(field)) {
            return ControlFlow::Continue(());
        }
        let text = std::str::from_utf8(line.strip_prefix(b"data:").unwrap_or(line)).ok();
        let event = text.and_then(|text| read_json(text.trim()).ok()).filter(Value::is_object);
        let Some(event) = event else {
            self.fault = Some("an event is not JSON".into());
            return ControlFlow::Break(());
        };
        let text = event.get("text").and_then(Value::as_str);
        match event.get("type").and_then(Value::as_str) {
            Some("init") => self.id = text.filter(|id| is_plain(id)).map(str::to_owned),
            // Some daemons leave the end of a line out.
            Some("stdout") => self.said.extend([text.unwrap_or_default(), "\n"]),
            Some("error") => {
                let why = event.pointer("/error/evalue").and_then(Value::as_str);
                self.fault = why.map(|why| format!("it says `{why}`"));
                return ControlFlow::Break(());
            }
            Some("execution_complete") => return ControlFlow::Break(()),
            // Types may be added.
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// The words that the script ended with.
    fn words(&self) -> Option<Vec<String>> {
        let mut lines = self.said.lines().rev().filter(|_| self.is_good());
        let last = lines.find_map(|line| line.trim().strip_prefix(MARK))?;
        Some(last.split_whitespace().map(str::to_owned).collect())
    }
}

impl Server<'_> {
    /// Runs a script in a sandbox; gives the words that it ended with.
    pub(super) fn run(
        &self,
        remote: &Remote,
        script: &str,
        time: Duration,
    ) -> Result<Vec<String>, BackendFault> {
        let begin = Instant::now();
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let asked = json!({"command": script, "timeout": ms});
        let call = self.call(&remote.daemon, "POST", "/command", begin + time);
        let mut call = with_json(call, &asked);
        call.headers.push(("accept".into(), "text/event-stream".into()));
        call.body_cap = EVENTS_BYTES;
        let mut events = Events::default();
        let came = self.host.stream(&call, &mut |part| match part {
            AnswerPart::Head { status, headers } => {
                events.begin(status, headers);
                ControlFlow::Continue(())
            }
            AnswerPart::Body(bytes) => events.take(bytes),
        });
        if let Some(words) = events.words() {
            return Ok(words);
        }
        let is_late = begin.elapsed() >= time;
        if came.is_err() || is_late {
            self.stop(remote, &events);
        }
        Err(match came {
            Err(fault) => self.of_net(&fault, &remote.daemon),
            Ok(()) if !events.is_good() => {
                let said = events.said.as_bytes();
                self.of_status(events.status, &events.headers, said, &remote.daemon)
            }
            Ok(()) if is_late => self.of_net(&NetFault::TimedOut, &remote.daemon),
            Ok(()) => {
                let why = events.fault.unwrap_or_else(|| "it does not say how it ended".into());
                let why = remote.daemon.words(&why);
                self.os_error(&format!("gave no result of a command: {why}"))
            }
        })
    }

    /// Ends a command, which its daemon may go on with although it is not waited for any more.
    fn stop(&self, remote: &Remote, events: &Events) {
        let Some(id) = &events.id else { return };
        let path = format!("/command?id={id}");
        apart(|until| {
            let call = self.call(&remote.daemon, "DELETE", &path, until);
            let _ = self.answer(&remote.daemon, &call);
        });
    }

    /// Puts a file into a sandbox.
    pub(super) fn put(&self, remote: &Remote, path: &str, data: &[u8]) -> Result<(), BackendFault> {
        let boundary = temporary_name().map_err(|error| self.os_error(&error.to_string()))?;
        let about = json!({"path": path, "mode": 600}).to_string();
        let mut form = Vec::with_capacity(data.len() + 1_024);
        // Daemons know both parts as files alone.
        for (name, kind, bytes) in [
            ("metadata", "application/json", about.as_bytes()),
            ("file", "application/octet-stream", data),
        ] {
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; \
                 filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n"
            );
            for part in [head.as_bytes(), bytes, b"\r\n"] {
                form.extend_from_slice(part);
            }
        }
        form.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        let call = self.call(&remote.daemon, "POST", "/files/upload", soon());
        self.answer(&remote.daemon, &with_body(call, &kind, form)).map(drop)
    }

    /// The beginning of a file in a sandbox that has `size` bytes.
    pub(super) fn get(
        &self,
        remote: &Remote,
        path: &str,
        size: u64,
        most: usize,
    ) -> Result<Vec<u8>, BackendFault> {
        let want = usize::try_from(size).unwrap_or(usize::MAX).min(most);
        if want == 0 {
            return Ok(Vec::new());
        }
        let path = format!("/files/download?path={path}");
        let mut call = self.call(&remote.daemon, "GET", &path, soon());
        call.headers.push(("range".into(), format!("bytes=0-{}", want - 1)));
        call.body_cap = want;
        let body = self.answer(&remote.daemon, &call)?.body;
        match body.len() == want {
            // Its server has the key, and may show it.
            true => Ok(self.own.bytes(&body, size > want as u64)),
            false => {
                let got = body.len();
                Err(self.os_error(&format!("gave {got} bytes of a file in place of {want}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn the_last_word_of_a_script_is_found_however_a_daemon_tells_of_it() {
        let init = "{\"type\":\"init\",\"text\":\"c-1\"}\n\n";
        let said = |text: &str| format!("{{\"type\":\"stdout\",\"text\":\"{text}\"}}\n\n");
        let over = "{\"type\":\"execution_complete\"}\n\n";
        let died = "{\"type\":\"error\",\"error\":{\"evalue\":\"-1\",\"traceback\":null}}\n\n";
        let fields =
            format!("event: x\r\nid: 7\r\ndata: {}\r\n: ping\r\n", said("rye end 3 0 0").trim());
        for (stream, want) in [
            (format!("{init}{}{over}", said("rye end 3 0 0")), Some("end 3 0 0")),
            (format!("{init}{}{died}", said("rye end 3 0 0\\n")), Some("end 3 0 0")),
            (format!("{init}{}{}", said("rye none"), said("rye end 3 0 0")), Some("end 3 0 0")),
            (format!("{fields}{init}"), Some("end 3 0 0")),
            (format!("{init}{{\"type\":\"new\"}}\n{}", said("no word")), None),
            (format!("{init}{over}{}", said("rye end 3 0 0")), None),
            (format!("{init}nonsense\n{}", said("rye end 3 0 0")), None),
        ] {
            for size in [1, 7, 4096] {
                let mut events = Events::default();
                events.begin(200, &[("content-type".into(), b"Text/Event-Stream".to_vec())]);
                let mut pieces = stream.as_bytes().chunks(size);
                while pieces.next().is_some_and(|piece| events.take(piece).is_continue()) {}
                let words = events.words().map(|words| words.join(" "));
                assert_eq!(words.as_deref(), want, "{size} {stream}");
                assert_eq!(events.id.as_deref(), Some("c-1"));
            }
        }
    }
}
