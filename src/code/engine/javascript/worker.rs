//! The worker: rye's own program once more, which holds itself and then runs one snippet.
//!
//! It has no environment, three pipes and one thread. Before it reads the snippet it takes itself
//! down to computing; see `sandbox/computing.rs`. A refusal of memory ends it at once, so there is
//! nothing that a snippet could catch, and rye ends it when its time is over.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Stdin, Write};
use std::process::ExitCode;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Function, Object, Persistent, Promise, Runtime, Type, Value};
use serde_json::json;

use super::border::{Run, ToWorker, WorkerFault};
use super::thrown::{SNIPPET, fault_of, nul_in};
use super::values::{Kinds, Made, Mode, define, lossy, to_json};
use crate::base::limits::SNIPPET_LINE_BYTES;
use crate::host::LimitedMemory;
use crate::sandbox::only_compute;

/// Stack of an engine, in bytes: some thousand calls, in a quarter of the usual stack of a process.
#[cfg(feature = "code")]
const SNIPPET_STACK_BYTES: usize = 2 << 20;

/// Memory of a snippet's worker beside the values of the snippet, in bytes: its stack, and the
/// longest line in both forms.
#[cfg(feature = "code")]
const SNIPPET_WORKER_BYTES: u64 = 22 << 20;

/// The first argument of rye when it is started as a worker.
pub(super) const ENTRY: &str = "--code-worker";

/// So many bytes of calls are written at once.
const BATCH: usize = 16 << 10;

/// Runs the worker; returns what the process ends with.
pub(super) fn main(args: &[OsString]) -> ExitCode {
    match work(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn work(args: &[OsString]) -> io::Result<()> {
    let number = |at: usize| args.get(at).and_then(|arg| arg.to_str()?.parse::<u64>().ok());
    let (Some(memory), Some(cpu_seconds)) = (number(0), number(1)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    only_compute(memory.saturating_add(SNIPPET_WORKER_BYTES), cpu_seconds)?;
    #[cfg(debug_build)]
    if args.get(2).is_some_and(|arg| arg == super::escapes::ENTRY) {
        return super::escapes::show();
    }
    let mut input = Input(BufReader::with_capacity(64 << 10, io::stdin()));
    let first = input.line()?;
    let ToWorker::Run(run) = serde_json::from_str(&first)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let memory = LimitedMemory::new(usize::try_from(memory).unwrap_or(usize::MAX));
    let runtime = Runtime::new_with_alloc(memory).map_err(io::Error::other)?;
    runtime.set_max_stack_size(SNIPPET_STACK_BYTES);
    let context = Context::full(&runtime).map_err(io::Error::other)?;
    let shared = Rc::new(Shared::default());
    // The engine asks now and then whether it is to go on: what was called does not wait for a
    // snippet that computes long, or without end.
    let waiting = Rc::clone(&shared);
    runtime.set_interrupt_handler(Some(Box::new(move || {
        waiting.flush();
        false
    })));
    let tracked = Rc::clone(&shared);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx: Ctx<'_>, promise, reason, is_handled| {
            tracked.rejected(&ctx, promise, reason, is_handled);
        },
    )));
    let done = context.with(|ctx| {
        let done = Session { ctx: ctx.clone(), shared: Rc::clone(&shared), input }.run(&run);
        shared.flush();
        done
    });
    // Freeing the values one by one would only take time.
    if let Err(error) = done {
        let _ = writeln!(io::stderr(), "{error}");
        std::process::exit(1)
    }
    std::process::exit(0)
}

/// The state that the functions of the snippet share with the worker.
#[derive(Default)]
struct Shared {
    out: RefCell<Vec<u8>>,
    open: RefCell<HashMap<u64, OpenCall>>,
    calls: Cell<u64>,
    rejections: Cell<u64>,
    /// Promises that were rejected before anything waited for them, and the reason of each;
    /// numbered.
    unhandled: RefCell<HashMap<KeptValue, (u64, KeptValue)>>,
}

/// A value that is not taken down.
type KeptValue = Persistent<Value<'static>>;

