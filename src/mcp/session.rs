//! One session: each request of the protocol becomes a call on a thread of its own.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, ElicitationAction, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, InitializeResult,
    InputRequiredResult, InputResponses, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, Reference, ResourceTemplate, ServerCapabilities, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::approvals::{ask, call_digest, can_ask, question_as_result, said, waiting_id};
use super::calls::{Answer, Call, CallLog, Refusal};
use super::error::McpError;
use super::http_readers::RequestStream;
use super::listeners::Subscribed;
use super::messages::bad_parameters;
use super::resources::{TEMPLATE, is_page};
use super::server::{Server, held};
use super::tools::own;
use crate::base::Digest;
use crate::base::limits::MCP_SUBSCRIPTIONS;
use crate::host::Ticket;
use crate::id::Ref;
use crate::resolve::RESOLVE_NOT_FOUND;

/// How often a client that wants to know is told that a call still runs, in milliseconds.
#[cfg(feature = "mcp")]
const MCP_PROGRESS_MS: u64 = 1_000;

/// Most lines of a tool's standard error that are sent to a client while a call runs, the first
/// ones, and as many when it is done, the last ones.
#[cfg(feature = "mcp")]
const MCP_LOG_LINES: usize = 100;

/// See the module.
pub(super) struct Session {
    server: Arc<Server>,
    /// The least level of log messages that the client wants.
    level: Mutex<LoggingLevel>,
    /// The pages that it subscribed to, in the revisions that have sessions.
    subscribed: Subscribed,
}

const INSTRUCTIONS: &str = "rye runs tools and hands out directives whose every file is signed. Run one with `rye_execute`, read one with `rye_fetch`. A refusal carries a `code` and a `help`: follow the help, and never sign what you have not read.";

impl Session {
    pub(super) fn new(server: &Arc<Server>) -> Self {
        let level = Mutex::new(LoggingLevel::Info);
        Self { server: Arc::clone(server), level, subscribed: Arc::default() }
    }

    /// Runs `job` on a thread of its own. It is cancelled when the client says so or goes away.
    async fn call<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        job: impl FnOnce(&Call<'_>) -> T + Send + 'static,
    ) -> Result<(T, Arc<CallLog>), Stopped> {
        let log = Arc::new(CallLog::default());
        let (say, mut said) = oneshot::channel();
        let (server, heard) = (Arc::clone(&self.server), Arc::clone(&log));
        let work = Box::new(move |is_cancelled: &AtomicBool| {
            let call = Call::new(&server, &heard, is_cancelled);
            let answer = job(&call);
            // Hooks that are told of the call are waited for after the answer is sent.
            let _ = say.send(answer);
        });
        let ticket = self.server.workers.submit(work);
        let ticket = ticket.map_err(|busy| Stopped::Refused(McpError::from(busy).into()))?;
        let token = context.meta.get_progress_token();
        let mut is_gone = pin!(gone(context));
        let mut ticks = tokio::time::interval(Duration::from_millis(MCP_PROGRESS_MS));
        ticks.reset();
        let (mut seconds, mut lines) = (0.0, MCP_LOG_LINES);
        loop {
            let mut progress = None;
            tokio::select! {
                biased;
                answer = &mut said => {
                    ticket.answered();
                    return answer.map(|answer| (answer, log)).map_err(|_| Stopped::Lost);
                }
                () = &mut is_gone => return stop(ticket, said).await,
                () = log.hears(), if lines > 0 => {}
                _ = ticks.tick(), if token.is_some() => {
                    seconds += Duration::from_millis(MCP_PROGRESS_MS).as_secs_f64();
                    progress = token.clone();
                }
            }
            let tells = async {
                self.tell(log.first(&mut lines), context).await;
                let Some(token) = progress else { return };
                let wait = log.take_wait().map(|wait| format!("; {wait}")).unwrap_or_default();
                let progress = ProgressNotificationParam::new(token, seconds)
                    .with_message(format!("it has run for {seconds} s{wait}"));
                let _ = context.peer.notify_progress(progress).await;
            };
            // A client that does not read may still cancel.
            tokio::select! {
                biased;
                () = &mut is_gone => return stop(ticket, said).await,
                () = tells => {}
            }
        }
    }

