//! The engine of snippets from outside, by its public types: a worker of the built program for each
//! snippet. What a snippet may call and what is recorded is the executor's, and tested there.

mod hostile;
mod snippets;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rye::code::{
    CallAnswer, Engine, EngineError, EngineLimit, JavaScript, PrintStream, Produced, Snippet,
    SnippetCall, SnippetFault, Stop, Surroundings, Thrown,
};
use serde_json::{Value, json};

/// What the clocks say at the start, and once a call was answered.
const START: u64 = 1_700_000_000_000;
const NOW: u64 = START + 1_500;

/// Answers `echo` with its argument, `late` after a moment from another thread, `never` not at all,
/// and all else with an error.
#[derive(Default)]
struct Around {
    printed: Mutex<Vec<(PrintStream, String)>>,
    calls: Mutex<Vec<SnippetCall>>,
    kept: Mutex<Vec<CallAnswer>>,
}

impl Surroundings for Around {
    fn call(&self, call: SnippetCall, answer: CallAnswer) {
        self.calls.lock().unwrap().push(call.clone());
        let value = call.args.get(1).cloned().unwrap_or_default();
        match call.args.first().and_then(Value::as_str) {
            Some("echo") => answer.give(Ok(value), NOW),
            Some("late") => drop(std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                answer.give(Ok(value), NOW);
            })),
            Some("never") => self.kept.lock().unwrap().push(answer),
            _ => {
                let thrown = Thrown {
                    name: "ToolError".into(),
                    message: format!("`{}` failed", call.function),
                    code: "some.code".into(),
                    tool: Some("a/b".into()),
                    data: json!({"deep": [1, 12_345_678_901_234_567_890_u64]}),
                };
                answer.give(Err(thrown), NOW);
            }
        }
    }

    fn print(&self, stream: PrintStream, text: &str) {
        self.printed.lock().unwrap().push((stream, text.to_owned()));
    }
}

struct Limits {
    memory_mib: u64,
    engine: Duration,
    time: Duration,
}

const USUAL: Limits =
    Limits { memory_mib: 64, engine: Duration::from_secs(20), time: Duration::from_mins(1) };

fn run_in(
    language: &str,
    code: &str,
    around: &Around,
    limits: &Limits,
    stop: &Stop,
) -> Result<Produced, EngineError> {
    let engine = JavaScript::with_program(env!("CARGO_BIN_EXE_rye"));
    let params = json!({"text": "é😀", "big": 98_765_432_109_876_543_210_u128, "one": 1});
    let snippet = Snippet {
        language,
        code,
        params: &params,
        memory_bytes: limits.memory_mib << 20,
        engine_time: limits.engine,
        deadline: Instant::now() + limits.time,
        now_ms: START,
        seed: [1, 2, 3, 4],
    };
    engine.run(&snippet, around, stop)
}

fn run(code: &str) -> Result<Produced, EngineError> {
    run_in("javascript", code, &Around::default(), &USUAL, &Stop::new())
}

fn value(code: &str) -> Value {
    run(code).unwrap_or_else(|error| panic!("{code}\n{error:?}")).value
}

fn fault(language: &str, code: &str) -> SnippetFault {
    match run_in(language, code, &Around::default(), &USUAL, &Stop::new()) {
        Err(EngineError::Failed(fault)) => fault,
        other => panic!("{code}\n{other:?}"),
    }
}

