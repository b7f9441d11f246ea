//! Streams in order, at once, dropped, full and broken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::stream::{BackendStream, BackendStreams, PayloadFuture};
use crate::base::limits::{BACKEND_STREAMS, STREAM_WAITING};
use crate::host::{Host, Os};
use crate::thread::backend::{
    BackendCapability, BackendFault, BackendFaultKind, Payload, PayloadResult, SandboxBackend,
};

const LONG: Duration = Duration::from_mins(2);

type ThreadOutcome = Result<PayloadResult, BackendFault>;

/// Something that a sandbox did: whether it began or ended, and what.
type Step = (bool, u32);

/// A sandbox that writes down what it does, in which a path is what happens.
#[derive(Default)]
struct Noted {
    steps: Mutex<Vec<Step>>,
}

impl Noted {
    fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap().clone()
    }
}

impl SandboxBackend for Noted {
    fn capabilities(&self) -> &'static [BackendCapability] {
        &[BackendCapability::Filesystem]
    }

    fn dispatch(&self, payload: Payload) -> ThreadOutcome {
        let Payload::FilesExists { path } = payload else { unreachable!() };
        match path.as_str() {
            "panics" => std::panic::resume_unwind(Box::new(())),
            "fails" => Err(BackendFault::new(BackendFaultKind::FileNotFound, "it is gone")),
            // Until it is interrupted, as a command is.
            "sleeps" => match Os::new(false).sleep(LONG).unwrap() {
                Some(signal) => {
                    let fault = BackendFault::new(BackendFaultKind::SandboxClosed, "interrupted");
                    Err(BackendFault { signal: Some(signal), ..fault })
                }
                None => Ok(PayloadResult::Exists(false)),
            },
            id => {
                let id: u32 = id.parse().unwrap();
                self.steps.lock().unwrap().push((true, id));
                std::thread::sleep(Duration::from_micros(u64::from(id % 5) * 40));
                self.steps.lock().unwrap().push((false, id));
                Ok(PayloadResult::Exists(true))
            }
        }
    }

    fn close(&self) {}
}

fn does(what: impl std::fmt::Display + Copy) -> Payload {
    Payload::FilesExists { path: what.to_string() }
}

fn kind(came: ThreadOutcome) -> Option<BackendFaultKind> {
    came.err().map(|fault| fault.kind)
}

