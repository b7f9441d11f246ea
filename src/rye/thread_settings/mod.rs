//! The configuration of threads: limits and the model here, the other parts in files of their own.

mod guardrails;
mod limits;
mod max_async;
mod permissions;
mod project_provider;
mod risk;
mod sandbox;

pub(crate) use guardrails::{GuardMode, Guardrail, guardrails};
pub(crate) use limits::SaidLimits;
pub(crate) use max_async::max_async;
pub(crate) use permissions::{narrowed, patterns};
pub(crate) use project_provider::project_provider;
pub(crate) use risk::{acknowledged, to_acknowledge};
pub(crate) use sandbox::{SandboxServer, sandbox_server};

use serde_json::{Map, Value};

use crate::base::Digest;
use crate::base::text::near;
use crate::chain::{Fetch, Lineage};
use crate::diagnostic::Failure;
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::{
    HttpProvider, Item, Prices, Provider, ProviderKind, ScriptedTurn, model_prices,
};
use crate::plan::{ConfigCopy, PlanSource};
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::rye::facade::Rye;
use crate::rye::load::Loader;
use crate::thread::{
    Credential, HttpModel, LanguageModel, ModelName, Resumed, Scripted, ThreadError, ThreadId,
    ThreadLimits,
};
use crate::trace::{Event, Sink};
use crate::verify::Source;
use guardrails::{GUARDRAILS_CONFIG, check_guardrails};
use max_async::said_places;
use project_provider::{check_permit, provider_of};
use risk::{RISK, check_risk};
use sandbox::{SANDBOX, check_sandbox};

/// The item with the limits of all threads.
const LIMITS: &str = "config:agent/limits";
/// Its keys.
const DEFAULTS: &str = "defaults";
const MOST: &str = "most";
const MAX_ASYNC: &str = "max_async";
const LIMITS_KEYS: [&str; 3] = [DEFAULTS, MOST, MAX_ASYNC];
/// Which provider answers where a directive names none, and what models cost where a provider does
/// not say it; and its keys.
const MODELS: &str = "config:agent/models";
const PROVIDER: &str = "provider";
const PRICES: &str = "prices";
const MODELS_KEYS: [&str; 2] = [PROVIDER, PRICES];
/// The tier of a model if none is named.
const DEFAULT_TIER: &str = "general";

/// The limits of one thread: what the directive and the caller say over the defaults, and no more
/// than is configured as the most.
///
/// # Errors
/// `thread.bad_limit`, `thread.bad_config`; whatever a copy of the configuration is refused with.
pub(crate) fn limits(
    loader: &Loader<'_>,
    lineage: &Lineage,
    asked: &Map<String, Value>,
) -> Result<SaidLimits, Failure> {
    let mut limits = SaidLimits::shipped(ThreadLimits::default());
    let mut most = SaidLimits::shipped(ThreadLimits::MOST);
    for copy in limit_copies(loader)? {
        for (key, said) in [(DEFAULTS, &mut limits), (MOST, &mut most)] {
            let changed = changed(&copy, key, said.limits)?;
            let by = format!("`{key}` of `{}`, {}", copy.source.item(), copy.space);
            let is_free = may_loosen(&copy, loader);
            said.replace(if is_free { changed } else { said.limits.min(changed) }, &by);
        }
    }
    let links = lineage.sources().zip(lineage.directives());
    let mut declared =
        links.filter_map(|(source, one)| Some((source.item(), one.limits.as_ref()?)));
    if let Some((item, said)) = declared.next() {
        let declared = limits.limits.with(said).map_err(|error| error.within(item))?;
        limits.replace(declared, &format!("`<limits>` of `{item}`"));
    }
    limits.replace(limits.limits.with(asked)?, "`--limit`");
    limits.lower(&most);
    Ok(limits)
}

/// The copies of the limits of all threads.
///
/// # Errors
/// `thread.bad_config`; whatever a copy is refused with.
fn limit_copies(loader: &Loader<'_>) -> Result<Vec<ConfigCopy>, Failure> {
    let copies = configured(loader, LIMITS)?;
    copies.iter().try_for_each(|copy| only(copy, &LIMITS_KEYS))?;
    Ok(copies)
}