#[test]
fn a_snippet_computes_calls_prints_and_gives_a_value() {
    let around = Around::default();
    let code = "
        println('first', {a: [1, undefined, 2n]}, params.text);
        console.error(new Error('second'));
        const [a, b] = await Promise.all([runTool('late', {x: 1}), tools.echo(params.big)]);
        const caught = await runChain([]).catch(({name, message, code, tool, data}) =>
            ({name, message, code, tool, data}));
        __out = {a, b, caught, rest: [typeof searchTools, typeof listNamespaces,
            typeof describeTool, typeof listToolExamples]};";
    let produced = run_in("javascript", code, &around, &USUAL, &Stop::new()).unwrap();
    let want = json!({
        "a": {"x": 1},
        "b": 98_765_432_109_876_543_210_u128,
        "caught": {
            "name": "ToolError",
            "message": "`runChain` failed",
            "code": "some.code",
            "tool": "a/b",
            "data": {"deep": [1, 12_345_678_901_234_567_890_u64]},
        },
        "rest": ["function", "function", "function", "function"],
    });
    assert_eq!(produced.value, want);
    let want = [
        (PrintStream::Stdout, "first {\"a\":[1,null,2]} é😀\n".to_owned()),
        (PrintStream::Stderr, "Error: second\n".to_owned()),
    ];
    assert_eq!(*around.printed.lock().unwrap(), want);
    let calls = around.calls.lock().unwrap();
    let names: Vec<_> = calls.iter().map(|call| call.function.as_str()).collect();
    assert_eq!(names, ["runTool", "runTool", "runChain"]);
    assert_eq!(calls[1].args[0], json!("echo"));
}

#[test]
fn each_way_to_give_a_result_table() {
    for (code, want) in [
        ("__out = 1; 2", json!(1)),
        ("var __out = 1; 2", json!(1)),
        ("let __out = 1; 2", json!(1)),
        ("const __out = 1; 2", json!(1)),
        ("globalThis.__out = 1; 2", json!(1)),
        ("'use strict'; __out = 1; 2", json!(1)),
        ("__out = null; 2", json!(null)),
        ("__out = undefined; 2", json!(null)),
        ("__out = runTool('late', 1); 2", json!(1)),
        ("runTool('late', 1).then((it) => { __out = it }); 2", json!(1)),
        ("1; 2", json!(2)),
        ("if (true) { 2 } else { 3 }", json!(2)),
        ("2; function f() {}", json!(2)),
        ("await runTool('echo', 2)", json!(2)),
        ("runTool('late', 2)", json!(2)),
        ("let a = 5", json!(null)),
        ("", json!(null)),
    ] {
        assert_eq!(value(code), want, "{code}");
    }
    let fault = fault("javascript", "const a = 1;\nreturn a;");
    assert_eq!((fault.line, fault.column), (2, 1));
    assert!(fault.help.unwrap().contains("assign to `__out`"), "{fault:?}");
}

#[test]
fn the_clocks_stand_until_a_call_is_answered_and_chance_comes_from_the_seed() {
    let code = "
        const now = () => [Date.now(), new Date().getTime(), Date.parse(Date()), performance.now()];
        const first = now();
        for (let i = 0; i < 1e5; i++) Math.random();
        const still = now();
        await runTool('echo', {});
        class Own extends Date {}
        ({first, still, then: now(), origin: performance.timeOrigin,
          kinds: [new Date() instanceof Date, new Own().getTime(), new Date(5).getTime(),
                  new Date().constructor === Date, Date.length, Date.name, Date.UTC(1970, 0, 1)],
          chance: [Math.random(), Math.random()]})";
    let got = value(code);
    assert_eq!(got, value(code), "two runs with one seed are the same");
    assert_eq!(got["first"], json!([START, START, START, 0]));
    assert_eq!((&got["still"], &got["origin"]), (&got["first"], &json!(START)));
    assert_eq!(got["then"], json!([NOW, NOW, NOW / 1000 * 1000, 1_500]));
    assert_eq!(got["kinds"], json!([true, NOW, 5, true, 7, "Date", 0]));
    let chance: Vec<f64> = serde_json::from_value(got["chance"].clone()).unwrap();
    assert_ne!(got["chance"][0], got["chance"][1]);
    assert!(chance.iter().all(|n| (0.0..1.0).contains(n)), "{chance:?}");
}

