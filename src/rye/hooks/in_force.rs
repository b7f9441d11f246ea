//! The hooks that are in force, and asking one of them.
//!
//! A hook is in force where it lies below `tools/hooks/` of a space. Those of the system and of the
//! person see every call; those of the project see calls of the project's own tools. None shadows
//! another. One that cannot be asked denies what it may have judged.

use std::time::Duration;

use serde_json::{Map, Value};

use super::call::CallHooks;
use super::error::HookError;
use crate::base::limits::{HOOKS, OBSERVERS};
use crate::diagnostic::Diagnose;
use crate::diagnostic::Failure;
use crate::exec_protocol::{HookVerdict, Notification, envelope, verdict};
use crate::execute::{ExecuteError, Mask, Outcome, start};
use crate::id::{ItemId, Kind, Ref, Space};
use crate::parse::{Hook, HookKind, Item, Tool};
use crate::plan::{Act, Params, Plan, PlanContext, with_private_values};
use crate::resolve::Found;
use crate::rye::call_policy::{CallPolicy, HookPolicies, LockMode};
use crate::rye::carry_out::{Caller, pin_fallback, run_context};
use crate::rye::facade::Rye;
use crate::rye::load::{Loader, valid_here};
use crate::rye::request::Request;
use crate::space::{Entry, Root};
use crate::thread::ThreadId;
use crate::trace::{Quiet, Sink};
use crate::verify::Source;

/// The folder of a space, below `tools/`, whose items are in force as hooks.
const FOLDER: &str = "hooks";
/// How the ids of those items begin.
pub(crate) const BELOW: &str = "hooks/";
/// Whose hooks judge what is not the project's.
const OF_OTHERS: &[Space] = &[Space::User, Space::System];
/// Whose hooks judge what lies in a space: a project's see what is the project's own.
fn judges_of(space: Space) -> &'static [Space] {
    if space == Space::Project { &Space::NEAREST_FIRST } else { OF_OTHERS }
}

/// Why a required hook cannot be asked that no space has.
const NOT_THERE: &str = "it is not there";

/// A hook that gave no answer.
pub(crate) struct HookFailure {
    pub(crate) why: String,
    /// The last of what it said on standard error.
    pub(crate) tail: String,
    /// Its answer would decide; otherwise it is only told, and stops nothing.
    pub(crate) filters: bool,
}

/// A hook that is in force, or should be.
pub(crate) struct FoundHook {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    /// The policy asks for it.
    pub(crate) is_required: bool,
    pub(crate) hook: Result<Box<VerifiedHook>, CannotAsk>,
}

/// Why a hook cannot be asked.
pub(crate) struct CannotAsk {
    pub(crate) why: String,
    /// The remedy, if the refusal of the hook itself names one.
    pub(crate) help: Option<String>,
}

impl From<String> for CannotAsk {
    fn from(why: String) -> Self {
        Self { why, help: None }
    }
}

/// A verified hook.
#[derive(Clone)]
pub(crate) struct VerifiedHook {
    pub(crate) source: Source,
    tool: Tool,
    pub(crate) hook: Hook,
}

impl VerifiedHook {
    pub(crate) fn item(&self) -> &Ref {
        self.source.item()
    }
}

/// Loaders, by the policy for the space of a hook.
#[derive(Clone, Copy)]
pub(crate) struct HookLoaders<'a> {
    policy: &'a HookPolicies<'a>,
    pub(crate) sink: &'a dyn Sink,
}

impl<'a> HookLoaders<'a> {
    pub(crate) fn for_space(self, space: Space) -> Loader<'a> {
        self.policy.for_space(space).loader(self.sink)
    }
}

/// Who is asked before and after calls.
#[derive(Clone, Copy)]
pub(crate) struct Hooks<'a> {
    pub(crate) rye: &'a Rye,
}

impl Rye {
    /// Who is asked before and after calls.
    pub(crate) fn hooks(&self) -> Hooks<'_> {
        Hooks { rye: self }
    }
}

