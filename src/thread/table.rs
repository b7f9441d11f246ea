//! The tools that a model may call (threads 4.1).

use serde_json::{Map, Value, json};

use super::error::ThreadError;
use crate::base::limits::{THREAD_TOOL_NAME, THREAD_TOOLS};
use crate::id::Ref;
use crate::parse::{DirectiveOutput, InputType};

/// What a call of a model leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallTarget {
    /// It hands over outputs.
    Return,
    /// It runs the item that its arguments name.
    Execute,
    /// It reads the item that its arguments name.
    Fetch,
    /// It runs this item.
    Item(Ref),
}

/// One tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelTool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// A JSON Schema, sent as it is.
    pub(crate) parameters: Value,
    pub(crate) target: CallTarget,
}

impl ModelTool {
    /// In the form of the chat completions of `OpenAI`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name, "description": self.description, "parameters": self.parameters,
            },
        })
    }

    pub(crate) fn execute() -> Self {
        Self {
            name: "rye_execute".into(),
            description: "Runs a tool, or gives the directions of a directive.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "item_id": {"type": "string", "description": "such as `tool:acme/deploy`"},
                    "parameters": {"type": "object", "description": "what the item takes"},
                    "thread": {
                        "type": "string", "enum": ["inline", "fork"],
                        "description": "`fork` runs a directive as a thread of its own",
                    },
                },
                "required": ["item_id"],
                "additionalProperties": false,
            }),
            target: CallTarget::Execute,
        }
    }

    pub(crate) fn fetch() -> Self {
        Self {
            name: "rye_fetch".into(),
            description: "Gives the text of an item.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "item_id": {"type": "string", "description": "such as `knowledge:acme/style`"},
                },
                "required": ["item_id"],
                "additionalProperties": false,
            }),
            target: CallTarget::Fetch,
        }
    }

    /// The tool that takes the outputs of a directive. Which are missing is said by name when it is
    /// called, so the schema requires none.
    fn outputs(outputs: &[DirectiveOutput]) -> Self {
        let properties = outputs.iter().map(|output| {
            let mut property = json!({"type": output.ty.as_str()});
            if !output.description.is_empty() {
                property["description"] = output.description.clone().into();
            }
            (output.name.clone(), property)
        });
        let properties: Map<String, Value> = properties.collect();
        let required = outputs.iter().filter(|output| output.required);
        let required: Vec<&str> = required.map(|output| output.name.as_str()).collect();
        Self {
            name: "directive_return".into(),
            description: "Hands over what was asked for in `<returns>`, and ends the work.".into(),
            parameters: json!({
                "type": "object", "properties": properties, "required": required,
                "additionalProperties": false,
            }),
            target: CallTarget::Return,
        }
    }

    /// The tool that runs one item.
    pub(crate) fn of_item(item: Ref, description: String, parameters: Value) -> Self {
        let name = name(item.id.as_str());
        Self { name, description, parameters, target: CallTarget::Item(item) }
    }
}

/// The name of an item for a model: at most 64 characters of `[A-Za-z0-9_]`. Of a longer one the
/// end is kept, which tells items of one folder apart.
fn name(id: &str) -> String {
    let plain: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    plain[plain.len().saturating_sub(THREAD_TOOL_NAME)..].to_owned()
}

/// The tools of one thread, sorted by their names.
///
/// Invariant: no two have one name.
#[derive(Debug)]
pub(crate) struct ToolTable {
    tools: Vec<ModelTool>,
    /// Items that are in reach and have no place of their own.
    pub(crate) left_out: usize,
}

impl ToolTable {
    /// The built-in tools that are granted, those of items, and the one for outputs.
    ///
    /// # Errors
    /// `thread.tool_name_conflict`
    pub(crate) fn new(
        built_in: Vec<ModelTool>,
        mut items: Vec<ModelTool>,
        outputs: &[DirectiveOutput],
    ) -> Result<Self, ThreadError> {
        let returns = (!outputs.is_empty()).then(|| ModelTool::outputs(outputs));
        items.sort_by(|one, other| one.name.cmp(&other.name));
        let room = THREAD_TOOLS.saturating_sub(built_in.len() + usize::from(returns.is_some()));
        let left_out = items.len().saturating_sub(room);
        let mut tools: Vec<ModelTool> = built_in.into_iter().chain(returns).chain(items).collect();
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        for pair in tools.windows(2) {
            if pair[0].name == pair[1].name {
                return Err(ThreadError::ToolNameConflict {
                    name: pair[0].name.clone(),
                    first: shown(&pair[0].target),
                    second: shown(&pair[1].target),
                });
            }
        }
        let mut left = left_out;
        while left > 0 {
            let last = tools.iter().rposition(|tool| matches!(tool.target, CallTarget::Item(_)));
            last.map(|last| tools.remove(last));
            left -= 1;
        }
        Ok(Self { tools, left_out })
    }