    /// The answer of a call of a tool, once what it said is told.
    async fn answered(
        &self,
        context: &RequestContext<RoleServer>,
        job: impl FnOnce(&Call<'_>) -> Option<Answer> + Send + 'static,
    ) -> Result<Option<Answer>, ErrorData> {
        let answer = match self.call(context, job).await {
            Ok((answer, log)) => {
                self.tell(log.take(), context).await;
                answer
            }
            Err(Stopped::Refused(refusal)) => Some(refusal.into_answer(Duration::ZERO)),
            Err(other) => return Err(other.into()),
        };
        let signal = answer.as_ref().and_then(|answer| answer.signal);
        if let Some(signal) = signal.filter(|_| !self.server.workers.is_closed()) {
            self.server.end_by(signal);
        }
        Ok(answer)
    }

    /// Asks the person at the client the question of the tool in `answer`, and each further one
    /// when it goes on. Without a decision `answer` stays the answer.
    async fn ask(
        &self,
        mut id: String,
        digest: Digest,
        mut answer: Answer,
        context: &RequestContext<RoleServer>,
    ) -> Result<Turn, ErrorData> {
        loop {
            let asked = id.clone();
            let (question, _) = self.call(context, move |call| call.question(&asked)).await?;
            let Some(question) = question else { return Ok(Turn::Answer(answer)) };
            if is_stateless(context) {
                held(&self.server.asked).keep(&id, digest);
                return Ok(Turn::Question(question_as_result(question, &id)));
            }
            let said = ask(question, context).await;
            let Some(action @ (ElicitationAction::Accept | ElicitationAction::Decline)) = said
            else {
                return Ok(Turn::Answer(answer));
            };
            answer = self.decided(id.clone(), action, context).await?;
            match waiting_id(&answer).filter(|next| *next != id) {
                Some(next) => id = next,
                None => return Ok(Turn::Answer(answer)),
            }
        }
    }

    /// A call that comes back with what the person said.
    async fn goes_on(
        &self,
        id: String,
        digest: Option<Digest>,
        responses: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Turn, ErrorData> {
        if !digest.is_some_and(|digest| held(&self.server.asked).knows(&id, digest)) {
            let why = "this server gave no such `requestState` to this call";
            return Err(ErrorData::invalid_params(why, None));
        }
        let said = said(responses).map_err(|why| {
            ErrorData::invalid_params(
                format!("the answer of the person cannot be read: {why}"),
                None,
            )
        })?;
        let action = said.unwrap_or(ElicitationAction::Cancel);
        let answer = self.decided(id.clone(), action, context).await?;
        match waiting_id(&answer).filter(|next| *next != id).zip(digest) {
            Some((next, digest)) => self.ask(next, digest, answer, context).await,
            None => Ok(Turn::Answer(answer)),
        }
    }

    async fn decided(
        &self,
        id: String,
        action: ElicitationAction,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ErrorData> {
        let answer = self.answered(context, move |call| Some(call.decided(&id, &action))).await?;
        // The job gives one.
        answer.ok_or_else(|| Stopped::Lost.into())
    }

    /// Sends what programs wrote to standard error, line by line.
    async fn tell(&self, said: Vec<(Ref, String)>, context: &RequestContext<RoleServer>) {
        // From 2026-07-28 on each request says for itself what it wants to hear.
        let level = match is_stateless(context) {
            true => context.meta.log_level(),
            false => Some(*held(&self.level)),
        };
        if said.is_empty() || level.is_none_or(|level| rank(level) > rank(LoggingLevel::Info)) {
            return;
        }
        let lines: Vec<_> = said
            .iter()
            .flat_map(|(item, text)| text.lines().map(move |line| (item, line)))
            .collect();
        for (item, line) in &lines[lines.len().saturating_sub(MCP_LOG_LINES)..] {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, (*line).into())
                .with_logger(item.to_string());
            if context.peer.notify_logging_message(message).await.is_err() {
                return;
            }
        }
    }
}

/// Ends a call that no client waits for. Its process group is gone when this returns.
async fn stop<T, R>(ticket: Ticket<'_>, said: oneshot::Receiver<T>) -> Result<R, Stopped> {
    drop(ticket);
    let _ = said.await;
    Err(Stopped::Cancelled)
}

/// Returns when the client has cancelled the call, or has gone away and did not come back for it.
pub(super) async fn gone(context: &RequestContext<RoleServer>) {
    let head = context.extensions.get::<Parts>();
    let stream = head.and_then(|head| head.extensions.get::<Arc<RequestStream>>());
    match stream {
        Some(stream) => tokio::select! {
            () = context.ct.cancelled() => (),
            () = stream.lost() => (),
        },
        None => context.ct.cancelled().await,
    }
}

/// The protocol versions that this server speaks.
pub(super) fn versions() -> &'static [ProtocolVersion] {
    ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28)
}

