//! A source file as tokens: no comments, no text in quotes, and known which part is only for tests.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::str::FromStr;

/// Who gets to run a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Everybody: it is in what we ship.
    Shipped,
    /// Only tests: it is behind `#[cfg(test)]`.
    Tests,
}

/// The smallest piece of code: a word, a literal, one character of punctuation or one bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) part: Part,
}

/// The tokens of one file.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) tokens: Vec<Token>,
    /// The modules that are declared here for tests and live in files of their own.
    pub(super) test_modules: Vec<String>,
}

impl Code {
    /// Takes `text` apart; the error says where it is not Rust.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let stream = TokenStream::from_str(text)
            .map_err(|error| format!("is not Rust at line {}", error.span().start().line))?;
        let mut code = Self::default();
        code.walk(stream, Part::Shipped);
        Ok(code)
    }

    /// The tokens that are in what we ship.
    pub(super) fn shipped(&self) -> Vec<&Token> {
        self.tokens.iter().filter(|token| token.part == Part::Shipped).collect()
    }

    fn walk(&mut self, stream: TokenStream, part: Part) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut tests_end = 0;
        for (index, tree) in trees.iter().enumerate() {
            let rest = &trees[index..];
            if index >= tests_end && for_tests(rest) {
                let item = item(rest);
                tests_end = index + item.len();
                self.test_modules.extend(module_elsewhere(item));
            }
            self.push(tree, if index < tests_end { Part::Tests } else { part });
        }
    }

    fn push(&mut self, tree: &TokenTree, part: Part) {
        let TokenTree::Group(group) = tree else {
            let line = tree.span().start().line;
            self.tokens.push(Token { text: tree.to_string(), line, part });
            return;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        let line = group.span_open().start().line;
        self.tokens.push(Token { text: open.to_owned(), line, part });
        self.walk(group.stream(), part);
        let line = group.span_close().start().line;
        self.tokens.push(Token { text: close.to_owned(), line, part });
    }
}

/// Whether `trees` begins with `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn for_tests(trees: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = trees else { return false };
    let text: String = attribute.stream().into_iter().map(|tree| tree.to_string()).collect();
    let text = text.replace(' ', "");
    hash.as_char() == '#' && (text == "cfg(test)" || text.starts_with("cfg(all(test,"))
}

/// The item that `trees` begins with: up to its braces, or else its semicolon.
fn item(trees: &[TokenTree]) -> &[TokenTree] {
    let last = trees.iter().position(|tree| match tree {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    });
    last.map_or(trees, |last| &trees[..=last])
}

/// The module that `item` declares without giving its contents.
fn module_elsewhere(item: &[TokenTree]) -> Option<String> {
    match item {
        [.., TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(_)]
            if word == "mod" =>
        {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// The lines on which `pattern`, a row of tokens, begins.
pub(super) fn lines_of<'a>(
    tokens: &'a [&'a Token],
    pattern: &'a [&'a str],
) -> impl Iterator<Item = usize> + 'a {
    tokens
        .windows(pattern.len())
        .filter(move |window| window.iter().zip(pattern).all(|(token, text)| token.text == *text))
        .map(|window| window[0].line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &Code, part: Part) -> String {
        let texts = code.tokens.iter().filter(|token| token.part == part);
        texts.map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_quoted_text_are_no_code() {
        let code = Code::of("// std::fs\n/* unsafe */ let x = \"unsafe\"; // todo").unwrap();
        assert_eq!(texts(&code, Part::Shipped), "let x = \"unsafe\" ;");
        assert_eq!(code.tokens[0].line, 2);
    }

    #[test]
    fn what_is_behind_cfg_test_is_only_for_tests() {
        let cases = [
            ("a; #[cfg(test)] mod tests { b } c", "a ; c"),
            ("#[cfg(test)] #[derive(Debug)] struct A { b: C } d", "d"),
            ("#[cfg(test)] use a::b; c", "c"),
            ("#[cfg(all(test, unix))] fn a(b: [u8; 2]) { c } d", "d"),
            ("mod a { #[cfg(test)] fn b() {} c }", "mod a { c }"),
            ("#[cfg(not(test))] mod a { b }", "# [ cfg ( not ( test ) ) ] mod a { b }"),
            ("#[cfg(unix)] fn a() {}", "# [ cfg ( unix ) ] fn a ( ) { }"),
        ];
        for (text, shipped) in cases {
            assert_eq!(texts(&Code::of(text).unwrap(), Part::Shipped), shipped, "{text}");
        }
    }

    #[test]
    fn test_modules_in_files_of_their_own_are_named() {
        let code = Code::of("mod a; #[cfg(test)] mod b; #[cfg(test)] mod c { }").unwrap();
        assert_eq!(code.test_modules, ["b"]);
    }

    #[test]
    fn what_is_no_rust_is_said_with_its_line() {
        assert_eq!(Code::of("fn a() {\n\"").unwrap_err(), "is not Rust at line 2");
    }
}
