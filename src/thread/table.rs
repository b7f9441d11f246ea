//! The tools that a model may call (threads 4.1).

use serde_json::{Map, Value, json};

use super::error::ThreadError;
use super::tool::ThreadTool;
use crate::base::limits::THREAD_TOOL_NAME;
use crate::id::Ref;
use crate::parse::{DirectiveOutput, InputType};
use crate::trace::MissingTool;

/// Most tools that a model is told of by name; the others it calls with `rye_execute`.
const THREAD_TOOLS: usize = 128;

/// One tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelTool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// A JSON Schema, sent as it is.
    pub(crate) parameters: Value,
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

    /// The tool that takes the outputs of a directive. Which are missing is said by name when it is
    /// called.
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
            name: RETURN.into(),
            description: "Hands over what was asked for in `<returns>`, and ends the work.".into(),
            parameters: json!({
                "type": "object", "properties": properties, "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

const RETURN: &str = "directive_return";

/// A tool of a table, and whose it is.
pub(crate) struct TableTool<'a> {
    pub(crate) tool: Box<dyn ThreadTool + 'a>,
    /// The item that it runs; `None` for a tool of rye or of the program.
    pub(crate) item: Option<Ref>,
}

/// The target of a name in a call of a model.
pub(crate) enum NamedTool<'t> {
    /// It hands over outputs.
    Return,
    Tool(&'t dyn ThreadTool),
}

/// The name of an item for a model: at most 64 characters of `[A-Za-z0-9_]`. Of a longer one the
/// end is kept, which tells items of one folder apart.
pub(crate) fn tool_name(id: &str) -> String {
    let plain: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    plain[plain.len().saturating_sub(THREAD_TOOL_NAME)..].to_owned()
}

/// The tools of one thread, sorted by their names.
///
/// Invariant: no two have one name.
pub(crate) struct ToolTable<'a> {
    told: Vec<ModelTool>,
    /// The code that carries out each of those told; `None` is the one for outputs.
    tools: Vec<Option<TableTool<'a>>>,
    /// Items that are in reach and have no place of their own.
    pub(crate) left_out: usize,
    /// Items that are in reach and would be refused.
    pub(crate) refused: Vec<Ref>,
    /// Items that are permitted by their names, and that no space has.
    pub(crate) missing: Vec<MissingTool>,
}

impl<'a> ToolTable<'a> {
    /// The built-in tools that are granted, those of items, and the one for outputs. No item has a
    /// name of rye's own tools, also where that tool is not granted: what a model is told by one of
    /// these names, it takes for what rye says.
    ///
    /// # Errors
    /// `thread.tool_name_conflict`
    pub(crate) fn new(
        built_in: Vec<TableTool<'a>>,
        of_rye: &[String],
        mut items: Vec<TableTool<'a>>,
        outputs: &[DirectiveOutput],
    ) -> Result<Self, ThreadError> {
        let is_of_rye = |tool: &&TableTool<'_>| {
            let name = tool.tool.name();
            name == RETURN || of_rye.iter().any(|own| own == name)
        };
        if let Some(tool) = items.iter().find(is_of_rye) {
            let (name, first, second) = (tool.tool.name().into(), shown(None), shown(Some(tool)));
            return Err(ThreadError::ToolNameConflict { name, first, second });
        }
        let returns = (!outputs.is_empty()).then(|| (ModelTool::outputs(outputs), None));
        items.sort_by(|one, other| one.tool.name().cmp(other.tool.name()));
        let room = THREAD_TOOLS.saturating_sub(built_in.len() + usize::from(returns.is_some()));
        let left_out = items.len().saturating_sub(room);
        let tools = built_in.into_iter().chain(items).map(|tool| (told(&*tool.tool), Some(tool)));
        let mut rows: Vec<(ModelTool, Option<TableTool<'a>>)> = tools.chain(returns).collect();
        rows.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        for pair in rows.windows(2) {
            if pair[0].0.name == pair[1].0.name {
                return Err(ThreadError::ToolNameConflict {
                    name: pair[0].0.name.clone(),
                    first: shown(pair[0].1.as_ref()),
                    second: shown(pair[1].1.as_ref()),
                });
            }
        }
        let is_item = |row: &(_, Option<TableTool<'_>>)| {
            row.1.as_ref().is_some_and(|tool| tool.item.is_some())
        };
        for _ in 0..left_out {
            rows.iter().rposition(is_item).map(|last| rows.remove(last));
        }
        let (told, tools) = rows.into_iter().unzip();
        Ok(Self { told, tools, left_out, refused: Vec::new(), missing: Vec::new() })
    }