/// Checks a configuration of threads as a start would, for the person who signs it.
///
/// # Errors
/// `thread.bad_config`, `thread.bad_limit`
pub(crate) fn check_settings(copy: &ConfigCopy) -> Result<(), Failure> {
    match copy.source.item().to_string().as_str() {
        LIMITS => {
            only(copy, &LIMITS_KEYS)?;
            changed(copy, DEFAULTS, ThreadLimits::default())?;
            changed(copy, MOST, ThreadLimits::MOST)?;
            said_places(copy)?;
        }
        MODELS => {
            only(copy, &MODELS_KEYS)?;
            said_provider(copy)?;
            said_prices(copy)?;
        }
        RISK => check_risk(copy)?,
        GUARDRAILS_CONFIG => check_guardrails(copy)?,
        SANDBOX => check_sandbox(copy)?,
        _ => {}
    }
    Ok(())
}

/// Limits, with what a copy says under a key in their place.
fn changed(copy: &ConfigCopy, key: &str, limits: ThreadLimits) -> Result<ThreadLimits, Failure> {
    match copy.value.get(key) {
        None => Ok(limits),
        Some(Value::Object(said)) => {
            Ok(limits.with(said).map_err(|error| error.within(copy.source.item()))?)
        }
        Some(_) => Err(config_fault(copy, key, "is not a mapping".into())),
    }
}

/// The copies that count, the farthest space first. The author of a bundle does not spend for you.
fn configured(loader: &Loader<'_>, item: &str) -> Result<Vec<ConfigCopy>, Failure> {
    let Ok(item) = item.parse::<Ref>() else { return Ok(Vec::new()) };
    let mut copies = loader.configs(&item)?;
    copies.retain(|copy| copy.source.bundle().is_none());
    Ok(copies)
}

/// Keys that a config item may have beside what it configures.
const HEAD: [&str; 5] = ["schema_version", "version", "category", "description", "tool_type"];

/// Refuses a copy with a key that has no meaning: a typing error must not be passed over.
///
/// # Errors
/// `thread.bad_config`
fn only(copy: &ConfigCopy, known: &[&str]) -> Result<(), Failure> {
    let is_known = |key: &str| known.contains(&key) || HEAD.contains(&key);
    let Some(odd) = copy.value.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let near = near(odd, known.iter().copied(), 1).pop();
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(config_fault(copy, odd, format!("has no meaning there{near}")))
}

/// A part of a configuration that is not valid, and why.
fn config_fault(copy: &ConfigCopy, field: &str, why: String) -> Failure {
    let item = copy.source.item().clone();
    ThreadError::BadConfig { item, space: copy.space, field: field.to_owned(), why }.into()
}

/// A project, and another's key in your user space, only make stricter.
fn may_loosen(copy: &ConfigCopy, loader: &Loader<'_>) -> bool {
    match copy.space {
        Space::User => copy.is_signed_by_you(loader.trust),
        Space::Project => false,
        Space::System => true,
    }
}

/// A provider, and the model of it that answers.
pub(crate) struct ChosenModel {
    pub(crate) item: Ref,
    /// Of the bytes of the provider.
    pub(crate) digest: Digest,
    pub(crate) provider: Provider,
    pub(crate) model: String,
    /// Who named it, in words.
    pub(crate) model_from: String,
    pub(crate) prices: Prices,
    /// Whose word about the provider does not count, and whose does, in words.
    pub(crate) passed_over: Option<String>,
    /// Where the provider lies.
    pub(crate) space: Space,
    pub(crate) path: String,
    source: ModelSource,
}

/// Whence the turns come.
enum ModelSource {
    Script(Vec<ScriptedTurn>),
    Http(Box<HttpProvider>, Credential),
}

impl ChosenModel {
    pub(crate) fn tell_passed_over(&self, sink: &dyn Sink) {
        if let Some(why) = self.passed_over.clone() {
            sink.record(Event::ProviderPassedOver { item_id: self.item.clone(), why });
        }
    }

    /// Checks that something answers the message of a person to a thread that goes on.
    ///
    /// # Errors
    /// `provider.script_ended` where it is a script that is at its end.
    pub(crate) fn answers(&self, resumed: &Resumed) -> Result<(), ThreadError> {
        match &self.source {
            ModelSource::Script(turns)
                if resumed.message.is_some() && resumed.replayed.answers() >= turns.len() =>
            {
                let (provider, turns) = (self.item.clone(), turns.len());
                Err(ThreadError::ScriptEnded { provider, turns, has_message: true })
            }
            ModelSource::Script(_) | ModelSource::Http(..) => Ok(()),
        }
    }

