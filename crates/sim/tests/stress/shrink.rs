//! Shrinks a failing scenario: removes blocks and lines for as long as the rest fails in the same way.

/// Most attempts in all: a minute or two.
const MOST_ATTEMPTS: u32 = 400;

/// Returns the smallest scenario found that still fails, and its failure.
pub fn smallest(
    text: String,
    reason: String,
    fails: impl Fn(&str) -> Option<String>,
) -> (String, String) {
    let (mut text, mut reason) = (text, reason);
    let mut attempts = 0;
    for separator in ["\n\n", "\n"] {
        let mut index = 0;
        loop {
            let mut pieces: Vec<&str> = text.split(separator).collect();
            if index >= pieces.len() || attempts >= MOST_ATTEMPTS {
                break;
            }
            // Without its end a flow never finishes, which is another matter.
            if ["bytes", "stop", "duration"]
                .iter()
                .any(|end| pieces[index].starts_with(end))
            {
                index += 1;
                continue;
            }
            pieces.remove(index);
            let less = pieces.join(separator);
            attempts += 1;
            // A text that is no longer a scenario is another failure.
            match fails(&less).filter(|now| !now.starts_with("not accepted")) {
                Some(now) if kind(&now) == kind(&reason) => (text, reason) = (less, now),
                _ => index += 1,
            }
        }
    }
    (text, reason)
}

/// Returns the words of a message without its numbers.
fn kind(reason: &str) -> String {
    let words = reason.chars().take_while(|letter| *letter != ':');
    words.filter(|letter| !letter.is_ascii_digit()).collect()
}