impl Hooks<'_> {
    /// Every hook of every space, broken ones too, and the required ones that are nowhere; in the
    /// order in which they are asked.
    ///
    /// # Errors
    /// `space.*`, `verify.trust_unreadable`
    pub(crate) fn all(self) -> Result<Vec<FoundHook>, Failure> {
        self.find(
            HookLoaders {
                policy: &CallPolicy::new(self.rye, LockMode::Off).for_hooks(),
                sink: &Quiet,
            },
            &Space::NEAREST_FIRST,
        )
    }

    fn find(self, loaders: HookLoaders<'_>, spaces: &[Space]) -> Result<Vec<FoundHook>, Failure> {
        let own = loaders.for_space(Space::User);
        let required = own.trust.required_hooks()?;
        let mut all = Vec::new();
        for space in spaces {
            if let Some(root) = self.rye.spaces.get(*space) {
                self.gather(loaders.for_space(*space), root, &mut all)?;
            }
        }
        for hook in &mut all {
            let is_own = hook.space != Space::Project;
            hook.is_required = is_own && required.contains(&hook.item.id);
        }
        let is_there = |id: &ItemId| all.iter().any(|hook| hook.is_required && hook.item.id == *id);
        let missing: Vec<_> = required.iter().filter(|id| !is_there(id)).cloned().collect();
        all.extend(missing.into_iter().map(|id| FoundHook {
            item: Ref::new(Kind::Tool, id),
            space: Space::User,
            is_required: true,
            hook: Err(NOT_THERE.to_owned().into()),
        }));
        let order =
            |hook: &FoundHook| hook.hook.as_ref().map_or(f64::NEG_INFINITY, |it| it.hook.order);
        all.sort_by(|a, b| {
            order(a).total_cmp(&order(b)).then_with(|| (&a.item, a.space).cmp(&(&b.item, b.space)))
        });
        Ok(all)
    }

    /// The hooks of one space.
    fn gather(
        self,
        loader: Loader<'_>,
        root: &Root,
        all: &mut Vec<FoundHook>,
    ) -> Result<(), Failure> {
        let space = root.space();
        let refused = |item: Ref, why: CannotAsk| FoundHook {
            item,
            space,
            is_required: false,
            hook: Err(why),
        };
        let broken = |item: Ref, why: String| refused(item, why.into());
        let named = |name: &str| -> Option<Ref> { Some(Ref::new(Kind::Tool, name.parse().ok()?)) };
        if let Some(why) = root.overlooked(&format!("{}/{FOLDER}", Kind::Tool.folder())) {
            all.extend(named(FOLDER).map(|item| broken(item, why)));
            return Ok(());
        }
        let listing = root.list_below(Kind::Tool, FOLDER, &self.rye.types)?;
        for odd in &listing.odd {
            all.extend(
                named(FOLDER)
                    .map(|item| broken(item, format!("`{}`: {}", odd.place.path, odd.why))),
            );
        }
        let entries = self.rye.items().with_tools(listing.entries).into_iter();
        let mut entries: Vec<Entry> = entries.map(|(entry, _)| entry).collect();
        entries.dedup_by(|a, b| a.item == b.item);
        if entries.len() > HOOKS {
            let why = format!("there are more than {HOOKS} of them");
            all.extend(named(FOLDER).map(|item| broken(item, why)));
            return Ok(());
        }
        for entry in entries {
            let found = loader.resolver(|resolver| resolver.in_space(&entry.item, space));
            match found.map_err(Failure::from).and_then(|found| arm(loader, found)) {
                // A tool that is no hook, or a file that went away.
                Ok(None) => {}
                Ok(Some(armed)) if space == Space::Project && armed.hook.replaces => {
                    let why = "a hook of a project may not replace what it is shown";
                    all.push(broken(entry.item, why.into()));
                }
                Ok(Some(armed)) => all.push(FoundHook {
                    item: entry.item,
                    space,
                    is_required: false,
                    hook: Ok(Box::new(armed)),
                }),
                Err(failure) => {
                    let (why, help) = (failure.to_string(), failure.help());
                    all.push(refused(entry.item, CannotAsk { why, help }));
                }
            }
        }
        Ok(())
    }

    /// The hooks that judge a call of the tool `source`.
    ///
    /// # Errors
    /// `hook.unusable`: one of them cannot be asked.
    pub(crate) fn of_call<'b>(
        self,
        policy: &'b HookPolicies<'b>,
        sink: &'b dyn Sink,
        source: &Source,
        call_id: &str,
    ) -> Result<CallHooks<'b>, Failure> {
        let loaders = HookLoaders { policy, sink };
        self.of_named(
            HookKind::Tool,
            loaders,
            source.item().clone(),
            judges_of(source.space()),
            call_id,
        )
    }

    /// The hooks that judge a call of a tool that is no item, but is granted by this name.
    ///
    /// # Errors
    /// `hook.unusable`: one of them cannot be asked.
    pub(crate) fn of_own_tool<'b>(
        self,
        policy: &'b HookPolicies<'b>,
        sink: &'b dyn Sink,
        tool: &Ref,
        call_id: &str,
    ) -> Result<CallHooks<'b>, Failure> {
        let loaders = HookLoaders { policy, sink };
        self.of_named(HookKind::Tool, loaders, tool.clone(), OF_OTHERS, call_id)
    }

    /// The hooks that judge what a provider of models is asked and answers.
    ///
    /// # Errors
    /// `hook.unusable`: one of them cannot be asked.
    pub(crate) fn of_model<'b>(
        self,
        policy: &'b HookPolicies<'b>,
        sink: &'b dyn Sink,
        provider: &Ref,
        space: Space,
    ) -> Result<CallHooks<'b>, Failure> {
        let loaders = HookLoaders { policy, sink };
        self.of_named(HookKind::Provider, loaders, provider.clone(), judges_of(space), "")
    }

    /// The hooks that are told of the conversation of a directive.
    ///
    /// # Errors
    /// `hook.unusable`: one of them cannot be asked.
    pub(crate) fn of_session<'b>(
        self,
        policy: &'b HookPolicies<'b>,
        sink: &'b dyn Sink,
        directive: &Ref,
        space: Space,
    ) -> Result<CallHooks<'b>, Failure> {
        let loaders = HookLoaders { policy, sink };
        self.of_named(HookKind::Session, loaders, directive.clone(), judges_of(space), "")
    }

    fn of_named<'b>(
        self,
        kind: HookKind,
        loaders: HookLoaders<'b>,
        call: Ref,
        spaces: &[Space],
        call_id: &str,
    ) -> Result<CallHooks<'b>, Failure> {
        let mut armed = Vec::new();
        for found in self.find(loaders, spaces)? {
            match found.hook {
                Ok(it) if it.hook.kind == kind && it.hook.is_about(&call) => {
                    armed.push(*it);
                }
                Ok(_) => {}
                Err(CannotAsk { why, help }) => {
                    let hook = found.item.to_string();
                    return Err(match found.is_required && why == NOT_THERE {
                        true => HookError::Missing { call, hook },
                        false => HookError::Unusable { call, hook, space: found.space, why, help },
                    }
                    .into());
                }
            }
        }
        Ok(CallHooks::new(loaders, call, call_id.to_owned(), armed))
    }

    /// Asks one hook, outside of any call; what it said, or why that is no answer.
    ///
    /// # Errors
    /// `hook.not_a_hook`, and those of a run.
    pub(crate) fn try_one(
        self,
        item: &Ref,
        phase: Option<&str>,
        payload: &Map<String, Value>,
    ) -> Result<Result<HookVerdict, HookFailure>, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off).for_hooks();
        let loader = policy.for_space(Space::Project).loader(&Quiet);
        let found = loader.find(&item.clone().into())?;
        let armed = arm(loader, Some(found))?;
        let armed = armed.ok_or_else(|| HookError::NotAHook { item: item.clone() })?;
        let phases = &armed.hook.phases;
        let phase = match phase {
            None => phases[0],
            Some(name) => *phases.iter().find(|phase| phase.name() == name).ok_or_else(|| {
                let known =
                    phases.iter().map(|phase| phase.name()).collect::<Vec<_>>().join("`, `");
                HookError::OtherPhase { item: item.clone(), phase: name.to_owned(), known }
            })?,
        };
        let parts =
            payload.iter().filter_map(|(key, part)| Some((key.as_str(), part.as_object()?)));
        let envelope = envelope(&armed.hook, phase, &parts.collect::<Vec<_>>());
        let filters = armed.hook.filters;
        let failed = |why: String, tail: String| HookFailure { why, tail, filters };
        let outcome = match self.ask(loader, &armed, envelope, &[])? {
            Ok(outcome) => outcome,
            Err(error) => {
                let tail = error.data().remove("stderr_tail");
                let tail = tail.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                return Ok(Err(failed(error.to_string(), tail)));
            }
        };
        Ok(match (&outcome.failure, filters) {
            (Some(failure), _) => Err(failed(failure.message.clone(), failure.tail.clone())),
            (None, true) => {
                verdict(&outcome.data, &armed.hook).map_err(|why| failed(why, String::new()))
            }
            (None, false) => Ok(HookVerdict::Allow { metadata: outcome.data, replace: None }),
        })
    }

    /// Neither a fault of its answer nor its standard error shows a value that is `hidden`.
    ///
    /// # Errors
    /// A fault before it is started; the inner result is how it ended.
    pub(crate) fn ask(
        self,
        loader: Loader<'_>,
        armed: &VerifiedHook,
        payload: Map<String, Value>,
        hidden: &[String],
    ) -> Result<Result<Outcome, ExecuteError>, Failure> {
        let plan = plan(loader, armed, payload, loader.policy.time_left())?;
        // An answer that it replaces may hold what the tool's own answer may.
        let mask = Mask::new(plan.private_values());
        let plan = with_private_values(plan, hidden);
        // A hook is a program, which cannot ask a person.
        let request = Request::new(plan.item().to_string());
        let caller = Caller { request: &request, run_id: "", for_record: false, can_wait: false };
        let ended = self.rye.runs().execute(&plan, caller, None, &Quiet);
        // Its answer about a call is shown to the caller.
        Ok(ended.map(|outcome| Outcome { data: mask.value(outcome.data.clone()), ..outcome }))
    }

    /// Starts a hook that is only told, and goes on; its standard error shows no value that is
    /// `hidden`.
    pub(crate) fn tell(
        self,
        loader: Loader<'_>,
        armed: &VerifiedHook,
        payload: Map<String, Value>,
        hidden: &[String],
    ) -> Result<(), Failure> {
        // No caller waits for it, so it has all the time that it asks for itself.
        let plan = with_private_values(plan(loader, armed, payload, None)?, hidden);
        let busy = || HookError::Busy { hook: armed.item().clone(), most: OBSERVERS };
        let place = self.rye.observers.place().ok_or_else(busy)?;
        let fallback = pin_fallback(self.rye);
        let running = run_context(self.rye, fallback.as_deref(), &Quiet);
        let Act::Exec(process, _) = plan.act() else {
            return Err(HookError::NotAHook { item: plan.item().clone() }.into());
        };
        let payload = plan.spawn(process, None, None).stdin;
        let (child, folders) = start(&plan, process, &running, &[])?;
        let item = plan.item().clone();
        let thread = loader.policy.thread.as_ref().map(ThreadId::to_string);
        let mask = Mask::new(plan.private_values());
        let timeout = plan.timeout();
        let told = Notification { item, thread, child, folders, payload, timeout, mask };
        self.rye.observers.tell(place, told);
        Ok(())
    }
}

fn plan(
    loader: Loader<'_>,
    armed: &VerifiedHook,
    payload: Map<String, Value>,
    timeout: Option<Duration>,
) -> Result<Plan, Failure> {
    let valid = valid_here(loader.chain(armed.source.clone(), armed.tool.clone(), &Quiet)?)?;
    let run_id = crate::rye::run::run_id();
    let params = Params::check(armed.item(), None, payload, None)?;
    // What a project says of its runs is not for those who judge it.
    let project_shortens = armed.source.space() == Space::Project;
    let machine = PlanContext { run_id: &run_id, project_shortens, timeout, ..loader.machine() };
    Plan::build(&valid, params, &machine, &Quiet)
}

/// The hook that a file is; `None` for another tool.
fn arm(loader: Loader<'_>, found: Option<Found>) -> Result<Option<VerifiedHook>, Failure> {
    let Some(found) = found else { return Ok(None) };
    Ok(match loader.admit(found)? {
        (source, Item::Tool(tool)) => {
            tool.hook.clone().map(|hook| VerifiedHook { source, tool: *tool, hook })
        }
        _ => None,
    })
}