    pub(crate) fn tools(&self) -> &[ModelTool] {
        &self.told
    }

    pub(crate) fn find(&self, name: &str) -> Option<NamedTool<'_>> {
        let at = self.told.iter().position(|tool| tool.name == name)?;
        Some(match &self.tools[at] {
            Some(tool) => NamedTool::Tool(&*tool.tool),
            None => NamedTool::Return,
        })
    }
}

fn told(tool: &dyn ThreadTool) -> ModelTool {
    ModelTool {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
    }
}

fn shown(tool: Option<&TableTool<'_>>) -> String {
    match tool.and_then(|tool| tool.item.as_ref()) {
        Some(item) => item.to_string(),
        None => "a tool of rye".into(),
    }
}

/// The outputs of a call of `directive_return`, each of the type that is declared.
///
/// # Errors
/// The outputs that are missing, of another type or not declared, each as a sentence.
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
    use super::THREAD_TOOLS;
    use super::{TableTool, ToolTable, outputs_of, tool_name};
    use crate::diagnostic::Diagnose;
    use crate::parse::{DirectiveOutput, InputType};
    use crate::thread::{ThreadSession, ThreadTool, ToolCallFault};
    use serde_json::{Map, Value, json};

    /// A tool that is never called.
    struct Named(String);

    impl ThreadTool for Named {
        fn name(&self) -> &str {
            &self.0
        }

        fn description(&self) -> &'static str {
            ""
        }

        fn parameters(&self) -> Value {
            json!({})
        }

        fn call(
            &self,
            _: &ThreadSession<'_>,
            _: Map<String, Value>,
        ) -> Result<Value, ToolCallFault> {
            Err(ToolCallFault::new("it is never called"))
        }
    }

    fn item(text: &str) -> TableTool<'static> {
        let item: crate::id::Ref = text.parse().unwrap();
        let tool = Box::new(Named(tool_name(item.id.as_str())));
        TableTool { tool, item: Some(item) }
    }

    fn of_rye(name: &str) -> TableTool<'static> {
        TableTool { tool: Box::new(Named(name.into())), item: None }
    }

    #[test]
    fn two_tools_of_one_name_are_refused_by_both_their_ids() {
        let refused = |built_in, items| {
            let of_rye = ["rye_fetch".to_owned()];
            let error = ToolTable::new(built_in, &of_rye, items, &[]).map(|_| ()).unwrap_err();
            assert_eq!(error.code().name(), "thread.tool_name_conflict");
            error.to_string()
        };
        let said = refused(Vec::new(), vec![item("tool:a/b-c"), item("tool:a/b/c")]);
        assert!(said.contains("tool:a/b-c") && said.contains("tool:a/b/c"), "{said}");
        refused(vec![of_rye("rye_execute")], vec![item("tool:rye/execute")]);
        let said = refused(Vec::new(), vec![item("tool:rye/fetch")]);
        assert!(said.contains("tool:rye/fetch") && said.contains("a tool of rye"), "{said}");
        refused(Vec::new(), vec![item("tool:directive/return")]);
        let fine =
            ToolTable::new(vec![of_rye("rye_execute")], &[], vec![item("tool:a/b")], &[]).unwrap();
        let names: Vec<&str> = fine.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["a_b", "rye_execute"]);
    }

    #[test]
    fn what_has_no_place_is_counted_and_the_tools_of_rye_always_have_one() {
        let items: Vec<_> = (0..THREAD_TOOLS + 5).map(|n| item(&format!("tool:z/t{n}"))).collect();
        let table = ToolTable::new(vec![of_rye("rye_execute")], &[], items, &[]).unwrap();
        assert_eq!((table.tools().len(), table.left_out), (THREAD_TOOLS, 6));
        assert!(table.find("rye_execute").is_some() && table.find("rye").is_none());
        assert_eq!(tool_name(&"x/".repeat(60)).len(), 64);
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