#[test]
fn each_value_is_json_or_is_refused_with_its_path_table() {
    for (code, want) in [
        ("[1, -1, 1.5, 1e21, 1e-7, -0]", json!([1, -1, 1.5, 1e21, 1e-7, 0])),
        ("2n ** 64n", json!(18_446_744_073_709_551_616_u128)),
        (
            "[true, null, undefined, , 'é😀\\u2028\\u0000']",
            json!([true, null, null, null, "é😀\u{2028}\0"]),
        ),
        ("({a: undefined, b: 1, [Symbol('c')]: 2})", json!({"b": 1})),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("new Uint8Array([1, 2])", json!([1, 2])),
        ("new Float64Array([0.5])", json!([0.5])),
        ("new Error('e')", json!({"name": "Error", "message": "e"})),
        ("Object.create(null)", json!({})),
        (
            "[new Number(1), new String('s'), new Boolean(true), Object(1n)]",
            json!([1, "s", true, 1]),
        ),
        ("new Proxy({a: 1}, {})", json!({"a": 1})),
        ("new Proxy([1, 2], {})", json!([1, 2])),
        ("({__proto__: {a: 1}, b: 2})", json!({"b": 2})),
        ("({['__proto__']: {a: 1}})", json!({"__proto__": {"a": 1}})),
        ("class P { a = 1; get b() { return 2 } } new P()", json!({"a": 1})),
        ("({toJSON() { return {a: 1n} }})", json!({"a": 1})),
        ("const a = {x: 1}; [a, a]", json!([{"x": 1}, {"x": 1}])),
        ("let a = 1; for (let i = 0; i < 90; i++) a = [a]; JSON.stringify(a).length", json!(181)),
        // A snippet that changes the language changes nothing in the writing.
        ("JSON.stringify = () => 'x'; JSON = null; ({a: 1n})", json!({"a": 1})),
        (
            "BigInt.prototype.toJSON = function () { return 'x' }; [2n ** 64n, JSON.stringify(2n)]",
            json!([18_446_744_073_709_551_616_u128, "\"2\""]),
        ),
        (
            "Array.prototype[Symbol.iterator] = Array.isArray = Object.keys = null;
            Number.isFinite = Object.getPrototypeOf = Reflect.apply = null;
            for (const key of ['get', 'set', '0', '1', 'enumerable'].values())
                Object.defineProperty(Object.prototype, key,
                    {__proto__: null, set() { throw 1 }, get() { throw 1 }});
            class P { a = [1, 'x'] } [new P(), Object('s')]",
            json!([{"a": [1, "x"]}, "s"]),
        ),
        (
            "const view = new Uint8Array(2);
            Object.defineProperty(view, 'length', {value: 4e9}); view",
            json!([0, 0]),
        ),
        // A number that a tool gave comes back digit for digit.
        ("await runTool('echo', 9007199254740993n)", json!(9_007_199_254_740_993_u64)),
        (
            "const n = await runTool('echo', 9007199254740991n); [typeof n, n]",
            json!(["number", 9_007_199_254_740_991_u64]),
        ),
        ("typeof await runTool('echo', -9007199254740993n)", json!("bigint")),
        (
            "const it = await runTool('echo', {['__proto__']: 1}); Object.keys(it)",
            json!(["__proto__"]),
        ),
        ("params", json!({"text": "é😀", "big": 98_765_432_109_876_543_210_u128, "one": 1})),
    ] {
        assert_eq!(value(code), want, "{code}");
    }
    for (code, path, word) in [
        ("const a = {b: [0]}; a.b.push(a); a", "/b/1", "itself"),
        ("const e = new Error('e'); e.self = [e]; e", "/self/0", "itself"),
        ("String.prototype.isWellFormed = () => true; ['\\ud800']", "/0", "surrogate"),
        ("() => 1", "", "function"),
        ("({a: {b() {}}})", "/a/b", "function"),
        ("[Symbol('s')]", "/0", "symbol"),
        ("({'a/b~c': Symbol.iterator})", "/a~1b~0c", "symbol"),
        ("({get a() { throw new Error('mine') }})", "", "`mine`"),
        ("[{toJSON() { throw new Error('mine') }}]", "", "`mine`"),
        ("({get toJSON() { throw 1 }})", "", "toJSON"),
        ("new Map([[1, 2]])", "", "Map"),
        ("({a: new Set()})", "/a", "Set"),
        ("new ArrayBuffer(1)", "", "ArrayBuffer"),
        ("/x/", "", "RegExp"),
        ("(function* () {})()", "", "Generator"),
        ("[Promise.resolve(1)]", "/0", "promise"),
        ("'\\ud800'", "", "surrogate"),
        ("({'\\udc00': 1})", "", "surrogate"),
        ("new Proxy({}, {ownKeys() { throw new Error('mine') }})", "", "`mine`"),
        ("const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); proxy", "", "revoked"),
        ("'x'.repeat(11 << 20)", "", "10 MiB"),
        ("new Array(300000).fill(1)", "/249999", "values"),
        ("const a = []; a.length = 4e9; a", "/249999", "values"),
        ("tools.a", "", "function"),
    ] {
        match run(code) {
            Err(EngineError::NotSerialisable { path: at, why }) => {
                assert_eq!(at, path, "{code}: {why}");
                assert!(why.contains(word), "{code}: {why}");
            }
            other => panic!("{code}\n{other:?}"),
        }
    }
    let deep = "let a = 1; for (let i = 0; i < 10000; i++) a = {a}; a";
    assert!(matches!(run(deep), Err(EngineError::NotSerialisable { .. })));
    let produced = run("({a: [NaN, -Infinity]})").unwrap();
    assert_eq!(produced.value, json!({"a": [null, null]}));
    let about: Vec<_> = produced.warnings.iter().filter(|it| it.starts_with("`/a/")).collect();
    assert_eq!(about.len(), 2, "{:?}", produced.warnings);
}

