//! The places of this machine that a model is not told of (threads 4.3).

use std::path::Path;

use serde_json::Value;

use crate::id::Space;
use crate::rye::Rye;
use crate::thread::ToolCallFault;

/// Folders by the names that a model reads in their place, the longest path first.
pub(super) struct OwnPaths(Vec<(String, &'static str)>);

impl OwnPaths {
    pub(super) fn of(rye: &Rye) -> Self {
        let user = rye.spaces().get(Space::User).map(|user| user.base().to_owned());
        let places = [
            (Some(rye.spaces().project_path().to_owned()), "{project_path}"),
            (user, "{user_space}"),
            (rye.runtime.clone(), "{runtime}"),
        ];
        let mut all = Vec::new();
        for (path, name) in places {
            let Some(path) = path.filter(|path| path.is_absolute() && *path != Path::new("/"))
            else {
                continue;
            };
            let real = rye.host().real_folder(&path);
            let forms = [Some(path), real].into_iter().flatten();
            all.extend(forms.map(|path| (path.to_string_lossy().into_owned(), name)));
        }
        // What lies in another of them goes first.
        all.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        all.dedup();
        Self(all)
    }

    /// A failure as a model is told it.
    pub(super) fn hidden_in(&self, mut fault: ToolCallFault) -> ToolCallFault {
        fault.message = self.hidden(&fault.message);
        fault.detail = self.value(fault.detail);
        fault
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.hidden(&text).into(),
            Value::Array(list) => list.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (key, self.value(value))).collect()
            }
            other => other,
        }
    }

    fn hidden(&self, text: &str) -> String {
        let replaced = |text: String, (path, name): &(String, &str)| match text.contains(path) {
            true => text.replace(path.as_str(), name),
            false => text,
        };
        self.0.iter().fold(text.to_owned(), replaced)
    }
}