/// A call that is not answered yet.
struct OpenCall {
    resolve: Persistent<Function<'static>>,
    reject: Persistent<Function<'static>>,
    /// The error that it throws if it fails, made where the snippet called.
    error: Persistent<Object<'static>>,
}

impl Shared {
    /// Sends a line, at the latest when the engine would wait.
    fn send(&self, line: &str) {
        let mut out = self.out.borrow_mut();
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        let is_full = out.len() >= BATCH;
        drop(out);
        if is_full {
            self.flush();
        }
    }

    fn flush(&self) {
        // A borrowed buffer is being written to; the writer flushes it later.
        let Ok(mut out) = self.out.try_borrow_mut() else { return };
        if out.is_empty() {
            return;
        }
        // rye closes its end when it has ended this process, or is about to.
        if io::stdout().write_all(&out).and_then(|()| io::stdout().flush()).is_err() {
            std::process::exit(1);
        }
        out.clear();
    }

    fn rejected<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Value<'js>,
        reason: Value<'js>,
        is_handled: bool,
    ) {
        let promise = Persistent::save(ctx, promise);
        let mut unhandled = self.unhandled.borrow_mut();
        if is_handled {
            unhandled.remove(&promise);
            return;
        }
        let number = self.rejections.get();
        self.rejections.set(number + 1);
        unhandled.insert(promise, (number, Persistent::save(ctx, reason)));
    }
}

/// Lines from rye.
struct Input(BufReader<Stdin>);

impl Input {
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let most = SNIPPET_LINE_BYTES as u64 + 1;
        self.0.by_ref().take(most).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        String::from_utf8(line).map_err(io::Error::other)
    }

    /// Returns true if the next line is here already.
    fn has_line(&self) -> bool {
        self.0.buffer().contains(&b'\n')
    }
}

/// One snippet.
struct Session<'js> {
    ctx: Ctx<'js>,
    shared: Rc<Shared>,
    input: Input,
}

/// Why a snippet ends without a result.
enum Ended {
    Fault(WorkerFault),
    NotJson(super::values::NotJson),
    Stuck,
    /// rye is not there any more.
    Gone(io::Error),
}

