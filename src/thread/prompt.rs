//! The first messages to a model (threads 1).

use crate::parse::DirectiveOutput;

/// The parts of a prompt, each with its placeholders filled in already.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    /// Knowledge that becomes the system message.
    pub(crate) system: Vec<String>,
    /// Knowledge before the body.
    pub(crate) before: Vec<String>,
    pub(crate) body: String,
    /// Knowledge behind the body.
    pub(crate) after: Vec<String>,
    /// The message to a thread that goes on for another one.
    pub(crate) continued: Option<String>,
}

impl Prompt {
    /// The system message; empty where there is nothing to say.
    pub(crate) fn system(&self) -> String {
        joined(self.system.iter())
    }

    /// The first message of the user, which ends with the outputs that are asked for.
    pub(crate) fn user(&self, outputs: &[DirectiveOutput]) -> String {
        let returns = returns(outputs);
        let parts =
            self.before.iter().chain([&self.body]).chain(&self.after).chain(&self.continued);
        joined(parts.chain(returns.as_ref()))
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a String>) -> String {
    let parts = parts.map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

/// The outputs in the order in which they are declared; `None` without any.
fn returns(outputs: &[DirectiveOutput]) -> Option<String> {
    if outputs.is_empty() {
        return None;
    }
    let mut text = String::from("<returns>\n");
    for output in outputs {
        let open = format!("  <output name=\"{}\" type=\"{}\"", output.name, output.ty.as_str());
        text.push_str(&open);
        match output.description.as_str() {
            "" => text.push_str("/>\n"),
            said => text.push_str(&format!(">{}</output>\n", escaped(said))),
        }
    }
    text.push_str("</returns>");
    Some(text)
}

/// Text of an XML element. Names and types need none of it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::Prompt;
    use crate::parse::{DirectiveOutput, InputType};

    #[test]
    fn the_outputs_stand_last_in_their_order_and_without_a_description_are_closed_at_once() {
        let output = |name: &str, ty, description: &str| DirectiveOutput {
            name: name.into(),
            ty,
            required: true,
            description: description.into(),
        };
        let outputs =
            [output("b", InputType::String, "a < b & c"), output("a", InputType::Array, "")];
        let text = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let prompt = Prompt {
            continued: None,
            system: text(&["one\n", "", "two"]),
            before: text(&["before"]),
            body: "body\n".into(),
            after: text(&["after"]),
        };
        assert_eq!(prompt.system(), "one\n\ntwo");
        assert_eq!(
            prompt.user(&outputs),
            "before\n\nbody\n\nafter\n\n<returns>\n  \
             <output name=\"b\" type=\"string\">a &lt; b &amp; c</output>\n  \
             <output name=\"a\" type=\"array\"/>\n</returns>"
        );
        assert_eq!(Prompt { body: "x".into(), ..Prompt::default() }.user(&[]), "x");
    }
}