#[test]
fn arguments_that_are_not_json_are_an_error_of_the_call_alone() {
    for args in ["() => 1", "{get a() { throw 1 }}", "'\\ud800'", "new Map()"] {
        let code = format!("await runTool('echo', {args}).catch((it) => it.name)");
        assert_eq!(value(&code), json!("TypeError"), "{code}");
    }
    let code = "const told = (it) => it.message;
        [await runTool('echo', {a: [() => 1]}).catch(told),
            await runTool('x'.repeat(11 << 20)).catch(told)]";
    let want = json!([
        "the arguments of runTool are not JSON: argument 2 at /a/0: a function",
        "the arguments of runTool are not JSON: argument 1: it has more than 10 MiB",
    ]);
    assert_eq!(value(code), want);
}

/// The place where each wrong snippet is wrong: the line exactly, and a column inside of the word,
/// which is given, or one beside it.
#[test]
fn each_wrong_snippet_tells_its_place_table() {
    let javascript = [
        ("undefinedName", 1, "undefinedName"),
        ("let ä = 'ß';\n  undefinedName;", 2, "undefinedName"),
        ("'😀😀'; nope()", 1, "nope"),
        ("null.foo", 1, "foo"),
        ("let x;\nx.foo();", 2, "foo"),
        ("let o = {};\no.method(1);", 2, "method"),
        ("const f = 5;\n\n f();", 3, "f"),
        ("throw new Error('boom')", 1, "Error"),
        ("/* ü😀 */ throw new TypeError('x')", 1, "TypeError"),
        (
            "function a() {\n  b();\n}\nfunction b() { throw new RangeError('deep'); }\na();",
            4,
            "RangeError",
        ),
        ("await 0;\nlet q = {};\nq.nope();", 3, "nope"),
        ("await Promise.resolve().then(() => {\n  nope();\n});", 2, "nope"),
        ("async function g() {\n  await 1;\n  null.x;\n}\nawait g();", 3, "x"),
        ("class A { constructor() { this.x.y } }\nnew A();", 1, "y"),
        ("let 1x = 5;", 1, "1x"),
        ("foo(;", 1, ";"),
        ("const c = 1;\nc = 2;", 2, "c"),
        ("const d;", 1, "d"),
        ("\"ünterminated", 1, "\"ünterminated"),
        ("let a = 1;\n`abc", 2, "`abc"),
        ("if (true {\n}", 1, "{"),
        ("new Array(-1);", 1, "Array"),
        ("JSON.parse('{bad');", 1, "parse"),
        ("'x'.repeat(-1)", 1, "repeat"),
        ("[].reduce((a, b) => a)", 1, "reduce"),
        ("x = y + 1; let y = 2;", 1, "y + 1"),
        ("await runTool('bad')", 1, "runTool"),
        ("await runTool('echo', 1);\n/* ä */ await tools.bad.one();", 2, "tools.bad.one"),
        (
            "await Promise.all([runTool('echo', 1), (async () => { await null; zork })()])",
            1,
            "zork",
        ),
        ("(() => { 'use strict'; undefined_var = 5 })()", 1, "undefined_var"),
        ("return 7;", 1, "return"),
        ("let s = 1;\nlet s = 2;", 2, "s"),
        ("import x from 'y';", 1, "import x"),
        ("BigInt('zz')", 1, "BigInt"),
        ("runTool('late').then(() => { lost() }); 1", 1, "lost"),
        ("Promise.reject(new Error('nobody waits')); 1", 1, "Error"),
        ("/a/; /ä/;\nconst é = '/', re = /(/;", 2, "/(/"),
        ("/ok/g.test('/(/'); () => { /a{2,1}/u }", 1, "/a{2,1}/u"),
        ("// a\u{2028} nope()", 1, "nope"),
        ("1;\n'\u{2028}'; /* \u{2029} */ nope()", 2, "nope"),
        ("1;\u{2028}2;\u{2029} nope()", 1, "nope"),
    ];
    let typescript = [
        ("const é: string = 'ß'; (é as any).foo!.bar", 1, "bar"),
        ("type A = {\n  a: '😀'\n};\nconst a: A | null = null;\na!.a;", 5, "a;"),
        ("let a: number = 1;\nenum E { A }", 2, "enum"),
        ("const a: '😀é' = null!; nope()", 1, "nope"),
        ("let ü: = 1", 1, "="),
        ("function f(a: number): never { throw new Error('t') }\nf(1)", 1, "Error"),
        ("class A { constructor(private a: string) {} }", 1, "private"),
        ("const a = 1;\nexport { a }", 2, "export"),
        ("namespace N { export const a = 1 }", 1, "namespace"),
        ("interface I { a: string }\nawait runTool<I>('bad')", 2, "runTool"),
        ("type E = '/(/';\nconst é: RegExp = /[b-a]/", 2, "/[b-a]/"),
    ];
    assert!(javascript.len() + typescript.len() >= 30);
    let all = javascript.iter().map(|row| ("javascript", row));
    for (language, (code, line, word)) in
        all.chain(typescript.iter().map(|row| ("typescript", row)))
    {
        let fault = fault(language, code);
        assert_eq!(fault.line, *line, "{code}\n{fault:?}");
        let text = code.split('\n').nth(usize::try_from(*line).unwrap() - 1).unwrap();
        let at = text.rfind(word).unwrap_or_else(|| panic!("{code}: {word}"));
        let from = text[..at].chars().count();
        // From 1, and one beside on each side.
        let around = from..=from + word.chars().count() + 1;
        let column = usize::try_from(fault.column).unwrap();
        assert!(around.contains(&column), "{code}\n{around:?} {fault:?}");
    }
}

