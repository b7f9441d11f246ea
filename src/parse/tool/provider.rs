//! A model that answers in threads: the block `provider` of a signed tool (threads 6). Unknown keys
//! are faults, because a typing error must not change what is spent.

use serde_json::{Map, Value};

use super::fields::{Fields, unknown_word, wrong};
use super::provider_http::{self, HttpProvider, http_provider};
use crate::base::canon::SAFE;
use crate::base::money::micros;
use crate::base::text::escape_line;
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// Longest answer of a model in tokens where its provider says nothing of it.
const THREAD_ANSWER_TOKENS: u64 = 4_096;

/// Most turns in the script of a provider.
const SCRIPT_TURNS: usize = 1_000;

/// Models and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Provider {
    pub(crate) kind: ProviderKind,
    /// Names of models by tier, such as `general`, in the order written; never empty.
    pub(crate) models: Vec<(String, String)>,
    /// By the name of a model.
    prices: Vec<(String, Prices)>,
    /// Longest answer of one turn.
    pub(crate) answer_tokens: u64,
    /// How many tokens its models read and write in all, where it says so.
    pub(crate) context_window: Option<u64>,
}

/// How a provider is spoken with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ProviderKind {
    /// It is not: the item itself holds the turns, so that a thread can be tried without a model.
    Scripted(Vec<ScriptedTurn>),
    Http(Box<HttpProvider>),
}

/// The price of a million tokens, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
}

/// How many tokens a turn took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
}

impl TokenCounts {
    /// Counts what another turn took too.
    pub(crate) fn add(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
    }
}

/// One turn as it is written in a script.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptedTurn {
    pub(crate) text: String,
    pub(crate) calls: Vec<ScriptedCall>,
    /// `None` where the turn says nothing of it, as some servers do not.
    pub(crate) usage: Option<TokenCounts>,
}

/// One call of a tool, with its arguments as text, which need not be JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptedCall {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Provider {
    /// The prices of a model, where the provider says them.
    pub(crate) fn prices(&self, model: &str) -> Option<Prices> {
        self.prices.iter().find_map(|(name, prices)| (name == model).then_some(*prices))
    }

    /// Where it is asked over a network, and how.
    pub(crate) fn http(&self) -> Option<&HttpProvider> {
        match &self.kind {
            ProviderKind::Http(http) => Some(http),
            ProviderKind::Scripted(_) => None,
        }
    }
}

const KIND: &str = "provider";
const KINDS: [&str; 3] = ["openai_chat", "anthropic", "scripted"];
/// The keys of every kind.
const KEYS: [&str; 5] = ["kind", "models", "prices", "answer_tokens", "context_window"];
const COUNTS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// The block `provider` of a header; `None` for a tool that is not a provider.
///
/// # Errors
/// `parse.metadata`
pub(super) fn provider(fields: &Fields<'_>) -> Result<Option<Provider>, ParseFault> {
    let block = fields.fields(KIND)?;
    if fields.string("tool_type")?.as_deref() != Some(KIND) {
        return match block {
            Some(_) => Err(bad("/provider", "is for `tool_type: provider` alone")),
            None => Ok(None),
        };
    }
    if fields.get("executor_id").is_some() {
        return Err(bad("/executor_id", "is not for a provider, which no other item runs"));
    }
    let Some(block) = block else {
        return Err(bad("/provider", "is missing, which says how the model is spoken with"));
    };
    let kind = block.string("kind")?;
    let own: &[&str] = match kind.as_deref() {
        Some("scripted") => &["turns"],
        Some("openai_chat" | "anthropic") => &provider_http::KEYS,
        Some(other) => return Err(unknown_word(&block.pointer("kind"), other, &KINDS)),
        None => {
            let why = format!("is missing; it is `{}`", KINDS.join("`, `"));
            return Err(bad("/provider/kind", &why));
        }
    };
    block.only(&[&KEYS, own].concat())?;
    let models = match block.fields("models")? {
        Some(models) => named(&models)?,
        None => Vec::new(),
    };
    if models.is_empty() {
        return Err(bad("/provider/models", "names no model, as `general: <name>` does"));
    }
    let answer_tokens = whole(&block, "answer_tokens")?.unwrap_or(THREAD_ANSWER_TOKENS);
    if answer_tokens == 0 {
        return Err(bad("/provider/answer_tokens", "is 0, which has no room for an answer"));
    }
    let context_window = whole(&block, "context_window")?;
    if context_window.is_some_and(|window| window <= answer_tokens) {
        return Err(bad("/provider/context_window", "has no room for more than an answer"));
    }
    let kind = match kind.as_deref() {
        Some("scripted") => ProviderKind::Scripted(turns(&block)?),
        kind => {
            let http = http_provider(&block, kind == Some("openai_chat"))?;
            ProviderKind::Http(Box::new(http))
        }
    };
    Ok(Some(Provider { kind, models, prices: prices(&block)?, answer_tokens, context_window }))
}