/// Lends streams of that sandbox.
fn with<T: Send>(backend: &Noted, work: impl FnOnce(&BackendStreams<'_>) -> T + Send) -> T {
    let backend: &dyn SandboxBackend = backend;
    backend.with_streams(work).unwrap()
}

const DONE: ThreadOutcome = Ok(PayloadResult::Exists(true));

/// One step of a program that uses streams.
#[derive(Debug, Clone)]
enum Does {
    Submit(usize),
    Record(usize),
    /// The event with that number, counted around those there are.
    Wait(usize, usize),
    Synchronize(usize),
    /// It is dropped, and another one takes its place.
    Drop(usize),
}

const STREAMS: usize = 4;

fn programs() -> impl Strategy<Value = Vec<Does>> {
    let stream = 0..STREAMS;
    let one = prop_oneof![
        9 => stream.clone().prop_map(Does::Submit),
        4 => stream.clone().prop_map(Does::Record),
        4 => (stream.clone(), any::<usize>()).prop_map(|(stream, at)| Does::Wait(stream, at)),
        1 => stream.clone().prop_map(Does::Synchronize),
        1 => stream.prop_map(Does::Drop),
    ];
    prop::collection::vec(one, 0..60)
}

/// The payloads that must have ended before each one begins, by the simplest model: a stream is
/// what its next payload is behind.
#[derive(Default)]
struct Model {
    behind: BTreeMap<u32, BTreeSet<u32>>,
    streams: [BTreeSet<u32>; STREAMS],
    events: Vec<BTreeSet<u32>>,
}

/// Runs a program, and gives what each payload gave.
fn run(backend: &Noted, program: &[Does], model: &mut Model) -> Vec<(u32, ThreadOutcome)> {
    with(backend, |streams| {
        let mut lines: Vec<BackendStream<'_>> =
            (0..STREAMS).map(|_| streams.stream().unwrap()).collect();
        let (mut futures, mut events): (Vec<(u32, PayloadFuture)>, Vec<_>) = Default::default();
        for step in program {
            match *step {
                Does::Submit(at) => {
                    let id = u32::try_from(model.behind.len()).unwrap();
                    model.behind.insert(id, std::mem::take(&mut model.streams[at]));
                    model.streams[at].insert(id);
                    match lines[at].submit(does(id)) {
                        Ok(future) => futures.push((id, future)),
                        // It waited for an event that cannot be reached any more.
                        Err(fault) => assert_eq!(fault.kind, BackendFaultKind::SandboxClosed),
                    }
                }
                Does::Record(at) => {
                    model.events.push(model.streams[at].clone());
                    events.push(lines[at].record_event());
                }
                Does::Wait(_, _) if events.is_empty() => {}
                Does::Wait(at, event) => {
                    let event = event % events.len();
                    model.streams[at].extend(&model.events[event]);
                    let waits = lines[at].wait_event(&events[event]);
                    assert!(
                        kind(waits.map(|()| PayloadResult::Exists(true)))
                            .is_none_or(|kind| kind == BackendFaultKind::SandboxClosed)
                    );
                }
                Does::Synchronize(at) => {
                    let ended = lines[at].synchronize().is_ok();
                    let steps = backend.steps();
                    let all = model.streams[at].iter().all(|id| steps.contains(&(false, *id)));
                    assert!(!ended || all, "{:?} {steps:?}", model.streams[at]);
                }
                Does::Drop(at) => {
                    lines[at] = streams.stream().unwrap();
                    model.streams[at].clear();
                }
            }
        }
        for (line, behind) in lines.iter().zip(&model.streams) {
            if line.synchronize().is_ok() {
                let steps = backend.steps();
                assert!(behind.iter().all(|id| steps.contains(&(false, *id))));
            }
        }
        futures.into_iter().map(|(id, future)| (id, future.wait())).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_program_does_everything_begins_after_what_it_is_behind_or_never(
        program in programs(),
    ) {
        let (backend, mut model) = (Noted::default(), Model::default());
        let came = run(&backend, &program, &mut model);
        let steps = backend.steps();
        let at = |step: Step| steps.iter().position(|one| *one == step);
        for (id, behind) in &model.behind {
            let Some(begun) = at((true, *id)) else { continue };
            for other in behind {
                let ended = at((false, *other));
                prop_assert!(ended.is_some_and(|ended| ended < begun), "{}: {:?}", id, steps);
            }
        }
        for (id, came) in &came {
            // Each is carried out once, or answered as what never will be.
            let times = steps.iter().filter(|step| **step == (false, *id)).count();
            match came {
                Ok(_) => prop_assert_eq!(times, 1),
                Err(fault) => prop_assert_eq!((fault.kind, times), (BackendFaultKind::SandboxClosed, 0)),
            }
        }
        let has_drops = program.iter().any(|step| matches!(step, Does::Drop(_)));
        prop_assert!(has_drops || came.len() == model.behind.len());
        prop_assert!(has_drops || came.iter().all(|(_, came)| came.is_ok()));
    }
}

#[test]
fn streams_run_at_once_and_an_event_holds_back_what_is_behind_it_alone() {
    let backend = Noted::default();
    with(&backend, |streams| {
        let (one, other) = (streams.stream().unwrap(), streams.stream().unwrap());
        let slow = one.submit(does("sleeps")).unwrap();
        let event = one.record_event();
        other.submit(does(1)).unwrap().wait().unwrap();
        other.wait_event(&event).unwrap();
        let behind = other.submit(does(2)).unwrap();
        let free = streams.stream().unwrap();
        assert_eq!(free.submit(does(3)).unwrap().wait(), DONE);
        assert!(!behind.is_done() && !slow.is_done() && !event.is_reached());
        assert!(free.record_event().is_reached(), "nothing is before it that has not ended");
        assert_eq!(free.synchronize(), Ok(()));
        // The event is never reached, so nothing behind it begins.
        drop(one);
        assert_eq!(kind(slow.wait()), Some(BackendFaultKind::SandboxClosed));
        assert_eq!(kind(behind.wait()), Some(BackendFaultKind::SandboxClosed));
        let fault = BackendFaultKind::SandboxClosed;
        assert_eq!(event.wait().unwrap_err().kind, fault);
        assert_eq!(other.submit(does(4)).unwrap_err().kind, fault);
        assert_eq!(other.synchronize().unwrap_err().kind, fault);
    });
    assert_eq!(backend.steps(), [(true, 1), (false, 1), (true, 3), (false, 3)]);
}

#[test]
fn a_stream_that_is_dropped_ends_what_runs_and_answers_what_waits_and_nothing_runs_afterwards() {
    let (backend, begin) = (Noted::default(), Instant::now());
    let futures = with(&backend, |streams| {
        let line = streams.stream().unwrap();
        let mut futures = vec![line.submit(does("sleeps")).unwrap()];
        futures.extend((0..9).map(|id| line.submit(does(id)).unwrap()));
        std::thread::sleep(Duration::from_millis(30));
        drop(line);
        assert!(futures.iter().all(PayloadFuture::is_done), "they are answered before it is gone");
        futures
    });
    for future in futures {
        let fault = future.wait().unwrap_err();
        assert_eq!((fault.kind, fault.signal), (BackendFaultKind::SandboxClosed, None));
    }
    assert!(begin.elapsed() < LONG && backend.steps().is_empty());
}

#[test]
fn what_is_left_of_streams_when_their_call_ends_is_ended_whoever_holds_it() {
    let (backend, begin) = (Noted::default(), Instant::now());
    let (future, event) = with(&backend, |streams| {
        let line = streams.stream().unwrap();
        let future = line.submit(does("sleeps")).unwrap();
        let event = line.record_event();
        // It is never dropped.
        std::mem::forget(line);
        (future, event)
    });
    assert_eq!(kind(future.wait()), Some(BackendFaultKind::SandboxClosed));
    assert_eq!(event.wait().unwrap_err().kind, BackendFaultKind::SandboxClosed);
    with(&backend, |streams| {
        let fault = streams.stream().unwrap().wait_event(&event).unwrap_err();
        assert_eq!(fault.kind, BackendFaultKind::UnsupportedPayload, "it is one of another call");
    });
    assert!(begin.elapsed() < LONG);
}

#[test]
fn a_payload_that_fails_or_panics_is_answered_and_those_behind_it_are_carried_out() {
    let backend = Noted::default();
    with(&backend, |streams| {
        let line = streams.stream().unwrap();
        let came: Vec<_> =
            ["1", "panics", "fails", "2"].map(|what| line.submit(does(what)).unwrap()).into();
        let came: Vec<_> = came.into_iter().map(|future| kind(future.wait())).collect();
        let (os, missing) = (BackendFaultKind::OsError, BackendFaultKind::FileNotFound);
        assert_eq!(came, [None, Some(os), Some(missing), None]);
        assert_eq!(line.synchronize(), Ok(()));
    });
}

#[test]
fn a_panic_of_whoever_uses_streams_is_theirs_once_nothing_runs_any_more() {
    let (backend, begin) = (Noted::default(), Instant::now());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        with(&backend, |streams| {
            let line = streams.stream().unwrap();
            let _slow = line.submit(does("sleeps")).unwrap();
            std::panic::resume_unwind(Box::new("mine"));
        });
    }));
    let panic = panicked.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"mine"));
    assert!(begin.elapsed() < LONG);
}