/// Returns true if a request is of a revision without sessions.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The message that answers a call.
enum Turn {
    Answer(Answer),
    /// The client comes back with what its person said.
    Question(InputRequiredResult),
}

/// Why a call has no answer.
enum Stopped {
    Refused(Refusal),
    Cancelled,
    /// The call ended without an answer.
    Lost,
}

impl From<Stopped> for ErrorData {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Refused(refusal) => of_refusal(&refusal),
            // It is never read: a cancelled request is not answered.
            Stopped::Cancelled => Self::internal_error("it was cancelled", None),
            Stopped::Lost => Self::internal_error("a bug in rye ended the call", None),
        }
    }
}

/// Refuses a cursor: the lists have one page, and give no cursor.
fn is_first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) => Err(of_refusal(&McpError::Cursor { cursor }.into())),
        None => Ok(()),
    }
}

/// A refusal as an error of the protocol, where it has no other place.
fn of_refusal(refusal: &Refusal) -> ErrorData {
    let diagnostic = refusal.diagnostic();
    ErrorData::invalid_params(diagnostic.message.clone(), Some(diagnostic.to_json().into()))
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        _ => 4,
    }
}

/// The answer of rye's own tool: as structured content, and the same as text.
fn result(answer: Answer) -> CallToolResult {
    let value = Value::Object(answer.structured);
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.is_error = Some(answer.is_error);
    result.structured_content = Some(value);
    result
}

