//! The events of a run. Wire names are never renamed.

use serde_json::Value;

use crate::base::Digest;
use crate::diagnostic::Code;
use crate::host::Traffic;
use crate::id::{Fingerprint, Ref, Space};

/// A refusal that dev mode turned into a warning.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Warning {
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// A program, a version file or a folder of packages that was found and not used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct SkippedPath {
    pub(crate) path: String,
    pub(crate) why: String,
    /// The command that would let it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

/// A call that the permissions of a thread do not let through.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct DeniedCall {
    /// The id of the directive of the thread.
    pub(crate) directive: String,
    /// The name of the tool that the model called.
    pub(crate) tool: String,
    /// The item that it would have reached.
    pub(crate) item_id: Ref,
    /// The class of risk that has to be acknowledged beside the permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) acknowledge: Option<&'static str>,
}

impl DeniedCall {
    /// The action that `<permissions>` would have to name.
    pub(crate) fn action(&self) -> &'static str {
        match self.tool.as_str() {
            "rye_fetch" => "fetch",
            "rye_sign" => "sign",
            _ => "execute",
        }
    }

    /// The id of its item, as permissions write it.
    pub(crate) fn dotted_id(&self) -> String {
        self.item_id.id.as_str().replace('.', "%2E").replace('/', ".")
    }
}

/// A provider that gave no answer to a thread, and is asked again after a while.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct ProviderFailure {
    pub(crate) item_id: Ref,
    pub(crate) code: String,
    /// Why there is no answer, without secrets and without the provider's own words.
    pub(crate) error: String,
    /// How often it was asked for this answer so far, and how often at the most.
    pub(crate) tries: u32,
    pub(crate) most_tries: u32,
    pub(crate) wait_ms: u64,
}

/// A tool that a thread may call by its name, and that no space has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct MissingTool {
    pub(crate) item_id: Ref,
    /// The one that may have been meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) near: Option<Ref>,
}

/// A limit of a thread that is less than its start asks for; money is in millionths.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct LoweredLimit {
    pub(crate) limit: &'static str,
    pub(crate) asked: u64,
    pub(crate) value: u64,
    /// Who allows no more, in words.
    pub(crate) by: String,
}

/// One decision, recorded when it is made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A file was chosen; `searched` are the spaces looked into, `shadowed` the copies that lost.
    Resolve {
        item_id: Ref,
        path: String,
        space: Space,
        searched: Vec<Space>,
        shadowed: Vec<String>,
    },
    /// A signature was judged; `verified` is false only under dev mode.
    VerifyIntegrity {
        item_id: Ref,
        verified: bool,
        key_fp: Option<Fingerprint>,
        owner: Option<String>,
        space: Space,
        /// The faults that dev mode let through.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Warning>,
    },
    /// A file was read as an item.
    Parse { item_id: Ref },
    /// A link joined the chain at `depth`, the tool being 0.
    ChainLink { item_id: Ref, depth: usize, executor: Option<String> },
    /// Two adjacent links were judged.
    Validate { pair: String, findings: Vec<String> },
    /// The folder of the tool's modules, as a link declares it; `counts` if it is used here.
    Anchor { declared_by: Ref, root: &'static str, counts: bool },
    /// Every module of the tool is covered by a signature; `files` of them were looked at.
    VerifyDeps { files: usize },
    /// Copies of a config item became one; the spaces that took part, lowest first.
    ResolveConfig { item_id: Ref, spaces: Vec<Space> },
    /// A directive's inputs were bound; names only.
    Inputs { names: Vec<String> },
    /// Names that a link, or the host, gave to the child's environment; never values.
    ResolveEnv { contributed_by: String, keys: Vec<String> },
    /// The program that will run; `var` is the variable that names it to the child. `permitted`: it
    /// lies in the project and a record of yours lets it in.
    Interpreter {
        var: Option<String>,
        path: String,
        real: String,
        permitted: bool,
        passed_over: Vec<SkippedPath>,
    },
    /// Folders of packages that the child may load from and that are not verified; and those passed
    /// over.
    External { folders: Vec<String>, passed_over: Vec<SkippedPath> },
    /// The sandbox of the run's process: the level, and what it lets through.
    Sandbox { in_force: Value },
    /// How long the run may take, and the file and key that say so.
    TimeLimit { limit: Value },
    /// Everything is decided; nothing has been started.
    Plan { digest: Digest },
    /// The verified bytes were written to a private folder for the run.
    Pin { files: usize },
    /// A child runs.
    Spawn { pid: u32 },
    /// A hook was asked or told at a phase; `verdict` is `allow`, `replace`, `deny`, `told`, or
    /// `would_run` in a dry run.
    Hook {
        item_id: Ref,
        space: Space,
        phase: &'static str,
        verdict: &'static str,
        #[serde(skip_serializing_if = "String::is_empty")]
        reason: String,
        took_ms: u64,
    },
    /// A server of the exec protocol was started.
    ServerStarted { item_id: Ref, pid: u32 },
    /// It ended, or was ended, for this reason; `restart_ms` is how long it is left alone.
    ServerEnded { item_id: Ref, why: String, restart_ms: u64 },
    /// An HTTP request was sent, and this came of it: a status, or the word for why there is none.
    Request { attempt: u32, origin: String, status: Option<u16>, failed: Option<&'static str> },
    /// The next try comes after this time.
    Wait { wait_ms: u64 },
    /// The server named another place.
    Redirect { origin: String, followed: bool },
    /// The traffic through rye's proxy, for a child that was held to hosts or services.
    Traffic {
        #[serde(flatten)]
        traffic: Traffic,
    },
    /// Repositories came to be while the child ran, in what it may write of the project.
    NewRepositories {
        at: Vec<String>,
        /// There may be others.
        may_be_more: bool,
    },
    /// A thread that no other thread started begins, or goes on.
    ThreadRuns { thread_id: String },
    /// A call of a thread's model was not permitted.
    CallDenied(DeniedCall),
    /// Tools that a thread may call and that its model is not told of, as they would be refused.
    ToolsRefused { item_ids: Vec<Ref> },
    /// Tools that a thread may call by their names, and that no space has.
    ToolsMissing { missing: Vec<MissingTool> },
    /// Who answers a thread is said where it does not count.
    ProviderPassedOver { item_id: Ref, why: String },
    /// A thread may use less than its start asks for.
    LimitLowered(LoweredLimit),
    /// The provider of a thread gave no answer, and is asked again.
    ProviderFailed(ProviderFailure),
    /// A snippet called a tool and this came of it: nothing, or the code of the failure.
    #[cfg_attr(not(feature = "code"), expect(dead_code, reason = "only snippets need it"))]
    Call { call_id: String, tool_id: String, failed: Option<String>, took_ms: u64 },
    /// The child ended.
    Exit { exit_code: Option<i32>, signal: Option<i32>, timed_out: bool },
    /// The run stopped here.
    Refused { item_id: Option<String>, code: Code },
}
