//! Why a caller's values are not what a directive asks for.

use serde_json::{Map, Value};

use crate::base::limits::NEAR_NAMES;
use crate::base::text::{escape_line, near};
use crate::diagnostic::{Code, Diagnose, codes};
use crate::parse::{Input, InputType};

codes! {
    INTERPOLATE_UNKNOWN_INPUT = "interpolate.unknown_input", Usage;
    INTERPOLATE_MISSING_INPUTS = "interpolate.missing_inputs", Usage;
    INTERPOLATE_WRONG_TYPE = "interpolate.wrong_type", Usage;
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum InterpolateError {
    #[error("no such input: {}", quoted(.names))]
    UnknownInput { names: Vec<String>, declared: Vec<Input> },
    #[error("Missing required inputs: {}", .names.join(", "))]
    MissingInputs { names: Vec<String>, declared: Vec<Input> },
    #[error("{}", told(.wrong))]
    WrongType { wrong: Vec<WrongInput>, declared: Vec<Input> },
}

/// An input whose value is not, and cannot stand for, one of its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrongInput {
    pub(crate) name: String,
    pub(crate) ty: InputType,
    pub(crate) value: Value,
}

impl InterpolateError {
    /// Every declared input in its JSON form, in declaration order.
    pub(crate) fn declared_inputs(&self) -> Value {
        let (Self::UnknownInput { declared, .. }
        | Self::MissingInputs { declared, .. }
        | Self::WrongType { declared, .. }) = self;
        declared.iter().map(Input::to_json).collect()
    }

    /// For each unknown name the nearest declared one, if one is near.
    fn nearest(&self) -> Vec<String> {
        let Self::UnknownInput { names, declared } = self else { return Vec::new() };
        let mut found: Vec<String> = Vec::new();
        for name in names {
            let close = near(name, declared.iter().map(|input| input.name.as_str()), NEAR_NAMES);
            found.extend(close.into_iter().next().filter(|close| !found.contains(close)));
        }
        found
    }
}

impl Diagnose for InterpolateError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownInput { .. } => INTERPOLATE_UNKNOWN_INPUT,
            Self::MissingInputs { .. } => INTERPOLATE_MISSING_INPUTS,
            Self::WrongType { .. } => INTERPOLATE_WRONG_TYPE,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::UnknownInput { declared, .. } => {
                let names: Vec<String> = declared.iter().map(|input| input.name.clone()).collect();
                let valid = format!("the inputs are {}", quoted(&names));
                match self.nearest().as_slice() {
                    [] => valid,
                    close => format!("did you mean {}? {valid}", quoted(close)),
                }
            }
            Self::MissingInputs { names, .. } => {
                let given: Vec<String> = names.iter().map(|name| format!("-i {name}=…")).collect();
                format!("give each a value: `{}`", given.join(" "))
            }
            Self::WrongType { .. } => "write a list or an object as JSON: `-i name:=[1, 2]`".into(),
        })
    }

    fn data(&self) -> Map<String, Value> {
        let mut data = Map::new();
        data.insert("declared_inputs".into(), self.declared_inputs());
        let (key, names) = match self {
            Self::UnknownInput { names, .. } => ("unknown", names.clone()),
            Self::MissingInputs { names, .. } => ("missing", names.clone()),
            Self::WrongType { wrong, .. } => {
                ("wrong", wrong.iter().map(|input| input.name.clone()).collect())
            }
        };
        data.insert(key.into(), names.into());
        if let Self::UnknownInput { .. } = self {
            data.insert("nearest".into(), self.nearest().into());
        }
        data
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", escape_line(name))).collect();
    quoted.join(", ")
}

fn told(wrong: &[WrongInput]) -> String {
    let told = wrong.iter().map(|WrongInput { name, ty, value }| {
        let shown: String = value.to_string().chars().take(60).collect();
        let article = if matches!(ty, InputType::String | InputType::Number | InputType::Boolean) {
            "a"
        } else {
            "an"
        };
        format!(
            "the input `{name}` must be {article} {}, not `{}`",
            ty.as_str(),
            escape_line(&shown)
        )
    });
    told.collect::<Vec<_>>().join("; ")
}