    pub(crate) fn tools(&self) -> &[ModelTool] {
        &self.tools
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ModelTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn shown(target: &CallTarget) -> String {
    match target {
        CallTarget::Item(item) => item.to_string(),
        CallTarget::Return | CallTarget::Execute | CallTarget::Fetch => "a tool of rye".into(),
    }
}

/// The outputs of a call of `directive_return`, each of the type that is declared.
///
/// # Errors
/// The outputs that are missing or of another type, or that nobody asked for, each as a sentence.
pub(super) fn outputs_of(
    args: &Map<String, Value>,
    declared: &[DirectiveOutput],
) -> Result<Map<String, Value>, Vec<String>> {
    let (mut outputs, mut wrong) = (Map::new(), Vec::new());
    for DirectiveOutput { name, ty, required, .. } in declared {
        let ty: InputType = *ty;
        match args.get(name).filter(|value| !value.is_null()) {
            None if *required => wrong.push(format!("`{name}` is missing")),
            None => {}
            Some(value) => match ty.coerce(value.clone()) {
                Some(value) => drop(outputs.insert(name.clone(), value)),
                None => wrong.push(format!("`{name}` is not of the type `{}`", ty.as_str())),
            },
        }
    }
    let unknown = args.keys().filter(|name| declared.iter().all(|output| output.name != **name));
    wrong.extend(unknown.map(|name| format!("`{name}` is not among the outputs")));
    if wrong.is_empty() { Ok(outputs) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::{CallTarget, ModelTool, ToolTable, name, outputs_of};
    use crate::base::limits::THREAD_TOOLS;
    use crate::diagnostic::Diagnose;
    use crate::parse::{DirectiveOutput, InputType};
    use serde_json::json;

    fn item(text: &str) -> ModelTool {
        ModelTool::of_item(text.parse().unwrap(), String::new(), json!({}))
    }

    #[test]
    fn two_tools_of_one_name_are_refused_by_both_their_ids() {
        let conflict =
            ToolTable::new(Vec::new(), vec![item("tool:a/b-c"), item("tool:a/b/c")], &[]);
        let error = conflict.unwrap_err();
        assert_eq!(error.code().name(), "thread.tool_name_conflict");
        assert!(
            error.to_string().contains("tool:a/b-c") && error.to_string().contains("tool:a/b/c")
        );
        let shadows =
            ToolTable::new(vec![ModelTool::execute()], vec![item("tool:rye/execute")], &[]);
        assert_eq!(shadows.unwrap_err().code().name(), "thread.tool_name_conflict");
        let fine = ToolTable::new(vec![ModelTool::execute()], vec![item("tool:a/b")], &[]).unwrap();
        let names: Vec<&str> = fine.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["a_b", "rye_execute"]);
    }

    #[test]
    fn what_has_no_place_is_counted_and_the_tools_of_rye_always_have_one() {
        let items: Vec<ModelTool> =
            (0..THREAD_TOOLS + 5).map(|n| item(&format!("tool:z/t{n}"))).collect();
        let table = ToolTable::new(vec![ModelTool::execute()], items, &[]).unwrap();
        assert_eq!((table.tools().len(), table.left_out), (THREAD_TOOLS, 6));
        assert_eq!(table.find("rye_execute").unwrap().target, CallTarget::Execute);
        assert_eq!(name(&"x/".repeat(60)).len(), 64);
    }

    #[test]
    fn outputs_are_of_their_types_or_said_by_name() {
        let output = |name: &str, ty, required| DirectiveOutput {
            name: name.into(),
            ty,
            required,
            description: String::new(),
        };
        let declared =
            [output("n", InputType::Integer, true), output("note", InputType::String, false)];
        let of = |args: serde_json::Value| outputs_of(args.as_object().unwrap(), &declared);
        assert_eq!(of(json!({"n": "7"})), Ok(json!({"n": 7}).as_object().unwrap().clone()));
        assert_eq!(of(json!({"note": "x"})), Err(vec!["`n` is missing".into()]));
        assert_eq!(of(json!({"n": null})), Err(vec!["`n` is missing".into()]));
        assert_eq!(of(json!({"n": "x"})), Err(vec!["`n` is not of the type `integer`".into()]));
        assert_eq!(of(json!({"n": 1, "m": 1})), Err(vec!["`m` is not among the outputs".into()]));
    }
}