fn named(models: &Fields<'_>) -> Result<Vec<(String, String)>, ParseFault> {
    let read = |tier: &String| match models.string(tier)?.filter(|name| !name.trim().is_empty()) {
        Some(name) => Ok((tier.clone(), name)),
        None => Err(bad(&models.pointer(tier), "names no model")),
    };
    models.map().keys().map(read).collect()
}

/// The prices of models by the key `prices` of a mapping that is not a provider.
///
/// # Errors
/// `parse.metadata`
pub(crate) fn model_prices(said: &Map<String, Value>) -> Result<Vec<(String, Prices)>, ParseFault> {
    let said = Value::Object(said.clone());
    prices(&Fields::from_value(&said, String::new())?)
}

fn prices(block: &Fields<'_>) -> Result<Vec<(String, Prices)>, ParseFault> {
    let Some(all) = block.fields("prices")? else { return Ok(Vec::new()) };
    let read = |model: &String| {
        let Some(of) = all.fields(model)? else {
            return Err(bad(&all.pointer(model), "says no price"));
        };
        of.only(&COUNTS)?;
        let price = |key: &str| {
            let Some(value) = of.get(key) else { return Ok(None) };
            let text = match value {
                Value::Number(number) => number.to_string(),
                Value::String(text) => text.clone(),
                other => return Err(wrong(&of.pointer(key), "a number", other)),
            };
            let why = "is not an amount of money such as `0.25`, with at most six places";
            micros(&text).map(Some).ok_or_else(|| bad(&of.pointer(key), why))
        };
        let (Some(input), Some(output)) = (price("input")?, price("output")?) else {
            return Err(bad(&all.pointer(model), "says no price of `input` or of `output`"));
        };
        // A price list that says nothing of a cache charges cached tokens as any others.
        let (cache_read, cache_write) = (price("cache_read")?, price("cache_write")?);
        let prices = Prices {
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
        };
        Ok((model.clone(), prices))
    };
    all.map().keys().map(read).collect()
}

fn turns(block: &Fields<'_>) -> Result<Vec<ScriptedTurn>, ParseFault> {
    let list = block.list("turns")?.cloned().unwrap_or_default();
    if list.is_empty() || list.len() > SCRIPT_TURNS {
        let why = format!("holds no turn, or more than {SCRIPT_TURNS}");
        return Err(bad("/provider/turns", &why));
    }
    let list = list.iter().enumerate();
    list.map(|(at, turn)| scripted(turn, &format!("/provider/turns/{at}"))).collect()
}

fn scripted(turn: &Value, pointer: &str) -> Result<ScriptedTurn, ParseFault> {
    let turn = Fields::from_value(turn, pointer.to_owned())?;
    turn.only(&["text", "calls", "usage"])?;
    let calls = turn.list("calls")?.cloned().unwrap_or_default();
    let calls = calls.iter().enumerate();
    let calls = calls.map(|(at, call)| scripted_call(call, &format!("{pointer}/calls/{at}")));
    let usage = match turn.fields("usage")? {
        None => None,
        Some(usage) => {
            usage.only(&COUNTS)?;
            let of = |key: &str| Ok::<_, ParseFault>(whole(&usage, key)?.unwrap_or(0));
            Some(TokenCounts {
                input: of("input")?,
                output: of("output")?,
                cache_read: of("cache_read")?,
                cache_write: of("cache_write")?,
            })
        }
    };
    let text = turn.string("text")?.unwrap_or_default();
    Ok(ScriptedTurn { text, calls: calls.collect::<Result<_, _>>()?, usage })
}