impl<'js> Session<'js> {
    fn run(mut self, run: &Run<'_>) -> io::Result<()> {
        let prelude = prelude(&self.ctx, &self.shared, run).map_err(|error| {
            io::Error::other(format!("the prelude: {error} {}", super::values::thrown(&self.ctx)))
        })?;
        self.shared.send("\"ready\"");
        self.shared.flush();
        let line = match self.result(&run.code, &prelude) {
            Ok((value, warnings)) => {
                // The value is JSON already.
                format!(r#"{{"done":{{"value":{value},"warnings":{}}}}}"#, json!(warnings))
            }
            Err(Ended::Fault(fault)) => json!({ "failed": fault }).to_string(),
            Err(Ended::NotJson(not)) => {
                json!({ "not_json": { "path": not.path, "why": not.why } }).to_string()
            }
            Err(Ended::Stuck) => "\"stuck\"".to_owned(),
            Err(Ended::Gone(error)) => return Err(error),
        };
        self.shared.send(&line);
        Ok(())
    }

    fn result(
        &mut self,
        code: &str,
        prelude: &Prelude<'js>,
    ) -> Result<(String, Vec<String>), Ended> {
        let kinds = &prelude.kinds;
        let mut options = EvalOptions::default();
        options.strict = false;
        options.promise = true;
        options.filename = Some(SNIPPET.to_owned());
        let main = self.ctx.eval_with_options::<Promise<'js>, _>(code, options);
        let main = match main {
            Ok(main) => main,
            Err(rquickjs::Error::InvalidString(nul)) => {
                return Err(Ended::Fault(nul_in(code, nul.nul_position())));
            }
            Err(_) => return Err(Ended::Fault(self.fault(true))),
        };
        loop {
            self.settle(prelude, Some(&main))?;
            if main.state() != PromiseState::Pending {
                break;
            }
        }
        let last = match main.result::<Value<'js>>() {
            Some(Ok(last)) => last,
            Some(Err(_)) => return Err(Ended::Fault(self.fault(false))),
            None => return Err(Ended::Stuck),
        };
        // What it started and did not wait for.
        while !self.shared.open.borrow().is_empty() {
            self.settle(prelude, None)?;
        }
        let value =
            self.out(last, &prelude.is_assigned).map_err(|_| Ended::Fault(self.fault(false)))?;
        let is_nothing = value.is_undefined();
        let value = match value.clone().into_promise() {
            None => value,
            Some(promise) => match promise.result::<Value<'js>>() {
                Some(Ok(value)) => value,
                Some(Err(_)) => return Err(Ended::Fault(self.fault(false))),
                None => return Err(Ended::Stuck),
            },
        };
        let unhandled = self
            .shared
            .unhandled
            .borrow_mut()
            .drain()
            .map(|(_, reason)| reason)
            .min_by_key(|(number, _)| *number);
        if let Some((_, reason)) = unhandled
            && let Ok(reason) = reason.restore(&self.ctx)
        {
            return Err(Ended::Fault(fault_of(&reason, false)));
        }
        let (value, mut warnings) = to_json(kinds, value, Mode::Strict).map_err(Ended::NotJson)?;
        let dropped = prelude.dropped.call::<_, u32>(()).unwrap_or_default();
        if is_nothing && dropped > 0 {
            warnings.push(format!(
                "nothing came of the snippet, and it did not wait for {dropped} of its calls: \
                 write `await` before them"
            ));
        }
        Ok((value, warnings))
    }

    /// Runs all there is to run, and then takes one answer; none if `main` came to its end.
    fn settle(&mut self, prelude: &Prelude<'js>, main: Option<&Promise<'js>>) -> Result<(), Ended> {
        while self.ctx.execute_pending_job() {}
        if main.is_some_and(|main| main.state() != PromiseState::Pending) {
            return Ok(());
        }
        if self.shared.open.borrow().is_empty() {
            return if main.is_some() { Err(Ended::Stuck) } else { Ok(()) };
        }
        if !self.input.has_line() {
            let taken = self.shared.calls.get() - self.shared.open.borrow().len() as u64;
            self.shared.send(&format!(r#"{{"idle":{{"taken":{taken}}}}}"#));
            self.shared.flush();
        }
        let line = self.input.line().map_err(Ended::Gone)?;
        self.answer(prelude, &line).map_err(|error| Ended::Gone(io::Error::other(error)))?;
        while self.ctx.execute_pending_job() {}
        Ok(())
    }

    /// Gives an answer to the call that waits for it.
    fn answer(&self, prelude: &Prelude<'js>, line: &str) -> rquickjs::Result<()> {
        let (ctx, kinds) = (&self.ctx, &prelude.kinds);
        let invalid = |_| rquickjs::Error::Unknown;
        let message: ToWorker<'_> = serde_json::from_str(line).map_err(invalid)?;
        let (ToWorker::Given(super::border::Given { call, now_ms, .. })
        | ToWorker::Throws(super::border::Throws { call, now_ms, .. })) = &message
        else {
            return Err(rquickjs::Error::Unknown);
        };
        let Some(open) = self.shared.open.borrow_mut().remove(call) else { return Ok(()) };
        prelude.tick.call::<_, ()>((clock(*now_ms),))?;
        let made = Made { ctx, kinds };
        let value = match &message {
            ToWorker::Given(given) => match made.read(given.value.get()) {
                Ok(value) => return open.resolve.restore(ctx)?.call((value,)),
                Err(why) => {
                    let error = open.error.restore(ctx)?;
                    let why = format!("the answer cannot be read: {why}");
                    define(
                        &error,
                        "message",
                        rquickjs::String::from_str(ctx.clone(), &why)?.into_value(),
                    )?;
                    error
                }
            },
            ToWorker::Throws(throws) => {
                let error = open.error.restore(ctx)?;
                let text = |text: &str| {
                    rquickjs::String::from_str(ctx.clone(), text).map(rquickjs::String::into_value)
                };
                hide(&error, "message", text(&throws.message)?)?;
                if throws.name != "ToolError" {
                    hide(&error, "name", text(&throws.name)?)?;
                }
                define(&error, "code", text(&throws.code)?)?;
                if let Some(tool) = &throws.tool {
                    define(&error, "tool", text(tool)?)?;
                }
                let data = made.read(throws.data.get()).map_err(|_| rquickjs::Error::Unknown)?;
                define(&error, "data", data)?;
                error
            }
            ToWorker::Run(_) => return Err(rquickjs::Error::Unknown),
        };
        open.reject.restore(ctx)?.call((value,))
    }

    /// The value that the snippet assigned to `__out`, whether it is declared or global, or else
    /// its last value.
    fn out(&self, last: Value<'js>, is_assigned: &Function<'js>) -> rquickjs::Result<Value<'js>> {
        let mut options = EvalOptions::default();
        options.strict = false;
        let named: Value<'js> = self
            .ctx
            .eval_with_options("typeof __out === 'undefined' ? undefined : __out", options)?;
        if !named.is_undefined() {
            return Ok(named);
        }
        if is_assigned.call::<_, bool>(())? {
            return Ok(named);
        }
        last.into_object()
            .map_or_else(|| Ok(Value::new_undefined(self.ctx.clone())), |last| last.get("value"))
    }

    /// The pending exception.
    fn fault(&self, is_syntax: bool) -> WorkerFault {
        fault_of(&self.ctx.catch(), is_syntax)
    }
}

