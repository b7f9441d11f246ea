//! The calls of a stream, put together as they come.
//!
//! Servers should number the calls of an answer by `index`, and many do not: each call has 0, or
//! each piece another number, or no piece has one. So the id of a piece counts as well, and if it
//! could begin a call or continue one.

use serde_json::{Map, Value};

use super::answer::{AnswerFault, bad};
use super::openai::merge;
use crate::base::limits::PROVIDER_PARTS;

#[derive(Debug, Default)]
pub(super) struct StreamedCalls(pub(super) Vec<StreamedCall>);

/// A call as far as it came.
#[derive(Debug, Default)]
pub(super) struct StreamedCall {
    said: Map<String, Value>,
    arguments: ObjectText,
}

/// The text of a JSON object as far as it came.
#[derive(Debug, Default)]
struct ObjectText {
    has_begun: bool,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl ObjectText {
    fn take(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => {
                    self.has_begun = true;
                    self.depth += 1;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0
    }
}

impl StreamedCall {
    fn take(&mut self, piece: Map<String, Value>) -> Result<(), AnswerFault> {
        match arguments(&piece) {
            Some(Value::String(text)) => {
                // Some servers say all that they said again, with each piece or at the end.
                let known = self.text();
                if known.starts_with('{') && text.starts_with(known) {
                    self.said["function"]["arguments"] = "".into();
                    self.arguments = ObjectText::default();
                }
                self.arguments.take(text);
            }
            Some(Value::Object(_)) => self.arguments.has_begun = true,
            _ => {}
        }
        merge(&mut self.said, piece)
    }

    /// The text of the arguments so far.
    fn text(&self) -> &str {
        arguments(&self.said).and_then(Value::as_str).unwrap_or_default()
    }
}

fn index(call: &Map<String, Value>) -> Option<u64> {
    call.get("index").and_then(Value::as_u64)
}

/// Empty where it is not said.
fn id(call: &Map<String, Value>) -> &str {
    call.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn name(call: &Map<String, Value>) -> &str {
    let function = call.get("function").and_then(|function| function.get("name"));
    function.and_then(Value::as_str).unwrap_or_default()
}

fn arguments(call: &Map<String, Value>) -> Option<&Value> {
    let said = call.get("function")?.get("arguments")?;
    Some(said).filter(|said| said.as_str().is_none_or(|text| !text.trim().is_empty()))
}

impl StreamedCalls {
    /// Takes the pieces of one delta.
    pub(super) fn take(&mut self, pieces: Vec<Value>) -> Result<(), AnswerFault> {
        let before = self.0.len();
        for piece in pieces {
            let Value::Object(mut piece) = piece else { continue };
            match self.continued(&piece, before) {
                Some(at) => self.0[at].take(piece)?,
                None if self.0.len() >= PROVIDER_PARTS => {
                    return Err(bad(&format!("it has more than {PROVIDER_PARTS} calls")));
                }
                None => {
                    // One that has its arguments alone is another call of the same function.
                    let last = self.0.last().map(|call| name(&call.said).to_owned());
                    if let (true, true, Some(last), Some(Value::Object(function))) = (
                        name(&piece).is_empty(),
                        id(&piece).is_empty(),
                        last,
                        piece.get_mut("function"),
                    ) {
                        function.insert("name".into(), last.into());
                    }
                    let mut call = StreamedCall::default();
                    call.take(piece)?;
                    self.0.push(call);
                }
            }
        }
        Ok(())
    }

    /// The call that a piece goes on with; `before` calls came before its delta.
    fn continued(&self, piece: &Map<String, Value>, before: usize) -> Option<usize> {
        let (own_index, own_id, own_name) = (index(piece), id(piece), name(piece));
        let last_of = |fits: &dyn Fn(&Map<String, Value>) -> bool| {
            self.0.iter().rposition(|call| fits(&call.said))
        };
        let is_index = |call: &Map<String, Value>| index(call) == own_index;
        let is_id = |call: &Map<String, Value>| !own_id.is_empty() && id(call) == own_id;
        let exact = last_of(&|call| is_id(call) && (own_index.is_none() || is_index(call)));
        if exact.is_some() {
            return exact;
        }
        let near = match own_index {
            None => before.checked_sub(1),
            // Without a name it begins nothing.
            Some(_) => last_of(&is_index).or_else(|| {
                let same = || last_of(&is_id).or(self.0.len().checked_sub(1));
                own_name.is_empty().then(same).flatten()
            }),
        };
        let at = near?;
        let known = &self.0[at];
        let begins =
            |said: &Value| said.as_str().is_none_or(|text| text.trim_start().starts_with('{'));
        let said = arguments(piece);
        // Arguments that begin no object go on with those that are not whole.
        if said.is_some_and(|said| !begins(said)) && known.arguments.depth > 0 {
            return Some(at);
        }
        let is_other_id = !own_id.is_empty() && !id(&known.said).is_empty() && !is_id(&known.said);
        let is_other_name = !own_name.is_empty() && own_name != name(&known.said);
        let is_again = own_name.is_empty() && said.and_then(Value::as_str) == Some(known.text());
        let is_next =
            known.arguments.is_whole() && !is_again && (is_other_name || said.is_some_and(begins));
        (!is_other_id && !is_next).then_some(at)
    }
}

impl From<StreamedCalls> for Value {
    fn from(calls: StreamedCalls) -> Self {
        calls.0.into_iter().map(|call| Self::Object(call.said)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::StreamedCalls;

    /// The pieces of a stream, one a delta, and the calls that they are: of each the index, the id,
    /// the name and the arguments, where `-` is not said.
    const TABLE: &str = r#"
        0 c1 a {"x":1} ; 0 c2 a {"x":2} = c1 a {"x":1} ; c2 a {"x":2}
        0 c1 a {"x" ; 0 - - :1} ; 0 c2 a - ; 0 - - {"x":2} = c1 a {"x":1} ; c2 a {"x":2}
        0 c1 a {"x" ; 0 c2 a {"x" ; 0 c1 - :1} ; 0 c2 - :2} = c1 a {"x":1} ; c2 a {"x":2}
        - c1 a {"x" ; - - - :1} ; - c2 a {"x" ; - c2 - :2} = c1 a {"x":1} ; c2 a {"x":2}
        0 c1 a - ; 1 - - {"x":1} ; 2 c2 a {"x" ; 3 c2 - :2} = c1 a {"x":1} ; c2 a {"x":2}
        0 c1 a {"x" ; 0 z a :1} ; 0 c2 a {"x":2} = c1 a {"x":1} ; c2 a {"x":2}
        0 - a - ; 0 c1 - {"x":1} ; 1 - a {"x" ; 1 c2 a :2} = c1 a {"x":1} ; c2 a {"x":2}
        0 c a - ; 1 c b - ; 0 - - {"x":1} ; 1 - - {} = c a {"x":1} ; c b {}
        0 c1 a - ; 0 c1 a {"x" ; 0 c1 a :1} ; 0 c1 a - = c1 a {"x":1}
        - - a {"x":1} ; - - a {"x":2} = - a {"x":1} ; - a {"x":2}
        0 - a - ; 0 - - {"x":1} ; 0 - a - ; 0 - - {"x":2} = - a {"x":1} ; - a {"x":2}
        0 - a {"s":"}{"} ; 0 - b - ; 0 - - {} = - a {"s":"}{"} ; - b {}
        0 c1 a {"x": ; 0 - - { ; 0 - - } ; 0 - - } = c1 a {"x":{}}
        0 c1 a {"x" ; 0 c1 - :1} ; 0 c1 a {"x":1} = c1 a {"x":1}
        0 c1 a - ; 0 - - {"x":1} ; 0 - - {"x":1} ; 0 c2 a {"x":1} = c1 a {"x":1} ; c2 a {"x":1}
        0 c1 a {"x" ; 0 - - {"x": ; 0 - - {"x":1} ; 0 - - {"x":1} = c1 a {"x":1}
    "#;

    /// Each as `id name arguments`.
    fn calls(deltas: Vec<Value>) -> Vec<String> {
        let mut calls = StreamedCalls::default();
        for delta in deltas {
            calls.take(delta.as_array().unwrap().clone()).unwrap();
        }
        let all: Value = calls.into();
        let text = |call: &Value, at: &str| match call.pointer(at) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(said)) => Value::Object(said.clone()).to_string(),
            _ => "-".to_owned(),
        };
        let parts = ["/id", "/function/name", "/function/arguments"];
        let all = all.as_array().unwrap().iter();
        all.map(|call| parts.map(|at| text(call, at)).join(" ")).collect()
    }

    fn piece(text: &str) -> Value {
        let words: Vec<&str> = text.split(' ').collect();
        let said = |at: usize| Some(words[at]).filter(|word| *word != "-");
        let mut call = Map::new();
        call.extend(said(0).map(|at| ("index".to_owned(), at.parse::<u64>().unwrap().into())));
        call.extend(said(1).map(|id| ("id".to_owned(), id.into())));
        let function: Map<_, _> = [("name", said(2)), ("arguments", said(3))]
            .into_iter()
            .filter_map(|(name, word)| Some((name.to_owned(), word?.into())))
            .collect();
        call.insert("function".into(), function.into());
        json!([call])
    }

    #[test]
    fn calls_are_told_apart_whatever_their_server_makes_of_the_index_table() {
        for row in TABLE.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (pieces, want) = row.split_once(" = ").unwrap();
            let want: Vec<&str> = want.split(" ; ").collect();
            assert_eq!(calls(pieces.split(" ; ").map(piece).collect()), want, "{row}");
        }
        // Two in one delta are two, whatever they lack; some give arguments as they are meant.
        let both = json!([{"function": {"name": "a"}}, {"function": {"name": "b"}}]);
        assert_eq!(calls(vec![both]), ["- a -", "- b -"]);
        let whole = |x: u64| json!([{"function": {"name": "a", "arguments": {"x": x}}}]);
        assert_eq!(calls(vec![whole(1), whole(2)]), ["- a {\"x\":1}", "- a {\"x\":2}"]);
    }
}