fn scripted_call(call: &Value, pointer: &str) -> Result<ScriptedCall, ParseFault> {
    let call = Fields::from_value(call, pointer.to_owned())?;
    call.only(&["name", "arguments"])?;
    let Some(name) = call.string("name")? else {
        return Err(bad(&format!("{pointer}/name"), "is missing"));
    };
    let arguments = match call.get("arguments") {
        None => Value::Object(Map::new()).to_string(),
        // A text is what a model may say that is not JSON.
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(ScriptedCall { name, arguments })
}

pub(super) fn whole(fields: &Fields<'_>, key: &str) -> Result<Option<u64>, ParseFault> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    let number = value.as_u64().filter(|number| *number <= SAFE);
    let wrong = || wrong(&fields.pointer(key), "a whole number that is not negative", value);
    number.map(Some).ok_or_else(wrong)
}

pub(super) fn bad(pointer: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`{}` {why}", escape_line(pointer)))
}

#[cfg(test)]
mod tests {
    use super::{Prices, ProviderKind, provider};
    use crate::base::limits::PROVIDER_TRIES;
    use crate::parse::data::yaml;
    use crate::parse::tool::ChatShape;
    use crate::parse::tool::fields::Fields;

    const GOOD: &str = "tool_type: provider\nprovider:\n  kind: scripted\n  models: {general: m}\n  \
        prices: {m: {input: 0.25, output: 1}}\n  turns:\n    - {text: hi, usage: {input: 3}}\n    \
        - {calls: [{name: a, arguments: {b: 1}}, {name: a, arguments: '{'}, {name: a}]}\n";

    fn read(text: &str) -> Result<Option<super::Provider>, String> {
        let header = yaml(text).unwrap();
        provider(&Fields::new(header.as_object().unwrap())).map_err(|fault| fault.why)
    }

    #[test]
    fn a_scripted_provider_is_read_with_its_prices_and_its_turns() {
        let read = read(GOOD).unwrap().unwrap();
        let price =
            Prices { input: 250_000, output: 1_000_000, cache_read: 250_000, cache_write: 250_000 };
        assert_eq!((read.prices("m"), read.prices("n")), (Some(price), None));
        assert_eq!(read.models, [("general".to_owned(), "m".to_owned())]);
        assert_eq!(read.context_window, None);
        let ProviderKind::Scripted(turns) = read.kind else { panic!("it is a script") };
        assert_eq!(
            (turns[0].text.as_str(), turns[0].usage.map(|usage| usage.input)),
            ("hi", Some(3))
        );
        let arguments: Vec<&str> =
            turns[1].calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!((arguments, turns[1].usage), (vec!["{\"b\":1}", "{", "{}"], None));
    }

    const HTTP: &str = "tool_type: provider\nprovider:\n  kind: openai_chat\n  \
        base_url: https://api.example/v1\n  credential_env: A_KEY\n  models: {general: m}\n  \
        headers: {X-Team: red}\n  options: {temperature: 0}\n  \
        retry: {tries: 2, first_wait: 5ms}\n  stream: false\n  answer_tokens_as: max_tokens\n";

    #[test]
    fn a_provider_over_http_is_read_and_what_it_leaves_out_has_a_default() {
        let http = |text: &str| match read(text).unwrap().unwrap().kind {
            ProviderKind::Http(http) => *http,
            ProviderKind::Scripted(_) => panic!("it is a script"),
        };
        let whole = http(HTTP);
        assert_eq!(whole.shape, ChatShape::OpenAi { most_tokens: "max_tokens" });
        assert_eq!(whole.base.as_str(), "https://api.example/v1");
        assert_eq!(whole.credential_env.as_deref(), Some("A_KEY"));
        assert_eq!(whole.headers, [("x-team".to_owned(), "red".to_owned())]);
        assert_eq!(whole.options["temperature"], 0);
        assert_eq!((whole.retry.tries, whole.retry.first_wait.as_millis()), (2, 5));
        assert!(!whole.streams && !whole.is_strict);
        assert!(http(&HTTP.replace("stream: false", "strict: true")).is_strict);
        let other = HTTP.replace("openai_chat", "anthropic").replace("answer_tokens_as", "strict");
        assert!(
            read(&other.replace("max_tokens", "true"))
                .unwrap_err()
                .starts_with("`/provider/strict` ")
        );
        let least = http(
            "tool_type: provider\nprovider: {kind: anthropic, base_url: 'http://127.0.0.1:1', \
             models: {general: m}}\n",
        );
        assert_eq!((least.shape, least.streams), (ChatShape::Anthropic, true));
        assert_eq!((least.retry.tries, least.credential_env), (PROVIDER_TRIES, None));
    }

    #[test]
    fn what_is_refused_of_one_over_http_is_named_by_its_pointer() {
        assert!(read(HTTP).is_ok(), "the fixture works untouched");
        for (from, to, pointer) in [
            ("kind: openai_chat", "kind: scripted", "/provider/base_url"),
            ("kind: openai_chat", "kind: anthropic", "/provider/answer_tokens_as"),
            ("kind: openai_chat", "kind: openai", "/provider/kind"),
            ("stream: false", "turns: []", "/provider/turns"),
            ("stream: false", "strict: 'yes'", "/provider/strict"),
            ("stream: false", "stream: 'no'", "/provider/stream"),
            ("  base_url: https://api.example/v1\n", "", "/provider/base_url"),
            ("https://api.example/v1", "http://api.example/v1", "/provider/base_url"),
            ("https://api.example/v1", "https://a:b@api.example/v1", "/provider/base_url"),
            ("https://api.example/v1", "https://api.example/v1?a=b", "/provider/base_url"),
            ("https://api.example/v1", "file:///etc/passwd", "/provider/base_url"),
            ("credential_env: A_KEY", "credential_env: A KEY", "/provider/credential_env"),
            ("credential_env: A_KEY", "credential_env: RYE_DEV_MODE", "/provider/credential_env"),
            ("X-Team: red", "Authorization: red", "/provider/headers/Authorization"),
            ("X-Team: red", "x-api-key: red", "/provider/headers/x-api-key"),
            ("X-Team: red", "Connection: close", "/provider/headers/Connection"),
            ("X-Team: red", "X Team: red", "/provider/headers/X Team"),
            ("X-Team: red", "X-Team: \"a\\nb\"", "/provider/headers/X-Team"),
            ("X-Team: red", "X-Team: '${HOME}'", "/provider/headers/X-Team"),
            ("X-Team: red", "X-Team: a, x-team: b", "/provider/headers/x-team"),
            ("temperature: 0", "model: other", "/provider/options/model"),
            ("temperature: 0", "n: 5", "/provider/options/n"),
            ("tries: 2", "tries: 0", "/provider/retry/tries"),
            ("tries: 2", "tries: 6", "/provider/retry/tries"),
            ("first_wait: 5ms", "first_wait: 2h", "/provider/retry/first_wait"),
            ("first_wait: 5ms", "wait: 5ms", "/provider/retry/wait"),
            ("as: max_tokens", "as: tokens", "/provider/answer_tokens_as"),
        ] {
            let text = HTTP.replacen(from, to, 1);
            assert_ne!(text, HTTP, "{from}");
            let why = read(&text).unwrap_err();
            assert!(why.starts_with(&format!("`{pointer}` ")), "{text}: {why}");
        }
    }

    #[test]
    fn what_is_refused_is_named_by_its_pointer() {
        assert!(read(GOOD).is_ok(), "the fixture works untouched");
        assert_eq!(read("tool_type: tool"), Ok(None));
        for (from, to, pointer) in [
            ("tool_type: provider", "tool_type: tool", "/provider"),
            ("kind: scripted", "kind: script", "/provider/kind"),
            ("{general: m}", "{}", "/provider/models"),
            ("{general: m}", "{general: ' '}", "/provider/models/general"),
            ("input: 0.25", "input: -1", "/provider/prices/m/input"),
            ("input: 0.25", "input: 1e999", "/provider/prices/m/input"),
            ("input: 0.25", "input: 0.0000001", "/provider/prices/m/input"),
            ("input: 0.25, ", "", "/provider/prices/m"),
            ("output: 1", "outputs: 1", "/provider/prices/m/outputs"),
            ("input: 3", "input: -3", "/provider/turns/0/usage/input"),
            ("name: a, arguments: {b: 1}", "arguments: {b: 1}", "/provider/turns/1/calls/0/name"),
            ("text: hi", "txt: hi", "/provider/turns/0/txt"),
            ("kind: scripted", "kind: scripted\n  context_window: 9", "/provider/context_window"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let why = read(&text).unwrap_err();
            assert!(why.starts_with(&format!("`{pointer}` ")), "{text}: {why}");
        }
    }
}
