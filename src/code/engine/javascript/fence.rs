//! A snippet in a fence of Markdown, as models write it.

use std::borrow::Cow;

/// The code in the fence that is all of a text, and whether the fence calls it TypeScript; the text
/// itself where it is in none. Every line stays in its place.
pub(super) fn unfenced(text: &str) -> (Cow<'_, str>, bool) {
    let inner = text.trim();
    let body = inner.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some((name, code)) = body.and_then(|body| body.split_once('\n')) else {
        return (text.into(), false);
    };
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_all = code.ends_with('\n') && !code.contains("\n```") && !code.starts_with("```");
    if !is_name(name.trim()) || !is_all {
        return (text.into(), false);
    }
    let before = text[..text.len() - text.trim_start().len()].matches('\n').count();
    let is_typescript = ["ts", "typescript"].iter().any(|it| name.trim().eq_ignore_ascii_case(it));
    (("\n".repeat(before + 1) + code).into(), is_typescript)
}

#[cfg(test)]
mod tests {
    use super::unfenced;

    #[test]
    fn code_in_a_fence_is_taken_out_of_it_and_stays_in_its_lines_table() {
        for (text, want, is_typescript) in [
            ("```js\na()\n```", "\na()\n", false),
            ("\n```typescript\na()\n\nb()\n```\n", "\n\na()\n\nb()\n", true),
            ("```\na()\n```  ", "\na()\n", false),
            ("a()", "a()", false),
            ("```a```", "```a```", false),
            (
                "```js\na()\n```\nb()\n```js\nc()\n```",
                "```js\na()\n```\nb()\n```js\nc()\n```",
                false,
            ),
            ("```a b\na()\n```", "```a b\na()\n```", false),
        ] {
            assert_eq!(unfenced(text), (want.into(), is_typescript), "{text}");
        }
    }
}