#[test]
fn typescript_runs_without_its_types() {
    let code = "interface P { n: number }
        type Pair<T> = [T, T]
        const twice = <T,>(it: T): Pair<T> => [it, it];
        class Box<T> implements P { private readonly n2: number = 1; n!: number; constructor(v: number) { this.n = v } get v(): number { return this.n! } }
        const out = twice<number>(new Box<string>(4).v as number) satisfies Pair<number>
        ;[out].forEach((it: Pair<number>) => { __out = it })";
    let produced = run_in("typescript", code, &Around::default(), &USUAL, &Stop::new()).unwrap();
    assert_eq!(produced.value, json!([4, 4]));
}

#[test]
fn a_limit_ends_a_snippet_whatever_it_catches() {
    let endless = [
        "while (true) {}",
        "try { while (true) {} } catch {} finally { while (true) {} }",
        "await Promise.allSettled([(async () => { for (;;) await null })()])",
    ];
    let short = Limits { engine: Duration::from_millis(200), ..USUAL };
    for code in endless {
        let ended = run_in("javascript", code, &Around::default(), &short, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Engine)), "{code}");
    }
    // Each promise holds the one behind it, so a fast machine is out of memory first.
    let code = "const f = () => Promise.resolve().then(f); await f()";
    let ended = run_in("javascript", code, &Around::default(), &short, &Stop::new());
    let limits = [EngineLimit::Engine, EngineLimit::Memory].map(|it| Err(EngineError::Limit(it)));
    assert!(limits.contains(&ended), "{ended:?}");
    let filling = [
        "const a = []; for (;;) a.push(new Array(1000).fill(0))",
        "for (;;) { try { const a = []; for (;;) a.push([a.length]) } catch {} finally { 1 } }",
        "await Promise.allSettled([(async () => { const a = []; for (;;) a.push({}) })()]); 1",
        "try { new ArrayBuffer(1 << 30) } catch {} 'went on'",
    ];
    for code in filling {
        let ended = run_in("javascript", code, &Around::default(), &USUAL, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Memory)), "{code}");
    }
    let waiting =
        ["await runTool('never')", "try { await runTool('never') } finally { for (;;) {} }"];
    let soon = Limits { time: Duration::from_millis(300), ..USUAL };
    for code in waiting {
        let ended = run_in("javascript", code, &Around::default(), &soon, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Timeout)), "{code}");
    }
}