/// The answer of an exposed item: only what the item gave. Any other outcome than success is given
/// in the form of `rye_execute`.
fn exposed(mut answer: Answer) -> CallToolResult {
    let is_plain = answer.structured.get("status").is_some_and(|status| status == "success");
    let data = answer.structured.get_mut("data").filter(|_| is_plain).map(Value::take);
    let Some(data) = data else { return result(answer) };
    if let Some(content) = content_of(&data) {
        return CallToolResult::success(content);
    }
    let (text, structured) = match data {
        Value::String(text) => (text, None),
        // The item gave text that is not JSON.
        Value::Object(map) if map.len() == 2 && map.contains_key("stderr") => {
            let stdout = map.get("stdout").and_then(Value::as_str);
            (stdout.unwrap_or_default().to_owned(), None)
        }
        Value::Object(map) => {
            let value = Value::Object(map);
            (value.to_string(), Some(value))
        }
        other => (other.to_string(), None),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = structured;
    result
}

/// Content as the protocol spells it, where that is all that a tool gave: pictures, sound, links.
fn content_of(data: &Value) -> Option<Vec<ContentBlock>> {
    let map = data.as_object().filter(|map| map.len() == 1)?;
    serde_json::from_value(map.get("content")?.clone()).ok()
}

impl ServerHandler for Session {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new("rye", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        versions().into()
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.server.listeners.session(context.peer, Arc::clone(&self.subscribed));
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *held(&self.level) = request.level;
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        is_first_page(request)?;
        let mut tools = own(self.server.setup.may_sign);
        tools.extend(self.server.exposed().tools().cloned());
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, _: &str) -> Option<Tool> {
        None
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let digest = self.server.setup.may_ask.then(|| call_digest(&request));
        let name = request.name;
        let answer = match request.request_state {
            None => {
                let (asked, arguments) = (name.to_string(), request.arguments.unwrap_or_default());
                let answer = self.answered(&context, move |call| call.tool(&asked, arguments));
                let answer = answer.await?.ok_or_else(|| {
                    ErrorData::invalid_params(format!("there is no tool `{name}`"), None)
                })?;
                match waiting_id(&answer).zip(digest).filter(|_| can_ask(&context)) {
                    Some((id, digest)) => self.ask(id, digest, answer, &context).await?,
                    _ => Turn::Answer(answer),
                }
            }
            Some(id) => self.goes_on(id, digest, request.input_responses, &context).await?,
        };
        Ok(match answer {
            Turn::Answer(answer) if super::tools::is_own(&name) => result(answer).into(),
            Turn::Answer(answer) => exposed(answer).into(),
            Turn::Question(question) => question.into(),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (page, _) = self.call(&context, move |call| call.prompts(cursor.as_deref())).await?;
        let (prompts, next) = page.map_err(|refusal| of_refusal(&refusal))?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments: Map<String, Value> = match serde_json::to_value(&request.arguments) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let name = request.name;
        let (prompt, _) = self.call(&context, move |call| call.prompt(&name, arguments)).await?;
        match prompt.map_err(|refusal| of_refusal(&refusal))? {
            Ok(prompt) => Ok(prompt.into()),
            Err(error) => {
                let text =
                    error.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
                Err(ErrorData::invalid_params(text, Some(error.into())))
            }
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (page, _) = self.call(&context, move |call| call.resources(cursor.as_deref())).await?;
        let (resources, next) = page.map_err(|refusal| of_refusal(&refusal))?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        is_first_page(request)?;
        let template = ResourceTemplate::new(TEMPLATE, "knowledge")
            .with_description("A signed page of knowledge, by its id");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let CompleteRequestParams { r#ref, argument, .. } = request;
        let values = self.call(&context, move |call| match &r#ref {
            Reference::Prompt(prompt) => {
                call.values(&prompt.name, &argument.name, &argument.value).map(Some)
            }
            Reference::Resource(resource) if resource.uri == TEMPLATE && argument.name == "id" => {
                call.page_ids(&argument.value).map(Some)
            }
            _ => Ok(None),
        });
        let values = values.await?.0.map_err(|refusal| of_refusal(&refusal))?;
        let mut values = values.ok_or_else(|| {
            ErrorData::invalid_params(format!("the one template is `{TEMPLATE}`"), None)
        })?;
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let has_more = values.len() < total;
        let info = CompletionInfo::with_pagination(values, u32::try_from(total).ok(), has_more);
        Ok(CompleteResult::new(info.map_err(|why| ErrorData::internal_error(why, None))?))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !is_page(&request.uri) {
            let data = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found("there is no such resource", Some(data)));
        }
        let mut subscribed = held(&self.subscribed);
        if subscribed.len() >= MCP_SUBSCRIPTIONS && !subscribed.contains(&request.uri) {
            let why = format!("a session subscribes to {MCP_SUBSCRIPTIONS} resources at most");
            return Err(ErrorData::invalid_params(why, None));
        }
        subscribed.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        held(&self.subscribed).remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| is_page(uri));
            uris.truncate(MCP_SUBSCRIPTIONS);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let _listening = self.server.listeners.request(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }

    /// The library takes a request whose parameters it cannot read for one of another method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match bad_parameters(&request.method, request.params.as_ref()) {
            Some(why) => Err(ErrorData::invalid_params(why, None)),
            None => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let (read, _) = self.call(&context, move |call| call.resource(&uri)).await?;
        let missing =
            |data: Value| ErrorData::resource_not_found("there is no such resource", Some(data));
        match read {
            Ok(Some(read)) => Ok(read.into()),
            Ok(None) => Err(missing(json!({"uri": request.uri}))),
            Err(refusal) if refusal.diagnostic().code == RESOLVE_NOT_FOUND => {
                Err(missing(refusal.diagnostic().to_json().into()))
            }
            Err(refusal) => Err(of_refusal(&refusal)),
        }
    }
}