/// The functions and values of the prelude, which a snippet cannot reach.
struct Prelude<'js> {
    kinds: Rc<Kinds<'js>>,
    is_assigned: Function<'js>,
    /// How many calls the snippet did not wait for.
    dropped: Function<'js>,
    /// Sets the clocks.
    tick: Function<'js>,
}

/// A time as JavaScript has it: exact for some hundred thousand years.
#[expect(clippy::cast_precision_loss, reason = "a time of this age is far below 2^53")]
fn clock(now_ms: u64) -> f64 {
    now_ms as f64
}

/// Sets up what a snippet finds.
fn prelude<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    run: &Run<'_>,
) -> rquickjs::Result<Prelude<'js>> {
    let kinds: Rc<RefCell<Option<Rc<Kinds<'js>>>>> = Rc::default();
    let (calls, sent) = (Rc::clone(&kinds), Rc::clone(shared));
    let send = move |ctx: Ctx<'js>, name: String, args: Vec<Value<'js>>, error: Object<'js>| {
        let kinds = calls.borrow().clone().ok_or(rquickjs::Error::Unknown)?;
        call(&ctx, &sent, &kinds, &name, args, error)
    };
    let (prints, printed) = (Rc::clone(&kinds), Rc::clone(shared));
    let print = move |is_error: bool, args: Vec<Value<'js>>| {
        let kinds = prints.borrow().clone().ok_or(rquickjs::Error::Unknown)?;
        print(&printed, &kinds, is_error, args);
        Ok::<_, rquickjs::Error>(())
    };
    let mut options = EvalOptions::default();
    options.filename = Some("rye".to_owned());
    let made: Function<'js> = ctx.eval_with_options(include_str!("prelude.js"), options)?;
    let bigint: Function<'js> = ctx.globals().get("BigInt")?;
    // To read the parameters, only this one is needed.
    let first = Kinds { write: bigint.clone(), bigint };
    let params =
        Made { ctx, kinds: &first }.read(run.params.get()).map_err(|_| rquickjs::Error::Unknown)?;
    let send = Function::new(ctx.clone(), send)?;
    let print = Function::new(ctx.clone(), print)?;
    let seed = run.seed.to_vec();
    let class_of = Function::new(ctx.clone(), |value: Value<'js>| match value.type_of() {
        Type::Promise => "promise",
        Type::Exception => "error",
        _ => "",
    })?;
    let now = clock(run.now_ms);
    let given: Object<'js> = made.call((send, print, params, now, seed, class_of))?;
    let all = Rc::new(Kinds { bigint: given.get("bigint")?, write: given.get("write")? });
    *kinds.borrow_mut() = Some(Rc::clone(&all));
    let (is_assigned, dropped) = (given.get("isAssigned")?, given.get("dropped")?);
    Ok(Prelude { kinds: all, is_assigned, dropped, tick: given.get("tick")? })
}

