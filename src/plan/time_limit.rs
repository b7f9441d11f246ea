//! How long a run may take, and who says so (core 7.10).

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::durations::TIMEOUT_MS;
use crate::base::time::time_text;
use crate::chain::Chain;
use crate::id::{Ref, Space};
use crate::verify::Source;

/// A place in a signed file that sets a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitKey {
    item: Ref,
    space: Space,
    /// The file as people are shown it.
    path: String,
    /// The key in it, such as `config.timeout`.
    key: String,
    /// The item is the tool that runs.
    is_own: bool,
}

impl LimitKey {
    pub(super) fn new(source: &Source, key: String, is_own: bool) -> Self {
        let (item, space, path) = (source.item().clone(), source.space(), source.place().path);
        Self { item, space, path, key, is_own }
    }

    /// Where the links of a chain set the time: in the nearest that names one.
    pub(super) fn of_chain(chain: &Chain) -> Option<Self> {
        let tool = chain.tool();
        if let Some(exec) = &tool.tool.exec {
            let key = || format!("exec.{}", exec.timeout_key);
            return exec.timeout_ms.map(|_| Self::new(&tool.source, key(), true));
        }
        let mut links = chain.links().iter().enumerate();
        links.find_map(|(at, link)| {
            let keys = ["timeout_ms", "timeout"];
            let key = keys.into_iter().find(|key| link.tool.config.contains_key(*key))?;
            Some(Self::new(&link.source, format!("config.{key}"), at == 0))
        })
    }
}

/// A limit in milliseconds, and the place that sets it; no place is rye itself.
pub(super) type SetLimit = (u64, Option<LimitKey>);

/// Who set the time of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SetBy {
    /// The caller, for this run alone.
    Caller,
    Key(LimitKey),
    /// Neither a caller nor a key, so it is the default of rye.
    Rye,
}

/// The time that a run has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    time: Duration,
    set_by: SetBy,
    /// The longer time that the caller asked for in vain.
    in_vain: Option<Duration>,
    /// The longer time that the project's config gives in vain, and where.
    projects: Option<Box<(Duration, LimitKey)>>,
}

impl TimeLimit {
    /// A limit that neither a caller nor a key set, for benchmarks and tests of a part.
    #[cfg(any(test, feature = "bench"))]
    pub(crate) fn of_rye(time: Duration) -> Self {
        Self { time, set_by: SetBy::Rye, in_vain: None, projects: None }
    }

    pub(super) fn new(set: Option<SetLimit>, asked: Option<Duration>) -> Self {
        let (ms, key) = set.unwrap_or((TIMEOUT_MS, None));
        let time = Duration::from_millis(ms);
        match asked.filter(|asked| *asked < time) {
            Some(asked) => {
                Self { time: asked, set_by: SetBy::Caller, in_vain: None, projects: None }
            }
            None => Self {
                time,
                set_by: key.map_or(SetBy::Rye, SetBy::Key),
                in_vain: asked.filter(|asked| *asked > time),
                projects: None,
            },
        }
    }

    /// Beside a longer limit of the project's config, which does not count.
    pub(super) fn beside(self, projects: Option<SetLimit>) -> Self {
        let projects = projects.and_then(|(ms, key)| Some((Duration::from_millis(ms), key?)));
        let projects = projects.map(Box::new);
        Self { projects, ..self }
    }

    pub(crate) fn time(&self) -> Duration {
        self.time
    }

    /// The time and its origin, in one line.
    pub(crate) fn to_text(&self) -> String {
        let time = time_text(self.time);
        let mut text = match &self.set_by {
            SetBy::Caller => format!("{time}, asked for by `--timeout`"),
            SetBy::Key(LimitKey { space, path, key, .. }) => {
                format!("{time}, set by `{key}` in {path} ({space})")
            }
            SetBy::Rye => format!("{time}, which rye gives where nothing is set"),
        };
        if let Some((longer, LimitKey { path, key, .. })) = self.projects.as_deref() {
            let longer = time_text(*longer);
            text.push_str(&format!(
                "; `{key}` in {path} says {longer}, and a project can only shorten"
            ));
        }
        text
    }

    /// As data: who set it, and where.
    pub(crate) fn to_json(&self) -> Value {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let passed_over = self.projects.as_deref();
        let passed_over = passed_over.map(|(time, LimitKey { item, space, path, key, .. })| {
            json!({
                "timeout_ms": ms(*time), "item_id": item, "space": space, "path": path, "key": key,
            })
        });
        let ms = ms(self.time);
        let mut limit = match &self.set_by {
            SetBy::Caller => json!({"timeout_ms": ms, "set_by": "caller"}),
            SetBy::Key(LimitKey { item, space, path, key, .. }) => json!({
                "timeout_ms": ms, "set_by": "item", "item_id": item, "space": space,
                "path": path, "key": key,
            }),
            SetBy::Rye => json!({"timeout_ms": ms, "set_by": "rye"}),
        };
        if let Some(passed_over) = passed_over {
            limit["passed_over"] = passed_over;
        }
        limit
    }

    /// The advice for a person who wants to give it longer. `own` is the key for it in the tool's
    /// own file.
    pub(crate) fn help(&self, own: &str) -> String {
        let mut help = match &self.set_by {
            SetBy::Caller => "that limit is the call's own, `--timeout`".to_owned(),
            SetBy::Key(LimitKey { space: Space::System, is_own: false, .. }) | SetBy::Rye => {
                format!("if it needs longer, set `{own}` in the tool's own file and sign it")
            }
            SetBy::Key(LimitKey { item, space, path, key, is_own }) => {
                let of = match (is_own, space) {
                    (true, _) => "",
                    (false, Space::User) => " of your user space",
                    (false, _) => " of the project, which shortens what the tool says",
                };
                let more = if *space == Space::User { " --space user" } else { "" };
                format!(
                    "that limit is `{key}` in {path}{of}; if it needs longer, change it there and run \
                     `rye sign {item}{more}`"
                )
            }
        };
        if let Some((longer, LimitKey { path, key, .. })) = self.projects.as_deref() {
            let longer = time_text(*longer);
            help.push_str(&format!(
                "; `{key}` in {path} can only shorten it, so {longer} there changes nothing"
            ));
        }
        if let Some(asked) = self.in_vain {
            let asked = time_text(asked);
            help.push_str(&format!(
                "; `--timeout` can only shorten it, so {asked} changes nothing"
            ));
        }
        help
    }
}