    /// Who answers; `asked_by` is the thread, where one can go on with it.
    pub(crate) fn language_model<'a>(
        &self,
        rye: &'a Rye,
        asked_by: Option<ThreadId>,
    ) -> Box<dyn LanguageModel + 'a> {
        let item = self.item.clone();
        match &self.source {
            ModelSource::Script(turns) => Box::new(Scripted::new(item, turns.clone())),
            ModelSource::Http(http, key) => {
                let http = http.as_ref().clone();
                let model = ModelName { name: self.model.clone(), from: self.model_from.clone() };
                let (vars, key) = (&rye.at.vars, key.clone());
                Box::new(HttpModel::new(rye.host(), vars, item, http, model, key, asked_by))
            }
        }
    }
}

/// The copies of what is configured of models that count, the nearest first. A project says nothing
/// of what is paid to whom.
///
/// # Errors
/// `thread.bad_config`; whatever a copy is refused with.
fn model_copies(loader: &Loader<'_>) -> Result<Vec<ConfigCopy>, Failure> {
    let mut copies = configured(loader, MODELS)?;
    copies.retain(|copy| may_loosen(copy, loader));
    copies.iter().try_for_each(|copy| only(copy, &MODELS_KEYS))?;
    copies.reverse();
    Ok(copies)
}

/// The prices of a model by the nearest copy that has them.
fn configured_prices(loader: &Loader<'_>, model: &str) -> Result<Option<Prices>, Failure> {
    for copy in model_copies(loader)? {
        let mut all = said_prices(&copy)?.into_iter();
        if let Some((_, prices)) = all.find(|(name, _)| name == model) {
            return Ok(Some(prices));
        }
    }
    Ok(None)
}

/// # Errors
/// `thread.bad_config`
fn said_prices(copy: &ConfigCopy) -> Result<Vec<(String, Prices)>, Failure> {
    let all = model_prices(&copy.value);
    all.map_err(|fault| config_fault(copy, PRICES, format!("has {}", fault.why)))
}

/// # Errors
/// `thread.bad_config`
fn said_provider(copy: &ConfigCopy) -> Result<Option<&str>, Failure> {
    match copy.value.get(PROVIDER) {
        None => Ok(None),
        Some(Value::String(named)) => Ok(Some(named)),
        Some(_) => Err(config_fault(copy, PROVIDER, "is not the id of one".into())),
    }
}

/// The provider that the nearest copy names, and the space of the copy.
///
/// # Errors
/// `thread.bad_config`; whatever a copy is refused with.
fn configured_provider(loader: &Loader<'_>) -> Result<Option<(String, Space)>, Failure> {
    for copy in &model_copies(loader)? {
        if let Some(named) = said_provider(copy)? {
            return Ok(Some((named.to_owned(), copy.space)));
        }
    }
    Ok(None)
}

/// Whose word about the provider does not count, in words.
///
/// # Errors
/// Whatever a copy is refused with.
fn passed_over(loader: &Loader<'_>) -> Result<Option<String>, Failure> {
    let mut copies = configured(loader, MODELS)?;
    copies.retain(|copy| !may_loosen(copy, loader) && copy.value.contains_key(PROVIDER));
    let told = |copy: &ConfigCopy| match copy.space {
        Space::Project => format!(
            "`{PROVIDER}` of `{MODELS}` in the project does not count, as a project does not choose \
             who answers"
        ),
        space => format!(
            "`{PROVIDER}` of `{MODELS}` in the {space} space does not count, as you did not sign it"
        ),
    };
    let told: Vec<String> = copies.iter().rev().map(told).collect();
    Ok((!told.is_empty()).then(|| told.join("; ")))
}

/// The provider that is named in a space: one of that space or below, as another one with that id
/// does not take the place of yours where a project holds it.
fn named_provider(
    loader: &Loader<'_>,
    named: &str,
    from: Space,
) -> Result<(Source, Item), Failure> {
    let query: Query = named.parse()?;
    let query = Query { kind: query.kind.or(Some(Kind::Tool)), ..query };
    let is_open = query.space.is_none() && query.bundle.is_none();
    if let (true, Some(kind)) = (is_open, query.kind) {
        let item = Ref::new(kind, query.id.clone());
        if let Some(found) = loader.fetch(&item, from)? {
            return Ok(found);
        }
    }
    let found = loader.find(&query).map_err(|failure| match query.kind {
        Some(kind) if failure.reason() == RESOLVE_NOT_FOUND => {
            let all = loader.near(&Ref::new(kind, query.id.clone()));
            let near = all.into_iter().find(|near| is_provider(loader, near));
            ThreadError::ProviderNotFound { name: named.to_owned(), near }.into()
        }
        _ => failure,
    });
    loader.admit(found?)
}