#[test]
fn a_stream_that_is_full_refuses_more_and_there_are_only_so_many_streams() {
    let backend = Noted::default();
    with(&backend, |streams| {
        let line = streams.stream().unwrap();
        let first = line.submit(does(0)).unwrap();
        first.wait().unwrap();
        let gate = streams.stream().unwrap();
        let _slow = gate.submit(does("sleeps")).unwrap();
        line.wait_event(&gate.record_event()).unwrap();
        // The worker may not have taken the event from the queue yet.
        std::thread::sleep(Duration::from_millis(50));
        let waiting: Vec<_> = (0..STREAM_WAITING).map(|_| line.submit(does(1)).unwrap()).collect();
        let refused = line.submit(does(2)).unwrap_err();
        assert_eq!(refused.kind, BackendFaultKind::OsError);
        assert!(refused.message.contains("takes no more"), "{}", refused.message);
        assert!(waiting.iter().all(|future| !future.is_done()), "nothing is forgotten");
        let more: Vec<_> = (2..BACKEND_STREAMS).map(|_| streams.stream().unwrap()).collect();
        let refused = streams.stream().err().unwrap();
        assert_eq!(refused.kind, BackendFaultKind::OsError, "{refused:?}");
        drop(more);
        assert_eq!(streams.stream().unwrap().submit(does(3)).unwrap().wait(), DONE);
    });
    assert_eq!(backend.steps().len(), 4, "{:?}", backend.steps());
}

#[test]
fn whoever_hands_in_at_once_is_answered_each() {
    let backend = Noted::default();
    with(&backend, |streams| {
        let line = &streams.stream().unwrap();
        std::thread::scope(|scope| {
            let (say, said) = mpsc::channel();
            for from in 0..4 {
                let say = say.clone();
                scope.spawn(move || {
                    for id in from * 25..(from + 1) * 25 {
                        say.send(line.submit(does(id)).unwrap().wait()).unwrap();
                        line.synchronize().unwrap();
                    }
                });
            }
            drop(say);
            assert_eq!(said.iter().filter(|came| *came == DONE).count(), 100);
        });
    });
    let steps = backend.steps();
    assert!(steps.chunks(2).all(|pair| pair[0] == (true, pair[1].1) && !pair[1].0), "{steps:?}");
}
