//! `#[test]` for the suite: a test that needs a program which the machine lacks is listed as not run.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// A test of the standard harness whose body runs in `crate::world::run_test`.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let body = tokens.pop().expect("a function has a body");
    let mut name = tokens.iter().skip_while(|token| token.to_string() != "fn");
    let name = name.nth(1).expect("a function has a name");
    let path = format!("concat!(module_path!(), \"::{name}\"), move ||");
    let mut arguments: TokenStream = path.parse().expect("tokens");
    arguments.extend([body]);
    let mut call: TokenStream = "crate::world::run_test".parse().expect("tokens");
    call.extend([TokenTree::from(Group::new(Delimiter::Parenthesis, arguments))]);
    let mut wrapped: TokenStream = "#[::core::prelude::v1::test]".parse().expect("tokens");
    wrapped.extend(tokens);
    wrapped.extend([TokenTree::from(Group::new(Delimiter::Brace, call))]);
    wrapped
}
