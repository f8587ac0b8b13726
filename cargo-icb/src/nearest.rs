//! Names that are not there: which one may have been meant, and which there are. It knows nothing of what the names are of.

/// How alike two names are at least, from 0 to 1, for one to be taken for a slip of the other; the command line's own measure.
const ALIKE: f64 = 0.7;
/// Names that are listed, at most.
const MAX_LISTED: usize = 20;

/// The name that is most like another one, if any is like it.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.into_iter().map(|other| (strsim::jaro(name, other), other));
    let alike = alike.filter(|(likeness, _)| *likeness > ALIKE);
    alike.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, other)| other)
}

/// `a, b (did you mean `b`?)`: what there is instead of a name.
pub(crate) fn instead_of(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "none".to_owned();
    }
    let mut text = known[..known.len().min(MAX_LISTED)].join(", ");
    if let Some(rest) = known.len().checked_sub(MAX_LISTED).filter(|rest| *rest > 0) {
        text += &format!(" and {rest} more");
    }
    text + &did_you_mean(name, known.iter().copied())
}

/// ` (did you mean `b`?)`, or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |other| format!(" (did you mean `{other}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_name() {
        assert_eq!(
            instead_of("holdin", &["failing", "holding"]),
            "failing, holding (did you mean `holding`?)"
        );
        assert_eq!(instead_of("zzz", &["failing", "holding"]), "failing, holding");
        assert_eq!(instead_of("x", &[]), "none");
        let many: Vec<String> = (0..30).map(|number| format!("t{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(instead_of("zzz", &many).ends_with("t19 and 10 more"));
    }
}