#[test]
fn waiting_for_calls_is_not_time_of_the_engine() {
    let short = Limits { engine: Duration::from_millis(400), ..USUAL };
    let code = "let n = 0; for (let i = 0; i < 30; i++) n += await runTool('late', 1); n";
    let around = Around::default();
    let produced = run_in("javascript", code, &around, &short, &Stop::new()).unwrap();
    assert_eq!(produced.value, json!(30));
}

#[test]
fn a_promise_that_nothing_can_settle_ends_the_snippet_at_once() {
    for code in [
        "await new Promise(() => {})",
        "await runTool('echo', 1); await new Promise(() => {})",
        "__out = new Promise(() => {})",
        "await Promise.race([])",
    ] {
        let fault = fault("javascript", code);
        assert!(fault.message.contains("nothing settles"), "{code}: {fault:?}");
    }
}

#[test]
fn what_was_printed_before_a_snippet_was_ended_is_there() {
    let around = Around::default();
    let short = Limits { engine: Duration::from_millis(200), ..USUAL };
    let code = "println('a'.repeat(40000)); console.error('b'); for (;;) {}";
    let ended = run_in("javascript", code, &around, &short, &Stop::new());
    assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Engine)));
    let printed = around.printed.lock().unwrap();
    let of = |stream| {
        printed.iter().filter(|it| it.0 == stream).map(|it| it.1.as_str()).collect::<String>()
    };
    assert_eq!(of(PrintStream::Stdout).len(), 40_001);
    assert_eq!(of(PrintStream::Stderr), "b\n");
}

#[test]
fn a_call_does_not_wait_for_a_snippet_that_computes_without_end() {
    let short = Limits { engine: Duration::from_millis(400), ..USUAL };
    for endless in ["for (;;) {}", "/(a+)+$/.test('a'.repeat(50) + 'b')", "for (;;) await null"] {
        let around = Around::default();
        let code = format!("runTool('never', 1); runTool('never', 2); {endless}");
        let ended = run_in("javascript", &code, &around, &short, &Stop::new());
        assert_eq!(ended, Err(EngineError::Limit(EngineLimit::Engine)), "{code}");
        assert_eq!(around.calls.lock().unwrap().len(), 2, "{code}");
    }
}

#[test]
fn a_snippet_is_stopped_from_outside_whatever_it_does() {
    for code in ["for (;;) {}", "await runTool('never')", "println(1); for (;;) await null"] {
        let stop = Stop::new();
        let asks = stop.clone();
        let asking = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            asks.now();
        });
        let around = Around::default();
        let ended = run_in("javascript", code, &around, &USUAL, &stop);
        assert_eq!(ended, Err(EngineError::Stopped), "{code}");
        asking.join().unwrap();
        // An answer that comes too late is nobody's.
        for answer in around.kept.lock().unwrap().drain(..) {
            answer.give(Ok(json!(1)), NOW);
        }
    }
}

#[test]
fn many_calls_at_once_are_all_answered_in_any_order() {
    let code = "const all = [];
        for (let i = 0; i < 500; i++) all.push(runTool(i % 10 ? 'echo' : 'late', i));
        (await Promise.all(all)).reduce((a, b) => a + b)";
    assert_eq!(value(code), json!(124_750));
}
