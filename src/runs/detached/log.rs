//! The output of a detached tool, kept in a file of its owner alone (remote 1).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use crate::base::sync::unpoisoned;
use crate::id::Ref;
use crate::thread::{is_uuid, new_output_log, output_log};
use crate::trace::{Event, OutputPiece, Sink};

/// Longest log of what such a run of a tool writes, in bytes; what it gives is whole.
const DETACHED_LOG_BYTES: usize = 4 << 20;

/// Writes down what the tool of a run writes, masked by who hands it over. That it cannot be
/// written changes nothing of the run.
pub(super) struct OutputLog(Mutex<OpenLog>);

struct OpenLog {
    file: Option<File>,
    room: usize,
    /// The tool's output is told as it comes, and holds what it says on standard error.
    has_output: bool,
}

impl OutputLog {
    /// The log of the run with that id, whose state lies below `base`.
    pub(super) fn new(base: &Path, id: &str) -> Self {
        let file = new_output_log(base, id).ok();
        Self(Mutex::new(OpenLog { file, room: DETACHED_LOG_BYTES, has_output: false }))
    }
}

impl OpenLog {
    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let now = &bytes[..bytes.len().min(self.room)];
        self.room -= now.len();
        let written = file.write_all(now);
        if now.len() < bytes.len() {
            let more = "\n[the log ends here; what the run gives is whole]\n";
            let _ = written.and_then(|()| file.write_all(more.as_bytes()));
            self.file = None;
        }
    }
}

impl Sink for OutputLog {
    fn record(&self, _: Event) {}

    fn has_reader(&self) -> bool {
        false
    }

    fn said(&self, _: &Ref, text: &dyn Fn() -> String) {
        let mut log = unpoisoned(self.0.lock());
        if !log.has_output {
            log.write(text().as_bytes());
        }
    }

    fn begin_output(&self, _: bool) -> bool {
        unpoisoned(self.0.lock()).has_output = true;
        true
    }

    fn wrote(&self, OutputPiece { bytes, .. }: OutputPiece<'_>) {
        unpoisoned(self.0.lock()).write(bytes);
    }
}

/// Takes away the log of a run that is forgotten, with its folder. Those of threads are records,
/// which stay.
pub(super) fn forget_log(base: &Path, id: &str) {
    let log = output_log(base, id);
    if is_uuid(id) && fs::remove_file(&log).is_ok() {
        let _ = log.parent().map(fs::remove_dir);
    }
}
