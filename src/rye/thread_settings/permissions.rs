//! The reach of a thread: the capabilities of its directive, within those of its caller (threads
//! 3).

use crate::id::{Grants, Pattern};

/// The reach of a thread: that of its directive, within that of its caller.
pub(crate) fn narrowed(own: Vec<Pattern>, of_caller: Option<&Grants>) -> Grants {
    match of_caller {
        Some(grants) => grants.clone().narrowed(own),
        None => Grants::new(own),
    }
}

/// The capabilities of a directive for one action, as patterns over refs. A pattern that cannot be
/// one matches nothing.
pub(crate) fn patterns(capabilities: &[String], action: &str) -> Vec<Pattern> {
    let of_action = capabilities.iter().filter_map(|capability| {
        capability.strip_prefix("rye.")?.strip_prefix(action)?.strip_prefix('.')
    });
    let texts = of_action.filter_map(|rest| match rest {
        "*" => Some("*:**".to_owned()),
        rest => {
            let (kind, dotted) = rest.split_once('.')?;
            let mut parts: Vec<String> =
                dotted.split('.').map(|part| part.replace("%2E", ".")).collect();
            if let Some(last) = parts.last_mut().filter(|last| *last == "*") {
                *last = "**".into();
            }
            Some(format!("{kind}:{}", parts.join("/")))
        }
    });
    texts.filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{narrowed, patterns};
    use crate::id::{Grants, Ref};
    use crate::parse::Directive;
    use proptest::prelude::{
        Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };

    #[test]
    fn capabilities_mean_what_they_mean_as_patterns_table() {
        let rows = [
            ("rye.execute.*", "tool:a/b/c", true),
            ("rye.execute.*", "directive:a", true),
            ("rye.execute.tool.*", "tool:a/b", true),
            ("rye.execute.tool.*", "directive:a/b", false),
            ("rye.execute.tool.acme.*", "tool:acme/a/b", true),
            ("rye.execute.tool.acme.*", "tool:acme", false),
            ("rye.execute.tool.acme.*", "tool:acmes/a", false),
            ("rye.execute.tool.a.b", "tool:a/b", true),
            ("rye.execute.tool.a.b", "tool:a/b/c", false),
            ("rye.execute.tool.a%2Eb", "tool:a.b", true),
            ("rye.execute.tool.a%2Eb", "tool:a/b", false),
            ("rye.execute.tool.a.b", "tool:a.b", false),
            ("rye.execute.tool.*.x", "tool:a/x", true),
            ("rye.execute.tool.*.x", "tool:a/b/x", false),
            ("rye.execute.tool.**.x", "tool:a/b/x", true),
            ("rye.fetch.tool.*", "tool:a", false),
            ("rye.executes.tool.*", "tool:a", false),
        ];
        for (capability, item, want) in rows {
            let patterns = patterns(&[capability.to_owned()], "execute");
            let got = patterns.iter().any(|pattern| pattern.matches(&item.parse().unwrap()));
            assert_eq!(got, want, "{capability} {item} {patterns:?}");
        }
    }
    const SEGMENTS: [&str; 10] = ["a", "b", "ab", "a.b", "a.a", "*", "**", "a*", "*b", "a.*"];

    /// One element of `<permissions>`: an action of every kind, or one of items of a kind.
    #[derive(Debug, Clone)]
    struct Permitted {
        executes: bool,
        of: Option<(&'static str, Vec<&'static str>)>,
        as_path: bool,
    }

    impl Permitted {
        /// As a person writes it; a dot inside of a segment is written as such only in a path.
        fn to_xml(&self) -> String {
            let action = if self.executes { "execute" } else { "fetch" };
            let Some((kind, segments)) = &self.of else {
                return format!("<{action}>*</{action}>");
            };
            let text = match self.as_path && segments.len() > 1 {
                true => segments.join("/"),
                false => {
                    let dotted: Vec<_> =
                        segments.iter().map(|part| part.replace('.', "%2E")).collect();
                    dotted.join(".")
                }
            };
            format!("<{action}><{kind}>{text}</{kind}></{action}>")
        }

        /// The second, slower way to say what it lets in.
        fn lets_in(&self, item: &Ref) -> bool {
            let Some((kind, segments)) = &self.of else { return self.executes };
            let given: Vec<&str> = item.id.as_str().split('/').collect();
            self.executes && *kind == item.kind.as_str() && is_within(segments, &given)
        }
    }

    fn is_within(wanted: &[&str], given: &[&str]) -> bool {
        match wanted {
            [] => given.is_empty(),
            ["*" | "**"] => !given.is_empty(),
            ["**", rest @ ..] => (0..=given.len()).any(|n| is_within(rest, &given[n..])),
            [first, rest @ ..] => given.split_first().is_some_and(|(segment, others)| {
                is_like(first.as_bytes(), segment.as_bytes()) && is_within(rest, others)
            }),
        }
    }

    fn is_like(wanted: &[u8], given: &[u8]) -> bool {
        match wanted {
            [] => given.is_empty(),
            [b'*', rest @ ..] => (0..=given.len()).any(|n| is_like(rest, &given[n..])),
            [first, rest @ ..] => given.first() == Some(first) && is_like(rest, &given[1..]),
        }
    }

    fn permitted() -> impl Strategy<Value = Vec<Permitted>> {
        let segments = proptest::collection::vec(proptest::sample::select(&SEGMENTS[..]), 1..4);
        let kind = proptest::sample::select(vec!["tool", "directive"]);
        let of = prop_oneof![1 => Just(None), 19 => (kind, segments).prop_map(Some)];
        let one = (proptest::bool::weighted(0.8), of, any::<bool>());
        let one = one.prop_map(|(executes, of, as_path)| Permitted { executes, of, as_path });
        proptest::collection::vec(one, 0..4)
    }

    fn capabilities(permitted: &[Permitted]) -> Vec<String> {
        let inside: String = permitted.iter().map(Permitted::to_xml).collect();
        let text = format!(
            "# X\n\n```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><permissions>\
             {inside}</permissions></metadata></directive>\n```\n\nx\n"
        );
        Directive::parse(&text).unwrap().permissions.unwrap_or_default()
    }

    fn all_items() -> Vec<Ref> {
        let names = ["a", "b", "ab", "a.b", "aab"];
        let one = names.iter().map(|name| (*name).to_owned());
        let two = names.iter().flat_map(|a| names.iter().map(move |b| format!("{a}/{b}")));
        let three = two.clone().flat_map(|a| names.iter().map(move |b| format!("{a}/{b}")));
        let ids: Vec<String> = one.chain(two).chain(three).collect();
        let kinds = ["tool", "directive"];
        kinds
            .iter()
            .flat_map(|k| ids.iter().map(move |id| format!("{k}:{id}").parse().unwrap()))
            .collect()
    }

    proptest! {
        #[test]
        fn a_child_reaches_what_each_above_it_reaches_and_never_more(
            generations in proptest::collection::vec(permitted(), 1..5),
        ) {
            let mut above: Option<Grants> = None;
            let items = all_items();
            for at in 0..generations.len() {
                let own = patterns(&capabilities(&generations[at]), "execute");
                let grants = narrowed(own, above.as_ref());
                for item in &items {
                    let is_let_in = grants.allow(item);
                    let by_parent = above.as_ref().is_none_or(|above| above.allow(item));
                    prop_assert!(!is_let_in || by_parent, "{item}: {grants:?}");
                    let mut each = generations[..=at].iter();
                    let want =
                        each.all(|one| one.iter().any(|permitted| permitted.lets_in(item)));
                    prop_assert_eq!(is_let_in, want, "{}: {:?}", item, grants);
                }
                above = Some(grants);
            }
        }
    }
}