/// Returns true if an item that may have been meant is a provider.
fn is_provider(loader: &Loader<'_>, item: &str) -> bool {
    let found = item.parse::<Query>().ok().and_then(|query| loader.find(&query).ok());
    let admitted = found.and_then(|found| loader.admit(found).ok());
    admitted.is_some_and(|(source, item)| provider_of(&source, item).is_ok())
}

/// A model of a provider by its tier, else by its name, and where that stands; `of` are words of
/// whose it is and who names it.
fn provider_model(provider: &Provider, wanted: &str, of: &str) -> Option<(String, String)> {
    let by = |fits: &dyn Fn(&(String, String)) -> bool| {
        provider.models.iter().find(|row| fits(row)).map(|(_, model)| model.clone())
    };
    let by_tier = by(&|(tier, _)| tier == wanted);
    let by_tier = by_tier.map(|model| (model, format!("the tier `{wanted}` in `models` of {of}")));
    by_tier.or_else(|| Some((by(&|(_, name)| name == wanted)?, format!("`models` of {of}"))))
}

/// The model of one thread, by its tier or its name.
///
/// # Errors
/// `thread.no_provider`, `thread.bad_config`, `thread.project_provider`, `thread.not_a_provider`,
/// `thread.unknown_model`, `thread.unknown_price`, `provider.missing_credential`; whatever the
/// provider is refused with.
pub(crate) fn model(
    loader: &Loader<'_>,
    lineage: &Lineage,
    asked: Option<&str>,
) -> Result<ChosenModel, Failure> {
    let mut links = lineage.sources().zip(lineage.directives());
    let declared = links.find_map(|(source, one)| Some((source, one.model.clone()?)));
    let (by, declared) = declared.unzip();
    let (by, declared) = (by.unwrap_or(&lineage.source), declared.unwrap_or_default());
    let (by, from) = (by.item().clone(), by.space());
    let (named, passed_over) = match declared.provider {
        Some(named) => (Some((named, from)), None),
        None => (configured_provider(loader)?, passed_over(loader)?),
    };
    let Some((named, from)) = named else {
        let item = lineage.source.item().clone();
        return Err(ThreadError::NoProvider { item, passed_over }.into());
    };
    let passed_over = passed_over
        .map(|why| format!("{why}; that of the {from} space does, which names `{named}`"));
    let (source, parsed) = named_provider(loader, &named, from)?;
    let (item, space, digest) = (source.item().clone(), source.space(), source.digest());
    let path = source.place().path;
    let provider = provider_of(&source, parsed)?;
    // What lies in the project does not choose by itself where a conversation goes.
    check_permit(loader, &source, &provider)?;
    let (wanted, named_by) = match (asked.map(str::to_owned), declared.id.or(declared.tier)) {
        (Some(asked), _) => (asked, "which `--model` names".to_owned()),
        (None, Some(declared)) => (declared, format!("which `<model>` of `{by}` names")),
        (None, None) => (DEFAULT_TIER.to_owned(), "as nobody names another one".to_owned()),
    };
    let fallback = declared.fallback.filter(|_| asked.is_none());
    let by_fallback = |fallback: String| {
        let named_by = format!("which `<fallback>` of `{by}` names");
        provider_model(&provider, &fallback, &format!("`{item}`, {named_by}"))
    };
    let found = provider_model(&provider, &wanted, &format!("`{item}`, {named_by}"));
    let Some((model, model_from)) = found.or_else(|| fallback.and_then(by_fallback)) else {
        let known = provider.models.iter().map(|(tier, _)| tier.clone()).collect();
        return Err(ThreadError::UnknownModel { provider: item, model: wanted, known }.into());
    };
    let prices = match provider.prices(&model) {
        Some(prices) => Some(prices),
        None => configured_prices(loader, &model)?,
    };
    let Some(prices) = prices else {
        return Err(ThreadError::UnknownPrice { provider: item, model }.into());
    };
    let source = match &provider.kind {
        ProviderKind::Scripted(turns) => ModelSource::Script(turns.clone()),
        ProviderKind::Http(http) => {
            let key = Credential::read(&item, http.credential_env.as_deref(), &loader.rye.at.vars)?;
            ModelSource::Http(http.clone(), key)
        }
    };
    Ok(ChosenModel {
        item,
        digest,
        provider,
        model,
        model_from,
        prices,
        passed_over,
        space,
        path,
        source,
    })
}
