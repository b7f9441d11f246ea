//! The fuzz target of what a provider answers.

use super::Turn;
use super::answer::{Answer, AnswerFault, Progress, words};
use crate::base::event_stream::EventStream;
use crate::base::fuzz::is_message;
use crate::base::{Mask, canon};
use crate::parse::{ChatShape, json as read_json};

/// The key of the tests.
const KEY: &str = "sk-key";

/// A stream of pieces is the same turn as the whole, no key is in a turn or in what is told of it,
/// and a turn is read back as it was written down. The first byte says which shape it is, whether
/// it is a stream, and how large its pieces are.
pub(crate) fn model_answer(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let shape = match first & 1 {
        0 => ChatShape::OpenAi { most_tokens: "max_tokens" },
        _ => ChatShape::Anthropic,
    };
    let mask = Mask::new([KEY].into_iter());
    let is_stream = first & 2 != 0;
    let whole = match is_stream {
        true => streamed(shape, bytes, bytes.len().max(1)),
        false => {
            let mut answer = Answer::new(shape);
            answer.whole(bytes).map(|()| (answer, String::new()))
        }
    };
    if is_stream {
        let pieces = streamed(shape, bytes, usize::from(first >> 2) + 1);
        let turn = |read: &Result<(Answer, String), AnswerFault>| match read {
            Ok((answer, told)) => Ok((format!("{answer:?}"), told.clone())),
            Err(fault) => Err(fault.clone()),
        };
        assert_eq!(turn(&pieces), turn(&whole));
    }
    is_message(&crate::base::text::brief_line(&words(bytes, false, &mask).1));
    let Ok((answer, _)) = whole else { return };
    let turn = answer.turn(&mask, "tool:a/b at https://c/", 3);
    let written = canon::exact(&turn.to_json());
    assert!(!written.contains(KEY), "{written}");
    assert!(!turn.finish_reason.as_ref().is_some_and(|reason| reason.contains(KEY)));
    assert!(turn.calls.iter().all(|call| !call.id.is_empty() && !call.arguments.is_empty()));
    let kept = turn.kept_from("tool:a/b at https://c/");
    // What is too deep or too large to be read back is said in plain words.
    if let Ok(read) = read_json(&written) {
        // What a provider counts and why it ended are written down beside.
        let finish_reason = turn.finish_reason.clone();
        let with = |back| Turn { usage: turn.usage, finish_reason, ..back };
        let back = Turn::from_json(&read).map(with);
        assert_eq!(back, Some(turn));
    }
    assert!(kept.is_none_or(|kept| kept.is_object() || kept.is_array()));
}

fn streamed(shape: ChatShape, bytes: &[u8], size: usize) -> Result<(Answer, String), AnswerFault> {
    let (mut answer, mut told) = (Answer::new(shape), String::new());
    let mut stream = EventStream::new(1 << 20);
    for piece in bytes.chunks(size) {
        let too_long = |_| AnswerFault::Bad("too long".into());
        for event in stream.next(piece).map_err(too_long)? {
            if answer.event(&event, &mut |text| told.push_str(text))? == Progress::Done {
                return Ok((answer, told));
            }
        }
    }
    Ok((answer, told))
}
