//! Faults of calls as a snippet is thrown them, and arguments that a call has.

use serde_json::{Value, json};

use super::engine::Thrown;
use super::error::CodeError;
use super::records::told_id;
use super::tools::ToolFault;
use crate::base::json_reader::has_private_key;
use crate::diagnostic::Diagnostic;

pub(super) fn text<'v>(args: &'v [Value], at: usize, why: &str) -> Result<&'v str, ToolFault> {
    args.get(at).and_then(Value::as_str).ok_or_else(|| wrong(why))
}

/// A number of things; `None` where none is said.
pub(super) fn number(args: &[Value], at: usize) -> Result<Option<usize>, ToolFault> {
    match args.get(at) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let whole = value.as_u64().and_then(|number| usize::try_from(number).ok());
            whole.map(Some).ok_or_else(|| wrong("a limit is a whole number from 0"))
        }
    }
}

/// A call that is not made as its function wants it: what the snippet is thrown is a `TypeError`.
pub(super) fn wrong(why: &str) -> ToolFault {
    ToolFault { code: WRONG.into(), message: why.into(), ..ToolFault::default() }
}

/// The code of a call that is not made as its function wants it.
const WRONG: &str = "code.failed";

pub(super) fn fault(error: &CodeError) -> ToolFault {
    Diagnostic::from(error).into()
}

/// The answer to a call as a snippet is given it. Some keys would make another value of it.
pub(super) fn given(came: Result<Value, ToolFault>, tool: Option<&str>) -> Result<Value, Thrown> {
    let came = match came {
        Ok(value) if has_private_key(&value) => Err(fault(&CodeError::PrivateKey)),
        Err(fault) if has_private_key(&fault.data) => Err(ToolFault { data: Value::Null, ..fault }),
        came => came,
    };
    came.map_err(|fault| thrown(fault, tool))
}

fn thrown(fault: ToolFault, tool: Option<&str>) -> Thrown {
    let name = if fault.code == WRONG { "TypeError" } else { "ToolError" };
    let mut data = match fault.data {
        Value::Null => json!({}),
        data => data,
    };
    let tool = tool.or_else(|| data.get("tool").and_then(Value::as_str)).map(told_id);
    if let (Some(map), Some(help)) = (data.as_object_mut(), fault.help) {
        map.insert("help".into(), help.into());
    }
    let (name, message) = (name.into(), fault.message);
    Thrown { name, message, code: fault.code, tool, data }
}