/// A call of a function of the border.
fn call<'js>(
    ctx: &Ctx<'js>,
    shared: &Shared,
    kinds: &Kinds<'js>,
    function: &str,
    mut args: Vec<Value<'js>>,
    error: Object<'js>,
) -> rquickjs::Result<Promise<'js>> {
    while args.last().is_some_and(Value::is_undefined) {
        args.pop();
    }
    let (promise, resolve, reject) = ctx.promise()?;
    let mut texts = String::new();
    for (index, arg) in args.into_iter().enumerate() {
        let why = match to_json(kinds, arg, Mode::Strict) {
            Ok((text, _)) if texts.len() + text.len() < SNIPPET_LINE_BYTES - BATCH => {
                if index > 0 {
                    texts.push(',');
                }
                texts.push_str(&text);
                continue;
            }
            Ok(_) => format!("they have more than {} MiB", SNIPPET_LINE_BYTES >> 20),
            Err(not) => {
                let at =
                    if not.path.is_empty() { String::new() } else { format!(" at {}", not.path) };
                format!("argument {}{at}: {}", index + 1, not.why)
            }
        };
        let text = |text: &str| {
            rquickjs::String::from_str(ctx.clone(), text).map(rquickjs::String::into_value)
        };
        hide(&error, "name", text("TypeError")?)?;
        hide(
            &error,
            "message",
            text(&format!("the arguments of {function} are not JSON: {why}"))?,
        )?;
        reject.call::<_, ()>((error,))?;
        return Ok(promise);
    }
    let number = shared.calls.get() + 1;
    shared.calls.set(number);
    shared.open.borrow_mut().insert(
        number,
        OpenCall {
            resolve: Persistent::save(ctx, resolve),
            reject: Persistent::save(ctx, reject),
            error: Persistent::save(ctx, error),
        },
    );
    let function = serde_json::Value::from(function);
    shared
        .send(&format!(r#"{{"call":{{"call":{number},"function":{function},"args":[{texts}]}}}}"#));
    Ok(promise)
}

/// Prints at once, so that nothing is lost when the worker is ended.
fn print<'js>(shared: &Shared, kinds: &Kinds<'js>, is_error: bool, args: Vec<Value<'js>>) {
    let texts: Vec<String> = args.into_iter().map(|arg| shown(kinds, arg)).collect();
    let text = texts.join(" ") + "\n";
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let mut end = rest.len().min(BATCH);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, behind) = rest.split_at(end);
        shared.send(&json!({ "print": { "error": is_error, "text": part } }).to_string());
        rest = behind;
    }
    shared.flush();
}

/// A value for a person.
fn shown<'js>(kinds: &Kinds<'js>, value: Value<'js>) -> String {
    if value.is_string() {
        return lossy(&value);
    }
    if value.is_undefined() {
        return "undefined".to_owned();
    }
    if value.is_number() {
        if let Ok(text) = value.get::<rquickjs::convert::Coerced<String>>() {
            return text.0;
        }
        value.ctx().catch();
    }
    if let Some(error) = value.as_object().filter(|object| object.is_error()) {
        let fault = fault_of(error.as_value(), false);
        return format!("{}: {}", fault.name, fault.message);
    }
    match to_json(kinds, value, Mode::Shown) {
        Ok((text, _)) => text.trim_matches('"').to_owned(),
        Err(not) => format!("[{}]", not.why),
    }
}

/// Gives an error a property that is not listed, as its own are.
fn hide<'js>(error: &Object<'js>, key: &str, value: Value<'js>) -> rquickjs::Result<()> {
    use rquickjs::object::Property;
    error.prop(key, Property::from(value).writable().configurable())
}
