//! Files with thousands of mistakes.

use super::*;
use std::fmt::Write;

/// Returns twenty thousand changes of a link that does not exist, the first after an umlaut.
fn wrong_changes(links: usize) -> String {
    let mut text = String::from("name = \"many\"\nduration = \"10 s\"\n");
    for n in 0..links {
        let link = "kind = \"wired\"";
        writeln!(text, "[links.link{n}]\nbetween = [\"a{n}\", \"b\"]\n{link}").expect("a string");
    }
    text += "[[changes]]\nat = \"1 s\"\nlink = \"ä\"  # ä\nstate = \"down\"\n";
    for _ in 0..20_000 {
        text += "[[changes]]\nat = \"1 s\"\nlink = \"lonk0\"\nstate = \"down\"\n";
    }
    text
}

#[test]
fn twenty_thousand_mistakes_are_told_with_their_lines_and_the_names_that_were_meant() {
    let error = parse(&wrong_changes(500), "many.toml", Path::new("."), &[]);
    let error = error.expect_err("no such link");
    assert_eq!(error.diagnostics.len(), 20_001);
    // Three lines before the links, three for each, three up to the first change's link; then four for each change.
    let first = 3 + 3 * 500 + 2;
    for (place, line) in [(0, first), (1, first + 4), (20_000, first + 4 * 20_000)] {
        let position = error.diagnostics[place].place.position;
        assert_eq!(position, Some((line, 8)), "mistake {place}");
    }
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[50]), (51, "and 19951 more"));
    let near = |line: &&&str| line.contains("did you mean \"link0\"?");
    assert_eq!(lines.iter().filter(near).count(), 49);
}
