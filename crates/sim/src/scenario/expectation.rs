//! Syntax of expectations: `flows.download.longest_stall_s < 30`. They are evaluated after the run.

use super::error::{quoted, unknown};
use super::model::Flow;

/// Comparisons, the longer first.
const OPERATORS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];

/// Checks the syntax, and that a named flow exists.
pub(super) fn check(text: &str, flows: &[Flow]) -> Result<(), String> {
    let form = || {
        format!(
            "{} is not an expectation; expected <path> <operator> <number>, like \
             \"flows.download.longest_stall_s < 30\"",
            quoted(text)
        )
    };
    let (at, operator) = text
        .char_indices()
        .find_map(|(at, _)| {
            let operator = OPERATORS
                .iter()
                .find(|operator| text[at..].starts_with(**operator))?;
            Some((at, operator))
        })
        .ok_or_else(form)?;
    let path = text[..at].trim();
    let number: Result<f64, _> = text[at + operator.len()..].trim().parse();
    let word = |c: char| c.is_ascii_alphanumeric() || "_-[]".contains(c);
    let valid = path
        .split('.')
        .all(|part| !part.is_empty() && part.chars().all(word));
    if !valid || !number.is_ok_and(f64::is_finite) {
        return Err(form());
    }
    let mut parts = path.split('.');
    if let (Some("flows"), Some(flow)) = (parts.next(), parts.next()) {
        let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
        if !names.contains(&flow) {
            let of_class = flows
                .iter()
                .filter(|known| known.class.as_deref() == Some(flow));
            let count = of_class.count();
            if count > 0 {
                return Err(format!(
                    "{} is a class of {count} flows; expected one of them, or classes.{flow}, like \"classes.{flow}.delay.p95_s < 1\"",
                    quoted(flow)
                ));
            }
            return Err(unknown("flow", flow, &names));
        }
    }
    Ok(())
}
